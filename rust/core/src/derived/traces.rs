//! Traces of a table feature: the log files that need it. The feature can be dropped with its history once
//! there are none.
//!
//! A commit has traces in its metadata and its files, a checkpoint in its metadata and its kind. From the
//! barrier on, the first checkpoint after all traces, no log file needs the feature.
//!
//! Protocol: "Table Features", "Checkpoint Protection"; traces as in delta-spark.

use arrow_array::Array;

use crate::codec::commit::{ActionDecoder, ActionSelection, FileActions};
use crate::codec::file_actions::FileField;
use crate::error::Result;
use crate::log::CheckpointInstance;
use crate::log::commit::decode_files;
use crate::log::path::CheckpointName;
use crate::log::segment::file_timestamps;
use crate::log::{LogListing, VersionedFile};
use crate::replay::{Checkpoint, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;
use crate::spec::Metadata;
use crate::spec::features::find_feature;
use crate::spec::schema::StructType;
use crate::storage::interrupt;

/// The feature that protects checkpoints from removal, and the property with the version before which they
/// are protected.
pub(crate) const PROTECTION: &str = "checkpointProtection";
pub(crate) const PROTECTED: &str = "delta.requireCheckpointProtectionBeforeVersion";

/// Commits are read in runs of about this many bytes and at most this many commits.
const RUN_BYTES: u64 = 4 << 20;
const RUN_COMMITS: usize = 256;

/// The traces of a feature in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traces {
    /// The newest version with a trace.
    pub last: Option<u64>,
    /// The first checkpoint after it without a trace, and the commit timestamp of its version in milliseconds
    /// since the epoch.
    pub barrier: Option<(u64, i64)>,
    /// True if no log file needs the feature.
    pub none: bool,
}

impl Traces {
    /// Searches all log files up to a snapshot for a feature that the snapshot no longer uses.
    pub fn of(source: &Source, feature: &str, snapshot: &Snapshot) -> Result<Self> {
        let mut listing = LogListing::read(&*source.storage, 0)?;
        let newest = snapshot.version();
        listing.commits.retain(|commit| commit.version <= newest);
        listing
            .checkpoints
            .retain(|instance| instance.version <= newest);
        let last = if feature == PROTECTION {
            let protected = protected_before(snapshot.metadata());
            let first = listing.earliest().filter(|first| *first < protected);
            first.map(|_| protected - 1)
        } else {
            let commit = last_commit(source, &listing.commits, feature)?;
            commit.max(last_v2_checkpoint(source, &listing.checkpoints, feature)?)
        };
        let mut barrier = None;
        let later =
            |instance: &&CheckpointInstance| last.is_none_or(|last| instance.version > last);
        for checkpoint in listing.checkpoints.iter().filter(later) {
            let state = load(source, Some(checkpoint.version), false)?;
            if !in_metadata(feature, state.metadata())? {
                barrier = Some(checkpoint.version);
                break;
            }
        }
        let first = listing.checkpoints.first().map(|instance| instance.version);
        let times = file_timestamps(&listing.commits);
        let time_of = |version| {
            let commit = times.iter().find(|(commit, _)| commit.version == version);
            (version, commit.map_or(i64::MIN, |(_, time)| *time))
        };
        Ok(Self {
            last,
            barrier: barrier.map(time_of),
            none: last.is_none() && barrier == first,
        })
    }
}

/// Returns the version before which checkpoints are protected; 0 if none is.
pub(super) fn protected_before(metadata: &Metadata) -> u64 {
    let text = metadata.property(PROTECTED);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the newest commit with a trace; searches from the newest commit backwards.
fn last_commit(source: &Source, commits: &[VersionedFile], feature: &str) -> Result<Option<u64>> {
    let files = (feature == "deletionVectors").then(|| vec![FileField::DeletionVector]);
    let selection = ActionSelection {
        adds: files.clone(),
        removes: files,
        control: true,
        ..ActionSelection::default()
    };
    let mut remaining = commits;
    while !remaining.is_empty() {
        interrupt::check()?;
        let (rest, run) = last_run(remaining);
        remaining = rest;
        let mut decoder = ActionDecoder::new(selection.clone());
        let files = run.iter().map(|commit| (&commit.file, commit.version));
        decode_files(&*source.storage, &files.collect::<Vec<_>>(), &mut decoder)?;
        let actions = decoder.finish()?;
        let mut positions = with_vectors(actions.adds.as_ref());
        positions.extend(with_vectors(actions.removes.as_ref()));
        for (position, metadata) in &actions.metadatas {
            if in_metadata(feature, metadata)? {
                positions.push(*position);
            }
        }
        if let Some(position) = positions.into_iter().max() {
            let next = actions.starts.partition_point(|start| *start <= position);
            let commit = next.checked_sub(1).and_then(|index| run.get(index));
            return Ok(commit.map(|commit| commit.version));
        }
    }
    Ok(None)
}

/// Splits off the last run of commits.
fn last_run(commits: &[VersionedFile]) -> (&[VersionedFile], &[VersionedFile]) {
    let mut bytes = 0_u64;
    let fits = |commit: &&VersionedFile| {
        let before = bytes;
        bytes = bytes.saturating_add(commit.file.size);
        before < RUN_BYTES
    };
    let run = commits.iter().rev().take(RUN_COMMITS).take_while(fits);
    let length = run.count();
    commits
        .split_at_checked(commits.len() - length)
        .unwrap_or((commits, &[]))
}

/// Returns the positions of actions with a deletion vector.
fn with_vectors(files: Option<&FileActions>) -> Vec<u32> {
    let Some(files) = files else {
        return Vec::new();
    };
    let Some(vectors) = files.rows.column_by_name("deletionVector") else {
        return Vec::new();
    };
    let rows = files.sequence.iter().enumerate();
    rows.filter(|(row, _)| !vectors.is_null(*row))
        .map(|(_, position)| *position)
        .collect()
}

/// Returns the newest V2 checkpoint if this is the feature `v2Checkpoint`.
fn last_v2_checkpoint(
    source: &Source,
    checkpoints: &[CheckpointInstance],
    feature: &str,
) -> Result<Option<u64>> {
    if feature != "v2Checkpoint" {
        return Ok(None);
    }
    for checkpoint in checkpoints.iter().rev() {
        let has_uuid = matches!(checkpoint.name, CheckpointName::Uuid { .. });
        if has_uuid
            || !Checkpoint::read_control(source, checkpoint)?
                .sidecars
                .is_empty()
        {
            return Ok(Some(checkpoint.version));
        }
    }
    Ok(None)
}

/// Returns `true` if this metadata needs the feature.
fn in_metadata(feature: &str, metadata: &Metadata) -> Result<bool> {
    Ok(match feature {
        "typeWidening" | "typeWidening-preview" => {
            let schema = StructType::parse(&metadata.schema_string)?;
            has_type_changes(&schema)
        }
        "deletionVectors" | "columnMapping" | "v2Checkpoint" => match find_feature(feature) {
            Some(feature) => feature.is_required_by(metadata, &StructType::default()),
            None => false,
        },
        _ => false,
    })
}

pub(crate) fn has_type_changes(schema: &StructType) -> bool {
    let changed = |key: &String| key.starts_with("delta.typeChanges");
    schema
        .all_fields()
        .any(|field| field.metadata.keys().any(changed))
}
