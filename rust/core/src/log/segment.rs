//! The files of one version: a checkpoint, if there is one, and the commits after it.
//!
//! Takes a [`LogListing`]; returns a [`LogSegment`], or an error with the missing file. No file is opened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::listing::{CheckpointInstance, CompactedFile, LogListing, VersionedFile};
use super::path;
use super::warning::LogWarning;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::FileMeta;

/// A file of the tail: a commit, or a compacted file that replaces several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TailFile {
    /// The first version that it contains.
    pub start: u64,
    /// The last version that it contains.
    pub end: u64,
    /// True for a compacted file.
    pub compacted: bool,
    /// Its path and metadata.
    pub file: FileMeta,
}

impl From<VersionedFile> for TailFile {
    fn from(VersionedFile { version, file }: VersionedFile) -> Self {
        Self {
            start: version,
            end: version,
            compacted: false,
            file,
        }
    }
}

impl From<CompactedFile> for TailFile {
    fn from(CompactedFile { start, end, file }: CompactedFile) -> Self {
        Self {
            start,
            end,
            compacted: true,
            file,
        }
    }
}

/// Unreadable files that a segment must not use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadableFiles {
    /// Paths of (the first files of) checkpoints.
    pub checkpoints: Vec<String>,
    /// Paths of compacted files.
    pub compacted: Vec<String>,
}

/// The files from which one version is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSegment {
    /// The version.
    pub version: u64,
    /// The checkpoint to begin with.
    pub checkpoint: Option<CheckpointInstance>,
    /// Commits and compacted files after the checkpoint, oldest first, without a gap.
    pub tail: Vec<TailFile>,
    /// The commits after the checkpoint, oldest first, also those that compacted files replace in `tail`.
    pub commits: Vec<VersionedFile>,
    /// The commit of the version itself; `None` if only a checkpoint of it is left.
    pub last_commit: Option<FileMeta>,
    /// The checksum of exactly this version.
    pub checksum: Option<FileMeta>,
    /// The modification time of the commit in milliseconds, adjusted so that those of all commits ascend
    /// strictly; that of the checkpoint if there is no commit.
    pub file_timestamp: i64,
    /// The problems that were skipped.
    pub warnings: Vec<LogWarning>,
}

impl LogSegment {
    /// Selects the files of version `target`, or of the newest version.
    ///
    /// # Errors
    ///
    /// Table not found: `table.not_found` if the listing has no version. Version not found: `version.not_found` if
    /// `target` is after the newest version, or can no longer be read. Corrupt: `log.gap`, `log.truncated`, with
    /// the first missing file.
    pub fn choose(
        listing: &LogListing,
        target: Option<u64>,
        unreadable: &UnreadableFiles,
    ) -> Result<Self> {
        let newest = listing
            .latest()
            .ok_or_else(|| missing_version(listing, target))?;
        let version = target.unwrap_or(newest);
        let checkpoint = listing
            .checkpoints
            .iter()
            .rev()
            .find(|checkpoint| {
                checkpoint.version <= version
                    && !unreadable
                        .checkpoints
                        .iter()
                        .any(|path| path == checkpoint.path())
            })
            .cloned();
        let begin = checkpoint
            .as_ref()
            .map_or(0, |checkpoint| checkpoint.version.saturating_add(1));
        let commits: Vec<VersionedFile> = listing
            .commits
            .iter()
            .filter(|commit| (begin..=version).contains(&commit.version))
            .cloned()
            .collect();
        let checkpoint_version = checkpoint.as_ref().map(|checkpoint| checkpoint.version);
        check_contiguous(&commits, begin, version, checkpoint.is_some()).map_err(|error| {
            let is_expired = Some(version) < listing.earliest_recreatable();
            if version > newest || is_expired {
                missing_version(listing, target)
            } else {
                error
            }
        })?;
        let timestamps = file_timestamps(&listing.commits);
        let last_commit = timestamps
            .iter()
            .find(|(commit, _)| commit.version == version);
        let mut warnings: Vec<LogWarning> = listing
            .warnings
            .iter()
            .filter(|warning| {
                let is_needed = |file: u64| file <= version && Some(file) >= checkpoint_version;
                warning.version.is_some_and(is_needed)
            })
            .cloned()
            .collect();
        if last_commit.is_none() {
            let message = "the commit of the checkpoint's version does not exist: its timestamp and provenance are unknown; \
                keep the commit of the oldest checkpoint when cleaning the log";
            warnings.push(LogWarning::new(
                "log.checkpoint_only",
                path::commit_path(version),
                Some(version),
                message,
            ));
        }
        let checkpoint_file = checkpoint
            .as_ref()
            .and_then(|checkpoint| checkpoint.files.first());
        Ok(Self {
            version,
            tail: tail(listing, &commits, begin, version, unreadable),
            file_timestamp: last_commit
                .map(|(_, time)| *time)
                .or(checkpoint_file.map(|file| file.modification_time))
                .unwrap_or_default(),
            last_commit: last_commit.map(|(commit, _)| commit.file.clone()),
            checksum: listing.checksum(version),
            commits,
            checkpoint,
            warnings,
        })
    }

    /// Returns the paths of the checkpoint and the tail.
    pub fn paths(&self) -> Vec<&str> {
        let checkpoint = self
            .checkpoint
            .iter()
            .flat_map(|checkpoint| &checkpoint.files);
        let tail = self.tail.iter().map(|file| &file.file);
        checkpoint
            .chain(tail)
            .map(|file| file.path.as_str())
            .collect()
    }
}

/// Returns the error for a missing commit that later versions follow.
pub(crate) fn gap(version: u64) -> Error {
    let message = "this commit is missing, but later versions exist; restore the file from a backup or \
        another replica";
    Error::corrupt("log.gap", message)
        .at_path(path::commit_path(version))
        .at_version(version)
}

/// Checks that these commits are the versions `begin..=version`.
pub(super) fn check_contiguous(
    commits: &[VersionedFile],
    begin: u64,
    version: u64,
    after_checkpoint: bool,
) -> Result<()> {
    let missing = |missing: u64| {
        if missing != begin || after_checkpoint {
            return Err(gap(missing));
        }
        let problem = commits.first().map_or_else(
            || "there are no commits".to_owned(),
            |first| format!("the log begins at version {}", first.version),
        );
        let message = format!(
            "{problem}, and there is no complete checkpoint to begin with: the start of the log is missing; \
             restore the file from a backup or another replica"
        );
        Err(Error::corrupt("log.truncated", message)
            .at_path(path::commit_path(missing))
            .at_version(missing))
    };
    let mut expected = begin;
    for commit in commits {
        if commit.version != expected {
            return missing(expected);
        }
        expected += 1;
    }
    if expected <= version {
        missing(expected)
    } else {
        Ok(())
    }
}

/// Returns the tail: compacted files instead of the commits that they contain, and the remaining commits.
fn tail(
    listing: &LogListing,
    commits: &[VersionedFile],
    begin: u64,
    version: u64,
    unreadable: &UnreadableFiles,
) -> Vec<TailFile> {
    // as in delta-spark, the shortest of the compacted files with the same first version
    let mut usable: BTreeMap<u64, &CompactedFile> = BTreeMap::new();
    for file in &listing.compacted {
        if file.start >= begin
            && file.end <= version
            && !unreadable.compacted.contains(&file.file.path)
        {
            let best = usable.entry(file.start).or_insert(file);
            if file.end < best.end {
                *best = file;
            }
        }
    }
    let mut tail = Vec::with_capacity(commits.len());
    let mut covered = begin;
    for commit in commits {
        if commit.version < covered {
            continue;
        }
        let file = match usable.get(&commit.version) {
            Some(compacted) => TailFile::from((*compacted).clone()),
            None => TailFile::from(commit.clone()),
        };
        covered = file.end.saturating_add(1);
        tail.push(file);
    }
    tail
}

/// Returns the commits with their modification times in milliseconds, adjusted to ascend strictly.
pub fn file_timestamps(commits: &[VersionedFile]) -> Vec<(&VersionedFile, i64)> {
    let mut last = i64::MIN;
    let mut timestamps = Vec::with_capacity(commits.len());
    for commit in commits {
        last = commit.file.modification_time.max(last.saturating_add(1));
        timestamps.push((commit, last));
    }
    timestamps
}

/// Returns the error for a log without a version.
pub fn missing_table() -> Error {
    Error::new(
        ErrorKind::TableNotFound,
        "table.not_found",
        "no Delta table here: there is no commit and no complete checkpoint in _delta_log",
    )
}

fn missing_version(listing: &LogListing, target: Option<u64>) -> Error {
    let (Some(version), Some(latest)) = (target, listing.latest()) else {
        return missing_table();
    };
    let range = listing.earliest_recreatable().map_or_else(
        || format!("the newest version is {latest}"),
        |earliest| format!("versions {earliest} to {latest} can be read"),
    );
    Error::new(
        ErrorKind::VersionNotFound,
        "version.not_found",
        format!("version {version} is not in the log; {range}"),
    )
    .at_version(version)
}
