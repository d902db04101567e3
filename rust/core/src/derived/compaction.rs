//! A log compaction file: the reconciled actions of a range of commits, as one file of JSON actions.
//!
//! A compacted file holds what its range adds to the state before it: the newest protocol and metadata, if
//! any; the newest transaction of each application; the newest action of each domain, including tombstones;
//! the files that are live at its end; and every remove, however old, since each may cancel a file from
//! before the range.
//!
//! Protocol: "Log Compaction Files".

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use crate::codec::commit::{ActionBatch, ActionSelection};
use crate::codec::file_actions::{ADD_FIELDS, REMOVE_FIELDS};
use crate::error::{Error, ErrorKind, Result};
use crate::log::path::{LOG_DIRECTORY, commit_path};
use crate::log::{LogListing, TailFile};
use crate::replay::{Reconciler, Source, decode_tail};
use crate::write::actions::line;
use crate::write::{AddFile, RemoveFile};

/// A compacted file that was written or already existed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCompaction {
    /// The first version.
    pub start: u64,
    /// The last version.
    pub end: u64,
    /// Its path, relative to the table root.
    pub path: String,
    /// Number of its actions.
    pub num_actions: u64,
    /// Number of actions in the commits that it replaces, without `commitInfo` and `cdc`.
    pub num_actions_before: u64,
    /// Size in bytes.
    pub size_in_bytes: u64,
    /// Size in bytes of the commits that it replaces.
    pub size_in_bytes_before: u64,
}

/// Writes the compacted file of the commits `start..=end`. `start` defaults to the commit after the newest
/// checkpoint before `end`, `end` to the newest commit. An existing file of the same range is kept.
///
/// # Errors
///
/// Invalid argument: `compaction.range` for fewer than two commits, or without actions. Version not found:
/// `version.range` if the log does not contain all of them.
pub fn compact_log(
    source: &Source,
    start: Option<u64>,
    end: Option<u64>,
) -> Result<WrittenCompaction> {
    let listing = LogListing::read(&*source.storage, 0)?;
    let newest = listing.commits.last().map(|commit| commit.version);
    let end = end.or(newest).unwrap_or_default();
    let after_checkpoint = || {
        let below = |version: &u64| *version < end;
        let checkpoints = listing.checkpoints.iter().rev();
        let checkpoint = checkpoints.map(|checkpoint| checkpoint.version).find(below);
        checkpoint.map_or(0, |version| version + 1)
    };
    let start = start.unwrap_or_else(after_checkpoint);
    if start >= end {
        let message = format!(
            "versions {start} to {end} are fewer than two commits, so there is nothing to compact: pass a \
             longer range"
        );
        return Err(Error::invalid("compaction.range", message));
    }
    let commits: Vec<TailFile> = listing
        .commits
        .iter()
        .filter(|commit| (start..=end).contains(&commit.version))
        .map(|commit| commit.clone().into())
        .collect();
    if commits.len() as u64 != (end - start).saturating_add(1) {
        let is_missing = |version: &u64| !commits.iter().any(|commit| commit.start == *version);
        let missing = (start..=end).find(is_missing).unwrap_or(end);
        let message = format!(
            "the log does not have all commits from {start} to {end}: version {missing} is missing"
        );
        let error = Error::new(ErrorKind::VersionNotFound, "version.range", message);
        return Err(error.at_path(commit_path(missing)).at_version(missing));
    }
    let selection = ActionSelection {
        adds: Some(ADD_FIELDS.to_vec()),
        removes: Some(REMOVE_FIELDS.to_vec()),
        control: true,
        ..ActionSelection::default()
    };
    let batches = decode_tail(&source.storage, &commits, &selection)?;
    let num_actions_before = batches.iter().map(count_actions).sum();
    let lines = reconcile(source, &batches)?;
    if lines.text.is_empty() {
        // readers take an empty file for an interrupted write
        let message = format!(
            "the commits {start} to {end} have no actions, so there is nothing to compact: pass another range"
        );
        return Err(Error::invalid("compaction.range", message));
    }
    let path = format!("{LOG_DIRECTORY}/{start:020}.{end:020}.compacted.json");
    let created = source.storage.put_if_absent(&path, lines.text.as_bytes())?;
    let size_in_bytes = if created {
        lines.text.len() as u64
    } else {
        source.storage.head(&path)?.size
    };
    Ok(WrittenCompaction {
        start,
        end,
        path,
        num_actions: lines.count,
        num_actions_before,
        size_in_bytes,
        size_in_bytes_before: commits.iter().map(|commit| commit.file.size).sum(),
    })
}

fn count_actions(batch: &ActionBatch) -> u64 {
    let files = [&batch.adds, &batch.removes];
    let files = files.into_iter().flatten().map(|side| side.rows.num_rows());
    let control = batch.protocols.len()
        + batch.metadatas.len()
        + batch.transactions.len()
        + batch.domains.len();
    (files.sum::<usize>() + control) as u64
}

fn reconcile(source: &Source, batches: &[ActionBatch]) -> Result<Lines> {
    let mut transactions = BTreeMap::new();
    let mut domains = BTreeMap::new();
    let (mut protocol, mut metadata) = (None, None);
    for batch in batches {
        protocol = batch.protocol().or(protocol);
        metadata = batch.metadata().or(metadata);
        for (_, new) in &batch.transactions {
            transactions.insert(&new.app_id, new);
        }
        for (_, new) in &batch.domains {
            domains.insert(&new.domain, new);
        }
    }
    let mut lines = Lines::default();
    if let Some(protocol) = protocol {
        lines.push("protocol", &json!(protocol))?;
    }
    if let Some(metadata) = metadata {
        lines.push("metaData", &json!(metadata))?;
    }
    for transaction in transactions.values() {
        lines.push("txn", &json!(transaction))?;
    }
    for domain in domains.values() {
        lines.push("domainMetadata", &json!(domain))?;
    }
    let mut reconciler = Reconciler::new(source.keys.clone());
    let mut live = Vec::with_capacity(batches.len());
    for batch in batches.iter().rev() {
        live.push(reconciler.add_older(batch)?);
    }
    for actions in live.into_iter().rev() {
        if let Some(rows) = actions.removes {
            for file in RemoveFile::of_rows(&rows)? {
                lines.push("remove", &file)?;
            }
        }
        if let Some(rows) = actions.adds {
            for file in AddFile::of_rows(&rows)? {
                lines.push("add", &file)?;
            }
        }
    }
    Ok(lines)
}

#[derive(Default)]
struct Lines {
    text: String,
    count: u64,
}

impl Lines {
    fn push(&mut self, kind: &str, body: &impl Serialize) -> Result<()> {
        self.count += 1;
        line(&mut self.text, kind, body)
    }
}
