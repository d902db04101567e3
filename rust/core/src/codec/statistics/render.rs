//! Renders typed statistics as JSON, like Spark's `to_json`.
//!
//! Checkpoints may hold statistics only as a struct (`delta.checkpoint.writeStatsAsJson=false`), but callers
//! request `stats` as text. The struct's type is compiled once to a flat list of steps, which runs for each
//! row.
//!
//! Protocol: "Per-file Statistics", "Checkpoint Schema".

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, BinaryArray, BooleanArray, Int64Array, StringArray, StructArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Fields, TimeUnit};

use super::MAX_SCHEMA_DEPTH;
use super::format;
use crate::error::{Error, Result};

/// Returns the JSON text of each row; null if the row is null.
///
/// Null fields are omitted and empty structs are kept (`{}`). Timestamps are truncated to milliseconds; those
/// with a time zone, and those in nanoseconds (Arrow's type for INT96), end in `Z`. Columns without
/// statistics (lists, maps, intervals) are omitted.
///
/// `shape` (see [`super::stats_schema`]) determines which timestamps have a time zone: some writers store instants
/// without one.
///
/// # Errors
///
/// Unsupported: `stats.too_large` if the texts together have 2 GiB or more: render fewer rows at once.
pub fn render_stats(stats: &StructArray, shape: Option<&Fields>) -> Result<StringArray> {
    let mut steps = Vec::new();
    compile(stats, shape, 0, &mut steps);
    let rows = stats.len();
    let mut out = Vec::with_capacity(rows.saturating_mul(64));
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    for row in 0..rows {
        if stats.is_valid(row) {
            write_row(&steps, row, &mut out);
        }
        offsets.push(i32::try_from(out.len()).map_err(|_| {
            Error::unsupported(
                "stats.too_large",
                "the statistics of one batch exceed 2 GiB as text: read fewer rows at once",
            )
        })?);
    }
    StringArray::try_new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Buffer::from_vec(out),
        stats.nulls().cloned(),
    )
    .map_err(|cause| Error::corrupt("stats.text", "statistics are not UTF-8").because(cause))
}

/// One step of rendering a row.
enum Step<'a> {
    /// Writes the key and the value, unless the value is null.
    Leaf {
        key: Vec<u8>,
        nulls: Option<&'a NullBuffer>,
        column: LeafValues<'a>,
    },
    /// Writes the key and an opening brace; if the struct is null, skips `inside` steps instead, the last of
    /// which is the closing brace.
    Open {
        key: Vec<u8>,
        nulls: Option<&'a NullBuffer>,
        inside: usize,
    },
    /// Writes a closing brace.
    Close,
}

/// A column by the format of its values.
enum LeafValues<'a> {
    Bool(&'a BooleanArray),
    Integer(Int64Array),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal128(&'a [i128], i8),
    Date(&'a [i32]),
    Timestamp {
        values: &'a [i64],
        unit: TimeUnit,
        utc: bool,
    },
    Text(StringArray),
    Binary(&'a BinaryArray),
}

/// Compiles a struct's fields to steps. Recurses along the type, to a bounded depth.
fn compile<'a>(
    parent: &'a StructArray,
    shape: Option<&Fields>,
    depth: usize,
    steps: &mut Vec<Step<'a>>,
) {
    for (field, array) in parent.fields().iter().zip(parent.columns()) {
        let mut key = Vec::new();
        format::string(&mut key, field.name());
        key.push(b':');
        let nulls = array.nulls();
        let declared = shape
            .and_then(|shape| shape.find(field.name()))
            .map(|(_, field)| field);
        let data_type = declared.map(|field| field.data_type());
        if let Some(child) = array.as_struct_opt() {
            if depth > MAX_SCHEMA_DEPTH {
                continue;
            }
            let shape = match data_type {
                Some(DataType::Struct(fields)) => Some(fields),
                _ => None,
            };
            let open = steps.len();
            steps.push(Step::Open {
                key,
                nulls,
                inside: 0,
            });
            compile(child, shape, depth + 1, steps);
            let length = steps.len() - open;
            if let Some(Step::Open { inside, .. }) = steps.get_mut(open) {
                *inside = length;
            }
            steps.push(Step::Close);
        } else if let Some(column) = LeafValues::of(array.as_ref(), data_type) {
            steps.push(Step::Leaf { key, nulls, column });
        }
    }
}

/// Writes one row.
fn write_row(steps: &[Step<'_>], row: usize, out: &mut Vec<u8>) {
    let is_valid = |nulls: &Option<&NullBuffer>| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let begin = |key: &[u8], out: &mut Vec<u8>, first: &mut bool| {
        if !std::mem::take(first) {
            out.push(b',');
        }
        out.extend_from_slice(key);
    };
    let mut first = true;
    let mut steps = steps.iter();
    out.push(b'{');
    while let Some(step) = steps.next() {
        match step {
            Step::Leaf { key, nulls, column } => {
                if is_valid(nulls) {
                    begin(key, out, &mut first);
                    column.write(row, out);
                }
            }
            Step::Open { key, nulls, inside } => {
                if is_valid(nulls) {
                    begin(key, out, &mut first);
                    out.push(b'{');
                    first = true;
                } else {
                    steps.nth(inside.saturating_sub(1));
                }
            }
            Step::Close => {
                out.push(b'}');
                first = false;
            }
        }
    }
    out.push(b'}');
}

impl<'a> LeafValues<'a> {
    fn of(array: &'a dyn Array, data_type: Option<&DataType>) -> Option<Self> {
        macro_rules! values {
            ($type:ty) => {
                array.as_primitive_opt::<$type>()?.values().as_ref()
            };
        }
        Some(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean_opt()?),
            integer if integer.is_integer() => {
                let signed = cast(array, &DataType::Int64).ok()?;
                // a number that does not fit becomes null
                let fits = signed.null_count() == array.null_count();
                Self::Integer(fits.then(|| signed.as_primitive::<Int64Type>().clone())?)
            }
            DataType::Float32 => Self::Float32(values!(Float32Type)),
            DataType::Float64 => Self::Float64(values!(Float64Type)),
            DataType::Decimal128(_, scale) => Self::Decimal128(values!(Decimal128Type), *scale),
            DataType::Date32 => Self::Date(values!(Date32Type)),
            DataType::Timestamp(unit, zone) => Self::Timestamp {
                values: match unit {
                    TimeUnit::Second => values!(TimestampSecondType),
                    TimeUnit::Millisecond => values!(TimestampMillisecondType),
                    TimeUnit::Microsecond => values!(TimestampMicrosecondType),
                    TimeUnit::Nanosecond => values!(TimestampNanosecondType),
                },
                unit: *unit,
                utc: match data_type {
                    Some(DataType::Timestamp(_, zone)) => zone.is_some(),
                    _ => zone.is_some() || *unit == TimeUnit::Nanosecond,
                },
            },
            DataType::Utf8 => Self::Text(array.as_string_opt()?.clone()),
            // strings that the writer did not annotate as such
            DataType::Binary if data_type == Some(&DataType::Utf8) => {
                let bytes = array.as_binary_opt()?.clone();
                Self::Text(StringArray::try_from_binary(bytes).ok()?)
            }
            DataType::Binary => Self::Binary(array.as_binary_opt()?),
            _ => return None,
        })
    }

    /// Writes the value at `row`, which is less than the length of every column.
    #[inline]
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        fn value<T: Copy + Default>(values: &[T], row: usize) -> T {
            values.get(row).copied().unwrap_or_default()
        }
        match self {
            Self::Bool(values) if values.value(row) => out.extend_from_slice(b"true"),
            Self::Bool(_) => out.extend_from_slice(b"false"),
            Self::Integer(values) => format::integer(out, values.value(row)),
            Self::Float32(values) => format::float(out, value(values, row)),
            Self::Float64(values) => format::float(out, value(values, row)),
            Self::Decimal128(values, scale) => format::decimal(out, value(values, row), *scale),
            Self::Date(values) => {
                out.push(b'"');
                format::date(out, value(values, row).into());
                out.push(b'"');
            }
            Self::Timestamp { values, unit, utc } => {
                out.push(b'"');
                format::timestamp(out, value(values, row), *unit, *utc);
                out.push(b'"');
            }
            Self::Text(values) => format::string(out, values.value(row)),
            Self::Binary(values) => format::base64(out, values.value(row)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
