//! Compares a replayed state with the version checksum, if there is one.
//!
//! Protocol: "Version Checksum File".

use std::fmt::Debug;

use super::state::definition_of;
use super::{Checksum, Snapshot};
use crate::codec::commit::ActionBatch;
use crate::error::{Error, Result};
use crate::log::LogWarning;
use crate::replay::LogState;
use crate::spec::Protocol;

/// Returns the error for a value on which the log and its checksum disagree.
pub(super) fn mismatch(
    checksum: &Checksum,
    name: &str,
    expected: &dyn Debug,
    actual: &dyn Debug,
) -> Error {
    let message = format!(
        "the log and its checksum disagree on {name}: the checksum says {expected:?}, the log gives {actual:?}; a commit or \
         the checksum is damaged: restore the one that is, or delete the checksum if the log is known to be right"
    );
    Error::corrupt("checksum.mismatch", message).at_path(checksum.path.clone())
}

/// Compares a value, if both the checksum and the log have it.
pub(super) fn check<T: PartialEq + Debug>(
    checksum: &Checksum,
    name: &str,
    expected: Option<&T>,
    actual: Option<&T>,
) -> Result<()> {
    match (expected, actual) {
        (Some(expected), Some(actual)) if expected != actual => {
            Err(mismatch(checksum, name, expected, actual))
        }
        _ => Ok(()),
    }
}

/// Compares a checksum with the version's own commit, before the checksum is used.
pub(super) fn check_definition(checksum: &Checksum, newest: &ActionBatch) -> Result<()> {
    let (protocol, metadata) = (newest.protocol(), newest.metadata());
    check_protocol(checksum, checksum.values.protocol.as_ref(), protocol)?;
    check(
        checksum,
        "the metadata",
        checksum.values.metadata.as_ref(),
        metadata,
    )
}

/// Compares protocols, if both the checksum and the log have one; feature lists are sets.
pub(super) fn check_protocol(
    checksum: &Checksum,
    expected: Option<&Protocol>,
    actual: Option<&Protocol>,
) -> Result<()> {
    match (expected, actual) {
        (Some(expected), Some(actual)) if !expected.is_equivalent(actual) => {
            Err(mismatch(checksum, "the protocol", expected, actual))
        }
        _ => Ok(()),
    }
}

impl Snapshot {
    /// Checks that the replayed state is complete. If there is a checksum, the snapshot's definition may come
    /// from it, and the state must have the same.
    pub(super) fn verify_state(&self, state: &LogState) -> Result<()> {
        let definition = &self.0.definition;
        definition_of(state, &self.segment())?;
        if let Some(checksum) = &self.0.checksum {
            check_protocol(
                checksum,
                Some(&definition.protocol),
                state.protocol.as_ref(),
            )?;
            check(
                checksum,
                "the metadata",
                Some(&definition.metadata),
                state.metadata.as_ref(),
            )?;
        }
        Ok(())
    }

    /// Compares the number of live files, and their total size if known, with the checksum.
    ///
    /// The log is authoritative, so a checksum that disagrees is skipped with a warning. If a commit
    /// is empty, the checksum is the only evidence of lost actions, and the difference is an error.
    pub(super) fn verify_totals(&self, num_files: u64, size_in_bytes: Option<u64>) -> Result<()> {
        let Some(checksum) = &self.0.checksum else {
            return Ok(());
        };
        let files = check(
            checksum,
            "the number of files",
            checksum.values.num_files.as_ref(),
            Some(&num_files),
        );
        let totals = files.and_then(|()| {
            check(
                checksum,
                "the total size",
                checksum.values.table_size_bytes.as_ref(),
                size_in_bytes.as_ref(),
            )
        });
        match totals {
            Err(error) if checksum.is_trusted => {
                self.0.cache.set_contradicted();
                let message = format!("the log was used: {}", error.message());
                self.warn(LogWarning::new(
                    error.code(),
                    checksum.path.clone(),
                    Some(self.version()),
                    message,
                ))
            }
            other => other,
        }
    }
}
