//! The isolation levels of transactions.

use crate::error::{Error, Result};

/// The concurrent commits that conflict with a transaction. At every level, a commit conflicts if it removed
/// a file that the transaction read or also removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// A commit also conflicts if it added a file that the transaction should have read: the table is as if
    /// the transactions had run one after the other.
    Serializable,
    /// As [`Self::Serializable`], but blind appends do not conflict, unless the transaction changes the
    /// metadata.
    WriteSerializable,
    /// Added files do not conflict.
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
                    "{name:?} is not an isolation level: the levels are Serializable, WriteSerializable \
                     and SnapshotIsolation"
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
