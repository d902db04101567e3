//! The state of a version without its files: protocol, metadata, transactions and domains.

use std::sync::Arc;

use super::Snapshot;
use crate::codec::commit::ActionSelection;
use crate::error::{Error, Result};
use crate::log::LogSegment;
use crate::replay::{Checkpoint, LogState, Source, decode_tail};
use crate::spec::{Metadata, Protocol};

impl Snapshot {
    /// Returns the state, which is read once.
    pub(super) fn state(&self, source: &Source) -> Result<Arc<LogState>> {
        if let Some(state) = self.0.cache.state() {
            return Ok(state);
        }
        let state = self.with_fallback(source, |segment| read_state(source, segment))?;
        self.verify_state(&state)
            .map_err(|error| self.located(error))?;
        Ok(self.0.cache.keep_state(state))
    }
}

/// Reads protocol, metadata, transactions and domains from the checkpoint and the tail.
pub(super) fn read_state(source: &Source, segment: &LogSegment) -> Result<LogState> {
    let mut state = match &segment.checkpoint {
        Some(checkpoint) => LogState::of_checkpoint(&Checkpoint::read_control(source, checkpoint)?),
        None => LogState::default(),
    };
    let selection = ActionSelection {
        control: true,
        ..ActionSelection::default()
    };
    for batch in decode_tail(&source.storage, &segment.tail, &selection)? {
        state.apply(&batch);
    }
    Ok(state)
}

/// Returns protocol and metadata of a replayed state; the log is corrupt if one of them is missing.
pub(super) fn definition_of(
    state: &LogState,
    segment: &LogSegment,
) -> Result<(Protocol, Metadata)> {
    let missing = |code, action: &str| {
        let message = format!(
            "neither the commits nor the checkpoint hold a {action} action: the log is damaged; restore \
             its first commit from a backup"
        );
        let first = segment
            .paths()
            .first()
            .map(|path| (*path).to_owned())
            .unwrap_or_default();
        Error::corrupt(code, message)
            .at_path(first)
            .at_version(segment.version)
    };
    let protocol = state
        .protocol
        .clone()
        .ok_or_else(|| missing("log.no_protocol", "protocol"))?;
    let metadata = state
        .metadata
        .clone()
        .ok_or_else(|| missing("log.no_metadata", "metaData"))?;
    Ok((protocol, metadata))
}
