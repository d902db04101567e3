//! The checksum of a version: computed from all its live files, or derived from that of the previous version
//! and the actions of one commit.
//!
//! Protocol: "Version Checksum File".

use arrow_array::Int64Array;
use serde_json::{Map, Value, json};

use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::Descriptors;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::codec::version_checksum::{FileSizeHistogram, deleted_records_bin};
use crate::error::{Error, Result};
use crate::log::path::LOG_DIRECTORY;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::interrupt;
use crate::write::AddFile;

mod incremental;

pub use incremental::write_checksum_from_previous;

/// The maximum lengths of lists in a checksum; longer ones are omitted.
const MAX_FILES: usize = 50;
const MAX_TRANSACTIONS: usize = 100;
const MAX_DOMAINS: usize = 10;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Writes the checksum of a snapshot, computed from all live files. Returns `false` if one exists already,
/// which is kept.
pub fn write_checksum(source: &Source, snapshot: &Snapshot, txn_id: Option<&str>) -> Result<bool> {
    let path = checksum_path(snapshot.version());
    let text = Body::of(source, snapshot, txn_id)?.to_json()?;
    source.storage.put_if_absent(&path, text.as_bytes())
}

/// Returns the path of a checksum, relative to the table root.
pub fn checksum_path(version: u64) -> String {
    format!("{LOG_DIRECTORY}/{version:020}.crc")
}

/// The fields of a checksum; `None` for unknown values.
#[derive(Debug)]
struct Body {
    txn_id: Option<String>,
    in_commit_timestamp: Option<i64>,
    protocol: Protocol,
    metadata: Metadata,
    transactions: Option<Vec<SetTransaction>>,
    domains: Option<Vec<DomainMetadata>>,
    totals: Totals,
}

impl Body {
    fn of(source: &Source, snapshot: &Snapshot, txn_id: Option<&str>) -> Result<Self> {
        let totals = if snapshot.num_files(source)? <= MAX_FILES as u64 {
            totals_of_list(source, snapshot)?
        } else {
            totals_of_columns(source, snapshot)?
        };
        Ok(Self {
            txn_id: txn_id.map(str::to_owned),
            in_commit_timestamp: snapshot.in_commit_timestamp(),
            protocol: snapshot.protocol().clone(),
            metadata: snapshot.metadata().clone(),
            transactions: Some(snapshot.transactions(source)?),
            domains: Some(snapshot.domain_metadata(source)?),
            totals,
        })
    }

    fn to_json(&self) -> Result<String> {
        let totals = &self.totals;
        let mut checksum = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                checksum.insert(key.to_owned(), value);
            }
        };
        put("txnId", self.txn_id.as_ref().map(|id| json!(id)));
        put("tableSizeBytes", Some(json!(totals.bytes)));
        put("numFiles", Some(json!(totals.files)));
        put("numMetadata", Some(json!(1)));
        put("numProtocol", Some(json!(1)));
        put(
            "inCommitTimestampOpt",
            self.in_commit_timestamp.map(Value::from),
        );
        let transactions = self.transactions.as_ref();
        let transactions = transactions.filter(|all| all.len() <= MAX_TRANSACTIONS);
        put("setTransactions", transactions.map(|all| json!(all)));
        let domains = self.domains.as_ref().filter(|all| all.len() <= MAX_DOMAINS);
        put("domainMetadata", domains.map(|all| json!(all)));
        put("metadata", Some(json!(self.metadata)));
        put("protocol", Some(json!(self.protocol)));
        let histogram = totals.by_size.as_ref().map(|histogram| {
            json!({
                "sortedBinBoundaries": histogram.sorted_bin_boundaries,
                "fileCounts": histogram.file_counts,
                "totalBytes": histogram.total_bytes,
            })
        });
        put("fileSizeHistogram", histogram);
        put("numDeletedRecordsOpt", totals.deleted.map(Value::from));
        put("numDeletionVectorsOpt", totals.vectors.map(Value::from));
        let counts = totals.by_deleted.as_ref();
        put(
            "deletedRecordCountsHistogramOpt",
            counts.map(|counts| json!({ "deletedRecordCounts": counts })),
        );
        let all = totals.all.as_ref().map(serde_json::to_value).transpose();
        put(
            "allFiles",
            all.map_err(|cause| {
                Error::corrupt("log.columns", "the live files do not fit into JSON").because(cause)
            })?,
        );
        Ok(format!("{}\n", Value::Object(checksum)))
    }
}

/// Returns the totals of a table with few files, which are listed.
fn totals_of_list(source: &Source, snapshot: &Snapshot) -> Result<Totals> {
    let mut totals = Totals::empty();
    for rows in snapshot.file_batches(source, FileColumns::all(), None)? {
        for file in AddFile::of_rows(&rows?)? {
            totals.add(file);
        }
    }
    Ok(totals)
}

/// Returns the totals of any table; reads only the columns that are counted.
fn totals_of_columns(source: &Source, snapshot: &Snapshot) -> Result<Totals> {
    let mut totals = Totals {
        all: None,
        ..Totals::empty()
    };
    let columns = FileColumns::fields_only(&[FileField::Size, FileField::DeletionVector]);
    for rows in snapshot.file_batches(source, columns, None)? {
        interrupt::check()?;
        let rows = rows?;
        let sizes: &Int64Array = rows.typed("size")?;
        let vectors = Descriptors::new(rows.typed("deletionVector")?)?;
        let non_negative = |number: i64| u64::try_from(number).unwrap_or(0);
        for (row, size) in sizes.iter().enumerate() {
            let deleted = vectors.get(row)?.map(|vector| vector.cardinality());
            totals.add_size(non_negative(size.unwrap_or(0)), deleted);
        }
    }
    Ok(totals)
}

/// The totals of the live files.
#[derive(Debug)]
struct Totals {
    files: u64,
    bytes: u64,
    deleted: Option<u64>,
    vectors: Option<u64>,
    by_size: Option<FileSizeHistogram>,
    by_deleted: Option<Vec<u64>>,
    all: Option<Vec<AddFile>>,
}

impl Totals {
    /// Returns the totals of a table without files: everything is known.
    fn empty() -> Self {
        let boundaries = size_boundaries();
        Self {
            files: 0,
            bytes: 0,
            deleted: Some(0),
            vectors: Some(0),
            by_size: Some(FileSizeHistogram {
                file_counts: vec![0; boundaries.len()],
                total_bytes: vec![0; boundaries.len()],
                sorted_bin_boundaries: boundaries,
            }),
            by_deleted: Some(vec![0; 10]),
            all: Some(Vec::new()),
        }
    }

    /// Adds a live file.
    fn add(&mut self, file: AddFile) {
        let size = u64::try_from(file.size).unwrap_or(0);
        let vector = file.deletion_vector.as_ref();
        let deleted = vector.map(|vector| vector.cardinality());
        self.add_size(size, deleted);
        if let Some(all) = &mut self.all {
            all.push(file);
        }
        if let Some(all) = &self.all
            && all.len() > MAX_FILES
        {
            self.all = None;
        }
    }

    /// Adds a file of this size, with this number of deleted rows if it has a deletion vector.
    fn add_size(&mut self, size: u64, deleted: Option<u64>) {
        // a log may contain arbitrary numbers: sums saturate
        let plus = |sum: u64, value: u64| Some(sum.saturating_add(value));
        let _cannot_overflow = self.change(size, deleted, plus);
    }

    /// Removes a live file; `None` if a total would be negative.
    fn remove(&mut self, size: u64, deleted: Option<u64>) -> Option<()> {
        self.change(size, deleted, u64::checked_sub)
    }

    /// Changes each total by a file; `None` if `change` returns it.
    fn change(
        &mut self,
        size: u64,
        deleted: Option<u64>,
        change: impl Fn(u64, u64) -> Option<u64>,
    ) -> Option<()> {
        self.files = change(self.files, 1)?;
        self.bytes = change(self.bytes, size)?;
        if let Some(sum) = &mut self.deleted {
            *sum = change(*sum, deleted.unwrap_or(0))?;
        }
        if let Some(sum) = &mut self.vectors {
            *sum = change(*sum, u64::from(deleted.is_some()))?;
        }
        if let Some(bins) = &mut self.by_size {
            let bin = bins.bin(size);
            let files = bins.file_counts.get_mut(bin)?;
            *files = change(*files, 1)?;
            let bytes = bins.total_bytes.get_mut(bin)?;
            *bytes = change(*bytes, size)?;
        }
        if let Some(bins) = &mut self.by_deleted {
            let files = bins.get_mut(deleted_records_bin(deleted.unwrap_or(0)))?;
            *files = change(*files, 1)?;
        }
        Some(())
    }
}

/// Returns the 95 bin boundaries of delta-spark.
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
mod tests;
