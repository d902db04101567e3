//! Converts Arrow types to those of tables, for tables that are created from an Arrow schema.
//!
//! Protocol: "Schema Serialization Format", "Primitive Types".

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType as ArrowType, Field, Fields, Schema};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::spec::char_length::DECLARED_TYPE;
use crate::spec::json::clipped;
use crate::spec::schema::{
    ArrayType, DataType, MAX_TYPE_DEPTH, MapType, PrimitiveType, StructField, StructType,
    duplicate_name_message, first_duplicate,
};

/// Metadata of Arrow fields that the table keeps.
const PRESERVED_METADATA: [&str; 5] = [
    "comment",
    "CURRENT_DEFAULT",
    "delta.generationExpression",
    "delta.invariants",
    DECLARED_TYPE,
];

const IDENTITY_START: &str = "delta.identity.start";
const IDENTITY_STEP: &str = "delta.identity.step";
const IDENTITY_EXPLICIT: &str = "delta.identity.allowExplicitInsert";

impl StructType {
    /// Converts an Arrow schema to a table's schema. Unsigned integers become the next larger signed type,
    /// 64-bit ones `DECIMAL(20,0)`, as Spark reads them.
    ///
    /// # Errors
    ///
    /// Invalid argument: `schema.arrow_type` for a type that tables do not have, and for nesting beyond
    /// [`MAX_TYPE_DEPTH`]; `schema.duplicate_column`.
    pub fn from_arrow(schema: &Schema) -> Result<Self> {
        fields(schema.fields(), 0)
    }

    /// Like [`Self::from_arrow`], for the definition of a new table: the metadata of its columns may make them
    /// identity columns. A high-water mark is left out, because a new table has no values.
    ///
    /// # Errors
    ///
    /// Invalid argument: `column.identity` for an invalid identity column.
    pub fn definition_from_arrow(schema: &Schema) -> Result<Self> {
        let converted = Self::from_arrow(schema)?;
        let columns = converted.fields().iter().zip(schema.fields());
        let columns = columns.map(|(column, arrow)| with_identity(column.clone(), arrow));
        Self::new(columns.collect::<Result<_>>()?)
    }
}

/// Returns a column as an identity column if the metadata of its Arrow field say so.
fn with_identity(mut column: StructField, arrow: &Field) -> Result<StructField> {
    let text = |key| arrow.metadata().get(key).map(String::as_str);
    if text(IDENTITY_START).is_none() && text(IDENTITY_STEP).is_none() {
        return Ok(column);
    }
    let number = |key| text(key).map_or(Some(1), |text| text.parse::<i64>().ok());
    let by_default = text(IDENTITY_EXPLICIT).map_or(Some(false), |text| text.parse::<bool>().ok());
    let (
        Some(start),
        Some(step @ (..=-1 | 1..)),
        Some(by_default),
        DataType::Primitive(PrimitiveType::Long),
    ) = (
        number(IDENTITY_START),
        number(IDENTITY_STEP),
        by_default,
        &column.data_type,
    )
    else {
        let message = format!(
            "the identity column {} must be of the type long, have numbers as start and step, of which the \
             step is not 0, and true or false as allowExplicitInsert",
            clipped(&column.name)
        );
        return Err(Error::invalid("column.identity", message));
    };
    let values: [(&str, Value); 3] = [
        (IDENTITY_START, start.into()),
        (IDENTITY_STEP, step.into()),
        (IDENTITY_EXPLICIT, by_default.into()),
    ];
    let values = values.map(|(key, value)| (key.to_owned(), value));
    column.metadata.extend(values);
    Ok(column)
}

fn fields(arrow: &Fields, depth: usize) -> Result<StructType> {
    if let Some(name) = first_duplicate(arrow.iter().map(|field| field.name().as_str())) {
        return Err(Error::invalid(
            "schema.duplicate_column",
            duplicate_name_message(name),
        ));
    }
    StructType::new(
        arrow
            .iter()
            .map(|arrow_field| field(arrow_field, depth))
            .collect::<Result<_>>()?,
    )
}

fn field(arrow: &Field, depth: usize) -> Result<StructField> {
    let metadata: Map<String, Value> = PRESERVED_METADATA
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), arrow.metadata().get(key)?.as_str().into())))
        .collect();
    Ok(StructField {
        name: arrow.name().clone(),
        data_type: data_type(arrow.data_type(), depth)?,
        nullable: arrow.is_nullable(),
        metadata,
    })
}

fn data_type(arrow: &ArrowType, depth: usize) -> Result<DataType> {
    use PrimitiveType as P;
    let unsupported = || {
        let message = format!("tables cannot have a column of the Arrow type {arrow}");
        Error::invalid("schema.arrow_type", message)
    };
    if depth > MAX_TYPE_DEPTH {
        return Err(unsupported());
    }
    let primitive = match arrow {
        ArrowType::Boolean => P::Boolean,
        ArrowType::Int8 => P::Byte,
        ArrowType::Int16 | ArrowType::UInt8 => P::Short,
        ArrowType::Int32 | ArrowType::UInt16 => P::Integer,
        ArrowType::Int64 | ArrowType::UInt32 => P::Long,
        ArrowType::UInt64 => P::Decimal {
            precision: 20,
            scale: 0,
        },
        ArrowType::Float16 | ArrowType::Float32 => P::Float,
        ArrowType::Float64 => P::Double,
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => P::String,
        ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView
        | ArrowType::FixedSizeBinary(_) => P::Binary,
        ArrowType::Date32 | ArrowType::Date64 => P::Date,
        ArrowType::Timestamp(_, Some(_)) => P::Timestamp,
        ArrowType::Timestamp(_, None) => P::TimestampNtz,
        ArrowType::Decimal32(precision, scale)
        | ArrowType::Decimal64(precision, scale)
        | ArrowType::Decimal128(precision, scale)
        | ArrowType::Decimal256(precision, scale)
            if *precision <= DECIMAL128_MAX_PRECISION =>
        {
            let scale = u8::try_from(*scale).ok();
            P::Decimal {
                precision: *precision,
                scale: scale
                    .filter(|scale| scale <= precision)
                    .ok_or_else(unsupported)?,
            }
        }
        ArrowType::Null => P::Void,
        ArrowType::Dictionary(_, values) => return data_type(values, depth + 1),
        ArrowType::RunEndEncoded(_, values) => return data_type(values.data_type(), depth + 1),
        ArrowType::Struct(parts) => {
            return Ok(DataType::Struct(Box::new(fields(parts, depth + 1)?)));
        }
        ArrowType::List(element)
        | ArrowType::LargeList(element)
        | ArrowType::ListView(element)
        | ArrowType::LargeListView(element)
        | ArrowType::FixedSizeList(element, _) => {
            return Ok(DataType::Array(Box::new(ArrayType {
                element_type: data_type(element.data_type(), depth + 1)?,
                contains_null: element.is_nullable(),
            })));
        }
        ArrowType::Map(entries, _) => {
            let ArrowType::Struct(parts) = entries.data_type() else {
                return Err(unsupported());
            };
            let (Some(key), Some(value)) = (parts.first(), parts.get(1)) else {
                return Err(unsupported());
            };
            return Ok(DataType::Map(Box::new(MapType {
                key_type: data_type(key.data_type(), depth + 1)?,
                value_type: data_type(value.data_type(), depth + 1)?,
                value_contains_null: value.is_nullable(),
            })));
        }
        _ => return Err(unsupported()),
    };
    Ok(DataType::Primitive(primitive))
}

#[cfg(test)]
mod tests;
