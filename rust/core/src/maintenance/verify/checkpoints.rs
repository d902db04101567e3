//! Compares checkpoints and compacted files with the commits; finds sidecars that no checkpoint references.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use super::findings::{Findings, Severity};
use super::state::{LiveFile, State, same_metadata, transactions_expire};
use crate::codec::checkpoint::FileAction;
use crate::codec::commit::ActionSelection;
use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS};
use crate::codec::file_columns::FileColumns;
use crate::derived::cleanup::referenced_sidecars;
use crate::error::{Error, Result};
use crate::log::listing::CompactedFile;
use crate::log::path::SIDECAR_DIRECTORY;
use crate::log::{CheckpointInstance, LogListing, TailFile};
use crate::maintenance::vacuum::collect_referenced;
use crate::replay::{
    BatchSizes, Checkpoint, KeySet, KeyedRows, LogState, Reconciler, Selection, Source, decode_tail,
};
use crate::spec::DomainMetadata;
use crate::storage::{FileMeta, interrupt};

pub(super) struct ReadCheckpoint {
    pub(super) state: State,
    removes: KeySet,
}

/// Reads a checkpoint in full; reports files that occur twice, and a missing protocol or metadata.
pub(super) fn read(
    source: &Source,
    instance: &CheckpointInstance,
    referenced: &mut HashSet<String>,
    findings: &mut Findings,
) -> Result<ReadCheckpoint> {
    let location = (Some(instance.path()), Some(instance.version));
    let checkpoint = Checkpoint::open(source, instance, None).map_err(sidecar_missing)?;
    let mut state = State {
        log: LogState::of_checkpoint(checkpoint.control()),
        ..State::default()
    };
    let mut seen = KeySet::default();
    let mut removes = KeySet::default();
    let mut duplicates = Vec::new();
    for action in [FileAction::Add, FileAction::Remove] {
        // all fields, so that every value is decoded
        let fields = match action {
            FileAction::Add => ADD_FIELDS.to_vec(),
            FileAction::Remove => REMOVE_FIELDS.to_vec(),
        };
        let selection = Selection {
            action,
            columns: FileColumns::fields_only(&fields),
            tail_keys: Arc::default(),
            with_keys: true,
            stats_shape: arrow_schema::Fields::empty(),
            sizes: BatchSizes::STREAMED,
            filter: None,
            threads: None,
        };
        let inline = checkpoint.inline_rows(&selection)?.map(Ok);
        let rows = checkpoint
            .rows(&selection)?
            .map(|next| next.map(|(_, rows)| rows));
        for next in rows.chain(inline) {
            interrupt::check()?;
            let KeyedRows { rows, keys } = next?;
            collect_referenced(source, &rows, referenced)?;
            let paths = source.keys.of_paths(&rows)?;
            let sizes = rows.column_by_name(FileField::Size.name());
            let sizes = sizes.and_then(|sizes| sizes.as_primitive_opt::<Int64Type>());
            let deleted = deleted(&rows);
            for (row, (key, path)) in keys.iter().zip(&paths).enumerate() {
                let mut is_repeated = !seen.insert(*key);
                if action == FileAction::Remove {
                    removes.insert(*key);
                } else {
                    let live = LiveFile {
                        key: *key,
                        size: sizes.map_or(0, |sizes| sizes.value(row)),
                        deleted: deleted.get(row).copied().flatten(),
                    };
                    // live with two deletion vectors, or with and without one
                    is_repeated |= state.live.insert(*path, live).is_some();
                }
                if is_repeated {
                    duplicates.push(path_of(&rows, row));
                }
            }
        }
    }
    if let Some(first) = duplicates.first() {
        let message = format!(
            "{} rows of the checkpoint repeat a file, the first of them {first}",
            duplicates.len()
        );
        findings.fault("checkpoint.duplicate_row", location, message);
    }
    for (is_missing, kind) in [
        (state.log.protocol.is_none(), "protocol"),
        (state.log.metadata.is_none(), "metaData"),
    ] {
        if is_missing {
            let message = format!("the checkpoint has no {kind} action");
            findings.fault("checkpoint.mismatch", location, message);
        }
    }
    Ok(ReadCheckpoint { state, removes })
}

fn sidecar_missing(error: Error) -> Error {
    let path = error.path().map(str::to_owned);
    match path {
        Some(path)
            if error.code() == "storage.not_found" && path.starts_with(SIDECAR_DIRECTORY) =>
        {
            let message = "the checkpoint references this sidecar, but it does not exist";
            let missing = Error::corrupt("checkpoint.sidecar_missing", message).at_path(path);
            match error.version() {
                Some(version) => missing.at_version(version),
                None => missing,
            }
        }
        _ => error,
    }
}

fn path_of(rows: &RecordBatch, row: usize) -> String {
    let paths = rows.column_by_name("path");
    let paths = paths.and_then(|paths| paths.as_string_opt::<i32>());
    paths.map_or_else(String::new, |paths| paths.value(row).to_owned())
}

fn deleted(rows: &RecordBatch) -> Vec<Option<u64>> {
    let vectors = rows.column_by_name(FileField::DeletionVector.name());
    let Some(vectors) = vectors.and_then(|vectors| vectors.as_struct_opt()) else {
        return Vec::new();
    };
    let counts = vectors.column_by_name("cardinality");
    let counts = counts.and_then(|counts| counts.as_primitive_opt::<Int64Type>());
    let cardinality = |row: usize| {
        let counts = counts.filter(|counts| vectors.is_valid(row) && counts.is_valid(row))?;
        u64::try_from(counts.value(row)).ok()
    };
    (0..rows.num_rows()).map(cardinality).collect()
}

/// Compares a checkpoint with the commits up to its version.
pub(super) fn compare(
    read: &ReadCheckpoint,
    state: &State,
    instance: &CheckpointInstance,
    findings: &mut Findings,
) {
    let location = (Some(instance.path()), Some(instance.version));
    let mut report = |message: String| {
        findings.fault("checkpoint.mismatch", location, message);
    };
    let checkpoint = &read.state;
    let count_others = |left: &State, right: &State| {
        let others = left
            .live
            .iter()
            .filter(|(path, live)| right.live.get(path).is_none_or(|file| file.key != live.key));
        others.count()
    };
    let missing = count_others(state, checkpoint);
    let extra = count_others(checkpoint, state);
    if missing + extra > 0 {
        report(format!(
            "the checkpoint lacks {missing} files of the commits, and has {extra} others"
        ));
    }
    let sizes = state.live.iter().filter(|(path, live)| {
        checkpoint
            .live
            .get(path)
            .is_some_and(|file| file.size != live.size)
    });
    let sizes = sizes.count();
    if sizes > 0 {
        report(format!(
            "{sizes} files have a different size in the checkpoint than in the commits"
        ));
    }
    let live = state.live.values();
    let removed = live.filter(|live| read.removes.contains(&live.key)).count();
    if removed > 0 {
        report(format!(
            "{removed} files that are live by the commits are removed in the checkpoint"
        ));
    }
    if let (Some(in_checkpoint), Some(in_state)) = (&checkpoint.log.protocol, &state.log.protocol)
        && !in_checkpoint.is_equivalent(in_state)
    {
        report("the protocol is not that of the commits".to_owned());
    }
    if let (Some(in_checkpoint), Some(in_state)) = (&checkpoint.log.metadata, &state.log.metadata)
        && !same_metadata(in_checkpoint, in_state)
    {
        report("the metadata is not that of the commits".to_owned());
    }
    if checkpoint.log.domains != state.log.domains {
        report("the domains are not those of the commits".to_owned());
    }
    if !same_transactions(&checkpoint.log, &state.log, transactions_expire(state)) {
        report("the transactions are not those of the commits".to_owned());
    }
}

/// Returns `true` if these transactions are those of the commits; some may be missing if they expire.
fn same_transactions(actual: &LogState, commits: &LogState, expire: bool) -> bool {
    let (actual, commits) = (&actual.transactions, &commits.transactions);
    let are_known = actual
        .iter()
        .all(|(app, transaction)| commits.get(app) == Some(transaction));
    are_known && (expire || actual.len() == commits.len())
}

/// Compares a compacted file with its commits; it may lack transactions if they `expire`.
pub(super) fn compacted(
    source: &Source,
    listing: &LogListing,
    file: &CompactedFile,
    expire: bool,
    findings: &mut Findings,
) -> Result<()> {
    let inside = listing
        .commits
        .iter()
        .filter(|commit| (file.start..=file.end).contains(&commit.version));
    let commits: Vec<TailFile> = inside.map(|commit| commit.clone().into()).collect();
    let compacted = reconciled(source, &[file.clone().into()])?;
    if commits.len() as u64 != file.end - file.start + 1 {
        return Ok(()); // some of its commits are deleted already
    }
    let Ok(plain) = reconciled(source, &commits) else {
        return Ok(()); // the commit that cannot be read is a finding already
    };
    let location = (Some(file.file.path.as_str()), Some(file.end));
    let mut report = |message: String| {
        findings.fault("compacted.mismatch", location, message);
    };
    for (left, right, files) in [
        (&plain.adds, &compacted.adds, "files to add"),
        (&plain.removes, &compacted.removes, "files to remove"),
    ] {
        let missing = left.difference(right).count();
        let extra = right.difference(left).count();
        if missing + extra > 0 {
            report(format!(
                "the compacted file lacks {missing} {files} of its commits, and has {extra} others"
            ));
        }
    }
    let is_same_protocol = match (&compacted.log.protocol, &plain.log.protocol) {
        (Some(actual), Some(expected)) => actual.is_equivalent(expected),
        (actual, expected) => actual == expected,
    };
    let is_same_metadata = match (&compacted.log.metadata, &plain.log.metadata) {
        (Some(actual), Some(expected)) => same_metadata(actual, expected),
        (actual, expected) => actual == expected,
    };
    if !is_same_protocol {
        report("the protocol is not that of its commits".to_owned());
    }
    if !is_same_metadata {
        report("the metadata is not that of its commits".to_owned());
    }
    if compacted.domains != plain.domains {
        report("the domains are not those of its commits".to_owned());
    }
    if !same_transactions(&compacted.log, &plain.log, expire) {
        report("the transactions are not those of its commits".to_owned());
    }
    Ok(())
}

/// The actions in log files that are still in effect.
#[derive(Default)]
struct Reconciled {
    adds: KeySet,
    removes: KeySet,
    /// The newest control actions.
    log: LogState,
    /// The newest action of each domain: unlike in `log`, tombstones, too.
    domains: BTreeMap<String, DomainMetadata>,
}

fn reconciled(source: &Source, files: &[TailFile]) -> Result<Reconciled> {
    let fields = vec![FileField::Path, FileField::DeletionVector];
    let selection = ActionSelection {
        adds: Some(fields.clone()),
        removes: Some(fields),
        control: true,
        ..ActionSelection::default()
    };
    let mut reconciler = Reconciler::new(source.keys.clone());
    let mut all = Reconciled::default();
    let batches = decode_tail(&source.storage, files, &selection)?;
    for batch in &batches {
        all.log.apply(batch);
        let domains = batch.domains.iter().map(|(_, domain)| domain.clone());
        all.domains
            .extend(domains.map(|domain| (domain.domain.clone(), domain)));
    }
    for batch in batches.iter().rev() {
        let live = reconciler.add_older(batch)?;
        all.adds.extend(live.add_keys);
        if let Some(rows) = live.removes {
            all.removes.extend(source.keys.of_batch(&rows)?);
        }
    }
    Ok(all)
}

pub(super) fn orphans(
    source: &Source,
    listing: &LogListing,
    files: Vec<FileMeta>,
    findings: &mut Findings,
) -> Result<()> {
    let Ok(referenced) = referenced_sidecars(source, listing.checkpoints.iter()) else {
        return Ok(()); // the checkpoint that cannot be read is a finding already
    };
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if !referenced.contains(&file.path) && !name.starts_with('.') {
            let location = (Some(file.path.as_str()), None);
            let message = "no checkpoint references this sidecar";
            findings.add(Severity::Info, "sidecar.orphan", location, message);
        }
    }
    Ok(())
}
