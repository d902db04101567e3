//! The number of rows of a version, from its log alone.
//!
//! Protocol: "Per-file Statistics", "Deletion Vector Descriptor Schema".

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, RecordBatch, StructArray};

use super::Snapshot;
use super::segment_replay::Totals;
use crate::codec::columns::TypedColumns;
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::log::LogWarning;
use crate::replay::Source;

impl Snapshot {
    /// Returns the number of rows: for each file the number in its statistics, minus the rows that its
    /// deletion vector deletes. `None` if it is unknown for a file: a warning then names the first such file.
    pub fn num_rows(&self, source: &Source) -> Result<Option<u64>> {
        let names = ["path", "size", "numRecords", "deletionVector"].map(str::to_owned);
        let columns = FileColumns::of_names(Some(&names), self)?;
        let mut total = 0_u64;
        let mut totals = Totals::default(); // cached, so that the number and size of files need no replay
        for rows in self.file_batches(source, columns, None)? {
            let rows = rows?;
            totals.add(&rows);
            for (row, live) in live_rows(&rows)?.into_iter().enumerate() {
                let Some(live) = live else {
                    self.warn_of_unknown_rows(&rows, row);
                    return Ok(None);
                };
                total = total.saturating_add(live);
            }
        }
        self.0.cache.keep_totals(totals);
        Ok(Some(total))
    }

    /// Adds a warning about a missing row count; no error, even if the snapshot is strict.
    fn warn_of_unknown_rows(&self, rows: &RecordBatch, row: usize) {
        let path = rows
            .column_by_name("path")
            .and_then(|path| path.as_string_opt::<i32>())
            .map(|path| path.value(row).to_owned());
        let warning = LogWarning {
            code: "stats.num_records",
            path,
            version: Some(self.version()),
            message:
                "the statistics of this file lack its number of rows, so the log does not give the table's: \
                 count rows by a scan"
                    .to_owned(),
        };
        self.add_warning(warning);
    }

    /// Adds a warning of a query, once.
    pub(crate) fn add_warning(&self, warning: LogWarning) {
        self.0.cache.warn(warning);
    }
}

/// Returns the number of live rows of each file, `None` if its statistics have no row count. The batch has
/// the columns `numRecords` and `deletionVector`.
pub(crate) fn live_rows(files: &RecordBatch) -> Result<Vec<Option<u64>>> {
    let records: &Int64Array = files.typed("numRecords")?;
    let vectors: &StructArray = files.typed("deletionVector")?;
    let deleted: &Int64Array = vectors.typed("cardinality")?;
    let live = |row: usize| {
        let records = records.is_valid(row).then(|| records.value(row))?;
        let deleted = match (vectors.is_valid(row), deleted.is_valid(row)) {
            (false, _) => 0,
            (true, true) => deleted.value(row),
            (true, false) => return None,
        };
        u64::try_from(records.checked_sub(deleted)?).ok()
    };
    Ok((0..files.num_rows()).map(live).collect())
}
