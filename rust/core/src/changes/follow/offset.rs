//! The offset of a stream, in the format of Delta's own streaming source.
//!
//! Format: `DeltaSourceOffset` of delta-spark.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Before any file of a version: `-1` in JSON.
pub(super) const BASE: i64 = -100;

/// A position between two files in the history of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offset {
    /// `metaData.id` of the table.
    pub table_id: String,
    /// The version.
    pub version: u64,
    /// The index of the last file of the version that was returned.
    pub index: i64,
    /// True if the files are those of the snapshot of the version, not those of its commit.
    pub initial: bool,
}

impl Offset {
    /// Returns the offset before the commit of this version.
    pub(super) fn before(table_id: &str, version: u64) -> Self {
        Self {
            table_id: table_id.to_owned(),
            version,
            index: BASE,
            initial: false,
        }
    }

    /// Returns the JSON that delta-spark writes.
    pub fn to_json(&self) -> String {
        let index = if self.index == BASE { -1 } else { self.index };
        let id = Value::String(self.table_id.clone());
        format!(
            "{{\"sourceVersion\":1,\"reservoirId\":{id},\"reservoirVersion\":{},\"index\":{index},\
             \"isStartingVersion\":{}}}",
            self.version, self.initial
        )
    }

    /// Parses an offset written by delta-spark or by [`Offset::to_json`].
    ///
    /// # Errors
    ///
    /// Invalid argument: `follow.offset`.
    pub fn from_json(json: &str) -> Result<Self> {
        let invalid = |reason: &str| {
            let message =
                format!("this is not an offset of a Delta stream that can be resumed: {reason}");
            Error::invalid("follow.offset", message)
        };
        let fields: Map<String, Value> = serde_json::from_str(json)
            .map_err(|cause| invalid("it is not a JSON object").because(cause))?;
        let number = |name: &str| {
            let value = fields.get(name).and_then(Value::as_i64);
            value.ok_or_else(|| invalid(&format!("{name} is not a number")))
        };
        let source = number("sourceVersion")?;
        if source != 1 && source != 3 {
            return Err(invalid(&format!(
                "sourceVersion is {source}: 1 and 3 are known"
            )));
        }
        let index = match number("index")? {
            -1 if source == 1 => BASE,
            BASE => BASE,
            index if index >= 0 => index,
            index @ (-20 | -19) => {
                return Err(invalid(&format!(
                    "index {index} marks a change of the schema, which is not tracked here: start a new \
                     stream after it"
                )));
            }
            index => return Err(invalid(&format!("index is {index}"))),
        };
        let text = fields.get("reservoirId").and_then(Value::as_str);
        let initial = fields.get("isStartingVersion").and_then(Value::as_bool);
        Ok(Self {
            table_id: text
                .ok_or_else(|| invalid("reservoirId is not a string"))?
                .to_owned(),
            version: u64::try_from(number("reservoirVersion")?)
                .map_err(|_| invalid("reservoirVersion is negative"))?,
            index,
            initial: initial
                .ok_or_else(|| invalid("isStartingVersion is neither true nor false"))?,
        })
    }
}

#[cfg(test)]
mod tests;
