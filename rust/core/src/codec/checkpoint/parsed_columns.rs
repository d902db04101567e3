//! Decodes only the columns that a filter needs from one unit.

use std::iter;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};

use super::rows::stats_of;
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

    /// Decodes the parsed columns of one unit whose requested bytes were all fetched: all its rows in order;
    /// rows with other actions are null.
    pub fn read_parsed<'a>(
        &self,
        unit: &Unit,
        columns: &'a FileColumns,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>> {
        if request.is_empty() {
            let rows = columns.compute_from(unit.num_rows(), |_| Ok(None));
            return Ok(Box::new(iter::once(rows)));
        }
        let legacy = self.legacy_stats(FileAction::Add);
        let batches = self.reader(unit, request, fetched)?;
        Ok(Box::new(batches.map(move |batch| {
            let batch = batch?;
            let rows = batch
                .column_by_name(FileAction::Add.name())
                .and_then(|column| column.as_struct_opt())
                .ok_or_else(|| Error::corrupt("checkpoint.columns", "add is not a struct"))?;
            let rebased = legacy.as_ref().map(|legacy| legacy.rebase(rows));
            let rebased = rebased.transpose()?;
            let rows = rebased.as_ref().unwrap_or(rows);
            columns.compute_from(rows.len(), |field| {
                Ok(match field {
                    FileField::Stats => stats_of(rows)?,
                    field => rows.column_by_name(field.name()),
                })
            })
        })))
    }
}
