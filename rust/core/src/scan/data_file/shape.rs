//! Converts decoded arrays of a file to logical arrays: reorders parts, adds missing ones as nulls, casts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef, Fields};

use super::cast::{Cast, unexpected_type};
use crate::codec::parquet_file::LegacyCalendar;
use crate::codec::variant::unshred;

/// The conversion of a column, or of a part of it, to its logical type.
#[derive(Debug)]
pub(super) enum Shape {
    Leaf(Cast),
    /// Shredded; with the calendar of shredded dates and timestamps, if it is the legacy one.
    Variant(Option<LegacyCalendar>),
    Struct(Fields, Vec<Origin>),
    /// The logical element, and its shape.
    List(FieldRef, Box<Shape>),
    /// The logical entries; the shapes of key and value.
    Map(FieldRef, Box<[Shape; 2]>),
}

/// The origin of a column or of a field of a struct.
#[derive(Debug)]
pub(super) enum Origin {
    /// Missing in the file: nulls of this type.
    Missing(ArrowType),
    /// The position among the siblings that are read.
    File { at: usize, shape: Shape },
}

impl Origin {
    /// Returns `true` if values are cast to a type that the file does not have.
    pub(super) fn is_type_change(&self) -> bool {
        match self {
            Self::Missing(_) => false,
            Self::File { shape, .. } => shape.is_type_change(),
        }
    }

    /// Builds the array from the siblings that were read, each of `rows` values.
    pub(super) fn apply(&self, siblings: &[ArrayRef], rows: usize) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Missing(data_type) => Ok(new_null_array(data_type, rows)),
            Self::File { at, shape } => shape.apply(siblings.get(*at).ok_or_else(unexpected_type)?),
        }
    }
}

impl Shape {
    fn is_type_change(&self) -> bool {
        match self {
            Self::Leaf(cast) => cast.is_type_change(),
            Self::Variant(_) => false,
            Self::Struct(_, parts) => parts.iter().any(Origin::is_type_change),
            Self::List(_, element) => element.is_type_change(),
            Self::Map(_, parts) => parts.iter().any(Self::is_type_change),
        }
    }

    fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Leaf(cast) => cast.apply(array),
            Self::Variant(calendar) => {
                let rebased = calendar.as_ref().map(|calendar| calendar.rebase(array));
                let rebased = rebased.transpose()?;
                let array = rebased.as_ref().unwrap_or(array);
                let array = unshred(array.as_struct_opt().ok_or_else(unexpected_type)?);
                let array = array.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
                Ok(Arc::new(array))
            }
            Self::Struct(fields, parts) => {
                let array = array.as_struct_opt().ok_or_else(unexpected_type)?;
                let rows = array.len();
                let parts = parts.iter().map(|part| part.apply(array.columns(), rows));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                let nulls = array.nulls().cloned();
                let fields = fields.clone();
                let array = StructArray::try_new_with_length(fields, parts, nulls, rows)?;
                Ok(Arc::new(array))
            }
            Self::List(field, element) => {
                let array = array.as_list_opt::<i32>().ok_or_else(unexpected_type)?;
                let values = element.apply(array.values())?;
                let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
                let array = ListArray::try_new(Arc::clone(field), offsets, values, nulls)?;
                Ok(Arc::new(array))
            }
            Self::Map(field, parts) => {
                let (offsets, nulls, entries) = match array.as_map_opt() {
                    Some(map) => (map.offsets(), map.nulls(), map.entries()),
                    None => {
                        let list = array.as_list_opt::<i32>().ok_or_else(unexpected_type)?;
                        let entries = list.values().as_struct_opt();
                        let entries = entries.ok_or_else(unexpected_type)?;
                        (list.offsets(), list.nulls(), entries)
                    }
                };
                let (ArrowType::Struct(fields), [keys, values]) =
                    (field.data_type(), entries.columns())
                else {
                    return Err(unexpected_type());
                };
                let [key, value] = parts.as_ref();
                let columns = vec![key.apply(keys)?, value.apply(values)?];
                let (fields, length) = (fields.clone(), entries.len());
                let entries = StructArray::try_new_with_length(fields, columns, None, length)?;
                let (offsets, nulls) = (offsets.clone(), nulls.cloned());
                let array = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false)?;
                Ok(Arc::new(array))
            }
        }
    }
}
