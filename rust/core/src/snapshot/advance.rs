//! Loads the newest version from an older snapshot: only the new commits are read.
//!
//! Everything that did not change, such as protocol, metadata and live files, is shared with the older
//! snapshot.

use std::sync::Arc;

use super::cache::ReplayCache;
use super::load::{empty_commits, in_commit_timestamp, load, read_checksum};
use super::segment_replay::{with_key_fields, without_data_change};
use super::{Inner, Snapshot, TableDefinition, strict_error};
use crate::codec::commit::{ActionBatch, ActionSelection};
use crate::codec::file_actions::{ADD_FIELDS, FileField};
use crate::error::{Error, Result};
use crate::log::segment::gap;
use crate::log::{LogListing, LogSegment, LogWarning, path};
use crate::replay::{ActiveFiles, Reconciler, Source, decode_tail};
use crate::storage::FileMeta;

impl Snapshot {
    /// Returns the newest version of the table; the same snapshot if there is no newer one. Verified if
    /// this one is.
    ///
    /// # Errors
    ///
    /// As [`load`]; if this one is verified, also as [`Snapshot::verify`].
    pub fn advance(&self, source: &Source) -> Result<Self> {
        let next = self.advanced(source)?;
        if self.is_verified() && !next.is_verified() {
            next.verify(source)?;
        }
        Ok(next)
    }

    fn advanced(&self, source: &Source) -> Result<Self> {
        let segment = self.segment();
        let listing = LogListing::read(&*source.storage, self.version())?;
        let is_unchanged = match (listing.commits.first(), &segment.last_commit) {
            (Some(now), Some(then)) => now.version == self.version() && is_same(&now.file, then),
            _ => false,
        };
        let has_newer_checkpoint = listing
            .checkpoints
            .iter()
            .any(|checkpoint| checkpoint.version > self.version());
        if !is_unchanged || (has_newer_checkpoint && self.0.cache.files().is_none()) {
            // the commit was rewritten or cleaned up, or there is a segment with a shorter tail
            return load(source, None, self.0.strict);
        }
        let Some(newest) = listing
            .commits
            .last()
            .filter(|newest| newest.version > self.version())
        else {
            return Ok(self.clone());
        };
        let next = extended(&segment, &listing, newest.version)?;
        self.with_commits(source, next, segment.tail.len())
    }

    /// Returns the snapshot of a longer segment, whose tail has new files from this index on.
    fn with_commits(&self, source: &Source, segment: LogSegment, first_new: usize) -> Result<Self> {
        let version = segment.version;
        let located = |error: Error| error.at_version(version);
        let mut warnings = self.warnings();
        let num_old_warnings = warnings.len();
        let is_new = |warning: &LogWarning| warning.version > Some(self.version());
        warnings.extend(empty_commits(&segment).into_iter().filter(is_new));
        let cached = self.0.cache.files();
        let fields = cached.as_ref().map(|files| files.columns().fields());
        let selection = ActionSelection {
            adds: fields
                .as_ref()
                .map(|fields| with_key_fields(fields, &ADD_FIELDS)),
            removes: fields
                .as_ref()
                .map(|_| vec![FileField::Path, FileField::DeletionVector]),
            control: true,
            commit_infos: true,
            ..ActionSelection::default()
        };
        let new = segment.tail.get(first_new..).unwrap_or_default();
        let batches = decode_tail(&source.storage, new, &selection)?;
        let protocol = batches.iter().rev().find_map(ActionBatch::protocol);
        let metadata = batches.iter().rev().find_map(ActionBatch::metadata);
        let definition = if protocol.is_none() && metadata.is_none() {
            Arc::clone(&self.0.definition)
        } else {
            let protocol = protocol.unwrap_or(self.protocol()).clone();
            let metadata = metadata.unwrap_or(self.metadata()).clone();
            Arc::new(
                TableDefinition::new(source, protocol, metadata, &mut warnings).map_err(located)?,
            )
        };
        // typed columns have the types of the old schema
        let files = cached
            .filter(|files| metadata.is_none() || !files.columns().depend_on_schema())
            .map(|files| advance_files(source, &files, &batches).map(Arc::new))
            .transpose()?;
        let state = self.0.cache.state().map(|state| {
            let mut state = (*state).clone();
            batches.iter().for_each(|batch| state.apply(batch));
            Arc::new(state)
        });
        let checksum = read_checksum(source, &segment, &mut warnings)?;
        if let Some(warning) = warnings.get(num_old_warnings).filter(|_| self.0.strict) {
            return Err(strict_error(warning));
        }
        let commit_info = batches.last().and_then(ActionBatch::commit_info);
        let in_commit_timestamp =
            in_commit_timestamp(&definition, &segment, commit_info, checksum.as_ref())?;
        let next = Self(Arc::new(Inner {
            version,
            strict: self.0.strict,
            timestamp: in_commit_timestamp.unwrap_or_else(|| {
                segment
                    .file_timestamp
                    .max(self.timestamp().saturating_add(1))
            }),
            in_commit_timestamp,
            definition,
            checksum,
            cache: ReplayCache::new(segment, warnings, files, state),
        }));
        next.verify_advanced().map_err(located)?;
        Ok(next)
    }

    fn verify_advanced(&self) -> Result<()> {
        if let Some(state) = self.0.cache.state() {
            self.verify_state(&state)?;
        }
        match self.0.cache.files() {
            // the total size is only verified when all files are replayed
            Some(files) => self.verify_totals(files.num_rows() as u64, None),
            None => Ok(()),
        }
    }
}

/// Returns the older segment with the newer commits of the listing.
fn extended(segment: &LogSegment, listing: &LogListing, version: u64) -> Result<LogSegment> {
    let mut next = segment.clone();
    for commit in listing
        .commits
        .iter()
        .filter(|commit| commit.version > segment.version)
    {
        let expected = next.version.saturating_add(1);
        if commit.version != expected {
            return Err(gap(expected));
        }
        next.version = commit.version;
        next.file_timestamp = commit
            .file
            .modification_time
            .max(next.file_timestamp.saturating_add(1));
        next.tail.push(commit.clone().into());
        next.last_commit = Some(commit.file.clone());
        next.commits.push(commit.clone());
    }
    next.checksum = listing.checksum(version);
    Ok(next)
}

/// Returns `true` if two listings show the same commit; a commit that a catalog ratified moves when it is
/// published.
pub(crate) fn is_same(now: &FileMeta, then: &FileMeta) -> bool {
    let staged = |file: &FileMeta| path::staged_version(&file.path).is_some();
    now == then || (staged(now) != staged(then) && now.size == then.size)
}

fn advance_files(
    source: &Source,
    cached: &ActiveFiles,
    batches: &[ActionBatch],
) -> Result<ActiveFiles> {
    let mut reconciler = Reconciler::new(source.keys.clone());
    let mut added = Vec::new();
    for batch in batches.iter().rev() {
        let live = reconciler.add_older(batch)?;
        if let Some(rows) = live.adds {
            added.push((
                without_data_change(cached.columns().compute(&rows)?)?,
                live.add_keys,
            ));
        }
    }
    added.reverse();
    cached.advance(&reconciler.into_seen(), added)
}
