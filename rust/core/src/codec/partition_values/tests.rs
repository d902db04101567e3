use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_schema::Field;
use proptest::prelude::*;

use super::*;

/// The entries of a map; values may be null.
type Row<'a> = Vec<(&'a str, Option<&'a str>)>;

fn map(rows: &[Option<Row<'_>>]) -> MapArray {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (key, value) in row.iter().flatten() {
            builder.keys().append_value(key);
            builder.values().append_option(*value);
        }
        builder.append(row.is_some()).unwrap();
    }
    builder.finish()
}

fn columns(columns: &[(&str, DataType)]) -> Vec<(String, FieldRef)> {
    let column = |(name, data_type): &(&str, DataType)| {
        (
            format!("physical-{name}"),
            Arc::new(Field::new(*name, data_type.clone(), false)),
        )
    };
    columns.iter().map(column).collect()
}

/// Parses the values of one column.
fn parse(data_type: &DataType, values: &[&str]) -> Result<ArrayRef> {
    let rows: Vec<_> = values
        .iter()
        .map(|value| Some(vec![("physical-p", Some(*value))]))
        .collect();
    let parsed = parse_partition_values(&map(&rows), &columns(&[("p", data_type.clone())]))?;
    Ok(parsed.column(0).clone())
}

fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn ntz() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

#[track_caller]
fn assert_parses<T: ArrowPrimitiveType>(data_type: DataType, cases: &[(&str, T::Native)]) {
    let texts: Vec<_> = cases.iter().map(|(text, _)| *text).collect();
    let parsed = parse(&data_type, &texts).unwrap();
    assert_eq!(parsed.data_type(), &data_type);
    let expected: Vec<_> = cases.iter().map(|(_, value)| *value).collect();
    assert_eq!(parsed.as_primitive::<T>().values().to_vec(), expected);
    assert_eq!(parsed.null_count(), 0);
}

#[track_caller]
fn assert_refuses(data_type: DataType, texts: &[&str]) {
    for text in texts {
        let error = parse(&data_type, &["", text]).unwrap_err();
        assert_eq!(error.code(), "partition_value.parse", "{text}");
        assert!(error.message().contains("`p`"), "{error}");
        assert!(
            error.message().contains(&text.escape_debug().to_string()),
            "{error}"
        );
    }
}

#[test]
fn whole_numbers() {
    assert_parses::<Int8Type>(
        DataType::Int8,
        &[
            ("-128", -128),
            ("+5", 5),
            (" 7 ", 7),
            ("007", 7),
            ("-128.00", -128),
            ("1.", 1),
            ("1.5", 1),
            ("-1.9", -1),
            (".5", 0),
        ],
    );
    assert_parses::<Int16Type>(DataType::Int16, &[("32767", i16::MAX)]);
    assert_parses::<Int32Type>(
        DataType::Int32,
        &[("-2147483648", i32::MIN), ("1", 1), ("1", 1)],
    );
    assert_parses::<Int64Type>(DataType::Int64, &[("9223372036854775807", i64::MAX)]);
    assert_refuses(
        DataType::Int8,
        &["128", "128.0", "1.x", ".", "1.-5", "1.5.", "x", " ", "0x1"],
    );
    assert_refuses(DataType::Int64, &["9223372036854775808", "1e3"]);
}

#[test]
fn floating_point() {
    let parsed = parse(
        &DataType::Float64,
        &[
            "1.0E-5",
            "NaN",
            "Infinity",
            "-Infinity",
            "-0.0",
            "1.5d",
            "2.f",
            "inf",
            "4.9E-324",
        ],
    )
    .unwrap();
    let bits: Vec<_> = parsed
        .as_primitive::<Float64Type>()
        .values()
        .iter()
        .map(|value| value.to_bits())
        .collect();
    let expected = [
        1e-5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        1.5,
        2.0,
        f64::INFINITY,
        5e-324,
    ];
    assert_eq!(bits, expected.map(f64::to_bits));
    assert_parses::<Float32Type>(
        DataType::Float32,
        &[("3.4028235E38", f32::MAX), ("0.1", 0.1)],
    );
    assert_refuses(DataType::Float64, &["1,5", "one", "d", "1dd"]);
}

#[test]
fn decimals_are_rounded_to_the_scale() {
    assert_parses::<Decimal128Type>(
        DataType::Decimal128(5, 2),
        &[
            ("1", 100),
            ("1.5", 150),
            ("-1.25", -125),
            ("1.255", 126),
            ("1E+1", 1000),
            ("999.99", 99_999),
        ],
    );
    assert_parses::<Decimal128Type>(
        DataType::Decimal128(38, 0),
        &[("99999999999999999999999999999999999999", 10i128.pow(38) - 1)],
    );
    assert_refuses(DataType::Decimal128(5, 2), &["1000", "999.995", "x", "."]);
}

#[test]
fn dates_and_timestamps() {
    let first = 1_577_836_801_000_000; // 2020-01-01T00:00:01Z
    assert_parses::<Date32Type>(
        DataType::Date32,
        &[
            ("2020-01-01", 18_262),
            ("2020-1-1", 18_262),
            ("2020", 18_262),
            ("2020-2", 18_293),
        ],
    );
    assert_parses::<TimestampMicrosecondType>(
        utc(),
        &[
            ("2020-01-01 00:00:01", first),
            ("2020-01-01T00:00:01.000000Z", first),
            ("2020-01-01T01:00:01+01:00", first),
            ("2020-01-01 00:00:01.5", first + 500_000),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("2020-01-01", first - 1_000_000),
            ("2020", first - 1_000_000),
            ("2020-01", first - 1_000_000),
            ("2020-01-01 00", first - 1_000_000),
            ("2020-01-01T00:00:01.Z", first),
            ("2020-01-01 02:00:01 GMT+2", first),
            ("2020-01-01 02:00:01UTC+02:00", first),
            ("2020-01-01 00:00:01 UT", first),
            ("2020-01-01T00:00:01.1234567891Z", first + 123_456),
        ],
    );
    assert_parses::<TimestampMicrosecondType>(
        ntz(),
        &[
            ("2020-01-01 00:00:01.000001", first + 1),
            ("2020-01-01T00:00:01", first),
            ("2020-01-01T00:00:01+01:00", first),
        ],
    );
    assert_parses::<TimestampNanosecondType>(
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        &[("1970-01-01T00:00:00.123456789Z", 123_456_789)],
    );
    assert_refuses(
        DataType::Date32,
        &["2020-02-30", "yesterday", "18262", "2020-"],
    );
    assert_refuses(
        utc(),
        &[
            "2020-01-01 25:00:00",
            "2020-01-01T00:00:01 Mars",
            "1577836800",
        ],
    );
    assert_refuses(ntz(), &["2020-01-01T00:00:01+19:00", "10:00:00"]);
}

#[test]
fn booleans_in_any_case() {
    let parsed = parse(&DataType::Boolean, &["true", "FALSE", "True", "", "0"]);
    let expected = BooleanArray::from(vec![Some(true), Some(false), Some(true), None, Some(false)]);
    assert_eq!(parsed.unwrap().as_boolean(), &expected);
    assert_refuses(DataType::Boolean, &["maybe", "2"]);
}

#[test]
fn strings_and_bytes_verbatim() {
    let texts = ["a", " b ", "", "ü\u{1}", "a"];
    let strings: Vec<Option<&str>> = texts.into_iter().map(Some).collect();
    let parsed = parse(&DataType::Utf8, &texts).unwrap();
    assert_eq!(
        parsed.as_string::<i32>(),
        &StringArray::from(strings.clone())
    );
    let parsed = parse(&DataType::Binary, &texts).unwrap();
    let bytes = texts.map(|text| (!text.is_empty()).then_some(text.as_bytes()));
    let bytes = BinaryArray::from(bytes.to_vec());
    assert_eq!(parsed.as_binary::<i32>(), &bytes);
    let parsed = parse(&DataType::Utf8View, &texts).unwrap();
    assert_eq!(parsed.as_string_view(), &StringViewArray::from(strings));
}

#[test]
fn keys_may_be_reordered_missing_repeated_or_unknown() {
    let rows = [
        Some(vec![("physical-a", Some("1")), ("physical-b", Some("x"))]),
        Some(vec![("physical-b", Some("y")), ("physical-a", Some("2"))]),
        Some(vec![("physical-b", None), ("z", Some("?"))]),
        None,
        Some(vec![]),
        Some(vec![
            ("physical-a", Some("3")),
            ("physical-a", Some("4")),
            ("a", Some("5")),
        ]),
    ];
    let columns = columns(&[("a", DataType::Int32), ("b", DataType::Utf8)]);
    let map = map(&rows);
    let parsed = parse_partition_values(&map, &columns).unwrap();
    let numbers = Int32Array::from(vec![Some(1), Some(2), None, None, None, Some(3)]);
    let strings = StringArray::from(vec![Some("x"), Some("y"), None, None, None, None]);
    assert_eq!(
        parsed
            .column_by_name("a")
            .unwrap()
            .as_primitive::<Int32Type>(),
        &numbers
    );
    assert_eq!(
        parsed.column_by_name("b").unwrap().as_string::<i32>(),
        &strings
    );
    assert!(parsed.is_null(3) && parsed.is_valid(4));
    assert!(parsed.fields().iter().all(|field| field.is_nullable()));
    let sliced = parse_partition_values(&map.slice(1, 3), &columns).unwrap();
    assert_eq!(sliced, parsed.slice(1, 3));
}

#[test]
fn a_table_without_partition_columns() {
    let parsed = parse_partition_values(&map(&[Some(vec![]), None]), &[]).unwrap();
    assert_eq!((parsed.len(), parsed.num_columns()), (2, 0));
}

#[test]
fn types_that_cannot_partition_are_refused() {
    let list = DataType::new_list(DataType::Int8, true);
    let error = parse(&list, &["[1]"]).unwrap_err();
    assert_eq!(error.code(), "partition_value.type");
    let null = parse(&DataType::Null, &["x"]).unwrap();
    assert_eq!(null.logical_null_count(), 1);
}

#[test]
fn long_values_are_truncated_in_messages() {
    let error = parse(&DataType::Int8, &["9".repeat(1000).as_str()]).unwrap_err();
    assert!(error.message().len() < 400, "{error}");
}

proptest! {
    #[test]
    fn each_row_gets_its_own_value(values in proptest::collection::vec(proptest::option::of(-3i64..3), 0..50)) {
        let texts: Vec<_> = values.iter().map(|value| value.map(|value| value.to_string())).collect();
        let rows: Vec<_> = texts.iter().map(|text| Some(vec![("physical-p", text.as_deref())])).collect();
        let parsed = parse_partition_values(&map(&rows), &columns(&[("p", DataType::Int64)]));
        let parsed = parsed.unwrap();
        prop_assert_eq!(parsed.column(0).as_primitive::<Int64Type>(), &Int64Array::from(values));
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), kind in 0usize..8) {
        let types = [
            DataType::Boolean, DataType::Int8, DataType::Float32, DataType::Decimal128(38, 38),
            DataType::Date32, utc(), ntz(), DataType::Binary,
        ];
        match parse(&types[kind], &[&text]) {
            Ok(parsed) => prop_assert_eq!(parsed.data_type(), &types[kind]),
            Err(error) => prop_assert_eq!(error.code(), "partition_value.parse"),
        }
    }
}
