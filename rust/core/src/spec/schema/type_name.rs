//! Names of primitive types, as spelled in the log.

use std::fmt;

use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;
use serde::{Deserialize, Serialize};

use crate::spec::schema::PrimitiveType;

const DEFAULT_CRS: &str = "OGC:CRS84";
const DEFAULT_ALGORITHM: &str = "spherical";
const ALGORITHMS: [&str; 5] = ["spherical", "vincenty", "thomas", "andoyer", "karney"];

impl PrimitiveType {
    /// Returns the type of this name; `None` if there is none. Names are case-sensitive; spaces are allowed
    /// around arguments.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain: Result<Self, ValueError> = Self::deserialize(name.into_deserializer());
        plain
            .ok()
            .or_else(|| interval(name))
            .or_else(|| with_arguments(name))
    }
}

impl fmt::Display for PrimitiveType {
    /// Formats the name that [`PrimitiveType::from_name`] parses; intervals in canonical form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::IntervalYearMonth => f.write_str("interval year to month"),
            Self::IntervalDayTime => f.write_str("interval day to second"),
            Self::Geometry { crs } => write!(f, "geometry({crs})"),
            Self::Geography { crs, algorithm } => write!(f, "geography({crs}, {algorithm})"),
            plain => plain.serialize(f),
        }
    }
}

/// Parses an interval type: a unit, or a range of units of one family, from larger to smaller.
fn interval(name: &str) -> Option<PrimitiveType> {
    let units = name.strip_prefix("interval ")?;
    let (from, to) = units
        .split_once(" to ")
        .map_or((units, None), |(from, to)| (from, Some(to)));
    for (family, kind) in [
        (&["year", "month"][..], PrimitiveType::IntervalYearMonth),
        (
            &["day", "hour", "minute", "second"][..],
            PrimitiveType::IntervalDayTime,
        ),
    ] {
        let rank = |unit: &str| family.iter().position(|known| *known == unit);
        if let Some(from) = rank(from) {
            return to.is_none_or(|to| rank(to) > Some(from)).then_some(kind);
        }
    }
    None
}

fn with_arguments(name: &str) -> Option<PrimitiveType> {
    let (word, arguments) = match name.split_once('(') {
        Some((word, rest)) => (word, Some(rest.strip_suffix(')')?.trim())),
        None => (name, None),
    };
    match (word, arguments) {
        // Spark's name before 3.1
        ("null", None) => Some(PrimitiveType::Void),
        // a name that Spark reads, but does not write
        ("timestamp_ltz", None) => Some(PrimitiveType::Timestamp),
        ("decimal", None) => Some(PrimitiveType::Decimal {
            precision: 10,
            scale: 0,
        }),
        ("decimal", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',')?;
            let (precision, scale) = (number(precision)?, number(scale)?);
            (scale <= precision && precision <= 38)
                .then_some(PrimitiveType::Decimal { precision, scale })
        }
        ("char" | "varchar", Some(length)) => {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            digits.then_some(PrimitiveType::String)
        }
        ("geometry", None) => Some(PrimitiveType::Geometry {
            crs: DEFAULT_CRS.to_owned(),
        }),
        ("geometry", Some(crs)) => Some(PrimitiveType::Geometry {
            crs: reference_system(crs)?,
        }),
        ("geography", None) => geography(DEFAULT_CRS, DEFAULT_ALGORITHM),
        ("geography", Some(arguments)) => match arguments.split_once(',') {
            Some((crs, algorithm)) => geography(crs, algorithm),
            None if !arguments.contains(':') => geography(DEFAULT_CRS, arguments),
            None => geography(arguments, DEFAULT_ALGORITHM),
        },
        _ => None,
    }
}

/// Parses a geography type; Spark writes the algorithm in upper case.
fn geography(crs: &str, algorithm: &str) -> Option<PrimitiveType> {
    let algorithm = algorithm.trim().to_ascii_lowercase();
    if !ALGORITHMS.contains(&algorithm.as_str()) {
        return None;
    }
    Some(PrimitiveType::Geography {
        crs: reference_system(crs)?,
        algorithm,
    })
}

/// Parses a reference system. Spark's `SRID:ANY`, for values with individual systems, is not a valid column
/// type.
fn reference_system(crs: &str) -> Option<String> {
    let crs = crs.trim();
    if crs.eq_ignore_ascii_case("SRID:ANY") {
        return None;
    }
    let (authority, code) = crs.split_once(':')?;
    (!authority.is_empty() && !code.is_empty()).then(|| crs.to_owned())
}

fn number(text: &str) -> Option<u8> {
    let text = text.trim();
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
