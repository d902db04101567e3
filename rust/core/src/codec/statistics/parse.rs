//! Parses statistics into a typed struct, for the requested columns only.
//!
//! Each text is parsed once, front to back, directly into the columns of the result. Keys usually have the
//! order of the shape, so the next key is predicted, and the text after the last one is skipped in blocks.
//! Nothing recurses into the text: the stack is only as deep as the shape.
//!
//! Protocol: "Per-file Statistics".

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArrayType, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::MAX_SCHEMA_DEPTH;
use super::columns::{Leaf, all_null};
use super::format;
use super::scan;
use crate::error::{Error, Result};
use crate::spec::json::{Cursor, RawString};

/// Parses the statistics of each row into a struct with the fields of `shape`, all of them nullable.
///
/// `shape` is a result of [`super::stats_schema`], or any part of it. A missing key, a bound that is not a
/// value of its column's type (`"abc"` for a number, a number out of range, a decimal with more digits than
/// its scale) and a value of another kind are null. The first of duplicate keys counts; if its value is null,
/// a later one may count.
///
/// A text that is not a single JSON object gives a null row. Objects and arrays that are not in the shape, and
/// the rest of an object once its fields in the shape have been read, are only checked for terminated strings
/// and balanced brackets.
///
/// A leaf of type `LargeUtf8` gets numbers as they are written.
///
/// Timestamps may have any offset and up to nine fractional digits; without an offset they are in
/// UTC. `"NaN"`, `"Infinity"` and `"-Infinity"` are floating-point bounds.
///
/// # Errors
///
/// Invalid argument: `stats.shape` if a leaf of `shape` has a type that statistics do not have, or a column is in
/// more than 100 structs, apart from `minValues` and the like.
pub fn parse_stats<'a, S: StringArrayType<'a>>(stats: S, shape: &Fields) -> Result<StructArray> {
    let rows = stats.len();
    let nulls = stats.nulls();
    let mut builder = StatsBuilder::new(shape, rows)?;
    for row in 0..rows {
        if nulls.is_none_or(|nulls| nulls.is_valid(row))
            && builder.read(row, stats.value(row)).is_none()
        {
            builder.clear(row);
        }
    }
    builder.finish().map_err(|cause| {
        Error::invalid("stats.shape", "these columns cannot hold statistics").because(cause)
    })
}

/// The columns being built: the shape as a flat list of nodes, parents first.
struct StatsBuilder {
    nodes: Vec<Node>,
    /// The open structs of the current text; reused between rows.
    open: Vec<OpenStruct>,
    scratch: String,
}

enum Node {
    Leaf(Leaf),
    Struct {
        valid: BooleanBufferBuilder,
        children: Children,
        fields: Fields,
    },
}

/// A struct whose closing brace has not been reached.
struct OpenStruct {
    node: usize,
    /// The child that is expected next: writers usually keep the schema's order.
    next: usize,
    /// True if all children before `next` have occurred.
    complete: bool,
}

/// The fields of one struct, in order.
#[derive(Default)]
struct Children {
    fields: Vec<Child>,
    indexes: HashTable<usize>,
}

struct Child {
    name: Box<str>,
    /// The key as it usually appears in the text: quoted, followed by a colon.
    key: Box<[u8]>,
    node: usize,
}

impl Children {
    /// Takes a key and returns the index and the node of the field with this name, if there is one; `None` if the
    /// key is malformed.
    #[inline]
    fn take(
        &self,
        cursor: &mut Cursor<'_>,
        next: usize,
        scratch: &mut String,
    ) -> Option<Option<(usize, usize)>> {
        cursor.peek()?;
        match self.fields.get(next) {
            Some(child) if cursor.take_exact(&child.key) => Some(Some((next, child.node))),
            _ => Some(self.find(scan::key(cursor)?, scratch)),
        }
    }

    fn find(&self, key: RawString<'_>, scratch: &mut String) -> Option<(usize, usize)> {
        let key = key.strict(scratch)?;
        let same = |index: &usize| self.name(*index) == Some(key);
        let index = *self.indexes.find(xxh3_64(key.as_bytes()), same)?;
        self.fields.get(index).map(|child| (index, child.node))
    }

    /// Adds a field; of duplicate names only the first is found.
    fn add(&mut self, name: &str, node: usize) {
        let Self { fields, indexes } = self;
        let name_of = |index: &usize| fields.get(*index).map_or("", |child| &*child.name);
        let hash = xxh3_64(name.as_bytes());
        if indexes.find(hash, |index| name_of(index) == name).is_none() {
            indexes.insert_unique(hash, fields.len(), |index| {
                xxh3_64(name_of(index).as_bytes())
            });
        }
        let mut key = Vec::new();
        format::string(&mut key, name);
        key.push(b':');
        fields.push(Child {
            name: name.into(),
            key: key.into(),
            node,
        });
    }

    fn name(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|child| &*child.name)
    }
}

impl StatsBuilder {
    fn new(shape: &Fields, rows: usize) -> Result<Self> {
        let mut nodes = Vec::new();
        add_struct(shape, rows, 0, &mut nodes)?;
        Ok(Self {
            nodes,
            open: Vec::new(),
            scratch: String::new(),
        })
    }

    /// Fills one row; `None` if the text is malformed, with the row partly filled.
    fn read(&mut self, row: usize, text: &str) -> Option<()> {
        let Self {
            nodes,
            open,
            scratch,
        } = self;
        let mut cursor = Cursor::new(text);
        open.clear();
        cursor.begin_object().ok()?;
        enter(nodes, open, 0, row);
        if cursor.take_byte(b'}') {
            return cursor.end().ok();
        }
        loop {
            // A member starts here.
            let top = open.last_mut()?;
            let Node::Struct { children, .. } = nodes.get(top.node)? else {
                return None;
            };
            let child = children.take(&mut cursor, top.next, scratch)?;
            let first = cursor.peek()?;
            let node = child.and_then(|(index, node)| {
                top.complete &= index == top.next;
                top.next = index + 1;
                nodes.get_mut(node).map(|child| (node, child))
            });
            match node {
                Some((_, Node::Leaf(leaf))) if !matches!(first, b'{' | b'[') => {
                    leaf.set(row, scan::scalar(&mut cursor)?, scratch);
                }
                Some((node, Node::Struct { valid, .. }))
                    if first == b'{' && !valid.get_bit(row) =>
                {
                    cursor.begin_object().ok()?;
                    enter(nodes, open, node, row);
                    if !cursor.take_byte(b'}') {
                        continue;
                    }
                    open.pop();
                }
                _ => scan::skip(&mut cursor)?,
            }
            // A value ends here, and possibly the structs that contain it.
            loop {
                if cursor.more(b'}').ok()? {
                    let top = open.last()?;
                    let Some(Node::Struct { children, .. }) = nodes.get(top.node) else {
                        return None;
                    };
                    if !top.complete || top.next < children.fields.len() {
                        break;
                    }
                    cursor.skip_open().ok()?;
                }
                open.pop();
                if open.is_empty() {
                    return cursor.end().ok();
                }
            }
        }
    }

    /// Resets one row of every column to null.
    fn clear(&mut self, row: usize) {
        for node in &mut self.nodes {
            match node {
                Node::Leaf(leaf) => leaf.clear(row),
                Node::Struct { valid, .. } => valid.set_bit(row, false),
            }
        }
    }

    /// Builds the arrays in reverse order, since children follow their parents.
    fn finish(self) -> Result<StructArray, ArrowError> {
        let mut built: Vec<Option<ArrayRef>> = Vec::new();
        built.resize_with(self.nodes.len(), || None);
        let mut last = None;
        for (at, node) in self.nodes.into_iter().enumerate().rev() {
            let array = match node {
                Node::Leaf(leaf) => leaf.finish()?,
                Node::Struct {
                    mut valid,
                    children,
                    fields,
                } => {
                    let rows = valid.len();
                    let nulls = valid.finish().into_inner();
                    let nulls = NullBuffer::from_unsliced_buffer(nulls, rows);
                    let take = |child: &Child| built.get_mut(child.node).and_then(Option::take);
                    let arrays = children.fields.iter().filter_map(take).collect();
                    let array = StructArray::try_new_with_length(fields, arrays, nulls, rows)?;
                    last = Some(array.clone());
                    Arc::new(array)
                }
            };
            if let Some(slot) = built.get_mut(at) {
                *slot = Some(array);
            }
        }
        last.ok_or_else(|| ArrowError::SchemaError("statistics are a struct".to_owned()))
    }
}

/// Opens a struct, whose members follow.
fn enter(nodes: &mut [Node], open: &mut Vec<OpenStruct>, node: usize, row: usize) {
    if let Some(Node::Struct { valid, .. }) = nodes.get_mut(node) {
        valid.set_bit(row, true);
    }
    open.push(OpenStruct {
        node,
        next: 0,
        complete: true,
    });
}

/// Adds a struct with its fields and returns the fields, all made nullable. Recurses along the type, to a
/// bounded depth.
fn add_struct(shape: &Fields, rows: usize, depth: usize, nodes: &mut Vec<Node>) -> Result<Fields> {
    let refuse = |field: &Field| {
        let message = format!(
            "column `{}` cannot hold statistics: take the shape from the table's data columns",
            field.name()
        );
        Error::invalid("stats.shape", message)
    };
    let root = nodes.len();
    nodes.push(Node::Struct {
        valid: all_null(rows),
        children: Children::default(),
        fields: Fields::empty(),
    });
    let mut children = Children::default();
    let mut fields = Vec::with_capacity(shape.len());
    for field in shape {
        let node = nodes.len();
        let data_type = match field.data_type() {
            DataType::Struct(_) if depth > MAX_SCHEMA_DEPTH => return Err(refuse(field)),
            DataType::Struct(inner) => DataType::Struct(add_struct(inner, rows, depth + 1, nodes)?),
            leaf => {
                nodes.push(Node::Leaf(
                    Leaf::new(leaf, rows).ok_or_else(|| refuse(field))?,
                ));
                leaf.clone()
            }
        };
        fields.push(
            field
                .as_ref()
                .clone()
                .with_data_type(data_type)
                .with_nullable(true),
        );
        children.add(field.name(), node);
    }
    let fields = Fields::from(fields);
    if let Some(slot) = nodes.get_mut(root) {
        *slot = Node::Struct {
            valid: all_null(rows),
            children,
            fields: fields.clone(),
        };
    }
    Ok(fields)
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
