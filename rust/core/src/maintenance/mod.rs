//! Maintenance of tables: optimize, vacuum, restore, clone, conversion, advice, verification.

pub mod advice;
pub mod clone;
pub mod convert;
pub mod optimize;
pub mod restore;
pub mod vacuum;
pub mod verify;

/// Serializes a report as JSON.
pub fn to_json<T: serde::Serialize>(report: &T) -> String {
    // numbers, strings and lists of them always serialize
    serde_json::to_string(report).unwrap_or_default()
}

#[cfg(test)]
mod tests;
