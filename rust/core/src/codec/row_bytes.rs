//! Byte encodings of rows that are equal if the rows are equal.
//!
//! Arrow's row format, with floats normalized as in Spark's grouping.

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, SortField};
use arrow_schema::ArrowError;

use crate::expr::value::floats::normalized;

/// Rows encoded at a time.
const BATCH_ROWS: usize = 4096;

/// Calls `visit` with the index and the bytes of each row of these columns, which have equal lengths.
///
/// # Errors
///
/// A column has a type that the row format does not support.
pub(crate) fn each_row<'a>(
    columns: impl IntoIterator<Item = &'a ArrayRef>,
    rows: usize,
    mut visit: impl FnMut(usize, &[u8]),
) -> Result<(), ArrowError> {
    let columns = columns.into_iter().map(normalized);
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    if columns.is_empty() {
        (0..rows).for_each(|row| visit(row, &[]));
        return Ok(());
    }
    let fields = columns.iter().map(|column| column.data_type().clone());
    let converter = RowConverter::new(fields.map(SortField::new).collect())?;
    let mut encoded = converter.empty_rows(rows.min(BATCH_ROWS), 0);
    for start in (0..rows).step_by(BATCH_ROWS) {
        let length = BATCH_ROWS.min(rows - start);
        let columns: Vec<ArrayRef> = columns
            .iter()
            .map(|column| column.slice(start, length))
            .collect();
        encoded.clear();
        converter.append(&mut encoded, &columns)?;
        for (row, bytes) in (start..).zip(&encoded) {
            visit(row, bytes.as_ref());
        }
    }
    Ok(())
}
