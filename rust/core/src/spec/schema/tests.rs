use super::*;
use proptest::prelude::*;
use serde_json::json;

fn parse(schema: &Value) -> Result<StructType> {
    StructType::parse(&schema.to_string())
}

fn primitive(name: &str) -> DataType {
    DataType::Primitive(PrimitiveType::from_name(name).unwrap())
}

fn column(data_type: &Value) -> Result<DataType> {
    let schema = json!({"type": "struct", "fields": [{"name": "c", "type": data_type}]});
    Ok(parse(&schema)?.fields()[0].data_type.clone())
}

/// The schema of the "Deep Dive: Delta Log" document.
#[test]
fn parses_flat_schemas() {
    let schema = StructType::parse(
        r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"loan_amnt","type":"float","nullable":true,"metadata":{}},{"name":"funded_amnt","type":"integer","nullable":true,"metadata":{}},{"name":"term","type":"string","nullable":true,"metadata":{}},{"name":"int_rate","type":"string","nullable":true,"metadata":{}},{"name":"addr_state","type":"string","nullable":true,"metadata":{}}]}"#,
    )
    .unwrap();
    let result: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| (field.name.as_str(), field.data_type.clone()))
        .collect();
    let expected = [
        ("id", "long"),
        ("loan_amnt", "float"),
        ("funded_amnt", "integer"),
        ("term", "string"),
        ("int_rate", "string"),
        ("addr_state", "string"),
    ];
    assert_eq!(
        result,
        expected.map(|(name, data_type)| (name, primitive(data_type)))
    );
    assert!(
        schema
            .fields()
            .iter()
            .all(|field| field.nullable && field.metadata.is_empty())
    );
}

#[test]
fn parses_nested_types_with_keys_in_any_order() {
    let text = r#"{"fields":[{"metadata":{"comment":"x","delta.columnMapping.id":7,"delta.columnMapping.physicalName":"col-a"},
        "type":{"containsNull":false,"elementType":{"valueContainsNull":false,"valueType":{"fields":[{"type":"date","name":"d","nullable":false}],
        "type":"struct"},"type":"map","keyType":"string"},"type":"array"},"name":"c","nullable":false,"later":[{"a":1}]}],"type":"struct"}"#;
    let schema = StructType::parse(text).unwrap();
    let date = StructField {
        name: "d".to_owned(),
        data_type: primitive("date"),
        nullable: false,
        metadata: Map::new(),
    };
    let map = MapType {
        key_type: primitive("string"),
        value_type: DataType::Struct(Box::new(StructType::new(vec![date]).unwrap())),
        value_contains_null: false,
    };
    let field = &schema.fields()[0];
    let array = ArrayType {
        element_type: DataType::Map(Box::new(map)),
        contains_null: false,
    };
    assert_eq!(field.data_type, DataType::Array(Box::new(array)));
    assert!(!field.nullable);
    assert_eq!(field.metadata["comment"], "x");
    assert_eq!(
        (field.physical_name(), field.column_id()),
        (Some("col-a"), Some(7))
    );
}

#[test]
fn absent_parts_have_defaults() {
    let array = column(&json!({"type": "array", "elementType": "void"})).unwrap();
    let expected = ArrayType {
        element_type: primitive("void"),
        contains_null: true,
    };
    assert_eq!(array, DataType::Array(Box::new(expected)));
    let map = column(&json!({"type": "map", "keyType": "long", "valueType": "variant"})).unwrap();
    assert!(matches!(map, DataType::Map(map) if map.value_contains_null));
    let schema = StructType::parse(
        r#"{"type":"struct","fields":[{"name":"a","type":"byte","metadata":null}]}"#,
    )
    .unwrap();
    assert!(schema.fields()[0].nullable && schema.fields()[0].metadata.is_empty());
    assert_eq!(StructType::parse("").unwrap(), StructType::default());
    assert_eq!(
        parse(&json!({"type": "struct", "fields": []})).unwrap(),
        StructType::default()
    );
}

#[test]
fn variant_types_may_be_names_or_objects() {
    assert_eq!(column(&json!("variant")).unwrap(), primitive("variant"));
    assert_eq!(
        column(&json!({"type": "variant"})).unwrap(),
        primitive("variant")
    );
}

#[test]
fn user_defined_types_become_their_sql_type() {
    let stored = json!({"type": "udt", "class": "x.VectorUDT", "sqlType": {"type": "array", "elementType": "double"}});
    assert_eq!(
        column(&stored).unwrap(),
        column(&json!({"type": "array", "elementType": "double"})).unwrap()
    );
}

#[test]
fn metadata_is_kept_verbatim() {
    let metadata = json!({
        "__CHAR_VARCHAR_TYPE_STRING": "varchar(20)",
        "delta.typeChanges": [{"fromType": "integer", "toType": "long", "fieldPath": "element.value"}],
        "delta.identity.start": 9_007_199_254_740_993_i64,
        "delta.columnMapping.nested.ids": {"col-aaa.element": 100},
        "flag": true,
    });
    let schema = json!({"type": "struct", "fields": [{"name": "c", "type": "string", "metadata": metadata}]});
    assert_eq!(
        Value::Object(parse(&schema).unwrap().fields()[0].metadata.clone()),
        metadata
    );
}

#[test]
fn rejects_names_that_differ_only_in_case() {
    let fields = |names: [&str; 2]| json!(names.map(|name| json!({"name": name, "type": "long"})));
    let flat = json!({"type": "struct", "fields": fields(["Ünit", "üNIT"])});
    assert_eq!(parse(&flat).unwrap_err().code(), "schema.duplicate_column");
    let nested = column(&json!({"type": "struct", "fields": fields(["a", "A"])}));
    assert_eq!(nested.unwrap_err().code(), "schema.duplicate_column");
    // names may repeat at different levels
    assert!(column(&json!({"type": "struct", "fields": fields(["c", "b"])})).is_ok());
}

#[test]
fn field_is_case_insensitive() {
    let schema = parse(
        &json!({"type": "struct", "fields": [{"name": "Id", "type": "long"}, {"name": "v", "type": "byte"}]}),
    );
    let schema = schema.unwrap();
    assert_eq!(schema.field("iD").unwrap().data_type, primitive("long"));
    assert_eq!(schema.field("V").unwrap().data_type, primitive("byte"));
    assert_eq!(schema.field("w"), None);
}

#[test]
fn errors_describe_invalid_schemas() {
    for (text, code, expected) in [
        (
            r#"{"type":"struct","fields":[{"name":"#,
            "schema.json",
            "byte 35",
        ),
        (r#"{"type":"struct"}"#, "schema.json", "fields"),
        (
            r#"{"type":"array","elementType":"long"}"#,
            "schema.json",
            "struct",
        ),
        (r#""long""#, "schema.json", "object"),
        (
            r#"{"type":"struct","fields":[]} x"#,
            "schema.json",
            "byte 30",
        ),
        (r#"{"type":"struct","fields":{}}"#, "schema.json", "list"),
        (r#"{"type":"struct","fields":[1]}"#, "schema.json", "field"),
        (
            r#"{"type":"struct","fields":[{"type":"long"}]}"#,
            "schema.json",
            "name",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a"}]}"#,
            "schema.json",
            "type",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":1}]}"#,
            "schema.json",
            "type",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":"long","nullable":"no"}]}"#,
            "schema.json",
            "nullability",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":"long","metadata":[]}]}"#,
            "schema.json",
            "metadata",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":"bigint"}]}"#,
            "schema.type",
            "bigint",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":{"type":"set"}}]}"#,
            "schema.type",
            "set",
        ),
        (
            r#"{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}"#,
            "schema.json",
            "elementType",
        ),
    ] {
        let error = StructType::parse(text).unwrap_err();
        assert_eq!(error.code(), code, "{text}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn messages_truncate_long_names() {
    let long = "x".repeat(1 << 20);
    let unknown = column(&json!(long)).unwrap_err().to_string();
    let fields = [
        json!({"name": long, "type": "long"}),
        json!({"name": long, "type": "long"}),
    ];
    let twice = column(&json!({"type": "struct", "fields": fields}))
        .unwrap_err()
        .to_string();
    assert!(unknown.len() < 500 && twice.len() < 500);
}

fn nested(levels: usize, open: &str, close: &str) -> String {
    let column = open.repeat(levels) + "\"long\"" + &close.repeat(levels);
    format!(
        r#"{{"type":"struct","fields":[{{"name":"c","type":{column},"nullable":true,"metadata":{{}}}}]}}"#
    )
}

const STRUCT: (&str, &str) = (r#"{"type":"struct","fields":[{"name":"c","type":"#, "}]}");
const ARRAY: (&str, &str) = (r#"{"type":"array","elementType":"#, "}");
const MAP: (&str, &str) = (r#"{"type":"map","keyType":"long","valueType":"#, "}");

/// Parses, clones, compares and drops on a stack of 1 MiB.
#[test]
fn types_nest_up_to_the_maximum_depth() {
    let work = || {
        for (open, close) in [STRUCT, ARRAY, MAP] {
            let schema = StructType::parse(&nested(MAX_TYPE_DEPTH, open, close)).unwrap();
            assert_eq!(schema.clone(), schema);
            let mut levels = 0;
            let mut inner = schema.fields()[0].data_type.clone();
            while let Some(next) = match inner {
                DataType::Struct(part) => Some(part.fields()[0].data_type.clone()),
                DataType::Array(part) => Some(part.element_type),
                DataType::Map(part) => Some(part.value_type),
                DataType::Primitive(_) => None,
            } {
                levels += 1;
                inner = next;
            }
            assert_eq!(levels, MAX_TYPE_DEPTH);
            let error = StructType::parse(&nested(MAX_TYPE_DEPTH + 1, open, close)).unwrap_err();
            assert_eq!(error.code(), "schema.depth");
            assert!(error.to_string().contains("250"), "{error}");
            let error = StructType::parse(&nested(100_000, open, close)).unwrap_err();
            assert_eq!(error.code(), "schema.depth");
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn rejects_deeply_nested_metadata() {
    for levels in [500, 100_000] {
        let value = "[".repeat(levels) + &"]".repeat(levels);
        let text = format!(
            r#"{{"type":"struct","fields":[{{"name":"c","type":"long","metadata":{{"a":{value}}}}}]}}"#
        );
        assert_eq!(StructType::parse(&text).unwrap_err().code(), "schema.json");
    }
}

#[test]
fn every_proper_prefix_is_an_error() {
    let text = r#"{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"string","valueType":"decimal(6, 2)"},"nullable":true,"metadata":{"x":[1]}}]}"#;
    assert!(StructType::parse(text).is_ok());
    for end in 1..text.len() {
        assert!(
            StructType::parse(text.get(..end).unwrap()).is_err(),
            "{end}"
        );
    }
}

proptest! {
    /// Changes of a few bytes cause an error or a schema, never a panic.
    #[test]
    fn changed_text_never_panics(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<char>()), 1..6)) {
        let text = r#"{"type":"struct","fields":[{"name":"a\n","type":{"type":"map","keyType":"string","valueType":"decimal(6, 2)"},"nullable":true,"metadata":{"x":[1]}},{"name":"b","type":"geography(EPSG:1, karney)"}]}"#;
        let mut text: Vec<char> = text.chars().collect();
        for (position, character) in changes {
            let position = position.index(text.len());
            text[position] = character;
        }
        match StructType::parse(&text.into_iter().collect::<String>()) {
            Ok(schema) => prop_assert_eq!(schema.arrow_schema().fields().len(), schema.fields().len()),
            Err(error) => prop_assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt),
        }
    }
}
