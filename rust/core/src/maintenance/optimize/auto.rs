//! Auto compaction: compacts small files right after a write that leaves enough of them.
//!
//! Property `delta.autoOptimize.autoCompact`, unless the caller decides; thresholds as in delta-spark.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Plan, Request};
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::log::catalog::Permission;
use crate::replay::Source;
use crate::scan::ScanFile;
use crate::scan::scan_file::SCAN_FIELDS;
use crate::snapshot::Snapshot;
use crate::spec::Metadata;
use crate::table::{At, RowsOptions, Table};
use crate::transaction::TransactionOptions;
use crate::write::AddFile;
use crate::write::actions::StringMap;

const TARGET_BYTES: u64 = 128 << 20;
/// The size in bytes below which files are counted and compacted.
const SMALL_BYTES: u64 = TARGET_BYTES / 2;
/// A partition is compacted if it has at least this many small files.
const MIN_FILES: usize = 50;
/// The maximum number of partitions compacted at once.
const MAX_PARTITIONS: usize = 128;

/// Returns `true` if the table properties enable auto compaction.
pub fn is_auto_compacted(metadata: &Metadata) -> bool {
    let has_value = |key: &str, values: &[&str]| {
        let property = metadata.property(key).unwrap_or_default().trim();
        values
            .iter()
            .any(|value| value.eq_ignore_ascii_case(property))
    };
    has_value("delta.autoOptimize", &["true"])
        || has_value(
            "delta.autoOptimize.autoCompact",
            &["true", "auto", "legacy"],
        )
}

impl Table {
    /// Compacts the small files of the partitions to which a write added files, if there are enough.
    pub(crate) fn compact_after(
        &self,
        version: u64,
        added: &[AddFile],
        transaction: TransactionOptions,
    ) -> Result<()> {
        let snapshot = self.snapshot(At::Version(version), None)?;
        let Some(request) = compaction(self.source(), &snapshot, added)? else {
            return Ok(());
        };
        let options = RowsOptions {
            transaction,
            ..RowsOptions::default()
        };
        let plan = Plan::new(self.source(), &snapshot, &request)?;
        let written = self.rewrite_bins(&plan, options.transaction.durable)?;
        let result = self.commit_optimized(&plan, written, options)?;
        result.afterwards.map_or(Ok(()), Err)
    }
}

/// Plans the compaction of the partitions to which a write added files, if there is anything to compact and the
/// table's catalog allows it. The caller checks whether auto compaction is enabled.
pub fn compaction(
    source: &Source,
    snapshot: &Snapshot,
    added: &[AddFile],
) -> Result<Option<Request>> {
    let mut counts: BTreeMap<StringMap, usize> = added
        .iter()
        .map(|file| (file.partition_values.clone(), 0))
        .collect();
    let columns = FileColumns::fields_only(&SCAN_FIELDS);
    for rows in snapshot.file_batches(source, columns, None)? {
        for file in ScanFile::of(&rows?)? {
            let file = file?;
            if u64::try_from(file.size).is_ok_and(|size| size < SMALL_BYTES) {
                let values: StringMap = file.partition_values.into_iter().collect();
                if let Some(count) = counts.get_mut(&values) {
                    *count += 1;
                }
            }
        }
    }
    counts.retain(|_, count| *count >= MIN_FILES);
    if counts.is_empty() || !source.allows(Permission::Optimize)? {
        return Ok(None);
    }
    let partitions: BTreeSet<StringMap> = counts.into_keys().take(MAX_PARTITIONS).collect();
    Ok(Some(Request {
        target_file_size: Some(TARGET_BYTES),
        min_file_size: Some(SMALL_BYTES),
        partitions: Some(partitions),
        ..Request::default()
    }))
}
