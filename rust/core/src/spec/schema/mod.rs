//! The table's schema: nested types as plain data, parsed from `schemaString`.
//!
//! Nesting is bounded by [`MAX_TYPE_DEPTH`], so that types can be walked, compared and dropped by plain
//! recursion.
//!
//! Protocol: "Schema Serialization Format".

mod json;
mod parse;
mod type_name;
mod walk;
mod widening;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::spec::json::clipped;

/// The maximum nesting of arrays, maps and structs, below the table's own struct.
pub const MAX_TYPE_DEPTH: usize = 250;

/// Fields in order; their names are distinct, case-insensitively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructType {
    fields: Vec<StructField>,
}

/// A named column, or a nested field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructField {
    /// The logical name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// True if values may be null.
    pub nullable: bool,
    /// Arbitrary JSON from the log: comments, column mapping, constraints, `varchar` lengths.
    pub metadata: Map<String, Value>,
}

/// The type of a column or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    /// A primitive type.
    Primitive(PrimitiveType),
    /// A list.
    Array(Box<ArrayType>),
    /// Keys with values.
    Map(Box<MapType>),
    /// Named parts.
    Struct(Box<StructType>),
}

/// A type other than an array, a map or a struct. Serde uses the log's names of types without arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrimitiveType {
    /// UTF-8 string; also `char(n)` and `varchar(n)`.
    String,
    /// 64 bits.
    Long,
    /// 32 bits.
    Integer,
    /// 16 bits.
    Short,
    /// 8 bits.
    Byte,
    /// IEEE 754, 32 bits.
    Float,
    /// IEEE 754, 64 bits.
    Double,
    /// Exact numbers with `scale <= precision <= 38`.
    #[serde(skip)]
    Decimal {
        /// The total number of digits.
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
    },
    /// True or false.
    Boolean,
    /// Bytes.
    Binary,
    /// A day of the proleptic Gregorian calendar.
    Date,
    /// An instant, in microseconds.
    Timestamp,
    /// A local date and time without zone, in microseconds.
    TimestampNtz,
    /// A semi-structured value.
    Variant,
    /// A column with only nulls.
    Void,
    /// Months: `interval year`, `interval month` or `interval year to month`.
    #[serde(skip)]
    IntervalYearMonth,
    /// Microseconds: `interval` and one of `day`, `hour`, `minute` and `second`, or two with `to`.
    #[serde(skip)]
    IntervalDayTime,
    /// Geometries on a plane, as WKB.
    #[serde(skip)]
    Geometry {
        /// Coordinate reference system, `authority:code`.
        crs: String,
    },
    /// Geometries on an ellipsoid, as WKB.
    #[serde(skip)]
    Geography {
        /// Coordinate reference system, `authority:code`.
        crs: String,
        /// The algorithm for edges between points.
        algorithm: String,
    },
}

/// The type of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayType {
    /// The type of its elements.
    pub element_type: DataType,
    /// True if elements may be null.
    pub contains_null: bool,
}

/// The type of a map; keys are never null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapType {
    /// The type of its keys.
    pub key_type: DataType,
    /// The type of its values.
    pub value_type: DataType,
    /// True if values may be null.
    pub value_contains_null: bool,
}

/// Returns `true` if two names refer to the same column: names are case-insensitive.
pub(crate) fn same_name(name: &str, other: &str) -> bool {
    name.to_lowercase() == other.to_lowercase()
}

/// Returns the first name that occurs twice, case-insensitively.
pub(crate) fn first_duplicate<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::with_capacity(names.size_hint().0);
    names.find(|name| !seen.insert(name.to_lowercase()))
}

/// Returns the message for a duplicate name.
pub(crate) fn duplicate_name_message(name: &str) -> String {
    format!(
        "two columns are named {} at one level (upper and lower case ignored)",
        clipped(name)
    )
}

impl StructType {
    /// Creates a struct of these fields.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.duplicate_column` if two names differ in upper and lower case at most.
    pub fn new(fields: Vec<StructField>) -> Result<Self> {
        match first_duplicate(fields.iter().map(|field| field.name.as_str())) {
            Some(name) => Err(Error::corrupt(
                "schema.duplicate_column",
                duplicate_name_message(name),
            )),
            None => Ok(Self { fields }),
        }
    }

    /// Returns the fields in order.
    pub fn fields(&self) -> &[StructField] {
        &self.fields
    }

    /// Returns the field with exactly this name, otherwise one that differs in case only.
    pub fn field(&self, name: &str) -> Option<&StructField> {
        let exact = self.fields.iter().find(|field| field.name == name);
        exact.or_else(|| {
            self.fields
                .iter()
                .find(|field| same_name(&field.name, name))
        })
    }

    /// Returns `true` if a field has this name, in any case.
    pub fn contains(&self, name: &str) -> bool {
        self.field(name).is_some()
    }
}

impl DataType {
    /// Returns `true` if statistics have the minimum and maximum of its values.
    pub(crate) fn has_min_max(&self) -> bool {
        use PrimitiveType as P;
        match self {
            Self::Primitive(primitive) => !matches!(
                primitive,
                P::Boolean
                    | P::Binary
                    | P::Variant
                    | P::Void
                    | P::IntervalYearMonth
                    | P::IntervalDayTime
                    | P::Geometry { .. }
                    | P::Geography { .. }
            ),
            _ => false,
        }
    }
}

impl StructField {
    /// Returns the name in data files, statistics and partition values of a table with column mapping.
    pub fn physical_name(&self) -> Option<&str> {
        self.metadata
            .get("delta.columnMapping.physicalName")
            .and_then(Value::as_str)
    }

    /// Returns the Parquet field id of a mapped column.
    pub fn column_id(&self) -> Option<i64> {
        self.metadata
            .get("delta.columnMapping.id")
            .and_then(Value::as_i64)
    }
}

#[cfg(test)]
mod tests;
