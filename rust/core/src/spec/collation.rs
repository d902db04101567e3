//! Texts that Spark compares by a collation: the metadata of a column names it.
//!
//! Nothing here compares by one, so that such columns are read and written, and not compared.
//!
//! Protocol: "Collations".

use arrow_schema::Field;
use serde_json::Value;

use crate::error::Error;
use crate::spec::json::clipped;
use crate::spec::schema::StructField;

/// The key in a column's metadata: the paths of texts in it, with the collation of each.
pub(crate) const COLLATIONS: &str = "__COLLATIONS";

impl StructField {
    /// The collation of the column, or of texts in it, such as `spark.UTF8_LCASE`; `None` where texts are
    /// compared by their bytes.
    pub fn collation(&self) -> Option<String> {
        first(self.metadata.get(COLLATIONS)?)
    }
}

/// The collation of a column in Arrow.
pub(crate) fn collation(field: &Field) -> Option<String> {
    first(&serde_json::from_str(field.metadata().get(COLLATIONS)?).ok()?)
}

/// The error for a column whose texts would have to be compared by its collation.
pub(crate) fn not_compared(column: &str, collation: &str) -> Error {
    let message = format!(
        "the column {} has the collation {}, by which texts are not compared here: compare them in Spark, \
         or select rows by other columns",
        clipped(column),
        clipped(collation)
    );
    Error::unsupported("expression.collation", message)
}

fn first(collations: &Value) -> Option<String> {
    let mut names = collations.as_object()?.values().filter_map(Value::as_str);
    let is_binary = |name: &str| {
        let name = name.rsplit('.').next().unwrap_or(name);
        name.eq_ignore_ascii_case("UTF8_BINARY")
    };
    names.find(|name| !is_binary(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
