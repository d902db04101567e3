//! Strings that Spark compares by a collation, which is in the metadata of the column.
//!
//! Collations are not implemented: such columns can be read and written, but not compared.
//!
//! Protocol: the RFC "Collated String Type".

use arrow_schema::Field;
use serde_json::Value;

use crate::error::Error;
use crate::spec::json::clipped;
use crate::spec::schema::StructField;

/// The key in a column's metadata; its value maps the paths of strings in the column to their collations.
pub(crate) const COLLATIONS: &str = "__COLLATIONS";

impl StructField {
    /// Returns the collation of the column, or of strings in it, such as `spark.UTF8_LCASE`; `None` for
    /// bytewise comparison.
    pub fn collation(&self) -> Option<String> {
        non_binary(self.metadata.get(COLLATIONS)?)
    }
}

/// Returns the collation of a column in Arrow.
pub(crate) fn collation(field: &Field) -> Option<String> {
    non_binary(&serde_json::from_str(field.metadata().get(COLLATIONS)?).ok()?)
}

/// Returns the error for a comparison that would need the collation of a column.
pub(crate) fn unsupported_comparison(column: &str, collation: &str) -> Error {
    let message = format!(
        "the column {} has the collation {}, which is not supported in comparisons: compare its values in \
         Spark, or select rows by other columns",
        clipped(column),
        clipped(collation)
    );
    Error::unsupported("expression.collation", message)
}

fn non_binary(collations: &Value) -> Option<String> {
    let mut names = collations.as_object()?.values().filter_map(Value::as_str);
    let is_binary = |name: &str| {
        let name = name.rsplit('.').next().unwrap_or(name);
        name.eq_ignore_ascii_case("UTF8_BINARY")
    };
    names.find(|name| !is_binary(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
