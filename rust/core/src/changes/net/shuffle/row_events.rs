//! Reads the identity of each row, and the change to it.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Int64Type, UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;

use super::{ROW_EVENTS, Shuffle, halves, numbers, schema_of, shuffle_error};
use crate::changes::net::Net;
use crate::changes::net::identify::{Share, ShareReader};
use crate::changes::range::derive::MatchBy;
use crate::codec::batches::Batches;
use crate::error::Result;
use crate::replay::Source;

/// Returns the events on the rows of these pieces; files are read on demand.
pub(super) fn row_events(
    shuffle: &Shuffle,
    source: &Source,
    (first, end): (u32, u32),
) -> Result<Batches> {
    let count = end.saturating_sub(first) as usize;
    let pieces = shuffle.pieces().skip(first as usize).take(count);
    let (commits, pieces): (Vec<usize>, _) = pieces.map(|(at, piece)| (at, piece.clone())).unzip();
    let (way, kind) = (shuffle.plan.way, shuffle.plan.kind);
    // an update to equal values is not a change, and row ids do not show whether values are equal
    let with_values = way == MatchBy::RowTracking && kind == Net::MinDelta;
    let resolved = Arc::new(shuffle.definition.resolve()?);
    let all = ShareReader {
        source,
        resolved: &resolved,
        identity: &shuffle.identity_options.row_identity(way),
        share: Share::ALL,
    };
    let schema = schema_of(&ROW_EVENTS);
    let batch_schema = Arc::clone(&schema);
    let identities = all.row_events(pieces, with_values)?;
    let events = identities.map(move |batch| events(&batch_schema, first, &commits, &batch?));
    Ok(Batches::new(schema, events))
}

/// Converts identities of rows; `first` is the index of the first piece, `commits` has the commit of each piece.
fn events(
    schema: &SchemaRef,
    first: u32,
    commits: &[usize],
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let pieces = numbers::<UInt32Type>(batch, 0)?.values();
    let positions = numbers::<Int64Type>(batch, 1)?;
    let changes = numbers::<UInt8Type>(batch, 4)?.values().iter();
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(ROW_EVENTS.len());
    for at in [2, 3, 5] {
        if at < batch.num_columns() {
            let values = numbers::<Decimal128Type>(batch, at)?.values();
            columns.extend(columns_of(values.iter().map(|value| value.cast_unsigned())));
        } else {
            columns.extend(columns_of(std::iter::repeat_n(0, rows)));
        }
    }
    let commits = pieces.iter().map(|piece| {
        let commit = commits.get(*piece as usize).copied();
        i32::try_from(commit.unwrap_or(usize::MAX)).unwrap_or(i32::MAX)
    });
    let pieces = pieces
        .iter()
        .map(|piece| piece.saturating_add(first).cast_signed());
    let changes = changes.map(|change| i8::try_from(*change).unwrap_or_default());
    columns.extend([
        Arc::new(Int32Array::from_iter_values(commits)) as ArrayRef,
        Arc::new(Int32Array::from_iter_values(pieces)),
        Arc::new(positions.clone()),
        Arc::new(Int8Array::from_iter_values(changes)),
    ]);
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|cause| shuffle_error("the columns do not fit the schema").because(cause))
}

/// Returns numbers as two columns of halves.
fn columns_of(numbers: impl Iterator<Item = u128>) -> [ArrayRef; 2] {
    let (high, low): (Vec<i64>, Vec<i64>) = numbers.map(halves).unzip();
    [
        Arc::new(Int64Array::from(high)),
        Arc::new(Int64Array::from(low)),
    ]
}
