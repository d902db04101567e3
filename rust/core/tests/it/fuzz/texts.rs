//! Texts of the log: schemas, statistics, partition values.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{Array, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use deltareplay_core::codec::partition_values::{Unparsable, parse_partition_values};
use deltareplay_core::codec::statistics::{
    num_records, parse_stats, render_stats_as, stats_schema,
};
use deltareplay_core::spec::schema::StructType;

use super::{TAKEN, feature, fuzz};

fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn types() -> Vec<DataType> {
    let instant =
        |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    vec![
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(10, 3),
        DataType::Decimal128(38, 38),
        DataType::Boolean,
        DataType::Utf8,
        DataType::Binary,
        DataType::Date32,
        instant(Some("UTC")),
        instant(None),
    ]
}

#[test]
fn schemas() {
    let texts = [
        r#"{"type":"struct","fields":[]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}"#,
        r#"{"type":"struct","fields":[{"name":"a","type":"decimal(10,2)","nullable":false,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1","comment":"x\u00e4"}},{"name":"b","type":{"type":"array","elementType":"string","containsNull":true},"nullable":true,"metadata":{}}]}"#,
        r#"{"type":"struct","fields":[{"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"struct","fields":[{"name":"x","type":"timestamp_ntz","nullable":true,"metadata":{"delta.typeChanges":[{"toType":"long","fromType":"integer"}]}}]},"valueContainsNull":false},"nullable":true,"metadata":{"a":[1,2.5,null,{"b":true}]}}]}"#,
    ];
    let words: [&[u8]; 14] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"\"",
        b"\\u0000",
        b"\\ud83d",
        b"null",
        b"1e999",
        br#"{"type":"array","elementType":"#,
        br#"{"type":"struct","fields":[{"name":"a","type":"#,
        b"decimal(38,38)",
        b"variant",
    ];
    fuzz(
        &seeds(&texts),
        &words,
        |bytes| (1 << 20) + bytes * 4000,
        |input| {
            let text = String::from_utf8_lossy(input);
            let parsed = StructType::parse(&text);
            feature(&parsed.map(|schema| {
                assert_eq!(schema.arrow_fields().len(), schema.fields().len());
                let mut again: Vec<&str> = schema
                    .fields()
                    .iter()
                    .map(|field| field.name.as_str())
                    .collect();
                again.dedup();
                (schema.fields().len() as u64) << 3 | (again.len() as u64 & 7)
            }))
        },
    );
}

#[test]
fn statistics() {
    let leaf = |(index, data_type)| Field::new(format!("c{index}"), data_type, true);
    let mut fields: Vec<Field> = types().into_iter().enumerate().map(leaf).collect();
    let inner = Fields::from(vec![Field::new("z", DataType::Int32, true)]);
    fields.push(Field::new("s", DataType::Struct(inner), true));
    let shape = stats_schema(&fields.into());
    let texts = [
        r#"{"numRecords":3}"#,
        r#"{"numRecords":3,"minValues":{"c0":1,"c1":2,"c2":-3,"c3":9223372036854775807,"c4":1.5,"c5":"NaN","c6":1.234,"c9":"a\"b","c11":"2024-02-29","c12":"2024-01-01T00:00:00.123Z","c13":"2024-01-01T00:00:00.123","s":{"z":1}},"maxValues":{"c0":1,"c5":"Infinity"},"nullCount":{"c0":0,"c8":2,"s":{"z":3}},"tightBounds":false}"#,
        r#"{"x":[1,{"a":"\ud83d\ude00"}],"minValues":{"c6":1234567.891,"c7":0.5},"numRecords":12}"#,
    ];
    let words: [&[u8]; 14] = [
        b"\"minValues\":{",
        b"\"maxValues\":{",
        b"\"nullCount\":{",
        b"\"numRecords\":",
        b"\"c12\":\"",
        b"9999-12-31T23:59:59.999999999+14:00",
        b"-0001-01-01",
        b"1e400",
        b"-9223372036854775808",
        b"99999999999999999999999999999999999999",
        b"\\uDC00",
        b"null",
        b"{\"s\":{\"z\":",
        b"}}",
    ];
    fuzz(
        &seeds(&texts),
        &words,
        |bytes| (1 << 20) + bytes * 400,
        |input| {
            let text = String::from_utf8_lossy(input);
            let column = StringArray::from(vec![text.as_ref()]);
            let parsed = parse_stats(&column, &shape).unwrap();
            let counted = num_records(&column);
            assert_eq!(counted.len(), 1);
            if parsed.is_null(0) {
                return 1; // no object
            }
            let found = parsed
                .column(0)
                .as_any()
                .downcast_ref::<arrow_array::Int64Array>()
                .unwrap();
            assert_eq!(found, &counted, "{text}");
            // What is rendered is what is parsed, from then on.
            let once = render_stats_as(&parsed, &shape).unwrap();
            let twice = render_stats_as(&parse_stats(&once, &shape).unwrap(), &shape).unwrap();
            assert_eq!(once, twice, "{text}");
            let nulls = parsed.columns().iter().enumerate();
            nulls.fold(TAKEN, |bits, (index, column)| {
                bits | u64::from(column.is_null(0)) << (index + 2)
            }) ^ (once.value(0).len() as u64 / 8) << 8
        },
    );
}

#[test]
fn partition_values() {
    let columns: Vec<(String, FieldRef)> = types()
        .into_iter()
        .map(|data_type| ("p".to_owned(), Arc::new(Field::new("p", data_type, true))))
        .collect();
    let texts = [
        "",
        "0",
        "-128",
        "9223372036854775807",
        "1.5",
        "NaN",
        "-Infinity",
        "123.4567",
        "1E-7",
        "true",
        "2024-02-29",
        "2024-01-01 00:00:00.123456",
        "2024-01-01T00:00:00.123456Z",
        "1969-12-31 23:59:59+05:30",
        "a%20b/ä",
    ];
    let words: [&[u8]; 8] = [
        b"-",
        b"+",
        b".",
        b"E",
        b"9999999999",
        b"Infinity",
        b"T",
        b"\xF0\x9F\x98\x80",
    ];
    fuzz(
        &seeds(&texts),
        &words,
        |bytes| (1 << 20) + bytes * 400,
        |input| {
            let text = String::from_utf8_lossy(input);
            let names = MapFieldNames {
                entry: "entries".into(),
                key: "key".into(),
                value: "value".into(),
            };
            let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
            map.keys().append_value("p");
            map.values().append_value(&text);
            map.append(true).unwrap();
            let map = map.finish();
            let mut known = 0;
            for (index, column) in columns.iter().enumerate() {
                let column = std::slice::from_ref(column);
                let lenient = parse_partition_values(&map, column, Unparsable::Null).unwrap();
                let is_null = lenient.column(0).is_null(0);
                match parse_partition_values(&map, column, Unparsable::Refuse) {
                    Ok(strict) => {
                        assert_eq!(strict, lenient);
                        assert_eq!(is_null, text.is_empty(), "{text:?} as {:?}", column[0].1);
                    }
                    Err(error) => {
                        assert_eq!(error.code(), "partition_value.parse");
                        assert!(is_null, "{text:?} as {:?}", column[0].1);
                    }
                }
                known |= u64::from(is_null) << index;
            }
            TAKEN | known << 4 | (text.len() as u64).min(15)
        },
    );
}
