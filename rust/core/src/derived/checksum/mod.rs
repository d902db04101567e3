//! The checksum of a version: computed from all its live files, or derived from that of the previous version
//! and the actions of one commit.
//!
//! Protocol: "Version Checksum File".

use arrow_array::Int64Array;
use serde_json::json;

use crate::codec::columns::TypedColumns;
use crate::codec::deletion_vector::Descriptors;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::codec::version_checksum::{FileSizeHistogram, deleted_records_bin};
use crate::error::Result;
use crate::log::path::LOG_DIRECTORY;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::interrupt;
use crate::write::AddFile;
use crate::write::actions::without_nulls;

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
    let text = Body::of(source, snapshot, txn_id)?.to_json();
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

    fn to_json(&self) -> String {
        let totals = &self.totals;
        let transactions = self.transactions.as_ref();
        let domains = self.domains.as_ref();
        let by_size = totals.by_size.as_ref().map(|histogram| {
            json!({
                "sortedBinBoundaries": histogram.sorted_bin_boundaries,
                "fileCounts": histogram.file_counts,
                "totalBytes": histogram.total_bytes,
            })
        });
        let by_deleted = totals.by_deleted.as_ref();
        let checksum = without_nulls(json!({
            "txnId": self.txn_id,
            "tableSizeBytes": totals.bytes,
            "numFiles": totals.files,
            "numMetadata": 1,
            "numProtocol": 1,
            "inCommitTimestampOpt": self.in_commit_timestamp,
            "setTransactions": transactions.filter(|all| all.len() <= MAX_TRANSACTIONS),
            "domainMetadata": domains.filter(|all| all.len() <= MAX_DOMAINS),
            "metadata": self.metadata,
            "protocol": self.protocol,
            "fileSizeHistogram": by_size,
            "numDeletedRecordsOpt": totals.deleted,
            "numDeletionVectorsOpt": totals.vectors,
            "deletedRecordCountsHistogramOpt":
                by_deleted.map(|counts| json!({ "deletedRecordCounts": counts })),
            "allFiles": totals.all,
        }));
        format!("{checksum}\n")
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

    fn add(&mut self, file: AddFile) {
        let size = u64::try_from(file.size).unwrap_or(0);
        let vector = file.deletion_vector.as_ref();
        let deleted = vector.map(|vector| vector.cardinality());
        self.add_size(size, deleted);
        if let Some(all) = &mut self.all {
            all.push(file);
            if all.len() > MAX_FILES {
                self.all = None;
            }
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
    let mut all = vec![0];
    all.extend((0..10).map(|power| (8 * KIB) << power));
    for (from, to, step) in [
        (8_u64, 40, 4),
        (48, 120, 8),
        (124, 144, 4),
        (160, 576, 16),
        (640, 1408, 64),
        (1536, 2048, 128),
        (2304, 4096, 256),
    ] {
        all.extend((from..=to).step_by(step).map(|size| size * MIB));
    }
    all.extend((3..9).map(|power| GIB << power));
    all
}

#[cfg(test)]
mod tests;
