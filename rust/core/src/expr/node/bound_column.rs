//! A column of a predicate, resolved in a schema.

use std::fmt::Display;

use arrow_schema::DataType;

use crate::error::Result;
use crate::expr::value::family::Family;
use crate::spec::collation::unsupported_comparison;

/// A column of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// The path to the column, outermost name first, as spelled in the schema.
    pub path: Vec<String>,
    /// The type of its values.
    pub data_type: DataType,
    /// For `char(n)`: the length to which its values are padded with spaces. Bounds are not padded.
    pub char_length: Option<usize>,
    /// The collation by which Spark compares its strings; `None` for bytewise comparison.
    pub collation: Option<String>,
    /// The types that its values can be compared with.
    pub(in crate::expr) family: Family,
}

impl BoundColumn {
    /// Returns the name of its type for messages, without parameters.
    pub(crate) fn type_name(&self) -> impl Display {
        &self.family
    }

    /// Refuses a comparison that would need the collation of the column.
    pub(crate) fn check_collation(&self) -> Result<()> {
        match &self.collation {
            Some(collation) => Err(unsupported_comparison(&self.path.join("."), collation)),
            None => Ok(()),
        }
    }
}
