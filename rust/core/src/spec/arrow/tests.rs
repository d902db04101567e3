use super::*;

fn arrow_type_of(data_type: &str) -> ArrowType {
    let text = format!(r#"{{"type":"struct","fields":[{{"name":"c","type":{data_type}}}]}}"#);
    StructType::parse(&text)
        .unwrap()
        .arrow_schema()
        .field(0)
        .data_type()
        .clone()
}

/// Each case is a type as in the log, and its Arrow type as text.
#[test]
fn each_type_has_its_arrow_type() {
    for (delta, arrow) in [
        (r#""boolean""#, "Boolean"),
        (r#""byte""#, "Int8"),
        (r#""short""#, "Int16"),
        (r#""integer""#, "Int32"),
        (r#""long""#, "Int64"),
        (r#""float""#, "Float32"),
        (r#""double""#, "Float64"),
        (r#""decimal(38, 18)""#, "Decimal128(38, 18)"),
        (r#""string""#, "Utf8"),
        (r#""binary""#, "Binary"),
        (r#""date""#, "Date32"),
        (r#""timestamp""#, r#"Timestamp(µs, "UTC")"#),
        (r#""timestamp_ntz""#, "Timestamp(µs)"),
        (r#""void""#, "Null"),
        (r#""interval year to month""#, "Interval(YearMonth)"),
        (r#""interval day to second""#, "Duration(µs)"),
        (
            r#""variant""#,
            r#"Struct("metadata": non-null Binary, "value": non-null Binary)"#,
        ),
        (
            r#"{"type":"array","elementType":"string","containsNull":false}"#,
            r#"List(non-null Utf8, field: 'element')"#,
        ),
        (
            r#"{"type":"map","keyType":"string","valueType":"long"}"#,
            r#"Map("entries": non-null Struct("key": non-null Utf8, "value": Int64), unsorted)"#,
        ),
    ] {
        assert_eq!(arrow_type_of(delta).to_string(), arrow, "{delta}");
    }
}

#[test]
fn geospatial_fields_are_marked_at_any_depth() {
    let text = r#"{"type":"struct","fields":[
        {"name":"g","type":"geometry","metadata":{"comment":"where","ARROW:extension:name":"x"}},
        {"name":"a","type":{"type":"array","elementType":"geography(karney)"}},
        {"name":"m","type":{"type":"map","keyType":"geometry(EPSG:1)","valueType":"geometry(srid:2)"}},
        {"name":"b","type":"binary"}]}"#;
    let schema = StructType::parse(text).unwrap().arrow_schema();
    let crs_of = |field: &Field| {
        assert_eq!(field.data_type(), &ArrowType::Binary);
        assert_eq!(field.extension_type_name(), Some("geoarrow.wkb"));
        let extension = field.extension_type_metadata().unwrap();
        serde_json::from_str::<Value>(extension).unwrap()["crs"].clone()
    };
    assert_eq!(schema.field(0).metadata()["comment"], "where");
    assert_eq!(crs_of(schema.field(0)), "OGC:CRS84");
    let ArrowType::List(element) = schema.field(1).data_type() else {
        panic!("no list")
    };
    assert_eq!(crs_of(element), "OGC:CRS84");
    let ArrowType::Map(entries, _) = schema.field(2).data_type() else {
        panic!("no map")
    };
    let ArrowType::Struct(parts) = entries.data_type() else {
        panic!("no entries")
    };
    assert_eq!(
        (crs_of(&parts[0]), crs_of(&parts[1])),
        ("EPSG:1".into(), "2".into())
    );
    assert!(schema.field(3).metadata().is_empty());
}

#[test]
fn fields_keep_nullability_and_metadata() {
    let text = r#"{"type":"struct","fields":[{"name":"s","nullable":false,"metadata":
        {"comment":"a \"b\"","delta.columnMapping.id":3,"flags":[true,null],"o":{"k":"v"}},
        "type":{"type":"struct","fields":[{"name":"inner","type":"date","metadata":{"comment":"deep"}}]}}]}"#;
    let schema = StructType::parse(text).unwrap().arrow_schema();
    let field = schema.field(0);
    assert!(!field.is_nullable());
    let expected = [
        ("comment", r#"a "b""#),
        ("delta.columnMapping.id", "3"),
        ("flags", "[true,null]"),
        ("o", r#"{"k":"v"}"#),
    ];
    assert_eq!(field.metadata().len(), expected.len());
    for (key, value) in expected {
        assert_eq!(field.metadata()[key], value);
    }
    let ArrowType::Struct(parts) = field.data_type() else {
        panic!("no struct")
    };
    assert_eq!(
        (
            parts[0].name().as_str(),
            parts[0].metadata()["comment"].as_str()
        ),
        ("inner", "deep")
    );
}

#[test]
fn converts_the_deepest_schema_on_a_stack_of_2_mib() {
    let levels = crate::spec::schema::MAX_TYPE_DEPTH;
    let (open, close) = (r#"{"type":"struct","fields":[{"name":"c","type":"#, "}]}");
    let text = format!(
        r#"{{"type":"struct","fields":[{{"name":"c","type":{}"long"{}}}]}}"#,
        open.repeat(levels),
        close.repeat(levels)
    );
    let work = move || {
        let schema = StructType::parse(&text).unwrap().arrow_schema();
        // a copy, a comparison and the text recurse, too
        assert_eq!(schema.as_ref().clone(), *schema);
        schema.to_string().len()
    };
    let printed = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
    assert!(printed > levels);
}
