//! The columns to which expressions can refer.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields};

use crate::error::{Error, Result};
use crate::expr::node::bound_column::BoundColumn;
use crate::expr::node::predicate::Path;
use crate::expr::value::family::Family;
use crate::spec::arrow::field_index;
use crate::spec::char_length::char_length;
use crate::spec::collation::collation;
use crate::spec::json::clipped;

pub(super) trait Scope {
    /// Returns the column with this path, if there is one.
    fn column(&mut self, path: &Path) -> Option<Arc<BoundColumn>>;

    /// Returns the names of the first columns, for an error message.
    fn names(&self) -> Vec<&str>;

    /// Returns the paths of fields with this name in the first structs, for an error message.
    fn in_structs(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the column with this path.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.column`.
    fn find(&mut self, path: &Path) -> Result<Arc<BoundColumn>> {
        self.column(path).ok_or_else(|| {
            let name = clipped(&path.0.join("."));
            let names = self.names().join(", ");
            let fields = path.0.last().map(|last| self.in_structs(last));
            let fields = fields.unwrap_or_default().join(", ");
            let hint = if fields.is_empty() {
                fields
            } else {
                format!("; did you mean {fields}?")
            };
            let message = format!("there is no column {name}; there are {names}{hint}");
            Error::invalid("formula.column", message)
        })
    }
}

/// The maximum number of columns in an error message.
pub(super) const MAX_NAMES: usize = 50;

impl Scope for &Fields {
    fn column(&mut self, path: &Path) -> Option<Arc<BoundColumn>> {
        let mut inside = Some(*self);
        let (mut last, mut spelled) = (None, Vec::with_capacity(path.0.len()));
        for name in &path.0 {
            let fields = inside?;
            let field = fields.get(field_index(fields, name)?)?;
            spelled.push(field.name().clone());
            inside = match field.data_type() {
                DataType::Struct(fields) => Some(fields),
                _ => None,
            };
            last = Some(field);
        }
        let field = last?;
        Some(Arc::new(BoundColumn {
            path: spelled,
            data_type: field.data_type().clone(),
            char_length: char_length(field),
            collation: collation(field),
            family: Family::of_arrow(field.data_type()),
        }))
    }

    fn names(&self) -> Vec<&str> {
        let names = self.iter().map(|field| field.name().as_str());
        names.take(MAX_NAMES).collect()
    }

    fn in_structs(&self, name: &str) -> Vec<String> {
        let path = |field: &FieldRef| match field.data_type() {
            DataType::Struct(fields) => {
                let inner = fields.get(field_index(fields, name)?)?;
                Some(Path(vec![field.name().clone(), inner.name().clone()]).to_string())
            }
            _ => None,
        };
        self.iter().take(MAX_NAMES).filter_map(path).collect()
    }
}
