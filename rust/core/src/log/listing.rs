//! The content of `_delta_log`: one listing, sorted into commits, compacted files, complete checkpoints and
//! checksums.
//!
//! Takes a storage and the first version; returns a [`LogListing`]. No file is opened.

use std::collections::BTreeMap;

use super::path::{self, CheckpointName, LOG_DIRECTORY, LogFileKind};
use super::warning::LogWarning;
use crate::error::Result;
use crate::storage::{FileMeta, Storage};

/// A log file and the version in its name.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionedFile {
    /// The version.
    pub version: u64,
    /// Its path and metadata.
    pub file: FileMeta,
}

/// A compacted file: the commits `start..=end`, reconciled.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactedFile {
    /// The first version.
    pub start: u64,
    /// The last version.
    pub end: u64,
    /// Its path and metadata.
    pub file: FileMeta,
}

/// A complete checkpoint: all of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointInstance {
    /// The version.
    pub version: u64,
    /// The name of its (first) file.
    pub name: CheckpointName,
    /// Its parts in order; a single file unless it is multi-part.
    pub files: Vec<FileMeta>,
}

impl CheckpointInstance {
    /// Returns the rank by version, then as in delta-spark: V2, then more parts, then the greater name.
    fn rank(&self) -> (u64, u8, u32, &str) {
        let (ordinal, parts) = match self.name {
            CheckpointName::Classic => (0, 0),
            CheckpointName::Part { parts, .. } => (1, parts),
            CheckpointName::Uuid { .. } => (2, 0),
        };
        (self.version, ordinal, parts, self.path())
    }

    /// Returns the path of its (first) file.
    pub fn path(&self) -> &str {
        self.files.first().map_or("", |file| &file.path)
    }
}

/// The log files from one version on, each kind in ascending order.
#[derive(Clone, Debug, Default)]
pub struct LogListing {
    /// The first version of the listing.
    pub from: u64,
    /// Commits.
    pub commits: Vec<VersionedFile>,
    /// Compacted files, in the order of their names.
    pub compacted: Vec<CompactedFile>,
    /// Complete checkpoints; the best one last.
    pub checkpoints: Vec<CheckpointInstance>,
    /// Version checksums.
    pub checksums: Vec<VersionedFile>,
    /// Checkpoints and compacted files that are empty, and checkpoints that lack a part.
    pub warnings: Vec<LogWarning>,
}

impl LogListing {
    /// Lists `_delta_log` from version `from` on.
    pub fn read(storage: &dyn Storage, from: u64) -> Result<Self> {
        Self::files(storage, from).map(|files| Self::of(files, from))
    }

    /// Returns the files of `_delta_log` from version `from` on, including those that are not part of a
    /// version.
    pub fn files(storage: &dyn Storage, from: u64) -> Result<Vec<FileMeta>> {
        let first = format!("{from:020}.");
        match storage.list(LOG_DIRECTORY, if from == 0 { "" } else { &first }) {
            // some stores have no empty directories
            Err(error) if error.code() == "storage.not_found" => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Sorts files into a listing.
    pub fn of(files: Vec<FileMeta>, from: u64) -> Self {
        let mut listing = Self {
            from,
            ..Self::default()
        };
        let mut parts: BTreeMap<(u64, u32), Vec<(u32, FileMeta)>> = BTreeMap::new();
        for file in files {
            let Some((version, kind)) = path::parse_path(&file.path) else {
                continue;
            };
            match kind {
                LogFileKind::Commit => listing.commits.push(VersionedFile { version, file }),
                LogFileKind::Checksum => listing.checksums.push(VersionedFile { version, file }),
                LogFileKind::Compacted { .. } | LogFileKind::Checkpoint(_) if file.size == 0 => {
                    let message = "the file is empty, so it was skipped: a write was interrupted";
                    listing.warnings.push(LogWarning::new(
                        "log.empty_file",
                        file.path,
                        Some(version),
                        message,
                    ));
                }
                LogFileKind::Compacted { start } => {
                    listing.compacted.push(CompactedFile {
                        start,
                        end: version,
                        file,
                    });
                }
                LogFileKind::Checkpoint(CheckpointName::Part { parts: count, part }) => {
                    parts
                        .entry((version, count))
                        .or_default()
                        .push((part, file));
                }
                LogFileKind::Checkpoint(name) => {
                    listing.checkpoints.push(CheckpointInstance {
                        version,
                        name,
                        files: vec![file],
                    });
                }
            }
        }
        for ((version, count), mut files_of_parts) in parts {
            files_of_parts.sort_by_key(|(part, _)| *part);
            files_of_parts.dedup_by_key(|(part, _)| *part);
            let name = CheckpointName::Part {
                parts: count,
                part: 1,
            };
            if files_of_parts.len() == count as usize {
                let files = files_of_parts.into_iter().map(|(_, file)| file).collect();
                listing.checkpoints.push(CheckpointInstance {
                    version,
                    name,
                    files,
                });
            } else if let Some((_, file)) = files_of_parts.first() {
                let message = format!(
                    "the checkpoint has {} of its {count} parts, so it was ignored: delete its files or \
                     write it again",
                    files_of_parts.len()
                );
                let warning = LogWarning::new(
                    "checkpoint.incomplete",
                    file.path.clone(),
                    Some(version),
                    message,
                );
                listing.warnings.push(warning);
            }
        }
        listing.commits.sort_by_key(|commit| commit.version);
        listing.checksums.sort_by_key(|checksum| checksum.version);
        listing.checkpoints.sort_by(|a, b| a.rank().cmp(&b.rank()));
        listing
    }

    /// Returns the checksum of a version.
    pub fn checksum(&self, version: u64) -> Option<FileMeta> {
        let mut checksums = self.checksums.iter();
        let checksum = checksums.find(|checksum| checksum.version == version);
        checksum.map(|checksum| checksum.file.clone())
    }

    /// Returns the newest version of all commits and complete checkpoints.
    pub fn latest(&self) -> Option<u64> {
        let commit = self.commits.last().map(|commit| commit.version);
        commit.max(self.checkpoints.last().map(|checkpoint| checkpoint.version))
    }

    /// Returns the oldest version of all commits and complete checkpoints.
    pub fn earliest(&self) -> Option<u64> {
        let commit = self.commits.first().map(|commit| commit.version);
        let checkpoint = self.checkpoints.first().map(|first| first.version);
        commit.into_iter().chain(checkpoint).min()
    }

    /// Returns the oldest version that can be reconstructed: 0 with commit 0, otherwise the version of the
    /// oldest checkpoint without a gap between it and the first commit.
    pub fn earliest_recreatable(&self) -> Option<u64> {
        let first = self.commits.first().map(|commit| commit.version);
        if first == Some(0) {
            return Some(0);
        }
        let begin = first.unwrap_or(0).saturating_sub(1);
        self.checkpoints
            .iter()
            .map(|checkpoint| checkpoint.version)
            .find(|version| *version >= begin)
    }
}

#[cfg(test)]
mod tests;
