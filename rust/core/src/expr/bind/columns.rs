//! Looks up columns by name, and suggests similar names.

use std::collections::HashMap;
use std::sync::Arc;

use super::scope::{MAX_NAMES, Scope};
use crate::error::{Error, Result};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::predicate::Path;
use crate::expr::value::family::Family;
use crate::spec::schema::{DataType, StructField, StructType};

/// The columns of a schema that were looked up so far.
pub(super) struct Columns<'a> {
    schema: &'a StructType,
    bound: HashMap<Path, Arc<BoundColumn>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(schema: &'a StructType) -> Self {
        Self {
            schema,
            bound: HashMap::new(),
        }
    }

    pub(super) fn find(&mut self, path: &Path) -> Result<Arc<BoundColumn>> {
        if let Some(column) = self.bound.get(path) {
            return Ok(column.clone());
        }
        let column = self.look_up(path)?;
        self.bound.insert(path.clone(), column.clone());
        Ok(column)
    }

    fn look_up(&self, path: &Path) -> Result<Arc<BoundColumn>> {
        let mut fields = Some(self.schema);
        let mut field: Option<&StructField> = None;
        let mut spelled = Vec::with_capacity(path.0.len());
        for name in &path.0 {
            let Some(inside) = fields else {
                let message = format!(
                    "there is no column {path}: {} is not a struct, and fields within arrays, maps and \
                     variants cannot be named",
                    Path(spelled)
                );
                return Err(Error::invalid("filter.column", message));
            };
            let Some(next) = inside.field(name) else {
                return Err(self.unknown(path));
            };
            spelled.push(next.name.clone());
            fields = match &next.data_type {
                DataType::Struct(inner) => Some(inner),
                _ => None,
            };
            field = Some(next);
        }
        let field = field.ok_or_else(|| self.unknown(path))?;
        Ok(Arc::new(BoundColumn {
            path: spelled,
            data_type: field.data_type.arrow_type(),
            char_length: field.char_length(),
            collation: field.collation(),
            family: Family::of(&field.data_type),
        }))
    }

    fn unknown(&self, path: &Path) -> Error {
        let hint = closest_columns(&path.to_string(), self.schema);
        let message = format!("there is no column {path}: {hint}");
        Error::invalid("filter.column", message)
    }
}

impl Scope for Columns<'_> {
    fn column(&mut self, path: &Path) -> Option<Arc<BoundColumn>> {
        self.find(path).ok()
    }

    fn names(&self) -> Vec<&str> {
        let names = self.schema.fields().iter().map(|field| field.name.as_str());
        names.take(MAX_NAMES).collect()
    }
}

/// Returns the end of an error message about an unknown column: the most similar names.
pub(crate) fn closest_columns(name: &str, schema: &StructType) -> String {
    let names = closest(name, schema);
    if names.is_empty() {
        return "the table has no columns".to_owned();
    }
    format!("did you mean {}?", names.join(", "))
}

/// Returns up to three names that are most similar to the unknown one.
fn closest(unknown: &str, schema: &StructType) -> Vec<String> {
    const MAX_SUGGESTIONS: usize = 3;
    const MAX_CANDIDATES: usize = 2_000;
    let unknown = unknown.to_lowercase();
    let mut names = Vec::new();
    // breadth first: columns come before their nested fields
    let mut level: Vec<(Vec<String>, &StructType)> = vec![(Vec::new(), schema)];
    while !level.is_empty() && names.len() < MAX_CANDIDATES {
        let mut next = Vec::new();
        for (above, fields) in level {
            for field in fields.fields().iter().take(MAX_CANDIDATES) {
                let mut path = above.clone();
                path.push(field.name.clone());
                if let DataType::Struct(inner) = &field.data_type {
                    next.push((path.clone(), inner.as_ref()));
                }
                names.push(Path(path).to_string());
            }
        }
        level = next;
    }
    names.truncate(MAX_CANDIDATES);
    names.sort_by_cached_key(|name| distance(&unknown, &name.to_lowercase()));
    names.truncate(MAX_SUGGESTIONS);
    names
}

/// Returns the Levenshtein distance of two texts; long texts are truncated.
fn distance(left: &str, right: &str) -> usize {
    const MAX_CHARACTERS: usize = 64;
    let right: Vec<char> = right.chars().take(MAX_CHARACTERS).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (number, character) in left.chars().take(MAX_CHARACTERS).enumerate() {
        let mut diagonal = number;
        let mut before = number + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&right) {
            let exchanged = diagonal + usize::from(character != *other);
            diagonal = *cell;
            *cell = exchanged.min(before + 1).min(diagonal + 1);
            before = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = number + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
