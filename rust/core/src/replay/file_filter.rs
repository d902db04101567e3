//! The bounds of the columns of files: partition values and statistics from the log.
//!
//! Columns have physical names; values have the types of the schema. A statistic that is missing, malformed
//! or of another type is unknown, and its file is kept; a missing partition value is null.
//!
//! Protocol: "Partition Value Serialization", "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use arrow_select::nullif::nullif;

use crate::codec::columns::columns_mismatch;
use crate::codec::file_columns::{FileColumn, FileColumns, PARTITION_VALUES, STATS};
use crate::codec::partition_values::check_partition_column;
use crate::codec::statistics::{Side, stats_schema, widen_bounds};
use crate::error::Result;
use crate::expr::{BoundColumn, BoundPredicate, Bounds, ColumnBounds, nested_column};
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// The statistic that states whether the bounds of a file are exact: false if rows were deleted since they
/// were collected.
const TIGHT_BOUNDS: &str = "tightBounds";

/// A predicate that skips files by partition values and statistics, before their other columns are decoded.
#[derive(Clone, Debug)]
pub struct FileFilter {
    predicate: BoundPredicate,
    parsed: FileColumns,
    columns: Vec<FilterColumn>,
}

/// The position of the bounds of a column in the log.
#[derive(Clone, Debug)]
struct FilterColumn {
    column: BoundColumn,
    /// The physical path, outermost name first.
    path: Vec<String>,
    partition: bool,
    /// True if the column once was of single precision, as the statistics of old files still are.
    was_single: bool,
}

impl FileFilter {
    /// Creates the filter for files of a table with this schema.
    ///
    /// # Errors
    ///
    /// - Corrupt: `schema.physical_name` if the table maps columns, and one that the predicate uses has no
    ///   physical name.
    /// - Unsupported: `partition_value.type` for a column that cannot partition a table.
    pub fn new(
        predicate: BoundPredicate,
        schema: &StructType,
        partition_columns: &[String],
        mode: ColumnMappingMode,
    ) -> Result<Self> {
        let mut columns = Vec::with_capacity(predicate.columns().len());
        let mut partition_values = Vec::new();
        for column in predicate.columns() {
            let fields = fields_along(schema, &column.path);
            let names = fields.iter().map(|field| field.name_in_files(mode));
            let path = names
                .map(|name| name.map(str::to_owned))
                .collect::<Result<Vec<_>>>()?;
            let (Some(name), Some(leaf)) = (path.first(), fields.last()) else {
                continue;
            };
            let partition = path.len() == 1 && partition_columns.contains(&leaf.name);
            if partition {
                check_partition_column(leaf)?;
                let field = Field::new(name, column.data_type.clone(), true);
                partition_values.push((name.clone(), Arc::new(field)));
            }
            columns.push(FilterColumn {
                column: column.clone(),
                path,
                partition,
                was_single: was_single(leaf),
            });
        }
        let used: Vec<&[String]> = columns
            .iter()
            .filter(|known| !known.partition)
            .map(|known| known.column.path.as_slice())
            .collect();
        let data = used_fields(schema, &used, mode)?;
        let mut parsed = Vec::with_capacity(2);
        if !partition_values.is_empty() {
            parsed.push(FileColumn::PartitionValuesParsed(partition_values));
        }
        if !data.is_empty() {
            let needed = stats_schema(&data);
            let needed = needed.iter().filter(|field| field.name() != TIGHT_BOUNDS);
            parsed.push(FileColumn::StatsParsed(needed.cloned().collect()));
        }
        Ok(Self {
            predicate,
            parsed: FileColumns::new(parsed),
            columns,
        })
    }

    /// Adds the column that states whether statistics are exact, if the predicate uses statistics.
    #[must_use]
    pub fn with_tight_bounds(mut self) -> Self {
        if self.parsed.stats().is_some() {
            let tight = Fields::from(vec![Field::new(TIGHT_BOUNDS, ArrowType::Boolean, true)]);
            let tight = FileColumns::new(vec![FileColumn::StatsParsed(tight)]);
            self.parsed = self.parsed.merged(&tight);
        }
        self
    }

    /// Returns the columns that [`FileFilter::may_match`] reads.
    pub fn columns(&self) -> &FileColumns {
        &self.parsed
    }

    /// Returns one bit for each row: unset only if no row of the file can match.
    pub fn may_match(&self, parsed: &RecordBatch) -> Result<BooleanBuffer> {
        self.predicate.may_match(&self.bounds(parsed))
    }

    /// Returns the same as [`FileFilter::may_match`], from the parts of the predicate that refer to
    /// partition columns only.
    pub fn partitions_may_match(&self, parsed: &RecordBatch) -> Result<BooleanBuffer> {
        let partition = |column: &BoundColumn| {
            self.columns
                .iter()
                .any(|known| known.partition && known.column == *column)
        };
        let mut passed = BooleanBuffer::new_set(parsed.num_rows());
        for part in self.predicate.conjuncts() {
            if part.uses_only(&partition) {
                passed = &passed & &part.may_match(&self.bounds(parsed))?;
            }
        }
        Ok(passed)
    }

    /// Returns the bounds in these parsed columns, one row for each file.
    pub fn bounds<'a>(&'a self, parsed: &'a RecordBatch) -> FileBounds<'a> {
        FileBounds {
            columns: &self.columns,
            parsed,
            as_written: false,
        }
    }
}

/// Returns for each file whether its statistics are exact.
pub fn tight_bounds(parsed: &RecordBatch) -> Result<Vec<bool>> {
    let tight = match parsed.column_by_name(STATS) {
        Some(stats) => nested_column(stats, &[TIGHT_BOUNDS.to_owned()])?,
        None => None,
    };
    let tight = tight.as_ref().and_then(|tight| tight.as_boolean_opt());
    let is_tight = |row| tight.is_none_or(|tight| tight.is_null(row) || tight.value(row));
    Ok((0..parsed.num_rows()).map(is_tight).collect())
}

/// The bounds of columns in files, from parsed columns.
pub struct FileBounds<'a> {
    columns: &'a [FilterColumn],
    parsed: &'a RecordBatch,
    as_written: bool,
}

impl FileBounds<'_> {
    /// Returns the bounds as written, which may be rounded.
    #[must_use]
    pub fn without_widening(self) -> Self {
        Self {
            as_written: true,
            ..self
        }
    }
}

impl ColumnBounds for FileBounds<'_> {
    fn len(&self) -> usize {
        self.parsed.num_rows()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(known) = self.columns.iter().find(|known| known.column == *column) else {
            return Ok(None);
        };
        if known.partition {
            self.of_partition(known)
        } else {
            self.of_data(known)
        }
    }
}

impl FileBounds<'_> {
    /// Returns the value of a partition column, which all rows of a file share, as bounds.
    fn of_partition(&self, known: &FilterColumn) -> Result<Option<Bounds>> {
        let Some(all) = self.parsed.column_by_name(PARTITION_VALUES) else {
            return Ok(None);
        };
        let Some(values) = nested_column(all, &known.path)? else {
            return Ok(None);
        };
        // a column of the type void has no null buffer
        let null_values = values.logical_nulls();
        let is_null = |row| null_values.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let null_as_count = |row| i64::from(is_null(row));
        let counts: Vec<i64> = (0..values.len()).map(null_as_count).collect();
        // a file without partition values has unknown bounds
        let nulls: Option<NullBuffer> = all.nulls().cloned();
        Ok(Some(Bounds {
            null_count: Some(Int64Array::new(counts.into(), nulls)),
            num_rows: Some(Int64Array::from(vec![1; values.len()])),
            min: Some(Arc::clone(&values)),
            max: Some(values),
            covers_nan: true,
        }))
    }

    /// Returns bounds from statistics. Both counts include deleted rows.
    fn of_data(&self, known: &FilterColumn) -> Result<Option<Bounds>> {
        let Some(stats) = self.parsed.column_by_name(STATS) else {
            return Ok(None);
        };
        let find = |kind: &str| {
            let mut path = vec![kind.to_owned()];
            if kind != "numRecords" {
                path.extend(known.path.iter().cloned());
            }
            nested_column(stats, &path)
        };
        let bound = |kind| -> Result<Option<ArrayRef>> {
            Ok(find(kind)?.filter(|values| *values.data_type() == known.column.data_type))
        };
        let (mut min, mut max) = (bound("minValues")?, bound("maxValues")?);
        if !self.as_written {
            min = min.map(|values| widen_bounds(&values, known.was_single, Side::Min));
            max = max.map(|values| widen_bounds(&values, known.was_single, Side::Max));
        }
        Ok(Some(Bounds {
            min,
            max,
            null_count: count(find("nullCount")?)?,
            num_rows: count(find("numRecords")?)?,
            covers_nan: false,
        }))
    }
}

/// Returns the fields along a logical path.
fn fields_along<'a>(schema: &'a StructType, path: &[String]) -> Vec<&'a StructField> {
    let mut fields = Vec::with_capacity(path.len());
    let mut inside = Some(schema);
    for name in path {
        let Some(field) = inside.and_then(|inside| inside.field(name)) else {
            return Vec::new();
        };
        inside = match &field.data_type {
            DataType::Struct(inner) => Some(inner),
            _ => None,
        };
        fields.push(field);
    }
    fields
}

/// Returns the fields of logical paths with physical names, in the schema's order. Recurses along the
/// schema, whose depth is bounded.
fn used_fields(schema: &StructType, used: &[&[String]], mode: ColumnMappingMode) -> Result<Fields> {
    let mut fields = Vec::new();
    for field in schema.fields() {
        let below: Vec<&[String]> = used
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(name, _)| **name == field.name)
            .map(|(_, rest)| rest)
            .collect();
        if below.is_empty() {
            continue;
        }
        let data_type = match &field.data_type {
            DataType::Struct(inner) => ArrowType::Struct(used_fields(inner, &below, mode)?),
            other => other.arrow_type(),
        };
        fields.push(Field::new(field.name_in_files(mode)?, data_type, true));
    }
    Ok(fields.into())
}

/// Returns `true` if a column of doubles was widened from single precision.
fn was_single(field: &StructField) -> bool {
    let changes = field.metadata.get("delta.typeChanges");
    field.data_type == DataType::Primitive(PrimitiveType::Double)
        && changes.is_some_and(|changes| changes.to_string().contains("float"))
}

/// Converts counts; negative ones become null.
fn count(values: Option<ArrayRef>) -> Result<Option<Int64Array>> {
    let Some(values) = values.filter(|values| *values.data_type() == ArrowType::Int64) else {
        return Ok(None);
    };
    let counts = values.as_primitive::<Int64Type>();
    if counts.values().iter().all(|count| *count >= 0) {
        return Ok(Some(counts.clone()));
    }
    let below: BooleanArray = counts
        .iter()
        .map(|count| Some(count.is_some_and(|count| count < 0)))
        .collect();
    let counts = nullif(&values, &below).map_err(columns_mismatch)?;
    Ok(Some(counts.as_primitive::<Int64Type>().clone()))
}

#[cfg(test)]
mod tests;
