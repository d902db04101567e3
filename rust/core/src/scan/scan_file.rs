//! A live data file as a plain value, from which a task reads the file without the log.

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, MapArray, RecordBatch, StringArray};
use serde::{Deserialize, Serialize};

use crate::codec::columns::{TypedColumns, missing};
use crate::codec::deletion_vector::Descriptors;
use crate::codec::file_actions::FileField;
use crate::error::Result;
use crate::spec::DeletionVectorDescriptor;

/// The fields of `add` that a [`ScanFile`] is made from.
pub const SCAN_FIELDS: [FileField; 6] = [
    FileField::Path,
    FileField::PartitionValues,
    FileField::Size,
    FileField::DeletionVector,
    FileField::BaseRowId,
    FileField::DefaultRowCommitVersion,
];

/// A live data file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanFile {
    /// The path as in the log.
    pub path: String,
    /// Values of the partition columns, by physical name.
    pub partition_values: Vec<(String, Option<String>)>,
    /// The size in bytes, as in the log; 0 if it has none.
    pub size: i64,
    /// The deletion vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// The default row id of the first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The row commit version of rows for which the file itself has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
}

impl ScanFile {
    /// Returns the file of each row, or its error; the rows have at least the columns [`SCAN_FIELDS`].
    pub fn of(rows: &RecordBatch) -> Result<Vec<Result<Self>>> {
        let paths: &StringArray = rows.typed(FileField::Path.name())?;
        let sizes = rows.typed(FileField::Size.name())?;
        let base_row_ids = rows.typed(FileField::BaseRowId.name())?;
        let versions = rows.typed(FileField::DefaultRowCommitVersion.name())?;
        let partition_values: &MapArray = rows.typed(FileField::PartitionValues.name())?;
        let strings = |column: usize| {
            let column = partition_values.entries().columns().get(column);
            column
                .and_then(|column| column.as_string_opt::<i32>())
                .ok_or_else(|| missing(FileField::PartitionValues.name()))
        };
        let (keys, values) = (strings(0)?, strings(1)?);
        let vectors = Descriptors::new(rows.typed(FileField::DeletionVector.name())?)?;
        let offsets = partition_values.value_offsets();
        let pairs = |row: usize| {
            let bounds = offsets.get(row).zip(offsets.get(row + 1));
            let (start, end) = bounds.map_or((0, 0), |(start, end)| (*start, *end));
            (start..end)
                .filter_map(|index| usize::try_from(index).ok())
                .map(|index| {
                    let value = values
                        .is_valid(index)
                        .then(|| values.value(index).to_owned());
                    (keys.value(index).to_owned(), value)
                })
                .collect()
        };
        let files = (0..rows.num_rows())
            .map(|row| {
                let path = paths.value(row);
                let optional =
                    |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
                Ok(Self {
                    partition_values: pairs(row),
                    size: optional(sizes).unwrap_or_default(),
                    deletion_vector: vectors.get(row).map_err(|error| error.at_path(path))?,
                    base_row_id: optional(base_row_ids),
                    default_row_commit_version: optional(versions),
                    path: path.to_owned(),
                })
            })
            .collect();
        Ok(files)
    }
}
