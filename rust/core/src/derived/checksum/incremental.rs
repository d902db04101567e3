//! Incremental checksums: from the checksum of the previous version and the actions of one commit.
//!
//! If the previous checksum lists the live files, the totals are computed from the new list. Otherwise they
//! are updated, which is correct only if every `add` adds a file that was not live and every `remove` removes
//! a live one. This is assumed of all commits except those of the operations in `OPAQUE`, and those that add
//! files without changing data and remove none.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Body, Totals, checksum_path};
use crate::codec::version_checksum::{MAX_CHECKSUM_BYTES, VersionChecksum};
use crate::error::Result;
use crate::replay::{FileActionKey, Source};
use crate::spec::properties::TableProperties;
use crate::storage::now;
use crate::transaction::WholeCommit;
use crate::write::AddFile;

/// Operations that add live files again, or whose meaning is not defined.
const OPAQUE: [&str; 6] = [
    "COMPUTE STATS",
    "ROW TRACKING BACKFILL",
    "ROW TRACKING UNBACKFILL",
    "DROP FEATURE",
    "ADD DELETION VECTORS TOMBSTONES",
    "Manual Update",
];

/// Writes the checksum of `version`, derived from that of the previous version (read unless it is `known`)
/// and the bytes of the commit. Returns `false` if it cannot be derived, and `true` if it was written or
/// existed already.
pub fn write_checksum_from_previous(
    source: &Source,
    version: u64,
    known: Option<VersionChecksum>,
    commit: &[u8],
) -> Result<bool> {
    let previous = match known {
        Some(known) => Some(known),
        None => previous_checksum(source, version)?,
    };
    let Some(previous) = previous else {
        return Ok(false);
    };
    let commit = WholeCommit::parse(commit)?;
    let Some(body) = next_checksum(source, &previous, &commit)? else {
        return Ok(false);
    };
    let text = body.to_json();
    source
        .storage
        .put_if_absent(&checksum_path(version), text.as_bytes())?;
    Ok(true)
}

/// Returns the checksum of the previous version, if it exists and can be read.
fn previous_checksum(source: &Source, version: u64) -> Result<Option<VersionChecksum>> {
    let Some(previous) = version.checked_sub(1) else {
        return Ok(None);
    };
    let path = checksum_path(previous);
    match source.storage.read_at_most(&path, MAX_CHECKSUM_BYTES) {
        Ok(bytes) => Ok(VersionChecksum::parse(&bytes).ok()),
        Err(error) if error.code() == "storage.not_found" => Ok(None),
        Err(error) => Err(error),
    }
}

fn next_checksum(
    source: &Source,
    previous: &VersionChecksum,
    commit: &WholeCommit,
) -> Result<Option<Body>> {
    let metadata = commit.actions.metadata().cloned();
    let protocol = commit.actions.protocol().cloned();
    let (Some(metadata), Some(protocol)) = (
        metadata.or_else(|| previous.metadata.clone()),
        protocol.or_else(|| previous.protocol.clone()),
    ) else {
        return Ok(None);
    };
    let (properties, _) = TableProperties::new(&metadata, &protocol)?;
    let mut transactions = previous.set_transactions.clone();
    if let Some(known) = &mut transactions {
        for (_, new) in &commit.actions.transactions {
            known.retain(|old| old.app_id != new.app_id);
            known.push(new.clone());
        }
        if let Some(retention) = properties.set_transaction_retention {
            let cutoff = now().saturating_sub(retention);
            known.retain(|txn| txn.last_updated > Some(cutoff));
        }
        known.sort_by(|left, right| left.app_id.cmp(&right.app_id));
    }
    let mut domains = previous.domain_metadata.clone();
    if let Some(known) = &mut domains {
        for (_, new) in &commit.actions.domains {
            known.retain(|old| old.domain != new.domain);
            known.push(new.clone());
        }
        known.retain(|domain| !domain.removed);
        known.sort_by(|left, right| left.domain.cmp(&right.domain));
    }
    let in_commit_timestamp = commit.in_commit_timestamp();
    let is_consistent = properties.in_commit_timestamps == in_commit_timestamp.is_some();
    let totals = totals(source, previous, commit)?;
    let txn_id = commit.info.get("txnId").and_then(Value::as_str);
    Ok(totals.filter(|_| is_consistent).map(|totals| Body {
        txn_id: txn_id.map(str::to_owned),
        in_commit_timestamp,
        protocol,
        metadata,
        transactions,
        domains,
        totals,
    }))
}

/// Returns the totals of the version; `None` if they require reading all live files.
fn totals(
    source: &Source,
    previous: &VersionChecksum,
    commit: &WholeCommit,
) -> Result<Option<Totals>> {
    let (Some(files), Some(bytes)) = (previous.num_files, previous.table_size_bytes) else {
        return Ok(None);
    };
    let all: Option<Vec<AddFile>> = previous
        .all_files
        .as_ref()
        .filter(|all| all.count == files)
        .and_then(|all| serde_json::from_str(&all.json).ok());
    if let Some(all) = all {
        return Ok(Some(exact_totals(source, all, commit)));
    }
    let mut totals = Totals {
        files,
        bytes,
        deleted: previous.num_deleted_records,
        vectors: previous.num_deletion_vectors,
        by_size: previous.file_size_histogram.clone(),
        by_deleted: previous
            .deleted_record_counts
            .clone()
            .filter(|counts| counts.len() == 10),
        all: None,
    };
    let operation = commit.info.get("operation").and_then(Value::as_str);
    let is_opaque = operation.is_none_or(|operation| OPAQUE.contains(&operation));
    // a rewrite removes its source files; without removes, live files are added again
    let adds_live_files =
        commit.removes.is_empty() && commit.adds.iter().any(|file| !file.data_change);
    if is_opaque || adds_live_files {
        return Ok(None);
    }
    for file in &commit.removes {
        let Some(size) = file.size.and_then(|size| u64::try_from(size).ok()) else {
            return Ok(None);
        };
        let vector = file.deletion_vector.as_ref();
        let deleted = vector.map(|vector| vector.cardinality());
        if totals.remove(size, deleted).is_none() {
            return Ok(None);
        }
    }
    commit.adds.iter().for_each(|file| totals.add(file.clone()));
    Ok(Some(totals))
}

/// Returns the totals, computed from the list of the previously live files.
fn exact_totals(source: &Source, previous: Vec<AddFile>, commit: &WholeCommit) -> Totals {
    let keys = &source.keys;
    let mut live: BTreeMap<FileActionKey, AddFile> = BTreeMap::new();
    for file in previous {
        let key = keys.of_file(&file.path, file.deletion_vector.as_ref());
        live.insert(key, file);
    }
    for file in &commit.removes {
        live.remove(&keys.of_file(&file.path, file.deletion_vector.as_ref()));
    }
    for file in &commit.adds {
        let reconciled = AddFile {
            data_change: false,
            ..file.clone()
        };
        let key = keys.of_file(&file.path, file.deletion_vector.as_ref());
        live.insert(key, reconciled);
    }
    let mut files: Vec<AddFile> = live.into_values().collect();
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let mut totals = Totals::empty();
    files.into_iter().for_each(|file| totals.add(file));
    totals
}
