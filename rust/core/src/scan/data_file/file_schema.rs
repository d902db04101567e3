//! The columns of one Parquet file as a tree, with the indexes of their leaves.

use std::collections::HashMap;
use std::ops::Range;
use std::slice;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::file::metadata::FileMetaData;

use crate::codec::parquet_file::LegacyColumns;
use crate::error::{Error, Result};
use crate::spec::schema::MAX_TYPE_DEPTH;

/// A physical column or a part of one.
#[derive(Debug)]
pub(super) struct FileNode {
    pub(super) name: String,
    pub(super) id: Option<i64>,
    /// The type that the reader returns if all of the column is read.
    pub(super) data_type: ArrowType,
    /// The leaves of the whole subtree, in file order.
    pub(super) leaves: Range<usize>,
    /// Parts of a struct; the element of a list; key and value of a map.
    pub(super) children: Vec<FileNode>,
}

/// All columns of a file.
#[derive(Debug)]
pub(super) struct FileSchema {
    pub(super) roots: Vec<FileNode>,
    pub(super) has_ids: bool,
    /// The columns in the legacy calendar.
    pub(super) legacy: Option<LegacyColumns>,
}

impl FileSchema {
    pub(super) fn new(schema: &Schema, file: &FileMetaData) -> Result<Self> {
        let mut walk = SchemaWalk {
            leaves: 0,
            has_ids: false,
        };
        let fields = schema.fields().iter();
        let roots: Vec<_> = fields
            .map(|field| walk.node(field, 0))
            .collect::<Result<_>>()?;
        if walk.leaves != file.schema_descr().num_columns() {
            let message = "the Parquet schema has columns that have no type in Arrow";
            return Err(Error::corrupt("data.footer", message));
        }
        Ok(Self {
            roots,
            has_ids: walk.has_ids,
            legacy: LegacyColumns::of(file),
        })
    }
}

struct SchemaWalk {
    leaves: usize,
    has_ids: bool,
}

impl SchemaWalk {
    fn node(&mut self, field: &Field, depth: usize) -> Result<FileNode> {
        if depth > MAX_TYPE_DEPTH {
            let message = format!("the Parquet schema nests deeper than {MAX_TYPE_DEPTH} levels");
            return Err(Error::corrupt("data.footer", message));
        }
        let first = self.leaves;
        let children = match parts(field.data_type()) {
            Some(parts) => {
                let parts = parts.iter().map(|part| self.node(part, depth + 1));
                parts.collect::<Result<Vec<_>>>()?
            }
            None => {
                self.leaves += 1;
                Vec::new()
            }
        };
        let id = field.metadata().get(PARQUET_FIELD_ID_META_KEY);
        let id = id.and_then(|id| id.parse().ok());
        self.has_ids |= id.is_some();
        Ok(FileNode {
            name: field.name().clone(),
            id,
            data_type: field.data_type().clone(),
            leaves: first..self.leaves,
            children,
        })
    }
}

/// Returns the parts of a nested type.
fn parts(data_type: &ArrowType) -> Option<&[FieldRef]> {
    match data_type {
        ArrowType::Struct(fields) => Some(fields),
        ArrowType::List(element) => Some(slice::from_ref(element)),
        ArrowType::Map(entries, _) => parts(entries.data_type()),
        _ => None,
    }
}

/// Finds columns among siblings by name.
pub(super) struct Names<'a> {
    exact: HashMap<&'a str, NameMatch>,
    lower: HashMap<String, NameMatch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameMatch {
    Unique(usize),
    Ambiguous,
}

impl<'a> Names<'a> {
    pub(super) fn new(nodes: &'a [FileNode]) -> Self {
        let mut names = Self {
            exact: HashMap::with_capacity(nodes.len()),
            lower: HashMap::with_capacity(nodes.len()),
        };
        for (at, node) in nodes.iter().enumerate() {
            let unique = NameMatch::Unique(at);
            let repeated = |name: &mut NameMatch| *name = NameMatch::Ambiguous;
            let exact = names.exact.entry(&node.name);
            exact.and_modify(repeated).or_insert(unique);
            let lower = names.lower.entry(node.name.to_lowercase());
            lower.and_modify(repeated).or_insert(unique);
        }
        names
    }

    /// Returns the column of exactly this name, otherwise one that differs in case only.
    pub(super) fn find(&self, name: &str) -> Option<NameMatch> {
        let exact = self.exact.get(name).copied();
        exact.or_else(|| self.lower.get(&name.to_lowercase()).copied())
    }
}
