//! The isolation of transactions.

use crate::error::{Error, Result};

/// The promise of a transaction about the data that it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// As if every commit had come one after the other.
    Serializable,
    /// The same for writes; rows that were added blindly in between may be missed.
    WriteSerializable,
    /// Nothing but what was written decides.
    SnapshotIsolation,
}

impl IsolationLevel {
    /// The level of this name.
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

    /// Its name in `commitInfo`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "Serializable",
            Self::WriteSerializable => "WriteSerializable",
            Self::SnapshotIsolation => "SnapshotIsolation",
        }
    }
}
