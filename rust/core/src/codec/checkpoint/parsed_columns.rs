//! The columns that a filter needs, decoded from one unit without any other.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Fields};

use super::rows::GuardedReader;
use super::{CheckpointFile, FileAction, Unit};
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::{FileColumns, STATS};
use crate::codec::parquet_file::{FetchedBytes, RowGroupRequest};
use crate::error::{Error, Result};

/// Where a file has the statistics that are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stats {
    Nowhere,
    Text,
    Struct,
}

impl CheckpointFile {
    /// What is needed for the parsed columns of one unit of `add`.
    pub fn request_parsed(&self, unit: &Unit, columns: &FileColumns) -> RowGroupRequest {
        let stats = self.where_stats_are(columns);
        let in_shape = |path: &[String]| columns.stats().is_some_and(|shape| asks_for(shape, path));
        let leaves = self.leaves(|parts| match parts {
            [root, field, rest @ ..] if root == FileAction::Add.name() => match field.as_str() {
                "partitionValues" => !columns.partition_values().is_empty(),
                "stats" => stats == Stats::Text,
                STATS => stats == Stats::Struct && in_shape(rest),
                _ => false,
            },
            _ => false,
        });
        self.request_leaves(unit, leaves, None)
    }

    /// Begins to decode the parsed columns of one unit, all of whose request was fetched.
    ///
    /// # Errors
    ///
    /// Corrupt: `checkpoint.parquet`.
    pub fn read_parsed<'a>(
        &self,
        unit: &Unit,
        columns: &'a FileColumns,
        request: RowGroupRequest,
        fetched: &FetchedBytes,
    ) -> Result<ParsedColumnsReader<'a>> {
        let reader = if request.is_empty() {
            None
        } else {
            Some(self.reader(request, fetched)?)
        };
        Ok(ParsedColumnsReader {
            reader,
            columns,
            stats: self.where_stats_are(columns),
            missing: unit.rows(),
        })
    }

    /// The struct, when it has a leaf for all that is asked for; else the text.
    fn where_stats_are(&self, columns: &FileColumns) -> Stats {
        let Some(shape) = columns.stats() else {
            return Stats::Nowhere;
        };
        let found = self.leaves(|parts| match parts {
            [root, field, rest @ ..] => {
                root == FileAction::Add.name() && field == STATS && asks_for(shape, rest)
            }
            _ => false,
        });
        let text = self.leaf(&[FileAction::Add.name(), FileField::Stats.name()]);
        // `tightBounds` is not in every writer's struct
        let wanted = leaves_of(shape) - usize::from(shape.find("tightBounds").is_some());
        match text {
            _ if found.len() >= wanted.max(1) => Stats::Struct,
            Some(_) => Stats::Text,
            None if found.is_empty() => Stats::Nowhere,
            None => Stats::Struct,
        }
    }
}

/// Whether the shape has a leaf of this path. Recurses along the shape, which has a bounded depth.
fn asks_for(shape: &Fields, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else {
        return false;
    };
    let Some((_, field)) = shape.find(name) else {
        return false;
    };
    match field.data_type() {
        DataType::Struct(fields) => asks_for(fields, rest),
        _ => rest.is_empty(),
    }
}

fn leaves_of(shape: &Fields) -> usize {
    let leaves = shape.iter().map(|field| match field.data_type() {
        DataType::Struct(fields) => leaves_of(fields),
        _ => 1,
    });
    leaves.sum()
}

/// Decodes the parsed columns of one unit: all of its rows, in their order, also those that hold other
/// actions, which are null.
pub struct ParsedColumnsReader<'a> {
    /// None where the file has none of the columns.
    reader: Option<GuardedReader>,
    columns: &'a FileColumns,
    stats: Stats,
    missing: usize,
}

impl ParsedColumnsReader<'_> {
    fn typed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch
            .column_by_name(FileAction::Add.name())
            .and_then(|column| column.as_struct_opt())
            .ok_or_else(|| Error::corrupt("checkpoint.columns", "add is not a struct"))?;
        let stats = match self.stats {
            Stats::Nowhere => None,
            Stats::Text => rows.column_by_name(FileField::Stats.name()),
            Stats::Struct => rows.column_by_name(STATS),
        };
        self.columns.of_sources(rows.len(), |field| {
            Ok(match field {
                FileField::Stats => stats,
                field => rows.column_by_name(field.name()),
            })
        })
    }
}

impl Iterator for ParsedColumnsReader<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(reader) = &mut self.reader else {
            let rows = std::mem::take(&mut self.missing);
            return (rows > 0).then(|| self.columns.of_sources(rows, |_| Ok(None)));
        };
        match reader.next() {
            Some(Ok(batch)) => {
                self.missing = self.missing.saturating_sub(batch.num_rows());
                Some(self.typed(&batch))
            }
            Some(Err(error)) => Some(Err(error)),
            None if self.missing == 0 => None,
            None => {
                let message = format!("the pages end {} rows before the footer says", self.missing);
                self.missing = 0;
                Some(Err(Error::corrupt("checkpoint.rows", message)))
            }
        }
    }
}
