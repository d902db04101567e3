//! Decodes only the columns that a filter needs from one unit.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};

use super::legacy_stats::LegacyStats;
use super::rows::{GuardedReader, stats_of};
use super::{CheckpointFile, FileAction, Unit};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::codec::parquet_file::{FetchedBytes, RowGroupRequest};
use crate::error::{Error, Result};

impl CheckpointFile {
    /// Requests the parsed columns of one unit of `add`.
    pub fn request_parsed(&self, unit: &Unit, columns: &FileColumns) -> RowGroupRequest {
        let leaves = self.column_leaves(FileAction::Add, columns);
        self.request_leaves(unit, leaves, None)
    }

    /// Begins to decode the parsed columns of a unit whose requested bytes were all fetched.
    pub fn read_parsed<'a>(
        &self,
        unit: &Unit,
        columns: &'a FileColumns,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
    ) -> Result<ParsedColumnsReader<'a>> {
        let reader = (!request.is_empty()).then(|| self.reader(unit, request, fetched));
        Ok(ParsedColumnsReader {
            reader: reader.transpose()?,
            legacy: self.legacy_stats(FileAction::Add),
            columns,
            rows: unit.num_rows(),
        })
    }
}

/// Decodes the parsed columns of one unit: all its rows in order; rows with other actions are null.
pub struct ParsedColumnsReader<'a> {
    /// `None` if the file has none of the columns.
    reader: Option<GuardedReader>,
    legacy: Option<LegacyStats>,
    columns: &'a FileColumns,
    /// The number of rows of the unit; 0 once all of them were returned without a reader.
    rows: usize,
}

impl ParsedColumnsReader<'_> {
    fn parsed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch
            .column_by_name(FileAction::Add.name())
            .and_then(|column| column.as_struct_opt())
            .ok_or_else(|| Error::corrupt("checkpoint.columns", "add is not a struct"))?;
        let rebased = self.legacy.as_ref().map(|legacy| legacy.rebase(rows));
        let rebased = rebased.transpose()?;
        let rows = rebased.as_ref().unwrap_or(rows);
        self.columns.of_sources(rows.len(), |field| {
            Ok(match field {
                FileField::Stats => stats_of(rows)?,
                field => rows.column_by_name(field.name()),
            })
        })
    }
}

impl Iterator for ParsedColumnsReader<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(reader) = &mut self.reader else {
            let rows = std::mem::take(&mut self.rows);
            return (rows > 0).then(|| self.columns.of_sources(rows, |_| Ok(None)));
        };
        let batch = reader.next()?;
        Some(batch.and_then(|batch| self.parsed(&batch)))
    }
}
