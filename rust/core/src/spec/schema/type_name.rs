//! Names of types without parts, as the log spells them.

use std::fmt;

use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;
use serde::{Deserialize, Serialize};

use crate::spec::schema::PrimitiveType;

const DEFAULT_CRS: &str = "OGC:CRS84";
const DEFAULT_ALGORITHM: &str = "spherical";
const ALGORITHMS: [&str; 5] = ["spherical", "vincenty", "thomas", "andoyer", "karney"];

impl PrimitiveType {
    /// The type of this name; `None` when there is none. Names are case-sensitive; blanks may stand
    /// around the arguments.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain: Result<Self, ValueError> = Self::deserialize(name.into_deserializer());
        plain
            .ok()
            .or_else(|| interval(name))
            .or_else(|| with_arguments(name))
    }
}

impl fmt::Display for PrimitiveType {
    /// The name that [`PrimitiveType::from_name`] takes; intervals in their canonical spelling.
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

/// Any run of units of one family, from the longer one to the shorter one.
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
            return to
                .is_none_or(|to| rank(to).is_some_and(|to| from < to))
                .then_some(kind);
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
            None if ALGORITHMS.contains(&arguments) => geography(DEFAULT_CRS, arguments),
            None => geography(arguments, DEFAULT_ALGORITHM),
        },
        _ => None,
    }
}

fn geography(crs: &str, algorithm: &str) -> Option<PrimitiveType> {
    let algorithm = algorithm.trim();
    ALGORITHMS.contains(&algorithm).then_some(())?;
    Some(PrimitiveType::Geography {
        crs: reference_system(crs)?,
        algorithm: algorithm.to_owned(),
    })
}

fn reference_system(crs: &str) -> Option<String> {
    let crs = crs.trim();
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_come_back() {
        for name in [
            "string",
            "long",
            "integer",
            "short",
            "byte",
            "float",
            "double",
            "boolean",
            "binary",
            "date",
            "timestamp",
            "timestamp_ntz",
            "variant",
            "void",
            "decimal(38,18)",
            "decimal(1,0)",
            "interval year to month",
            "interval day to second",
            "geometry(OGC:CRS84)",
            "geography(OGC:CRS84, spherical)",
        ] {
            assert_eq!(PrimitiveType::from_name(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn decimals() {
        for (name, expected) in [
            ("decimal", Some((10, 0))),
            ("decimal(6, 2)", Some((6, 2))),
            ("decimal( 6 ,2 )", Some((6, 2))),
            ("decimal(38,38)", Some((38, 38))),
            ("decimal(0,0)", Some((0, 0))),
            ("decimal(39,0)", None),
            ("decimal(5,6)", None),
            ("decimal(5,-2)", None),
            ("decimal(+5,2)", None),
            ("decimal(5)", None),
            ("decimal()", None),
            ("decimal(5,2", None),
            ("decimal(5,2)x", None),
            ("decimal(5,2,1)", None),
            ("DECIMAL(5,2)", None),
        ] {
            let found = PrimitiveType::from_name(name);
            let expected =
                expected.map(|(precision, scale)| PrimitiveType::Decimal { precision, scale });
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn intervals_run_from_long_to_short_within_one_family() {
        let year_month = Some(PrimitiveType::IntervalYearMonth);
        let day_time = Some(PrimitiveType::IntervalDayTime);
        for (name, expected) in [
            ("interval year", year_month.clone()),
            ("interval month", year_month.clone()),
            ("interval year to month", year_month),
            ("interval day", day_time.clone()),
            ("interval hour to second", day_time.clone()),
            ("interval minute to second", day_time.clone()),
            ("interval second", day_time),
            ("interval month to year", None),
            ("interval day to day", None),
            ("interval month to day", None),
            ("interval week", None),
            ("interval", None),
            ("INTERVAL DAY", None),
        ] {
            assert_eq!(PrimitiveType::from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn shapes_have_defaults() {
        for (name, canonical) in [
            ("geometry", Some("geometry(OGC:CRS84)")),
            ("geometry(EPSG:3857)", Some("geometry(EPSG:3857)")),
            ("geography", Some("geography(OGC:CRS84, spherical)")),
            ("geography(karney)", Some("geography(OGC:CRS84, karney)")),
            (
                "geography(EPSG:4326)",
                Some("geography(EPSG:4326, spherical)"),
            ),
            (
                "geography(EPSG:4326,vincenty)",
                Some("geography(EPSG:4326, vincenty)"),
            ),
            ("geography(EPSG:4326,flat)", None),
            ("geometry()", None),
            ("geometry(4326)", None),
        ] {
            let found = PrimitiveType::from_name(name).map(|found| found.to_string());
            assert_eq!(found.as_deref(), canonical, "{name}");
        }
    }

    #[test]
    fn lengths_of_text_are_left_to_metadata_and_other_names_are_refused() {
        assert_eq!(
            PrimitiveType::from_name("varchar(20)"),
            Some(PrimitiveType::String)
        );
        assert_eq!(
            PrimitiveType::from_name("char(3)"),
            Some(PrimitiveType::String)
        );
        for name in [
            "varchar",
            "varchar(x)",
            "int",
            "bigint",
            "timestamp_nanos",
            "String",
            "",
            "struct",
            "array",
        ] {
            assert_eq!(PrimitiveType::from_name(name), None, "{name}");
        }
    }
}
