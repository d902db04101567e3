//! Maintenance of tables: optimize, vacuum, restore, clone, conversion, advice, verification.

pub mod advice;
pub mod clone;
pub mod convert;
pub mod optimize;
pub mod restore;
pub mod vacuum;
pub mod verify;

/// Serializes a report, or what one process sends to another, as JSON.
pub fn to_json<T: serde::Serialize>(report: &T) -> String {
    // cannot fail: no map has keys other than strings, and Arrow values are written to memory
    serde_json::to_string(report).unwrap_or_default()
}

#[cfg(test)]
mod tests;
