//! The checksum of one version, in full: counted from its live files.
//!
//! Protocol: "Version Checksum File".

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::log::path::LOG_DIRECTORY;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::FileColumns;
use crate::storage::interrupt;
use crate::transaction::AddFile;
use crate::transaction::actions::{domain_json, metadata_json, protocol_json, transaction_json};

/// Larger lists are left out as a whole.
const MOST_FILES: usize = 50;
const MOST_TRANSACTIONS: usize = 100;
const MOST_DOMAINS: usize = 10;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Writes the checksum of a snapshot; false where there is one already, which stays.
///
/// # Errors
///
/// Storage, and what reading the log may meet.
pub fn write_checksum(source: &Source, snapshot: &Snapshot, txn_id: Option<&str>) -> Result<bool> {
    let path = checksum_path(snapshot.version());
    let text = checksum_json(source, snapshot, txn_id)?;
    source.storage.put_if_absent(&path, text.as_bytes())
}

/// The path of a checksum, relative to the table root.
pub fn checksum_path(version: u64) -> String {
    format!("{LOG_DIRECTORY}/{version:020}.crc")
}

#[derive(Default)]
struct Totals {
    files: u64,
    bytes: u64,
    deleted: u64,
    vectors: u64,
    by_size: Vec<(u64, u64)>,
    by_deleted: [u64; 10],
    all: Vec<AddFile>,
}

fn checksum_json(source: &Source, snapshot: &Snapshot, txn_id: Option<&str>) -> Result<String> {
    let boundaries = size_boundaries();
    let mut totals = Totals {
        by_size: vec![(0, 0); boundaries.len()],
        ..Totals::default()
    };
    for rows in snapshot.file_batches(source, FileColumns::all(), None)? {
        interrupt::check()?;
        let rows = rows?;
        for row in 0..rows.num_rows() {
            totals.count(AddFile::of_row(&rows, row)?, &boundaries);
        }
    }
    let mut checksum = Map::new();
    let mut put = |key: &str, value: Value| checksum.insert(key.to_owned(), value);
    if let Some(id) = txn_id {
        put("txnId", json!(id));
    }
    put("tableSizeBytes", json!(totals.bytes));
    put("numFiles", json!(totals.files));
    put("numMetadata", json!(1));
    put("numProtocol", json!(1));
    if let Some(timestamp) = snapshot.in_commit_timestamp() {
        put("inCommitTimestampOpt", json!(timestamp));
    }
    let transactions = snapshot.transactions(source)?;
    if transactions.len() <= MOST_TRANSACTIONS {
        let all: Vec<_> = transactions.iter().map(transaction_json).collect();
        put("setTransactions", json!(all));
    }
    let domains = snapshot.domain_metadata(source)?;
    if domains.len() <= MOST_DOMAINS {
        let all: Vec<_> = domains.iter().map(domain_json).collect();
        put("domainMetadata", json!(all));
    }
    put("metadata", metadata_json(snapshot.metadata()));
    put("protocol", protocol_json(snapshot.protocol()));
    let column = |of: fn(&(u64, u64)) -> u64| totals.by_size.iter().map(of).collect::<Vec<_>>();
    put(
        "fileSizeHistogram",
        json!({
            "sortedBinBoundaries": boundaries,
            "fileCounts": column(|bin| bin.0),
            "totalBytes": column(|bin| bin.1),
        }),
    );
    put("numDeletedRecordsOpt", json!(totals.deleted));
    put("numDeletionVectorsOpt", json!(totals.vectors));
    put(
        "deletedRecordCountsHistogramOpt",
        json!({ "deletedRecordCounts": totals.by_deleted }),
    );
    if totals.all.len() as u64 == totals.files {
        let files = serde_json::to_value(&totals.all).map_err(|cause| {
            Error::corrupt("log.columns", "the live files do not fit into JSON").because(cause)
        })?;
        put("allFiles", files);
    }
    Ok(format!("{}\n", Value::Object(checksum)))
}

impl Totals {
    fn count(&mut self, file: AddFile, boundaries: &[u64]) {
        let size = u64::try_from(file.size).unwrap_or(0);
        let deleted = file
            .deletion_vector
            .as_ref()
            .map_or(0, |vector| vector.cardinality());
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.deleted = self.deleted.saturating_add(deleted);
        self.vectors += u64::from(file.deletion_vector.is_some());
        let bin = boundaries
            .partition_point(|boundary| *boundary <= size)
            .saturating_sub(1);
        if let Some((files, bytes)) = self.by_size.get_mut(bin) {
            *files += 1;
            *bytes = bytes.saturating_add(size);
        }
        let bin = match deleted {
            0 => 0,
            2_147_483_647.. => 9,
            10_000_000.. => 8,
            other => other.ilog10() as usize + 1,
        };
        if let Some(files) = self.by_deleted.get_mut(bin) {
            *files += 1;
        }
        if self.all.len() <= MOST_FILES {
            self.all.push(file);
        }
        if self.files > MOST_FILES as u64 {
            self.all.clear();
        }
    }
}

/// The boundaries of the reference implementation, 95 of them.
fn size_boundaries() -> Vec<u64> {
    let steps =
        |from: u64, to: u64, step: u64| (from..=to).step_by(usize::try_from(step).unwrap_or(1));
    let mut all = vec![0];
    all.extend((0..10).map(|power| (8 * KIB) << power));
    for (from, to, step) in [
        (8, 40, 4),
        (48, 120, 8),
        (124, 144, 4),
        (160, 576, 16),
        (640, 1408, 64),
        (1536, 2048, 128),
        (2304, 4096, 256),
    ] {
        all.extend(steps(from, to, step).map(|size| size * MIB));
    }
    all.extend((3..9).map(|power| GIB << power));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the protocol digest: 95 entries from 0 to 256 GiB.
    #[test]
    fn boundaries_of_the_reference() {
        let all = size_boundaries();
        assert_eq!(all.len(), 95);
        assert!(all.is_sorted_by(|one, next| one < next));
        assert_eq!(all.get(1..3), Some(&[8192, 16384][..]));
        assert_eq!(all.last(), Some(&(256 * GIB)));
        assert!(
            [4 * MIB, 8 * MIB, 124 * MIB, 4096 * MIB]
                .iter()
                .all(|size| all.contains(size))
        );
    }
}
