//! A column that a predicate uses, found in a schema.

use arrow_schema::DataType;

use crate::error::Result;
use crate::expr::value::family::Family;
use crate::spec::collation::not_compared;

/// A column that a predicate uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// The names that lead to it, outermost first, as the schema spells them.
    pub path: Vec<String>,
    /// The type of its values.
    pub data_type: DataType,
    /// For `char(n)`: the number of characters that its values are padded to with spaces. Bounds
    /// know nothing of it.
    pub char_length: Option<usize>,
    /// By what Spark compares its texts, if not by their bytes.
    pub collation: Option<String>,
    /// What its values compare with.
    pub(in crate::expr) family: Family,
}

impl BoundColumn {
    /// Refuses a comparison that would need the collation of the column.
    ///
    /// # Errors
    ///
    /// Unsupported: `expression.collation`.
    pub(crate) fn comparable(&self) -> Result<()> {
        match &self.collation {
            Some(collation) => Err(not_compared(&self.path.join("."), collation)),
            None => Ok(()),
        }
    }
}
