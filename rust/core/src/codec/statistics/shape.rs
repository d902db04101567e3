//! Projections of the typed statistics of a table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Fields};

use crate::codec::columns::columns_mismatch;
use crate::error::Result;

/// Returns `true` if a shape has all leaves of another. Both have a bounded depth.
pub fn contains_leaves(shape: &Fields, other: &Fields) -> bool {
    other.iter().all(|required| {
        let data_type = shape
            .find(required.name())
            .map(|(_, field)| field.data_type());
        match (data_type, required.data_type()) {
            (Some(DataType::Struct(fields)), DataType::Struct(required)) => {
                contains_leaves(fields, required)
            }
            (data_type, required) => data_type == Some(required),
        }
    })
}

/// Returns the leaves of both shapes; if a type differs, that of the first.
pub fn union(shape: &Fields, other: &Fields) -> Fields {
    let mut fields: Vec<FieldRef> = shape.iter().cloned().collect();
    for field in other {
        let same = |known: &&mut FieldRef| known.name() == field.name();
        match fields.iter_mut().find(same) {
            None => fields.push(Arc::clone(field)),
            Some(known) => {
                if let (DataType::Struct(mine), DataType::Struct(theirs)) =
                    (known.data_type(), field.data_type())
                {
                    let both = DataType::Struct(union(mine, theirs));
                    *known = Arc::new(known.as_ref().clone().with_data_type(both));
                }
            }
        }
    }
    fields.into()
}

/// Converts the struct to another shape. Fields are matched by name and cast to the type in `shape`; a field that
/// is missing, or whose type would lose information, is null. Recurses along `shape`, which has a bounded depth.
pub fn convert(rows: &StructArray, shape: &Fields) -> Result<StructArray> {
    let child = |field: &FieldRef| -> Result<ArrayRef> {
        let nulls = || new_null_array(field.data_type(), rows.len());
        let Some(column) = rows.column_by_name(field.name()) else {
            return Ok(nulls());
        };
        match (column.data_type(), field.data_type()) {
            (from, to) if from == to => Ok(Arc::clone(column)),
            (DataType::Struct(_), DataType::Struct(fields)) => {
                Ok(Arc::new(convert(column.as_struct(), fields)?))
            }
            (DataType::Timestamp(..), DataType::Timestamp(unit, Some(_))) => {
                // Arrow is built without time zone names: the first cast therefore uses an offset
                let offset = DataType::Timestamp(*unit, Some("+00:00".into()));
                let instants = cast(column, &offset).map_err(columns_mismatch)?;
                cast(&instants, field.data_type()).map_err(columns_mismatch)
            }
            (from, to) if keeps_values(from, to) => cast(column, to).map_err(columns_mismatch),
            _ => Ok(nulls()),
        }
    };
    let columns = shape.iter().map(child).collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(shape.clone(), columns, rows.nulls().cloned(), rows.len())
        .map_err(columns_mismatch)
}

/// Returns `true` if [`convert`] finds a value for every leaf of `shape`, except `tightBounds`, which not every
/// writer provides. Recurses along `shape`, which has a bounded depth.
pub fn has_values_for(fields: &Fields, shape: &Fields) -> bool {
    shape.iter().all(|required| {
        let data_type = fields
            .find(required.name())
            .map(|(_, field)| field.data_type());
        match (data_type, required.data_type()) {
            (Some(DataType::Struct(fields)), DataType::Struct(shape)) => {
                has_values_for(fields, shape)
            }
            (Some(from), to) => from == to || keeps_values(from, to),
            (None, _) => required.name() == "tightBounds",
        }
    })
}

/// Returns `true` if a cast preserves the value or, if it does not fit, returns null.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (from, to) if from.is_integer() && to.is_integer() => true,
        // possible types of the column before it was widened
        (T::Int8 | T::Int16 | T::Int32, T::Float64) => true,
        (from, T::Decimal128(..)) if from.is_integer() => true,
        (T::Float32, T::Float64) | (T::Utf8View | T::Binary, T::Utf8) => true,
        // losing less than a microsecond is harmless: bounds of timestamps are only precise to a millisecond
        (T::Timestamp(..), T::Timestamp(..)) => true,
        (T::Decimal128(_, from) | T::Decimal256(_, from), T::Decimal128(_, to)) => from <= to,
        _ => false,
    }
}
