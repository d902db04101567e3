//! Walks over a schema: its fields and types at any depth, and derived schemas.

use super::{ArrayType, DataType, MapType, StructField, StructType};
use crate::error::Result;
use crate::spec::collation::COLLATIONS;

/// Types at any depth, parents first, in the order of the schema.
pub(crate) struct Types<'a> {
    /// Types still to visit, the next one last.
    open: Vec<&'a DataType>,
}

impl<'a> Iterator for Types<'a> {
    type Item = &'a DataType;

    fn next(&mut self) -> Option<&'a DataType> {
        let next = self.open.pop()?;
        match next {
            DataType::Primitive(_) => {}
            DataType::Array(array) => self.open.push(&array.element_type),
            DataType::Map(map) => self.open.extend([&map.value_type, &map.key_type]),
            DataType::Struct(fields) => self.open.extend(fields.types()),
        }
        Some(next)
    }
}

/// Joins two types in the same position.
pub(crate) type Join<'a> = dyn FnMut(&DataType, &DataType) -> Result<Option<DataType>> + 'a;

impl DataType {
    /// Iterates over this type and its parts.
    pub(crate) fn all_types(&self) -> Types<'_> {
        Types { open: vec![self] }
    }

    /// Joins this type with another one by `join`. If that returns `None` for two arrays or two maps, their
    /// elements, keys and values are joined in turn; of any other two types, the result is the first, for
    /// structs with its own fields.
    pub(crate) fn joined(&self, other: &Self, join: &mut Join<'_>) -> Result<Self> {
        if let Some(joined) = join(self, other)? {
            return Ok(joined);
        }
        Ok(match (self, other) {
            (Self::Array(own), Self::Array(other)) => Self::Array(Box::new(ArrayType {
                element_type: own.element_type.joined(&other.element_type, join)?,
                contains_null: own.contains_null,
            })),
            (Self::Map(own), Self::Map(other)) => Self::Map(Box::new(MapType {
                key_type: own.key_type.joined(&other.key_type, join)?,
                value_type: own.value_type.joined(&other.value_type, join)?,
                value_contains_null: own.value_contains_null,
            })),
            _ => self.clone(),
        })
    }

    fn change_fields(&mut self, change: &mut dyn FnMut(&mut StructField)) {
        match self {
            Self::Primitive(_) => {}
            Self::Array(array) => array.element_type.change_fields(change),
            Self::Map(map) => {
                map.key_type.change_fields(change);
                map.value_type.change_fields(change);
            }
            Self::Struct(fields) => fields.change_fields(change),
        }
    }
}

impl StructType {
    /// Returns the types of its parts, the last one first.
    fn types(&self) -> impl Iterator<Item = &DataType> {
        self.fields.iter().rev().map(|field| &field.data_type)
    }

    /// Iterates over the types of its columns and their parts.
    pub(crate) fn all_types(&self) -> Types<'_> {
        Types {
            open: self.types().collect(),
        }
    }

    /// Iterates over this struct and all nested ones.
    pub(crate) fn all_structs(&self) -> impl Iterator<Item = &StructType> {
        let below = self.all_types().filter_map(|data_type| match data_type {
            DataType::Struct(fields) => Some(&**fields),
            _ => None,
        });
        std::iter::once(self).chain(below)
    }

    /// Iterates over fields at any depth.
    pub(crate) fn all_fields(&self) -> impl Iterator<Item = &StructField> {
        self.all_structs().flat_map(StructType::fields)
    }

    /// Returns `true` if rows are read from data files in the same way, whatever the order of the columns and
    /// their comments, defaults and counters of identity values.
    pub fn is_read_as(&self, other: &Self) -> bool {
        self.as_read() == other.as_read()
    }

    /// Returns the columns sorted by name, with only the metadata that determine how values are read.
    fn as_read(&self) -> Self {
        let mut columns = self.clone();
        columns.change_fields(&mut |field| {
            let is_renamed = field.physical_name().is_some_and(|name| name != field.name);
            field.metadata.retain(|key, _| {
                key == COLLATIONS || (is_renamed && key == "delta.columnMapping.physicalName")
            });
        });
        columns
            .fields
            .sort_by(|left, right| left.name.cmp(&right.name));
        columns
    }

    /// Calls `change` with fields at any depth, parents first; it must not change their names.
    pub(crate) fn change_fields(&mut self, change: &mut dyn FnMut(&mut StructField)) {
        for field in &mut self.fields {
            change(field);
            field.data_type.change_fields(change);
        }
    }
}
