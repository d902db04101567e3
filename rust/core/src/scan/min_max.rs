//! The minimum and the maximum of a column, from the log alone.
//!
//! Statistics are bounds: of strings they may be truncated, of timestamps and long decimals rounded, of
//! floating-point numbers without NaN, and of files with deleted rows too wide. A result is only returned
//! if none of that applies.
//!
//! Protocol: "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_ord::sort::{SortOptions, sort_to_indices};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;

use crate::codec::columns::columns_mismatch;
use crate::codec::file_columns::{FileColumn, FileColumns, STATS};
use crate::codec::statistics::max_rounding_error;
use crate::error::Result;
use crate::expr::{Bounds, ColumnBounds, Literal, Predicate};
use crate::log::LogWarning;
use crate::replay::file_filter::tight_bounds;
use crate::replay::{FileFilter, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::row_count::live_rows;

/// The minimum and the maximum so far, each as one row.
struct Extremes {
    min: ArrayRef,
    max: ArrayRef,
}

/// Returns the columns `min` and `max`, one row, of a column or a nested field; nulls if no row has a
/// value. `None` if it does not follow from the log: a warning then states the reason.
///
/// # Errors
///
/// Invalid argument: `filter.column` when there is no such column, `filter.syntax` for a malformed path.
/// Unsupported: `expression.collation` for a column with a collation. As [`Snapshot::file_filter`]; errors of
/// the log.
pub fn min_max(source: &Source, snapshot: &Snapshot, column: &str) -> Result<Option<RecordBatch>> {
    // any condition on the column finds it, and the statistics that hold its bounds
    let is_null = (column.to_owned(), "is".to_owned(), Literal::Null);
    let is_null = Predicate::from_dnf(vec![vec![is_null]])?.bind(snapshot.schema())?;
    let Some(column) = is_null.columns().first().cloned() else {
        return Ok(None);
    };
    column.check_collation()?;
    let file_filter = snapshot.file_filter(is_null)?.with_tight_bounds();
    let is_partition = !file_filter.columns().partition_values().is_empty();
    if !is_partition && !is_exact(&column.data_type) {
        let message = format!(
            "statistics of {} columns are bounds, not values that the table has: \
             compute min and max of {} by a scan",
            column.type_name(),
            column.path.join(".")
        );
        warn(snapshot, None, message);
        return Ok(None);
    }
    let names = ["path", "numRecords", "deletionVector"].into_iter();
    let fields = file_filter.columns().fields();
    let names = names.chain(fields.iter().map(|field| field.name()));
    let names: Vec<String> = names.map(str::to_owned).collect();
    let columns = FileColumns::of_names(Some(&names), snapshot)?;
    let null = new_null_array(&column.data_type, 1);
    let mut extremes = Extremes {
        min: Arc::clone(&null),
        max: null,
    };
    for files in snapshot.file_batches(source, columns, None)? {
        let files = files?;
        let parsed = file_filter.columns().compute(&files)?;
        let bounds = file_filter.bounds(&parsed).without_widening();
        let bounds = bounds.bounds(&column)?.unwrap_or_default();
        let (exact, rounded) = if is_partition {
            (vec![true; files.num_rows()], None)
        } else {
            (
                exact(&files, &parsed)?,
                rounded(&files, &file_filter, &bounds)?,
            )
        };
        let files_with_values = match rounded {
            Some(row) => Err((row, "this file has a bound that may be rounded")),
            None => with_values(&bounds, &live_rows(&files)?, &exact),
        };
        match files_with_values {
            Ok(rows) => {
                extremes = combine(&extremes, &bounds, &rows.into()).map_err(columns_mismatch)?
            }
            Err((row, reason)) => {
                let path = files.column_by_name("path");
                let path = path.and_then(|path| path.as_string_opt::<i32>());
                let path = path.map(|path| path.value(row).to_owned());
                let message = format!(
                    "{reason}, so the log does not give the minimum and maximum of {}: compute them by a scan",
                    column.path.join(".")
                );
                warn(snapshot, path, message);
                return Ok(None);
            }
        }
    }
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("min", extremes.min, true),
        ("max", extremes.max, true),
    ]);
    batch.map(Some).map_err(columns_mismatch)
}

/// Returns `true` if bounds of this type are always values themselves.
fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Date32 | DataType::Decimal128(..) | DataType::Boolean
        )
}

/// Returns the files whose statistics cover exactly their live rows.
fn exact(files: &RecordBatch, parsed: &RecordBatch) -> Result<Vec<bool>> {
    let mut exact = tight_bounds(parsed)?;
    if let Some(vectors) = files.column_by_name("deletionVector") {
        for (row, exact) in exact.iter_mut().enumerate() {
            *exact &= vectors.is_null(row);
        }
    }
    Ok(exact)
}

/// Returns the first file with a bound that may have been rounded to a double when it was written: its text
/// could also be that of a double.
fn rounded(
    files: &RecordBatch,
    file_filter: &FileFilter,
    bounds: &Bounds,
) -> Result<Option<usize>> {
    let decimals = |bound: &Option<ArrayRef>| {
        let values = bound.as_ref()?.as_primitive_opt::<Decimal128Type>()?;
        let any = values
            .iter()
            .flatten()
            .any(|value| max_rounding_error(value) != 0);
        any.then(|| values.clone())
    };
    let sides = [
        ("minValues", decimals(&bounds.min)),
        ("maxValues", decimals(&bounds.max)),
    ];
    let (Some(shape), true) = (
        file_filter.columns().stats(),
        sides.iter().any(|(_, values)| values.is_some()),
    ) else {
        return Ok(None);
    };
    let columns = FileColumns::new(vec![FileColumn::StatsParsed(decimals_as_text(shape))]);
    let written = columns.compute(files)?;
    for (side, values) in sides {
        let Some(values) = values else { continue };
        let written = written.column_by_name(STATS);
        let written = written.and_then(|stats| leaf(stats.as_struct().column_by_name(side)?));
        let strings = written
            .as_ref()
            .and_then(|strings| strings.as_string_opt::<i64>());
        let is_exact = |row| match strings {
            Some(strings) if strings.is_valid(row) => {
                is_exact_decimal(strings.value(row), values.scale())
            }
            _ => false,
        };
        let may_be_rounded = |row: &usize| {
            values.is_valid(*row) && max_rounding_error(values.value(*row)) != 0 && !is_exact(*row)
        };
        if let Some(row) = (0..values.len()).find(may_be_rounded) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the type of the statistics with decimals as text. Recurses along the shape, whose depth is
/// bounded.
fn decimals_as_text(shape: &Fields) -> Fields {
    let written = |field: &FieldRef| {
        let data_type = match field.data_type() {
            DataType::Struct(fields) => DataType::Struct(decimals_as_text(fields)),
            DataType::Decimal128(..) => DataType::LargeUtf8,
            other => other.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    shape.iter().map(written).collect()
}

/// Returns the leaf of structs that have one field each.
fn leaf(column: &ArrayRef) -> Option<ArrayRef> {
    let mut column = Arc::clone(column);
    while let Some(parts) = column.as_struct_opt() {
        column = Arc::clone(parts.columns().first()?);
    }
    Some(column)
}

/// Returns `true` if a number is written as Java writes a decimal of this scale, and never a double.
fn is_exact_decimal(text: &str, scale: i8) -> bool {
    let Some((_, fraction)) = text.split_once('.') else {
        return scale == 0 && !text.contains(['e', 'E']);
    };
    // Java writes a double with an exponent if it is large
    let has_exponent = fraction.contains(['e', 'E']);
    let digits = usize::from(scale.unsigned_abs());
    scale >= 2 && fraction.len() == digits && fraction.ends_with('0') && !has_exponent
}

/// Returns the files that have values; or the first file whose bounds are not certain, and the reason.
fn with_values(
    bounds: &Bounds,
    live: &[Option<u64>],
    exact: &[bool],
) -> Result<Vec<bool>, (usize, &'static str)> {
    let is_known =
        |bound: &Option<ArrayRef>, row| bound.as_ref().is_some_and(|bound| bound.is_valid(row));
    let all_null = |row| {
        let (nulls, rows) = (bounds.null_count.as_ref()?, bounds.num_rows.as_ref()?);
        let known = nulls.is_valid(row) && rows.is_valid(row);
        let (nulls, rows) = (nulls.value(row), rows.value(row));
        (known && nulls <= rows).then_some(nulls == rows)
    };
    let files = live.iter().zip(exact).enumerate();
    let has_values =
        |(row, (live, exact)): (usize, (&Option<u64>, &bool))| match (live, all_null(row)) {
            (None, _) => Err((row, "this file does not have its number of rows")),
            (Some(0), _) | (_, Some(true)) => Ok(false),
            _ if !exact => Err((
                row,
                "rows of this file were deleted since its statistics were collected",
            )),
            (_, Some(false)) if is_known(&bounds.min, row) && is_known(&bounds.max, row) => {
                Ok(true)
            }
            _ => Err((row, "this file has no valid statistics of the column")),
        };
    files.map(has_values).collect()
}

/// Combines the minimum and the maximum so far with the bounds of these files.
fn combine(
    before: &Extremes,
    bounds: &Bounds,
    rows: &BooleanArray,
) -> Result<Extremes, ArrowError> {
    let first = |before: &ArrayRef, more: &Option<ArrayRef>, descending| {
        let Some(more) = more else {
            return Ok(before.clone());
        };
        let all = concat(&[&**before, &*filter(more, rows)?])?;
        let order = SortOptions {
            descending,
            nulls_first: false,
        };
        take(&all, &sort_to_indices(&all, Some(order), Some(1))?, None)
    };
    Ok(Extremes {
        min: first(&before.min, &bounds.min, false)?,
        max: first(&before.max, &bounds.max, true)?,
    })
}

/// Adds a warning that the log does not give the minimum and the maximum.
pub fn warn(snapshot: &Snapshot, path: Option<String>, message: String) {
    snapshot.add_warning(LogWarning {
        code: "stats.min_max",
        path,
        version: Some(snapshot.version()),
        message,
    });
}
