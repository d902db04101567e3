use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::TimeUnit;
use proptest::prelude::*;

use super::*;
use crate::codec::statistics::{render_stats, stats_schema};

fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn data() -> Fields {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Fields::from(vec![
        field("i8", DataType::Int8),
        field("i16", DataType::Int16),
        field("i32", DataType::Int32),
        field("i64", DataType::Int64),
        field("f32", DataType::Float32),
        field("f64", DataType::Float64),
        field("dec", DataType::Decimal128(38, 18)),
        field("day", DataType::Date32),
        field("ts", utc()),
        field("ntz", DataType::Timestamp(TimeUnit::Microsecond, None)),
        field("text", DataType::Utf8),
        field("ok", DataType::Boolean),
        field(
            "s",
            DataType::Struct(
                vec![
                    field("x \"quoted\"", DataType::Int32),
                    field(
                        "deep",
                        DataType::Struct(vec![field("y", DataType::Utf8)].into()),
                    ),
                ]
                .into(),
            ),
        ),
    ])
}

fn parse(strings: &[&str]) -> StructArray {
    parse_stats(&StringArray::from(strings.to_vec()), &stats_schema(&data())).unwrap()
}

/// Returns a column by its path, e.g. `minValues.s.deep`.
fn column(stats: &StructArray, path: &str) -> ArrayRef {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (column(stats, parent).as_struct().clone(), name),
        None => (stats.clone(), path),
    };
    parent.column_by_name(name).unwrap().clone()
}

fn minimum<T: ArrowPrimitiveType>(name: &str, value: &str) -> Option<T::Native> {
    let stats = parse(&[&format!(
        r#"{{"minValues":{{"{name}":{value}}},"numRecords":7}}"#
    )]);
    assert_eq!(
        column(&stats, "numRecords")
            .as_primitive::<Int64Type>()
            .value(0),
        7,
        "{value}"
    );
    let bound = column(&stats, &format!("minValues.{name}"));
    let bound = bound.as_primitive::<T>();
    bound.is_valid(0).then(|| bound.value(0))
}

/// The protocol's own example of statistics, with fields that Spark adds.
#[test]
fn reads_what_spark_writes() {
    let stats = parse(&[
        r#"{"numRecords":4,"minValues":{"i8":1,"i16":100,"i32":1000,"i64":10000,"f32":1.5,"f64":2.5,"day":"2023-01-15","ts":"2023-06-15T12:30:00.000Z","ntz":"2023-06-15T12:30:00.000","text":"alpha","dec":123.45,"s":{"x \"quoted\"":10,"deep":{"y":"nested_a"}}},"maxValues":{"s":{}},"nullCount":{"i8":1,"ok":2,"s":{"deep":{"y":3}}},"tightBounds":false}"#,
    ]);
    let long = |path: &str| column(&stats, path).as_primitive::<Int64Type>().value(0);
    assert_eq!(long("numRecords"), 4);
    assert_eq!(long("minValues.i64"), 10_000);
    assert_eq!(
        (
            long("nullCount.i8"),
            long("nullCount.ok"),
            long("nullCount.s.deep.y")
        ),
        (1, 2, 3)
    );
    assert!(column(&stats, "nullCount.i16").is_null(0));
    assert_eq!(
        column(&stats, "minValues.i8")
            .as_primitive::<Int8Type>()
            .value(0),
        1
    );
    assert_eq!(
        column(&stats, "minValues.f32")
            .as_primitive::<Float32Type>()
            .value(0),
        1.5
    );
    assert_eq!(
        column(&stats, "minValues.f64")
            .as_primitive::<Float64Type>()
            .value(0),
        2.5
    );
    assert_eq!(
        column(&stats, "minValues.dec")
            .as_primitive::<Decimal128Type>()
            .value(0),
        123_450_000_000_000_000_000
    );
    assert_eq!(
        column(&stats, "minValues.day")
            .as_primitive::<Date32Type>()
            .value(0),
        19_372
    );
    for name in ["minValues.ts", "minValues.ntz"] {
        let micros = column(&stats, name)
            .as_primitive::<TimestampMicrosecondType>()
            .value(0);
        assert_eq!(micros, 1_686_832_200_000_000, "{name}");
    }
    assert_eq!(
        column(&stats, "minValues.text").as_string::<i32>().value(0),
        "alpha"
    );
    assert_eq!(
        column(&stats, "minValues.s.deep.y")
            .as_string::<i32>()
            .value(0),
        "nested_a"
    );
    assert_eq!(
        column(&stats, "minValues.s.x \"quoted\"")
            .as_primitive::<Int32Type>()
            .value(0),
        10
    );
    assert!(column(&stats, "maxValues.s").is_valid(0));
    assert!(column(&stats, "maxValues.s.deep").is_null(0));
    assert!(!column(&stats, "tightBounds").as_boolean().value(0));
}

#[test]
fn bounds_are_parsed_and_only_invalid_ones_are_null() {
    assert_eq!(minimum::<Int8Type>("i8", "-128"), Some(-128));
    for bad in [
        "128", "1.0", "1e1", "\"1\"", "\"abc\"", "true", "null", "{}", "[1]", "NaN",
    ] {
        assert_eq!(minimum::<Int8Type>("i8", bad), None, "{bad}");
    }
    assert_eq!(
        minimum::<Int64Type>("i64", "-9223372036854775808"),
        Some(i64::MIN)
    );
    assert_eq!(minimum::<Int64Type>("i64", "9223372036854775808"), None);
    assert_eq!(
        minimum::<Float64Type>("f64", "\"-Infinity\""),
        Some(f64::NEG_INFINITY)
    );
    assert_eq!(
        minimum::<Float64Type>("f64", "Infinity"),
        Some(f64::INFINITY)
    );
    assert!(minimum::<Float64Type>("f64", "\"NaN\"").unwrap().is_nan());
    assert!(minimum::<Float32Type>("f32", "NaN").unwrap().is_nan());
    assert_eq!(minimum::<Float64Type>("f64", "1.0E300"), Some(1e300));
    assert_eq!(minimum::<Float64Type>("f64", "12"), Some(12.0));
    for bad in ["1e999", "\"1.5\"", "\"nan\"", "null", "false"] {
        assert_eq!(minimum::<Float64Type>("f64", bad), None, "{bad}");
    }
    assert_eq!(minimum::<Float32Type>("f32", "1e39"), None);
    assert_eq!(
        minimum::<Decimal128Type>("dec", "-99999999999999999999.999999999999999999"),
        Some(-(10i128.pow(38) - 1))
    );
    assert_eq!(
        minimum::<Decimal128Type>("dec", "\"1.5\""),
        Some(1_500_000_000_000_000_000)
    );
    assert_eq!(
        minimum::<Decimal128Type>("dec", "0.0000000000000000001"),
        None
    );
    assert_eq!(minimum::<Date32Type>("day", "\"2022-10-24\""), Some(19_289));
    assert_eq!(minimum::<Date32Type>("day", "19289"), None);
    assert_eq!(
        minimum::<TimestampMicrosecondType>("ts", "\"1970-01-01T02:00:00.000+01:59\""),
        Some(60_000_000)
    );
    assert_eq!(
        minimum::<TimestampMicrosecondType>("ts", "\"1970-01-01 00:00:01\""),
        Some(1_000_000)
    );
    assert_eq!(
        minimum::<TimestampMicrosecondType>("ntz", "\"1970-01-02\""),
        Some(86_400_000_000)
    );
    assert_eq!(minimum::<TimestampMicrosecondType>("ntz", "\"soon\""), None);
}

#[test]
fn string_bounds_are_decoded() {
    let stats = parse(&[
        r#"{"minValues":{"text":"a\u0000\"\\ü🚀"}}"#,
        r#"{"minValues":{"text":""}}"#,
        r#"{"minValues":{"text":5}}"#,
        r#"{"minValues":{"text":"\ud800"}}"#,
        r#"{}"#,
        r#"{"minValues":{"te\u0078t":"first","text":"second"}}"#,
    ]);
    let expected = StringArray::from(vec![
        Some("a\0\"\\ü🚀"),
        Some(""),
        None,
        None,
        None,
        Some("first"),
    ]);
    assert_eq!(
        column(&stats, "minValues.text").as_string::<i32>(),
        &expected
    );
    assert!(stats.is_valid(4));
    assert!(column(&stats, "minValues").is_null(4));
}

#[test]
fn malformed_texts_are_null_rows() {
    let good =
        r#"{"numRecords":1,"minValues":{"i64":5,"text":"t","other":[{"a":1}]},"nullCount":{}}"#;
    let mut strings = vec![
        good,
        "",
        "null",
        "[]",
        "{\"numRecords\":1} x",
        "{\"numRecords\":1,}",
    ];
    let prefixes: Vec<_> = (0..good.len()).filter_map(|end| good.get(..end)).collect();
    strings.extend(&prefixes);
    strings.push(good);
    let stats = parse(&strings);
    let last = strings.len() - 1;
    for (row, text) in strings.iter().enumerate() {
        let valid = row == 0 || row == last;
        assert_eq!(stats.is_valid(row), valid, "{text}");
        for path in [
            "numRecords",
            "minValues",
            "minValues.i64",
            "minValues.text",
            "nullCount",
        ] {
            assert_eq!(column(&stats, path).is_valid(row), valid, "{path}: {text}");
        }
    }
    assert_eq!(
        column(&stats, "minValues.text")
            .as_string::<i32>()
            .value(last),
        "t"
    );
}

#[test]
fn null_rows_and_every_string_type() {
    let strings = [None, Some(r#"{"numRecords":3}"#), None];
    let shape = stats_schema(&data());
    let expected = parse_stats(&StringArray::from_iter(strings), &shape).unwrap();
    assert_eq!(
        expected.nulls().unwrap().iter().collect::<Vec<_>>(),
        [false, true, false]
    );
    assert_eq!(
        parse_stats(&StringViewArray::from_iter(strings), &shape).unwrap(),
        expected
    );
    assert_eq!(
        parse_stats(&LargeStringArray::from_iter(strings), &shape).unwrap(),
        expected
    );
}

#[test]
fn only_fields_of_the_shape_are_parsed() {
    let shape = Fields::from(vec![Field::new("numRecords", DataType::Int64, false)]);
    let stats = parse_stats(
        &StringArray::from(vec![
            r#"{"minValues":{"numRecords":{"a":[]}},"numRecords":3}"#,
            "{}",
        ]),
        &shape,
    )
    .unwrap();
    assert_eq!(stats.num_columns(), 1);
    assert_eq!(
        stats.column(0).as_primitive::<Int64Type>(),
        &Int64Array::from(vec![Some(3), None])
    );
    let none = parse_stats(&StringArray::from(vec!["{}", "?"]), &Fields::empty()).unwrap();
    assert_eq!((none.len(), none.null_count()), (2, 1));
}

#[test]
fn deep_nesting_is_a_null_row() {
    let deep = format!("{{\"x\":{}", "[".repeat(1_000_000));
    let structs = format!("{{\"minValues\":{}", "{\"s\":".repeat(1_000_000));
    assert_eq!(parse(&[&deep, &structs]).null_count(), 2);
}

#[test]
fn unsupported_shapes_are_refused() {
    let list = Field::new("l", DataType::new_list(DataType::Int8, true), true);
    let mut deep = DataType::Int64;
    for _ in 0..MAX_SCHEMA_DEPTH + 2 {
        deep = DataType::Struct(vec![Field::new("a", deep, true)].into());
    }
    for field in [list, Field::new("deep", deep, true)] {
        let error = parse_stats(&StringArray::from(vec!["{}"]), &vec![field].into()).unwrap_err();
        assert_eq!(error.code(), "stats.shape");
    }
}

/// Bounds of one side, as JSON members that Spark could have written.
fn side() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let text = prop_oneof!["[a-z]{0,4}", any::<String>()];
    let values = (
        proptest::option::of(any::<i8>()),
        proptest::option::of(any::<i64>()),
        // serde_json reads such short numbers exactly, but not all long ones
        proptest::option::of(any::<i32>().prop_map(|value| f64::from(value) / 8.0)),
        proptest::option::of(-719_162i32..2_932_896),
        proptest::option::of(-62_135_596_800_000i64..253_402_300_799_999),
        proptest::option::of(text),
    );
    values.prop_map(|(small, long, float, day, millis, text)| {
        let mut side = serde_json::Map::new();
        let mut put = |key: &str, value: Option<serde_json::Value>| {
            value.map(|value| side.insert(key.to_owned(), value))
        };
        put("i8", small.map(|value| json!(value)));
        put("i64", long.map(|value| json!(value)));
        put("f64", float.map(|value| json!(value)));
        let date = |days| chrono::NaiveDate::from_num_days_from_ce_opt(days + 719_163).unwrap();
        put("day", day.map(|days| json!(date(days).to_string())));
        let time = |millis| chrono::DateTime::from_timestamp_millis(millis).unwrap();
        let iso = |millis| time(millis).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        put("ts", millis.map(|millis| json!(iso(millis))));
        put("text", text.as_ref().map(|text| json!(text)));
        put("s", text.map(|text| json!({ "deep": { "y": text } })));
        serde_json::Value::Object(side)
    })
}

/// Writes the same JSON with its members in another order, unknown keys between them, and spaces.
fn write_rearranged(value: &serde_json::Value, seed: u64, out: &mut String) {
    let blank = [" ", "", "\n\t", ""][seed as usize % 4];
    match value {
        serde_json::Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            let offset = seed as usize % members.len().max(1);
            members.rotate_left(offset);
            out.push('{');
            out.push_str(blank);
            out.push_str(r#""zz\n":[{"a":[1,2.5e3,"}"]},null]"#);
            for (key, value) in members {
                out.push_str(blank);
                out.push(',');
                out.push_str(&serde_json::to_string(key).unwrap());
                out.push_str(blank);
                out.push(':');
                write_rearranged(value, seed / 3, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
    out.push_str(blank);
}

proptest! {
    #[test]
    fn the_layout_of_the_text_does_not_matter(
        rows in proptest::collection::vec((any::<i64>(), side(), side(), any::<u64>()), 1..5),
    ) {
        let (mut plain, mut rearranged) = (Vec::new(), Vec::new());
        for (count, min, max, seed) in rows {
            let value = serde_json::json!({"numRecords": count, "minValues": min, "maxValues": max, "tightBounds": seed % 2 == 0});
            let mut text = String::new();
            write_rearranged(&value, seed, &mut text);
            rearranged.push(text);
            plain.push(value);
        }
        let stats = parse(&rearranged.iter().map(String::as_str).collect::<Vec<_>>());
        // the rendered text, parsed by serde_json, has the original values
        let strings = render_stats(&stats, None).unwrap();
        for (row, value) in plain.iter().enumerate() {
            let rendered: serde_json::Value = serde_json::from_str(strings.value(row)).unwrap();
            prop_assert_eq!(&rendered, value);
        }
        // parsing it again returns the same struct, bit for bit
        prop_assert_eq!(parse_stats(&strings, &stats_schema(&data())).unwrap(), stats);
    }

    #[test]
    fn rendered_numbers_round_trip(
        double in any::<u64>(),
        float in any::<u32>(),
        decimal in -(10i128.pow(38) - 1)..10i128.pow(38),
        millis in -62_135_596_800_000i64..253_402_300_799_999,
    ) {
        // JSON text can only represent one kind of NaN
        let double = Some(f64::from_bits(double)).filter(|value| !value.is_nan()).unwrap_or(f64::NAN);
        let float = Some(f32::from_bits(float)).filter(|value| !value.is_nan()).unwrap_or(f32::NAN);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("f64", Arc::new(Float64Array::from(vec![double]))),
            ("f32", Arc::new(Float32Array::from(vec![float]))),
            ("dec", Arc::new(Decimal128Array::from(vec![decimal]).with_precision_and_scale(38, 18).unwrap())),
            ("ntz", Arc::new(TimestampMicrosecondArray::from(vec![millis * 1000]))),
        ];
        let fields: Fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let stats = StructArray::new(fields.clone(), arrays, None);
        let strings = render_stats(&stats, None).unwrap();
        prop_assert_eq!(parse_stats(&strings, &fields).unwrap(), stats, "{}", strings.value(0));
    }

    #[test]
    fn mutated_texts_never_panic(position in 0usize..200, byte in 0u8..128, cut in any::<bool>()) {
        let good = br#"{"numRecords":4,"minValues":{"i8":1,"f32":1.5,"day":"2023-01-15","ts":"2023-06-15T12:30:00.000Z","text":"al\u0041pha","dec":123.45,"s":{"deep":{"y":"n"}}},"tightBounds":false}"#;
        let mut text = good.to_vec();
        let position = position % text.len();
        if cut {
            text.remove(position);
        } else {
            text[position] = byte;
        }
        let text = String::from_utf8(text).unwrap();
        let stats = parse(&[&text]);
        let well_formed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text);
        // serde refuses lone surrogates and numbers beyond f64; this parser accepts them
        if well_formed.is_ok() {
            prop_assert!(stats.is_valid(0), "{}", text);
        }
        render_stats(&stats, None).unwrap();
    }

    #[test]
    fn garbage_never_panics(text in r#"\{("(numRecords|minValues|i8|s)":|[{}\[\],":0-9eE.\-]|"x\\?"|NaN|true){0,20}"#) {
        let stats = parse(&[&text]);
        render_stats(&stats, None).unwrap();
    }
}
