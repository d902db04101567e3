//! One level of a shredded variant: an untyped value, a typed one, or a partially shredded object.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrowPrimitiveType, BinaryArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::ToByteSlice;
use arrow_schema::{DataType, TimeUnit};

use super::dictionary::Dictionary;
use super::{NULL, columns, encoding};
use crate::error::{Error, Result};

/// `value` and `typed_value` of one level.
pub(super) struct Shredded<'a> {
    value: Option<&'a BinaryArray>,
    typed: Option<Typed<'a>>,
}

struct Typed<'a> {
    array: &'a dyn Array,
    kind: TypedKind<'a>,
}

/// Appends the value of a row.
type Write<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

enum TypedKind<'a> {
    Leaf(Write<'a>),
    /// Fields by name.
    Object(Vec<(&'a str, Shredded<'a>, &'a dyn Array)>),
    List(&'a ListArray, Box<Shredded<'a>>),
}

impl<'a> Shredded<'a> {
    /// Wraps a struct with at least one of the two columns.
    pub(super) fn new(array: &'a StructArray) -> Result<Self> {
        let not_binary = || columns("the column `value` of a variant is not binary");
        let value = array.column_by_name("value");
        let value = value.map(|value| value.as_binary_opt().ok_or_else(not_binary));
        let value = value.transpose()?;
        let typed = array.column_by_name("typed_value");
        let typed = typed.map(|typed| Typed::new(typed.as_ref())).transpose()?;
        if value.is_none() && typed.is_none() {
            return Err(columns("a variant has neither `value` nor `typed_value`"));
        }
        Ok(Self { value, typed })
    }

    /// Appends the value of a row; returns `false` if there is none.
    pub(super) fn write(&self, row: usize, names: &Dictionary, out: &mut Vec<u8>) -> Result<bool> {
        let untyped = self.value.filter(|value| value.is_valid(row));
        let untyped = untyped.map(|value| value.value(row));
        let typed = self
            .typed
            .as_ref()
            .filter(|typed| typed.array.is_valid(row));
        let Some(typed) = typed else {
            let untyped = untyped.unwrap_or_default();
            out.extend_from_slice(untyped);
            return Ok(!untyped.is_empty());
        };
        match &typed.kind {
            TypedKind::Object(fields) => object(fields, untyped, row, names, out)?,
            _ if untyped.is_some() => {
                let message = "a variant has both a typed and an untyped value";
                return Err(Error::corrupt("variant.conflict", message));
            }
            TypedKind::Leaf(write) => write(row, out),
            TypedKind::List(list, element) => {
                let offsets = list.value_offsets();
                let offset = |row: usize| offsets.get(row).and_then(|at| usize::try_from(*at).ok());
                let range = offset(row).unwrap_or(0)..offset(row + 1).unwrap_or(0);
                let (mut sizes, mut values) = (Vec::new(), Vec::new());
                for item in range {
                    let before = values.len();
                    if !element.write(item, names, &mut values)? {
                        values.push(NULL);
                    }
                    sizes.push(values.len() - before);
                }
                encoding::array(out, &sizes, &values);
            }
        }
        Ok(true)
    }
}

/// Merges the typed fields with those of the untyped object.
fn object(
    typed: &[(&str, Shredded<'_>, &dyn Array)],
    untyped: Option<&[u8]>,
    row: usize,
    names: &Dictionary,
    out: &mut Vec<u8>,
) -> Result<()> {
    let broken = |message: &str| Error::corrupt("variant.value", message);
    let mut fields: Vec<(&str, usize, Vec<u8>)> = Vec::with_capacity(typed.len());
    for (name, field, child) in typed {
        let mut bytes = Vec::new();
        if child.is_valid(row) && field.write(row, names, &mut bytes)? {
            let id = names.id(name).ok_or_else(|| {
                broken("a shredded field of a variant has a name that its metadata lacks")
            })?;
            fields.push((name, id, bytes));
        }
    }
    if let Some(untyped) = untyped {
        let untyped_fields = encoding::fields(untyped)
            .ok_or_else(|| broken("the untyped part of a shredded object is not an object"))?;
        for (id, bytes) in untyped_fields {
            let name = names
                .name(id)
                .ok_or_else(|| broken("an object of a variant has a field without a name"))?;
            if typed.iter().any(|(typed, ..)| *typed == name) {
                let message = "a field of a variant is both shredded and in the untyped object";
                return Err(Error::corrupt("variant.conflict", message));
            }
            fields.push((name, id, bytes.to_vec()));
        }
    }
    fields.sort_unstable_by_key(|(name, ..)| *name);
    let ids: Vec<usize> = fields.iter().map(|(_, id, _)| *id).collect();
    let sizes: Vec<usize> = fields.iter().map(|(.., bytes)| bytes.len()).collect();
    let values: Vec<u8> = fields.into_iter().flat_map(|(.., bytes)| bytes).collect();
    encoding::object(out, &ids, &sizes, &values);
    Ok(())
}

impl<'a> Typed<'a> {
    fn new(array: &'a dyn Array) -> Result<Self> {
        const UUID: i32 = 16;
        let kind = match array.data_type() {
            DataType::Struct(parts) => {
                let object = array.as_struct();
                let mut fields = Vec::with_capacity(parts.len());
                for (part, column) in parts.iter().zip(object.columns()) {
                    let child = column
                        .as_struct_opt()
                        .ok_or_else(|| columns("a shredded field of a variant is not a struct"))?;
                    fields.push((part.name().as_str(), Shredded::new(child)?, column.as_ref()));
                }
                TypedKind::Object(fields)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let element = list
                    .values()
                    .as_struct_opt()
                    .ok_or_else(|| columns("a shredded element of a variant is not a struct"))?;
                TypedKind::List(list, Box::new(Shredded::new(element)?))
            }
            DataType::Boolean => {
                let values = array.as_boolean();
                leaf(move |row, out| {
                    encoding::primitive(out, if values.value(row) { 1 } else { 2 }, &[]);
                })
            }
            DataType::Int8 => fixed::<Int8Type>(array, 3),
            DataType::Int16 => fixed::<Int16Type>(array, 4),
            DataType::Int32 => fixed::<Int32Type>(array, 5),
            DataType::Int64 => fixed::<Int64Type>(array, 6),
            DataType::Float64 => fixed::<Float64Type>(array, 7),
            DataType::Float32 => fixed::<Float32Type>(array, 14),
            DataType::Date32 => fixed::<Date32Type>(array, 11),
            DataType::Time64(TimeUnit::Microsecond) => fixed::<Time64MicrosecondType>(array, 17),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                fixed::<TimestampMicrosecondType>(array, if zone.is_some() { 12 } else { 13 })
            }
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                fixed::<TimestampNanosecondType>(array, if zone.is_some() { 18 } else { 19 })
            }
            DataType::Decimal128(precision, scale) => decimal(array, *precision, *scale)?,
            DataType::Utf8 => {
                let values = array.as_string::<i32>();
                leaf(move |row, out| encoding::string(out, values.value(row)))
            }
            DataType::Binary => {
                let values = array.as_binary::<i32>();
                leaf(move |row, out| encoding::sized(out, 15, values.value(row)))
            }
            DataType::FixedSizeBinary(UUID) => {
                let values = array.as_fixed_size_binary();
                leaf(move |row, out| encoding::primitive(out, 20, values.value(row)))
            }
            other => {
                return Err(columns(&format!("a variant cannot be shredded as {other}")));
            }
        };
        Ok(Self { array, kind })
    }
}

fn leaf<'a>(write: impl Fn(usize, &mut Vec<u8>) + 'a) -> TypedKind<'a> {
    TypedKind::Leaf(Box::new(write))
}

fn fixed<T: ArrowPrimitiveType>(array: &dyn Array, kind: u8) -> TypedKind<'_> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    leaf(move |row, out| {
        let value = values.value(row);
        encoding::primitive(out, kind, value.to_byte_slice()); // little-endian, as on every supported platform
    })
}

fn decimal(array: &dyn Array, precision: u8, scale: i8) -> Result<TypedKind<'_>> {
    let digits =
        u8::try_from(scale).map_err(|_| columns("a shredded decimal has a negative scale"))?;
    let (kind, width) = match precision {
        0..=9 => (8, 4),
        10..=18 => (9, 8),
        _ => (10, 16),
    };
    let values: &PrimitiveArray<Decimal128Type> = array.as_primitive();
    Ok(leaf(move |row, out| {
        encoding::primitive(out, kind, &[digits]);
        out.extend(values.value(row).to_le_bytes().into_iter().take(width));
    }))
}
