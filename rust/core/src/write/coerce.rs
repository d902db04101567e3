//! Conversion of values to the table's types, following Spark's store assignment.
//!
//! The rules are those of delta-spark's statements in ANSI mode: numbers to numbers, with an error for a
//! value that does not fit; primitive types to string, and strings to them, as by a cast; booleans to and
//! from numbers; dates and timestamps to each other; arrays, maps and structs by their elements and fields.
//! Numbers are never converted to dates or timestamps, nor the reverse. Timestamps without a time zone are
//! taken as UTC.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ByteArrayType, Float32Type, Float64Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, GenericByteArray, ListArray, MapArray, OffsetSizeTrait, StructArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, FieldRef, Fields, TimeUnit};

use super::columns::columns_mismatch;
use crate::error::{Error, Result};
use crate::expr::cast_value;
use crate::spec::arrow::{field_index, strict_cast};
use crate::spec::json::clipped;
use crate::spec::schema::{
    ArrayType, DataType, MapType, PrimitiveType, StructType, duplicate_name_message,
    first_duplicate,
};

/// Refuses types that can never be converted; `name` is the column or nested field, for the message.
///
/// # Errors
///
/// Invalid argument: `rows.type`, `rows.column`; `rows.missing` for a required nested field.
pub(crate) fn check(source: &ArrowType, target: &DataType, name: &str) -> Result<()> {
    let refused = || {
        let name = clipped(name);
        let message = match target {
            DataType::Primitive(PrimitiveType::Void) => format!(
                "the column {name} has no type in the table, because it has only nulls: \
                 schema_mode=\"merge\" gives it the type {source}"
            ),
            _ => format!(
                "the column {name} has the type {source}, which cannot be stored as the table's {}: cast \
                 it first",
                target.arrow_type()
            ),
        };
        Err(Error::invalid("rows.type", message))
    };
    if let ArrowType::Dictionary(_, values) = source {
        return check(values, target, name);
    }
    if let ArrowType::RunEndEncoded(_, values) = source {
        return check(values.data_type(), target, name);
    }
    if *source == ArrowType::Null {
        return Ok(());
    }
    match (target, source) {
        (DataType::Primitive(PrimitiveType::Variant), ArrowType::Struct(parts))
            if parts.len() == 2
                && parts.find("metadata").is_some()
                && parts.find("value").is_some() =>
        {
            Ok(()) // a shredded variant has a third part, which would be lost
        }
        (DataType::Primitive(primitive), _)
            if storable(source, primitive) || *source == primitive.arrow_type() =>
        {
            Ok(())
        }
        (
            DataType::Array(array),
            ArrowType::List(element)
            | ArrowType::LargeList(element)
            | ArrowType::FixedSizeList(element, _)
            | ArrowType::ListView(element)
            | ArrowType::LargeListView(element),
        ) => check(
            element.data_type(),
            &array.element_type,
            &format!("{name}.element"),
        ),
        (DataType::Map(map), ArrowType::Map(entries, _)) => {
            let ArrowType::Struct(parts) = entries.data_type() else {
                return refused();
            };
            let [key, value] = &**parts else {
                return refused();
            };
            check(key.data_type(), &map.key_type, &format!("{name}.key"))?;
            check(value.data_type(), &map.value_type, &format!("{name}.value"))
        }
        (DataType::Struct(parts), ArrowType::Struct(source)) => check_parts(source, parts, name),
        _ => refused(),
    }
}

/// Refuses two columns with the same name.
pub(super) fn refuse_duplicates(fields: &Fields) -> Result<()> {
    match first_duplicate(fields.iter().map(|field| field.name().as_str())) {
        Some(name) => Err(Error::invalid("rows.column", duplicate_name_message(name))),
        None => Ok(()),
    }
}

fn check_parts(source: &Fields, target: &StructType, name: &str) -> Result<()> {
    refuse_duplicates(source)?;
    for field in source {
        let nested = format!("{name}.{}", field.name());
        match target.field(field.name()) {
            Some(part) => check(field.data_type(), &part.data_type, &nested)?,
            None => return Err(unknown_column(&nested)),
        }
    }
    for part in target.fields() {
        if !part.nullable && field_index(source, &part.name).is_none() {
            return Err(missing_column(&format!("{name}.{}", part.name)));
        }
    }
    Ok(())
}

pub(super) fn unknown_column(name: &str) -> Error {
    let message = format!(
        "the table has no column {}: leave it out, or add it to the table by schema_mode=\"merge\"",
        clipped(name)
    );
    Error::invalid("rows.column", message)
}

pub(super) fn missing_column(name: &str) -> Error {
    let message = format!(
        "the rows lack the column {}, which may not be null",
        clipped(name)
    );
    Error::invalid("rows.missing", message)
}

fn storable(source: &ArrowType, target: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    let text = is_text(source);
    let boolean = *source == ArrowType::Boolean;
    let bytes = matches!(
        source,
        ArrowType::Binary
            | ArrowType::LargeBinary
            | ArrowType::BinaryView
            | ArrowType::FixedSizeBinary(_)
    );
    let time = matches!(
        source,
        ArrowType::Date32 | ArrowType::Date64 | ArrowType::Timestamp(..)
    );
    match target {
        P::Byte | P::Short | P::Integer | P::Long | P::Float | P::Double | P::Decimal { .. } => {
            source.is_numeric() || text || boolean
        }
        P::Boolean => boolean || text || source.is_numeric(),
        P::String => text || bytes || time || boolean || source.is_numeric(),
        P::Binary => bytes || text,
        P::Date | P::Timestamp | P::TimestampNtz => time || text,
        _ => false,
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    matches!(
        data_type,
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View
    )
}

/// Converts the values to the table's type.
///
/// # Errors
///
/// Invalid argument: `rows.value` for a value that does not fit; `rows.null` for a null in a nested field
/// that must not be null.
pub(crate) fn coerce(values: &ArrayRef, target: &DataType, name: &str) -> Result<ArrayRef> {
    let arrow = target.arrow_type();
    if *values.data_type() == arrow && !arrow.is_nested() {
        return Ok(Arc::clone(values));
    }
    if *values.data_type() == ArrowType::Null {
        return Ok(new_null_array(&arrow, values.len()));
    }
    if let ArrowType::Dictionary(_, inner) = values.data_type() {
        return coerce(&plain_cast(values, inner, name)?, target, name);
    }
    if let ArrowType::RunEndEncoded(_, inner) = values.data_type() {
        let inner = inner.data_type().clone();
        return coerce(&plain_cast(values, &inner, name)?, target, name);
    }
    match (target, &arrow) {
        (DataType::Struct(parts), ArrowType::Struct(fields)) => {
            struct_of(values, parts, fields, name)
        }
        (DataType::Array(array), ArrowType::List(element)) => list_of(values, array, element, name),
        (DataType::Map(map), ArrowType::Map(entries, _)) => map_of(values, map, entries, name),
        (DataType::Primitive(PrimitiveType::Variant), ArrowType::Struct(fields)) => {
            variant_of(values, fields, name)
        }
        _ => primitive(values, &arrow, name),
    }
}

fn struct_of(
    values: &ArrayRef,
    target: &StructType,
    fields: &Fields,
    name: &str,
) -> Result<ArrayRef> {
    let Some(source) = values.as_struct_opt() else {
        return plain_cast(values, &ArrowType::Struct(fields.clone()), name);
    };
    let mut columns = Vec::with_capacity(fields.len());
    for part in target.fields() {
        let nested = format!("{name}.{}", part.name);
        columns.push(match field_index(source.fields(), &part.name) {
            Some(index) => coerce(source.column(index), &part.data_type, &nested)?,
            None => new_null_array(&part.data_type.arrow_type(), values.len()),
        });
    }
    let array = StructArray::try_new(fields.clone(), columns, source.nulls().cloned());
    Ok(Arc::new(array.map_err(|_| null_inside(name))?))
}

fn list_of(
    values: &ArrayRef,
    target: &ArrayType,
    element: &FieldRef,
    name: &str,
) -> Result<ArrayRef> {
    let list = as_list(values, element, name)?;
    let list = list.as_list::<i32>();
    let (offsets, range) = rebased_offsets(list.offsets());
    let inner = list.values().slice(range.start, range.len());
    let inner = coerce(&inner, &target.element_type, &format!("{name}.element"))?;
    let nulls = list.nulls().cloned();
    let array = ListArray::try_new(Arc::clone(element), offsets, inner, nulls);
    Ok(Arc::new(array.map_err(|_| null_inside(name))?))
}

fn map_of(values: &ArrayRef, target: &MapType, entries: &FieldRef, name: &str) -> Result<ArrayRef> {
    let (Some(source), ArrowType::Struct(fields)) = (values.as_map_opt(), entries.data_type())
    else {
        return plain_cast(values, &ArrowType::Map(Arc::clone(entries), false), name);
    };
    let (offsets, range) = rebased_offsets(source.offsets());
    let part = |all: &ArrayRef| all.slice(range.start, range.len());
    let keys = part(source.keys());
    let keys = coerce(&keys, &target.key_type, &format!("{name}.key"))?;
    let inner = part(source.values());
    let inner = coerce(&inner, &target.value_type, &format!("{name}.value"))?;
    let entry_rows = StructArray::try_new(fields.clone(), vec![keys, inner], None);
    let entry_rows = entry_rows.map_err(|_| null_inside(name))?;
    let nulls = source.nulls().cloned();
    let array = MapArray::try_new(Arc::clone(entries), offsets, entry_rows, nulls, false);
    Ok(Arc::new(array.map_err(columns_mismatch)?))
}

fn variant_of(values: &ArrayRef, fields: &Fields, name: &str) -> Result<ArrayRef> {
    let Some(source) = values.as_struct_opt() else {
        return plain_cast(values, &ArrowType::Struct(fields.clone()), name);
    };
    let mut columns = Vec::with_capacity(2);
    for field in fields {
        let column = source.column_by_name(field.name());
        let column = column.ok_or_else(|| missing_column(&format!("{name}.{}", field.name())))?;
        columns.push(plain_cast(column, field.data_type(), name)?);
    }
    let array = StructArray::try_new(fields.clone(), columns, source.nulls().cloned());
    Ok(Arc::new(array.map_err(|_| null_inside(name))?))
}

fn primitive(values: &ArrayRef, target: &ArrowType, name: &str) -> Result<ArrayRef> {
    let cast_through = |intermediate: &ArrowType| {
        plain_cast(&plain_cast(values, intermediate, name)?, target, name)
    };
    let sql_cast = |values: &ArrayRef| {
        cast_value(values, target).map_err(|cause| value_does_not_fit(name, target).because(cause))
    };
    let source = values.data_type();
    match target {
        _ if is_text(source) => sql_cast(&plain_cast(values, &ArrowType::Utf8, name)?),
        ArrowType::Decimal128(..) if *source == ArrowType::Boolean => {
            cast_through(&ArrowType::Int8)
        }
        ArrowType::Decimal128(..) if source.is_floating() => sql_cast(values),
        ArrowType::Boolean if source.is_decimal() => cast_through(&ArrowType::Float64),
        ArrowType::Timestamp(TimeUnit::Microsecond, zone) => {
            let micros = to_microseconds(values, name)?;
            Ok(Arc::new(micros.with_timezone_opt(zone.clone())))
        }
        ArrowType::Utf8 if source.is_temporal() || source.is_floating() => sql_cast(values),
        ArrowType::Float32 if *source == ArrowType::Float64 => to_single_precision(values, name),
        ArrowType::Date32 if matches!(source, ArrowType::Timestamp(..)) => sql_cast(values),
        _ => plain_cast(values, target, name),
    }
}

/// Converts doubles to single precision; refuses numbers that would become infinite.
fn to_single_precision(values: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let doubles = values.as_primitive::<Float64Type>();
    let singles = doubles.unary::<_, Float32Type>(|double| double as f32);
    let pairs = doubles.iter().zip(&singles);
    let overflows = |(double, single): (Option<f64>, Option<f32>)| {
        single.is_some_and(f32::is_infinite) && double.is_some_and(f64::is_finite)
    };
    if pairs.into_iter().any(overflows) {
        return Err(value_does_not_fit(name, &ArrowType::Float32));
    }
    Ok(Arc::new(singles))
}

/// Converts dates and timestamps to microseconds since the epoch. Values without a time zone are taken as
/// UTC, so the time zone of the result is only a label, which the caller sets.
fn to_microseconds(values: &ArrayRef, name: &str) -> Result<TimestampMicrosecondArray> {
    if let Some(nanos) = values.as_primitive_opt::<TimestampNanosecondType>() {
        // floor, also before the epoch: a cast would round towards zero
        return Ok(nanos.unary(|nanos| nanos.div_euclid(1_000)));
    }
    let zone = match values.data_type() {
        ArrowType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let micros = ArrowType::Timestamp(TimeUnit::Microsecond, zone);
    let micros = plain_cast(values, &micros, name)?;
    Ok(micros.as_primitive::<TimestampMicrosecondType>().clone())
}

/// Returns the values in Arrow's plain list layout.
fn as_list(values: &ArrayRef, target: &FieldRef, name: &str) -> Result<ArrayRef> {
    match values.data_type() {
        ArrowType::List(_) => Ok(Arc::clone(values)),
        ArrowType::LargeList(element)
        | ArrowType::FixedSizeList(element, _)
        | ArrowType::ListView(element)
        | ArrowType::LargeListView(element) => {
            plain_cast(values, &ArrowType::List(Arc::clone(element)), name)
        }
        _ => Err(value_does_not_fit(
            name,
            &ArrowType::List(Arc::clone(target)),
        )),
    }
}

pub(crate) fn null_inside(name: &str) -> Error {
    let message = format!(
        "the column {} has a null in a nested field that must not be null",
        clipped(name)
    );
    Error::invalid("rows.null", message)
}

fn plain_cast(values: &ArrayRef, target: &ArrowType, name: &str) -> Result<ArrayRef> {
    if values.data_type() == target {
        return Ok(Arc::clone(values));
    }
    strict_cast(&*without_offset(values), target)
        .map_err(|cause| value_does_not_fit(name, target).because(cause))
}

/// Returns the offsets rebased to 0, and the range of child values that belong to these rows: the array may
/// be a slice.
fn rebased_offsets<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
) -> (OffsetBuffer<O>, Range<usize>) {
    let (first, last) = (offsets.first(), offsets.last());
    let rebased = offsets.clone().subtract(first);
    (rebased, first.as_usize()..last.as_usize())
}

/// Rebases the offsets of large text and bytes to 0: a cast to 32-bit offsets ignores that the array is a
/// slice.
fn without_offset(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        ArrowType::LargeUtf8 => Arc::new(rebased(values.as_string::<i64>())),
        ArrowType::LargeBinary => Arc::new(rebased(values.as_binary::<i64>())),
        _ => Arc::clone(values),
    }
}

fn rebased<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> GenericByteArray<T> {
    if array.offsets().first() == 0 {
        return array.clone();
    }
    let (rebased, range) = rebased_offsets(array.offsets());
    let bytes = array.values().slice_with_length(range.start, range.len());
    // SAFETY: the same bytes of the same values, which were valid
    #[allow(unsafe_code)]
    unsafe {
        GenericByteArray::new_unchecked(rebased, bytes, array.nulls().cloned())
    }
}

fn value_does_not_fit(name: &str, target: &ArrowType) -> Error {
    let message = format!(
        "the column {} has a value that does not fit into the table's {target}: correct the value, or widen the \
         column",
        clipped(name)
    );
    Error::invalid("rows.value", message)
}
