//! The smallest and the largest value of a column, from the log alone.
//!
//! Statistics are bounds: of strings they are cut, of timestamps rounded, of floating-point numbers
//! silent about NaN, and where rows were deleted they may be too wide. An answer is given only where
//! none of that can be so.
//!
//! Protocol: "Per-file Statistics".

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_ord::sort::{SortOptions, sort_to_indices};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;

use crate::codec::columns::misfit;
use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::expr::{Bounds, ColumnBounds, Literal, Predicate};
use crate::log::LogWarning;
use crate::replay::Source;
use crate::replay::file_filter::tight_bounds;
use crate::snapshot::Snapshot;
use crate::snapshot::row_count::live_rows;

/// The least and the greatest value.
type MinMax = (ArrayRef, ArrayRef);

/// The columns `min` and `max`, one row, of a column that is named or the path to one through structs;
/// nulls where no row has a value. `None` when the log does not tell: a warning then says why.
///
/// # Errors
///
/// Invalid argument: `filter.column` when there is no such column.
pub fn min_max(source: &Source, snapshot: &Snapshot, column: &str) -> Result<Option<RecordBatch>> {
    let is_null = (column.to_owned(), "is".to_owned(), Literal::Null);
    let is_null = Predicate::from_dnf(vec![vec![is_null]])?.bind(snapshot.schema())?;
    let Some(column) = is_null.columns().first().cloned() else {
        return Ok(None);
    };
    let known = snapshot.file_filter(is_null)?.with_tight_bounds();
    let is_partition = !known.columns().partition_values().is_empty();
    if !is_partition && !is_exact(&column.data_type) {
        let message = format!(
            "statistics of {} columns are bounds, not values that the table has: \
             compute min and max of {} by a scan",
            column.data_type,
            column.path.join(".")
        );
        tell(snapshot, None, message);
        return Ok(None);
    }
    let names = ["path", "numRecords", "deletionVector"].into_iter();
    let fields = known.columns().fields();
    let names = names.chain(fields.iter().map(|field| field.name()));
    let names: Vec<String> = names.map(str::to_owned).collect();
    let columns = FileColumns::of_names(Some(&names), snapshot)?;
    let empty = new_null_array(&column.data_type, 1);
    let mut found: MinMax = (Arc::clone(&empty), empty);
    for files in snapshot.file_batches(source, columns, None)? {
        let files = files?;
        let parsed = known.columns().of(&files)?;
        let bounds = known.bounds(&parsed).bounds(&column)?.unwrap_or_default();
        let exact = if is_partition {
            vec![true; files.num_rows()]
        } else {
            exact(&files, &parsed)?
        };
        match with_values(&bounds, &live_rows(&files)?, &exact) {
            Ok(rows) => found = both(&found, &bounds, &rows.into()).map_err(misfit)?,
            Err((row, why)) => {
                let path = files.column_by_name("path");
                let path = path.and_then(|path| path.as_string_opt::<i32>());
                let path = path.map(|path| path.value(row).to_owned());
                let message = format!(
                    "{why}, so the log does not give the minimum and maximum of {}: compute them by a scan",
                    column.path.join(".")
                );
                tell(snapshot, path, message);
                return Ok(None);
            }
        }
    }
    let found =
        RecordBatch::try_from_iter_with_nullable([("min", found.0, true), ("max", found.1, true)]);
    found.map(Some).map_err(misfit)
}

/// Whether writers give the values themselves.
fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Date32 | DataType::Decimal128(..) | DataType::Boolean
        )
}

/// The files whose statistics speak of all their rows and of no others.
fn exact(files: &RecordBatch, parsed: &RecordBatch) -> Result<Vec<bool>> {
    let mut exact = tight_bounds(parsed)?;
    if let Some(vectors) = files.column_by_name("deletionVector") {
        for (row, exact) in exact.iter_mut().enumerate() {
            *exact &= vectors.is_null(row);
        }
    }
    Ok(exact)
}

/// The files that have values; or the first one that does not tell, and why.
fn with_values(
    bounds: &Bounds,
    live: &[Option<u64>],
    exact: &[bool],
) -> Result<Vec<bool>, (usize, &'static str)> {
    let known = |bound: &Option<ArrayRef>, row| {
        let bound = bound.as_ref();
        bound.is_some_and(|bound| bound.is_valid(row))
    };
    let all_null = |row| {
        let (nulls, rows) = (bounds.null_count.as_ref()?, bounds.num_rows.as_ref()?);
        (nulls.is_valid(row) && rows.is_valid(row)).then(|| nulls.value(row) >= rows.value(row))
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
            (_, Some(false)) if known(&bounds.min, row) && known(&bounds.max, row) => Ok(true),
            _ => Err((row, "this file has no statistics of the column")),
        };
    files.map(has_values).collect()
}

/// What there was, and what these files have.
fn both(found: &MinMax, bounds: &Bounds, rows: &BooleanArray) -> Result<MinMax, ArrowError> {
    let least = |found: &ArrayRef, more: &Option<ArrayRef>, descending| {
        let Some(more) = more else {
            return Ok(found.clone());
        };
        let all = concat(&[&**found, &*filter(more, rows)?])?;
        let order = SortOptions {
            descending,
            nulls_first: false,
        };
        take(&all, &sort_to_indices(&all, Some(order), Some(1))?, None)
    };
    Ok((
        least(&found.0, &bounds.min, false)?,
        least(&found.1, &bounds.max, true)?,
    ))
}

fn tell(snapshot: &Snapshot, path: Option<String>, message: String) {
    snapshot.note(LogWarning {
        code: "stats.min_max",
        path,
        version: Some(snapshot.version()),
        message,
    });
}
