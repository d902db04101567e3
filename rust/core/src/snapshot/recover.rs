//! The fallback when a file of the log cannot be read: an older checkpoint, or the commits.

use super::Snapshot;
use super::state::read_state;
use crate::error::{Error, ErrorKind, Result};
use crate::log::path::SIDECAR_DIRECTORY;
use crate::log::{LogListing, LogSegment, LogWarning, UnreadableFiles};
use crate::replay::Source;

/// Adds the file of the error to the unreadable ones and returns a warning about it, if another segment may
/// do without the file.
pub(super) fn avoid_unreadable(
    error: &Error,
    segment: &LogSegment,
    unreadable: &mut UnreadableFiles,
) -> Option<LogWarning> {
    // a path that leads out of the table is an attack, and a log without a protocol is not the fault of one
    // file
    let broken = error.kind() == ErrorKind::Corrupt
        && !["path.", "log."]
            .iter()
            .any(|group| error.code().starts_with(group))
        || error.code() == "data.encrypted";
    if !broken && error.code() != "storage.not_found" {
        return None;
    }
    let path = error.path()?;
    if let Some(file) = segment
        .tail
        .iter()
        .find(|file| file.compacted && file.file.path == path)
    {
        unreadable.compacted.push(file.file.path.clone());
        let message =
            format!("the compacted file was ignored; its commits were read instead: {error}");
        return Some(LogWarning::new(
            "compacted.unreadable",
            path,
            Some(file.end),
            message,
        ));
    }
    let checkpoint = segment.checkpoint.as_ref()?;
    let is_listed = checkpoint.files.iter().any(|file| file.path == path);
    if !is_listed && !path.starts_with(SIDECAR_DIRECTORY) {
        return None;
    }
    unreadable.checkpoints.push(checkpoint.path().to_owned());
    let message = format!(
        "the checkpoint of version {} was ignored; an older one or the commits were read instead: {error}",
        checkpoint.version
    );
    Some(LogWarning::new(
        "checkpoint.unreadable",
        path,
        Some(checkpoint.version),
        message,
    ))
}

/// Attributes a missing sidecar to the checkpoint instead of the storage.
pub(super) fn missing_sidecar(error: Error) -> Error {
    let Some(path) = error
        .path()
        .filter(|path| path.starts_with(SIDECAR_DIRECTORY))
    else {
        return error;
    };
    if error.code() != "storage.not_found" {
        return error;
    }
    let message = "the checkpoint references this sidecar, but it does not exist: restore it, or delete the \
        checkpoint if the commits before it are still in the log";
    Error::corrupt("checkpoint.sidecar_missing", message).at_path(path.to_owned())
}

impl Snapshot {
    /// Runs `work` on the segment; if a checkpoint or a compacted file is unreadable, runs it on the next
    /// best segment of the same version.
    pub(super) fn with_fallback<T>(
        &self,
        source: &Source,
        work: impl Fn(&LogSegment) -> Result<T>,
    ) -> Result<T> {
        let mut unreadable = UnreadableFiles::default();
        let mut first_error: Option<Error> = None;
        loop {
            let segment = self.segment();
            let error = match work(&segment) {
                Ok(result) => return Ok(result),
                Err(error) => self.located(missing_sidecar(error)),
            };
            let warning = avoid_unreadable(&error, &segment, &mut unreadable);
            let first = first_error.unwrap_or(error);
            let Some(warning) = warning.filter(|_| !self.0.strict) else {
                return Err(first);
            };
            let listing = LogListing::read(&*source.storage, 0)?;
            let Ok(next) = LogSegment::choose(&listing, Some(self.version()), &unreadable) else {
                return Err(first);
            };
            // nothing that was read from the broken file is used, not even its protocol and metadata
            let state = read_state(source, &next).ok();
            let definition = &self.0.definition;
            if let Some(state) = &state {
                let protocol = state.protocol.as_ref();
                if protocol.is_none_or(|protocol| !protocol.is_equivalent(&definition.protocol))
                    || state.metadata.as_ref() != Some(&definition.metadata)
                {
                    return Err(first);
                }
            }
            first_error = Some(first);
            self.warn(warning)?;
            self.0.cache.replace_segment(next, state);
        }
    }
}
