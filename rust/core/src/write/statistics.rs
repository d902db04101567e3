//! Statistics of a new file, accumulated batch by batch: row and null counts, and bounds of the first
//! columns.
//!
//! Protocol: "Per-file Statistics"; the selection of columns and the truncation of strings follow
//! delta-spark.

use std::sync::Arc;

use arrow_arith::aggregate::{max, max_string, min, min_string};
use arrow_arith::boolean::is_null;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, BooleanArray, Int64Array,
    PrimitiveArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, TimeUnit};
use arrow_select::concat::concat;
use arrow_select::nullif::nullif;

use super::columns::{columns_mismatch, is_void};
use super::truncate::{lower_bound, upper_bound};
use crate::codec::statistics::render_stats;
use crate::error::Result;
use crate::spec::column_path::parse_column_paths;
use crate::spec::interval::MICROS_PER_DAY;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, StructField, StructType, same_name};
use crate::spec::{Metadata, Protocol};

/// The days that every reader can parse: from 0001-01-01 to 9999-12-31.
const READABLE_DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

#[derive(Clone, Debug)]
pub(super) struct StatisticsPlan {
    pub(crate) columns: Vec<MeasuredColumn>,
    /// The length of string bounds in UTF-16 code units.
    prefix_length: usize,
    tight_bounds: bool,
}

/// A column of the files, or a nested field, by its index.
#[derive(Clone, Debug)]
pub(super) struct MeasuredColumn {
    index: usize,
    pub(crate) name: String,
    pub(crate) kind: MeasuredKind,
}

#[derive(Clone, Debug)]
pub(super) enum MeasuredKind {
    Leaf { bounded: bool },
    Struct(Vec<MeasuredColumn>),
}

/// The leaf columns that may still be selected.
enum LeafSelection {
    /// The next ones, up to this number.
    First(usize),
    /// The leaf columns at or below these paths of logical names, in lower case.
    Named(Vec<Vec<String>>),
}

impl LeafSelection {
    fn of(metadata: &Metadata) -> Self {
        if let Some(text) = metadata.property("delta.dataSkippingStatsColumns") {
            return Self::Named(parse_column_paths(&text.to_lowercase()));
        }
        let text = metadata.property("delta.dataSkippingNumIndexedCols");
        let number: i64 = text.and_then(|text| text.trim().parse().ok()).unwrap_or(32);
        Self::First(usize::try_from(number).unwrap_or(usize::MAX))
    }

    fn select(&mut self, path: &[String]) -> bool {
        match self {
            Self::First(left) => {
                let selected = *left > 0;
                *left = left.saturating_sub(1);
                selected
            }
            Self::Named(paths) => paths.iter().any(|named| path.starts_with(named)),
        }
    }
}

impl StatisticsPlan {
    pub(crate) fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        schema: &StructType,
        mode: ColumnMappingMode,
    ) -> Result<Self> {
        let prefix_length = metadata
            .property("delta.dataSkippingStringPrefixLength")
            .and_then(|text| text.trim().parse().ok());
        Ok(Self {
            columns: stored_columns(metadata, schema, mode)?,
            prefix_length: prefix_length.unwrap_or(32),
            tight_bounds: protocol.is_supported("deletionVectors"),
        })
    }
}

/// Returns `true` if new files have statistics on a leaf column; its path is spelled as in the schema.
pub(crate) fn has_statistics(
    metadata: &Metadata,
    schema: &StructType,
    path: &[String],
) -> Result<bool> {
    let mut columns = stored_columns(metadata, schema, ColumnMappingMode::None)?;
    for name in path {
        let column = columns.into_iter().find(|column| column.name == *name);
        columns = match column.map(|column| column.kind) {
            Some(MeasuredKind::Struct(parts)) => parts,
            Some(MeasuredKind::Leaf { .. }) => Vec::new(),
            None => return Ok(false),
        };
    }
    Ok(true)
}

/// Returns the columns of the files of a table that have statistics.
fn stored_columns(
    metadata: &Metadata,
    schema: &StructType,
    mode: ColumnMappingMode,
) -> Result<Vec<MeasuredColumn>> {
    let is_partition = |field: &&StructField| {
        let mut partitions = metadata.partition_columns.iter();
        partitions.any(|name| same_name(name, &field.name))
    };
    let stored = schema.fields().iter().filter(|field| !is_partition(field));
    let mut selection = LeafSelection::of(metadata);
    columns(stored, mode, &mut Vec::new(), &mut selection)
}

fn columns<'a>(
    fields: impl Iterator<Item = &'a StructField>,
    mode: ColumnMappingMode,
    path: &mut Vec<String>,
    selection: &mut LeafSelection,
) -> Result<Vec<MeasuredColumn>> {
    let mut measured = Vec::new();
    for (index, field) in fields.filter(|field| !is_void(field)).enumerate() {
        path.push(field.name.to_lowercase());
        let kind = match &field.data_type {
            DataType::Struct(parts) => {
                let parts = columns(parts.fields().iter(), mode, path, selection)?;
                (!parts.is_empty()).then_some(MeasuredKind::Struct(parts))
            }
            other => selection.select(path).then(|| MeasuredKind::Leaf {
                bounded: other.has_min_max(),
            }),
        };
        path.pop();
        if let Some(kind) = kind {
            let name = field.name_in_files(mode)?.to_owned();
            measured.push(MeasuredColumn { index, name, kind });
        }
    }
    Ok(measured)
}

#[derive(Debug)]
pub(super) struct Statistics {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Accumulator>,
}

#[derive(Debug)]
pub(super) enum Accumulator {
    Leaf {
        nulls: usize,
        bounds: MeasuredBounds,
    },
    Struct(Vec<Accumulator>),
    /// Not even the null count is known.
    Unknown,
}

/// The minimum and maximum so far.
#[derive(Debug)]
pub(super) enum MeasuredBounds {
    /// The type has no order, or there is a value that statistics cannot hold: a NaN, a year before 1 or
    /// after 9999.
    Nothing,
    NoValueYet,
    Bounds(ArrayRef, ArrayRef),
}

impl Statistics {
    pub(crate) fn new(plan: &StatisticsPlan) -> Self {
        Self {
            rows: 0,
            columns: plan.columns.iter().map(nothing_yet).collect(),
        }
    }

    pub(crate) fn take(&mut self, plan: &StatisticsPlan, rows: &RecordBatch) -> Result<()> {
        self.rows += rows.num_rows();
        for (column, accumulator) in plan.columns.iter().zip(&mut self.columns) {
            if let Some(values) = rows.columns().get(column.index) {
                accumulate(column, accumulator, values)?;
            }
        }
        Ok(())
    }

    /// Returns the statistics as JSON, in the form of the log.
    pub(crate) fn json(self, plan: &StatisticsPlan) -> Result<String> {
        let mut parts = Parts::default();
        for (column, accumulator) in plan.columns.iter().zip(self.columns) {
            collect_parts(column, accumulator, plan.prefix_length, &mut parts)?;
        }
        let rows = i64::try_from(self.rows).unwrap_or(i64::MAX);
        let mut all = vec![named("numRecords", Arc::new(Int64Array::from(vec![rows])))];
        if plan.tight_bounds {
            let yes: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
            all.push(named("tightBounds", yes));
        }
        let parts = [
            ("minValues", parts.min),
            ("maxValues", parts.max),
            ("nullCount", parts.nulls),
        ];
        for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            all.push(named(name, Arc::new(single_row(part)?)));
        }
        Ok(render_stats(&single_row(all)?, None)?.value(0).to_owned())
    }
}

fn nothing_yet(column: &MeasuredColumn) -> Accumulator {
    match &column.kind {
        MeasuredKind::Struct(parts) => Accumulator::Struct(parts.iter().map(nothing_yet).collect()),
        MeasuredKind::Leaf { bounded } => Accumulator::Leaf {
            nulls: 0,
            bounds: if *bounded {
                MeasuredBounds::NoValueYet
            } else {
                MeasuredBounds::Nothing
            },
        },
    }
}

/// Recurses along structs, as deep as the table's schema.
fn accumulate(
    column: &MeasuredColumn,
    accumulator: &mut Accumulator,
    values: &ArrayRef,
) -> Result<()> {
    match (&column.kind, accumulator) {
        (MeasuredKind::Struct(parts), Accumulator::Struct(accumulators)) => {
            let Some(structure) = values.as_struct_opt() else {
                return Ok(());
            };
            let absent = is_null(values).map_err(columns_mismatch)?;
            for (part, accumulator) in parts.iter().zip(accumulators) {
                let Some(values) = structure.columns().get(part.index) else {
                    continue;
                };
                // a field of a null struct is null
                if structure.null_count() > 0 {
                    let values = nullif(values, &absent).map_err(columns_mismatch)?;
                    accumulate(part, accumulator, &values)?;
                } else {
                    accumulate(part, accumulator, values)?;
                }
            }
        }
        (MeasuredKind::Leaf { .. }, Accumulator::Leaf { nulls, bounds }) => {
            *nulls += values.logical_null_count();
            if !matches!(bounds, MeasuredBounds::Nothing) && values.null_count() < values.len() {
                let before = std::mem::replace(bounds, MeasuredBounds::Nothing);
                *bounds = joined(before, values)?;
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn joined(before: MeasuredBounds, values: &ArrayRef) -> Result<MeasuredBounds> {
    let Some((least, greatest)) = extremes(values) else {
        return Ok(MeasuredBounds::Nothing);
    };
    let MeasuredBounds::Bounds(before_least, before_greatest) = before else {
        return Ok(MeasuredBounds::Bounds(least, greatest));
    };
    let least = concat(&[&before_least, &least]).map_err(columns_mismatch)?;
    let greatest = concat(&[&before_greatest, &greatest]).map_err(columns_mismatch)?;
    let (least, greatest) = (extremes(&least), extremes(&greatest));
    Ok(match (least, greatest) {
        (Some((least, _)), Some((_, greatest))) => MeasuredBounds::Bounds(least, greatest),
        _ => MeasuredBounds::Nothing,
    })
}

/// Returns the minimum and maximum of values that are not all null.
fn extremes(values: &ArrayRef) -> Option<(ArrayRef, ArrayRef)> {
    match values.data_type() {
        ArrowType::Int8 => primitive_extremes::<Int8Type>(values, |_| true),
        ArrowType::Int16 => primitive_extremes::<Int16Type>(values, |_| true),
        ArrowType::Int32 => primitive_extremes::<Int32Type>(values, |_| true),
        ArrowType::Int64 => primitive_extremes::<Int64Type>(values, |_| true),
        ArrowType::Date32 => {
            primitive_extremes::<Date32Type>(values, |day| READABLE_DAYS.contains(&day))
        }
        ArrowType::Decimal128(..) => primitive_extremes::<Decimal128Type>(values, |_| true),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive_extremes::<TimestampMicrosecondType>(values, |micros| {
                i32::try_from(micros.div_euclid(MICROS_PER_DAY))
                    .is_ok_and(|day| READABLE_DAYS.contains(&day))
            })
        }
        // a NaN, which most readers do not expect, is the least or the greatest value, depending on its sign
        ArrowType::Float32 => primitive_extremes::<Float32Type>(values, |number| !number.is_nan()),
        ArrowType::Float64 => primitive_extremes::<Float64Type>(values, |number| !number.is_nan()),
        ArrowType::Utf8 => {
            let strings = values.as_string::<i32>();
            let bound =
                |text: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
            Some((bound(min_string(strings)), bound(max_string(strings))))
        }
        _ => None,
    }
}

fn primitive_extremes<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    is_representable: impl Fn(T::Native) -> bool,
) -> Option<(ArrayRef, ArrayRef)>
where
    T::Native: ArrowNativeTypeOp,
{
    let numbers = values.as_primitive_opt::<T>()?;
    let (least, greatest) = (min(numbers)?, max(numbers)?);
    if !is_representable(least) || !is_representable(greatest) {
        return None;
    }
    let bound = |value: T::Native| -> ArrayRef {
        let array = PrimitiveArray::<T>::from_iter_values([value]);
        Arc::new(array.with_data_type(values.data_type().clone()))
    };
    Some((bound(least), bound(greatest)))
}

type NamedColumns = Vec<(FieldRef, ArrayRef)>;

/// The fields of `minValues`, `maxValues` and `nullCount`.
#[derive(Default)]
struct Parts {
    min: NamedColumns,
    max: NamedColumns,
    nulls: NamedColumns,
}

fn collect_parts(
    column: &MeasuredColumn,
    accumulator: Accumulator,
    prefix_length: usize,
    parts: &mut Parts,
) -> Result<()> {
    let name = &column.name;
    match (&column.kind, accumulator) {
        (MeasuredKind::Struct(columns), Accumulator::Struct(accumulators)) => {
            let mut nested = Parts::default();
            for (column, accumulator) in columns.iter().zip(accumulators) {
                collect_parts(column, accumulator, prefix_length, &mut nested)?;
            }
            for (from, to) in [
                (nested.min, &mut parts.min),
                (nested.max, &mut parts.max),
                (nested.nulls, &mut parts.nulls),
            ] {
                if !from.is_empty() {
                    to.push(named(name, Arc::new(single_row(from)?)));
                }
            }
        }
        (MeasuredKind::Leaf { .. }, Accumulator::Leaf { nulls, bounds }) => {
            let nulls = i64::try_from(nulls).unwrap_or(i64::MAX);
            let nulls: ArrayRef = Arc::new(Int64Array::from(vec![nulls]));
            parts.nulls.push(named(name, nulls));
            if let MeasuredBounds::Bounds(least, greatest) = bounds {
                let least = truncated(least, |text| lower_bound(text, prefix_length));
                let greatest = truncated(greatest, |text| upper_bound(text, prefix_length));
                parts.min.extend(least.map(|least| named(name, least)));
                parts
                    .max
                    .extend(greatest.map(|greatest| named(name, greatest)));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Truncates text and returns other values unchanged; `None` if no such text exists.
fn truncated(value: ArrayRef, truncate: impl Fn(&str) -> Option<String>) -> Option<ArrayRef> {
    match value.as_string_opt::<i32>() {
        Some(strings) => {
            let text = truncate(strings.value(0))?;
            Some(Arc::new(StringArray::from(vec![text])))
        }
        None => Some(value),
    }
}

fn named(name: &str, values: ArrayRef) -> (FieldRef, ArrayRef) {
    let field = Field::new(name, values.data_type().clone(), true);
    (Arc::new(field), values)
}

fn single_row(columns: NamedColumns) -> Result<StructArray> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    StructArray::try_new(Fields::from(fields), columns, None).map_err(columns_mismatch)
}
