use super::*;

#[test]
fn from_arrow_is_the_inverse_of_arrow_schema() {
    let text = r#"{"type":"struct","fields":[
        {"name":"a","type":"long"},{"name":"b","type":"decimal(10,2)","nullable":false},
        {"name":"c","type":{"type":"array","elementType":"string","containsNull":false},"metadata":{"comment":"x"}},
        {"name":"d","type":{"type":"map","keyType":"date","valueType":"double"}},
        {"name":"e","type":{"type":"struct","fields":[{"name":"f","type":"timestamp_ntz"},{"name":"g","type":"timestamp"}]}},
        {"name":"h","type":"byte"},{"name":"i","type":"short"},{"name":"j","type":"integer"},{"name":"k","type":"float"},
        {"name":"l","type":"boolean"},{"name":"m","type":"binary"},{"name":"n","type":"void"}]}"#;
    let schema = StructType::parse(text).unwrap();
    assert_eq!(
        StructType::from_arrow(&schema.arrow_schema()).unwrap(),
        schema
    );
}

#[test]
fn rejects_types_that_tables_cannot_have() {
    let time = ArrowType::Time64(arrow_schema::TimeUnit::Microsecond);
    let decimals = [
        ArrowType::Decimal128(5, -2),
        ArrowType::Decimal128(5, 10),
        ArrowType::Decimal64(5, -2),
        ArrowType::Decimal256(39, 2),
    ];
    for arrow in decimals.into_iter().chain([time]) {
        let schema = Schema::new(vec![Field::new("c", arrow, true)]);
        assert_eq!(
            StructType::from_arrow(&schema).unwrap_err().code(),
            "schema.arrow_type"
        );
    }
}

/// Spark reads `UINT_64` of Parquet as `DECIMAL(20, 0)`.
#[test]
fn unsigned_integers_of_64_bits_become_decimals() {
    let schema = Schema::new(vec![Field::new("c", ArrowType::UInt64, true)]);
    let table = StructType::from_arrow(&schema).unwrap();
    let decimal = PrimitiveType::Decimal {
        precision: 20,
        scale: 0,
    };
    let field = table.fields().first().unwrap();
    assert_eq!(field.data_type, DataType::Primitive(decimal));
}
