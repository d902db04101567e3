//! Texts of the log: schemas, statistics, partition values.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{Array, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use deltareplay_core::codec::partition_values::parse_partition_values;
use deltareplay_core::codec::statistics::{num_records, parse_stats, render_stats, stats_schema};
use deltareplay_core::spec::schema::StructType;

use super::{ACCEPTED, Target, feature};

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

pub const SCHEMAS: Target = Target {
    name: "schemas",
    words: &[
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
    ],
    memory: |bytes| (1 << 20) + bytes * 4000,
    run: run_schemas,
};

fn run_schemas(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let parsed = StructType::parse(&text);
    feature(&parsed.map(|schema| {
        assert_eq!(schema.arrow_fields().len(), schema.fields().len());
        let mut names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        names.dedup();
        (schema.fields().len() as u64) << 3 | (names.len() as u64 & 7)
    }))
}

pub const STATISTICS: Target = Target {
    name: "statistics",
    words: &[
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
    ],
    memory: |bytes| (1 << 20) + bytes * 400,
    run: run_statistics,
};

static SHAPE: LazyLock<Fields> = LazyLock::new(|| {
    let leaf = |(index, data_type)| Field::new(format!("c{index}"), data_type, true);
    let mut fields: Vec<Field> = types().into_iter().enumerate().map(leaf).collect();
    let inner = Fields::from(vec![Field::new("z", DataType::Int32, true)]);
    fields.push(Field::new("s", DataType::Struct(inner), true));
    stats_schema(&fields.into())
});

fn run_statistics(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let column = StringArray::from(vec![text.as_ref()]);
    let parsed = parse_stats(&column, &SHAPE).unwrap();
    let counted = num_records(&column);
    assert_eq!(counted.len(), 1);
    if parsed.is_null(0) {
        return 1; // no object
    }
    let result = parsed
        .column(0)
        .as_any()
        .downcast_ref::<arrow_array::Int64Array>()
        .unwrap();
    assert_eq!(result, &counted, "{text}");
    // rendered text parses to the same values
    let once = render_stats(&parsed, Some(&SHAPE)).unwrap();
    let twice = render_stats(&parse_stats(&once, &SHAPE).unwrap(), Some(&SHAPE)).unwrap();
    assert_eq!(once, twice, "{text}");
    let nulls = parsed.columns().iter().enumerate();
    nulls.fold(ACCEPTED, |bits, (index, column)| {
        bits | u64::from(column.is_null(0)) << (index + 2)
    }) ^ (once.value(0).len() as u64 / 8) << 8
}

pub const PARTITION_VALUES: Target = Target {
    name: "partition_values",
    words: &[
        b"-",
        b"+",
        b".",
        b"E",
        b"9999999999",
        b"Infinity",
        b"T",
        b"\xF0\x9F\x98\x80",
    ],
    memory: |bytes| (1 << 20) + bytes * 400,
    run: run_partition_values,
};

static COLUMNS: LazyLock<Vec<(String, FieldRef)>> = LazyLock::new(|| {
    let column = |data_type| ("p".to_owned(), Arc::new(Field::new("p", data_type, true)));
    types().into_iter().map(column).collect()
});

fn run_partition_values(input: &[u8]) -> u64 {
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
    let mut nulls = 0;
    for (index, column) in COLUMNS.iter().enumerate() {
        let column = std::slice::from_ref(column);
        match parse_partition_values(&map, column) {
            Ok(parsed) => {
                let is_null = parsed.column(0).is_null(0);
                let is_text = column[0].1.data_type() == &DataType::Utf8;
                assert_eq!(
                    is_null,
                    text.is_empty() && !is_text,
                    "{text:?} as {:?}",
                    column[0].1
                );
                nulls |= u64::from(is_null) << index;
            }
            Err(error) => {
                assert_eq!(error.code(), "partition_value.parse");
                nulls |= 1 << index;
            }
        }
    }
    ACCEPTED | nulls << 4 | (text.len() as u64).min(15)
}
