//! The isolation levels of transactions.

use crate::error::{Error, Result};

/// The guarantee of a transaction about the data that it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Equivalent to executing all commits one after the other.
    Serializable,
    /// The same for writes; concurrent blind appends may be missed.
    WriteSerializable,
    /// Only conflicts between writes count.
    SnapshotIsolation,
}

impl IsolationLevel {
    /// Returns the level of this name.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.isolation`.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [
            Self::Serializable,
            Self::WriteSerializable,
            Self::SnapshotIsolation,
        ];
        all.into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                let message = format!(
                    "{name:?} is not an isolation level: it is Serializable, WriteSerializable or \
                     SnapshotIsolation"
                );
                Error::invalid("transaction.isolation", message)
            })
    }

    /// Returns its name in `commitInfo`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "Serializable",
            Self::WriteSerializable => "WriteSerializable",
            Self::SnapshotIsolation => "SnapshotIsolation",
        }
    }
}
