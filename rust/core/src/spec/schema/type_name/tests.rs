use super::*;

#[test]
fn names_are_printed_as_parsed() {
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
fn parses_decimals() {
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
        let result = PrimitiveType::from_name(name);
        let expected =
            expected.map(|(precision, scale)| PrimitiveType::Decimal { precision, scale });
        assert_eq!(result, expected, "{name}");
    }
}

#[test]
fn intervals_have_descending_units_of_one_family() {
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
fn parses_geospatial_types_with_default_parameters() {
    for (name, canonical) in [
        ("geometry", Some("geometry(OGC:CRS84)")),
        ("geometry(EPSG:3857)", Some("geometry(EPSG:3857)")),
        ("geography", Some("geography(OGC:CRS84, spherical)")),
        ("geography(karney)", Some("geography(OGC:CRS84, karney)")),
        // as Spark spells it
        (
            "geography(OGC:CRS84, SPHERICAL)",
            Some("geography(OGC:CRS84, spherical)"),
        ),
        (
            "geography(EPSG:4326)",
            Some("geography(EPSG:4326, spherical)"),
        ),
        (
            "geography(EPSG:4326,vincenty)",
            Some("geography(EPSG:4326, vincenty)"),
        ),
        ("geometry( srid:4326 )", Some("geometry(srid:4326)")),
        ("geometry(SRID:0)", Some("geometry(SRID:0)")),
        ("geometry(SRID:ANY)", None),
        ("geography(SRID:ANY, SPHERICAL)", None),
        (
            "geometry(projjson:my.crs)",
            Some("geometry(projjson:my.crs)"),
        ),
        ("geography(EPSG:4326,flat)", None),
        ("geography(EPSG:4326, karney, karney)", None),
        ("geography(EPSG:4326,)", None),
        ("geography(,karney)", None),
        ("geography()", None),
        ("geography(", None),
        ("geometry()", None),
        ("geometry(", None),
        ("geometry)", None),
        ("geometry(4326)", None),
        ("geometry(:)", None),
        ("geometry(OGC:)", None),
        ("geometry(:CRS84)", None),
        ("geometry(OGC:CRS84", None),
        ("geometry(OGC:CRS84) ", None),
        ("geometry (OGC:CRS84)", None),
        ("Geometry", None),
        ("geometry(\u{e9}", None),
    ] {
        let result = PrimitiveType::from_name(name).map(|result| result.to_string());
        assert_eq!(result.as_deref(), canonical, "{name}");
    }
}

#[test]
fn char_and_varchar_are_strings() {
    for name in ["varchar(20)", "char(3)"] {
        assert_eq!(PrimitiveType::from_name(name), Some(PrimitiveType::String));
    }
}

#[test]
fn names_that_only_readers_of_spark_know() {
    for (name, printed) in [("null", "void"), ("timestamp_ltz", "timestamp")] {
        assert_eq!(PrimitiveType::from_name(name).unwrap().to_string(), printed);
    }
}

#[test]
fn other_names_have_no_type() {
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
