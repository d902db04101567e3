//! Names of types and of date and time fields in Spark's SQL.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, DateTimeField, ExactNumberInfo, TimezoneInfo,
};

use super::CannotPrint;
use crate::spec::json::clipped;

/// Returns the name of a field of dates or times, such as `YEAR`.
pub(super) fn datetime_field(field: &DateTimeField) -> std::result::Result<String, CannotPrint> {
    let name = field.to_string().to_ascii_uppercase();
    // not `WEEK(MONDAY)`, nor names in quotes
    if name.chars().all(|character| character.is_ascii_uppercase()) {
        return Ok(name);
    }
    Err(CannotPrint(format!("has the field {}", clipped(&name))))
}

/// Returns the name of a type whose literals are strings after the name, as in `DATE '2026-01-01'`.
pub(super) fn datetime_type(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Date => "DATE",
        DataType::Timestamp(None, TimezoneInfo::None) => "TIMESTAMP",
        DataType::TimestampNtz(None) => "TIMESTAMP_NTZ",
        DataType::Time(None, TimezoneInfo::None) => "TIME",
        _ => return None,
    })
}

/// Returns the name of a type; `None` if expressions of a table may not have it.
pub(super) fn type_name(data_type: &DataType) -> Option<String> {
    let exact = |name: &str, info: &ExactNumberInfo| match info {
        ExactNumberInfo::None => name.to_owned(),
        ExactNumberInfo::Precision(precision) => format!("{name}({precision})"),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => {
            format!("{name}({precision}, {scale})")
        }
    };
    let length = |name: &str, length: &Option<CharacterLength>| match length {
        Some(CharacterLength::IntegerLength { length, unit: None }) => {
            Some(format!("{name}({length})"))
        }
        _ => None,
    };
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::TinyInt(None) => "TINYINT",
        DataType::SmallInt(None) => "SMALLINT",
        DataType::Int(None) | DataType::Integer(None) => "INT",
        DataType::BigInt(None) => "BIGINT",
        DataType::Float(ExactNumberInfo::None) | DataType::Real => "FLOAT",
        DataType::Double(ExactNumberInfo::None) => "DOUBLE",
        DataType::Decimal(info) | DataType::Dec(info) | DataType::Numeric(info) => {
            return Some(exact("DECIMAL", info));
        }
        DataType::String(None) => "STRING",
        DataType::Varchar(limit) => return length("VARCHAR", limit),
        DataType::Char(limit) | DataType::Character(limit) => return length("CHAR", limit),
        DataType::Binary(None) => "BINARY",
        DataType::Array(ArrayElemTypeDef::AngleBracket(inner)) => {
            return Some(format!("ARRAY<{}>", type_name(inner)?));
        }
        DataType::Map(key, value, _) => {
            return Some(format!("MAP<{}, {}>", type_name(key)?, type_name(value)?));
        }
        DataType::Custom(name, parameters) if parameters.is_empty() => {
            match name.to_string().to_ascii_lowercase().as_str() {
                "byte" => "TINYINT",
                "short" => "SMALLINT",
                "long" => "BIGINT",
                "timestamp_ltz" => "TIMESTAMP_LTZ",
                "variant" => "VARIANT",
                "void" => "VOID",
                _ => return None,
            }
        }
        other => datetime_type(other)?,
    };
    Some(name.to_owned())
}
