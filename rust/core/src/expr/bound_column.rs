//! A column that a predicate uses, found in a schema.

use arrow_schema::DataType;

/// A column that a predicate uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// The names that lead to it, outermost first, as the schema spells them.
    pub path: Vec<String>,
    /// The type of its values.
    pub data_type: DataType,
    /// Of `char(n)`: to how many letters its texts are filled up with blanks. Bounds know nothing of it.
    pub char_length: Option<usize>,
}
