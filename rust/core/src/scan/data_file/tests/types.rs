//! Physical types are converted to logical ones without loss, or refused.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::*;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// Formats values; timestamps with a time zone in UTC, with the suffix `Z`.
fn values_of(column: &ArrayRef) -> Vec<String> {
    if let DataType::Timestamp(unit, Some(_)) = column.data_type() {
        let local = column.as_primitive::<TimestampMicrosecondType>().clone();
        let local: ArrayRef = Arc::new(local.with_data_type(DataType::Timestamp(*unit, None)));
        return values_of(&local)
            .iter()
            .map(|text| format!("{text}Z"))
            .collect();
    }
    (0..column.len())
        .map(|row| {
            if column.is_null(row) || *column.data_type() == DataType::Null {
                "null".to_owned()
            } else {
                array_value_to_string(column, row).unwrap()
            }
        })
        .collect()
}

fn read_as(array: ArrayRef, logical: &str) -> Result<Vec<String>> {
    let files = Files::new();
    let file = files.write("a", &parquet(vec![("c", array)]));
    let plan = plan(layout(&[("c", &format!("\"{logical}\""))]));
    files
        .read(&plan, &file)
        .map(|rows| values_of(rows.column(0)))
}

/// The table of "Type Widening", and types of other writers.
#[test]
fn widens_without_loss() {
    let decimal = |values: Vec<i128>, precision, scale| -> ArrayRef {
        Arc::new(
            Decimal128Array::from(values)
                .with_precision_and_scale(precision, scale)
                .unwrap(),
        )
    };
    let cases: Vec<(ArrayRef, &str, &[&str])> = vec![
        (
            Arc::new(Int8Array::from(vec![-128, 127])),
            "short",
            &["-128", "127"],
        ),
        (
            Arc::new(Int8Array::from(vec![-128, 127])),
            "decimal(10,0)",
            &["-128", "127"],
        ),
        (
            Arc::new(Int16Array::from(vec![-32768])),
            "integer",
            &["-32768"],
        ),
        (
            Arc::new(Int32Array::from(vec![i32::MIN])),
            "long",
            &["-2147483648"],
        ),
        (
            Arc::new(Int32Array::from(vec![i32::MIN])),
            "double",
            &["-2147483648.0"],
        ),
        (
            Arc::new(Int32Array::from(vec![i32::MIN])),
            "decimal(12,2)",
            &["-2147483648.00"],
        ),
        (
            Arc::new(Int64Array::from(vec![i64::MIN])),
            "decimal(20,0)",
            &["-9223372036854775808"],
        ),
        (
            Arc::new(Int32Array::from(vec![-128, 127])),
            "byte",
            &["-128", "127"],
        ),
        (
            Arc::new(UInt32Array::from(vec![u32::MAX])),
            "long",
            &["4294967295"],
        ),
        (
            Arc::new(Float32Array::from(vec![0.5, f32::NAN])),
            "double",
            &["0.5", "NaN"],
        ),
        (decimal(vec![-12345], 5, 2), "decimal(7,4)", &["-123.4500"]),
        // wider in the file than in the table
        (decimal(vec![-125], 20, 2), "decimal(5,2)", &["-1.25"]),
        (decimal(vec![125], 10, 2), "decimal(10,3)", &["1.250"]),
        (
            decimal(vec![99999], 5, 2),
            "decimal(38,20)",
            &["999.99000000000000000000"],
        ),
        (
            Arc::new(Date32Array::from(vec![-1, 0])),
            "timestamp_ntz",
            &["1969-12-31T00:00:00", "1970-01-01T00:00:00"],
        ),
        (
            Arc::new(BinaryArray::from(vec!["Köln".as_bytes()])),
            "string",
            &["Köln"],
        ),
        (Arc::new(StringArray::from(vec!["ab"])), "binary", &["6162"]),
        (Arc::new(Int32Array::from(vec![5])), "void", &["null"]),
        (Arc::new(NullArray::new(2)), "integer", &["null", "null"]),
    ];
    for (array, logical, expected) in cases {
        let physical = array.data_type().clone();
        let result = read_as(array, logical)
            .unwrap_or_else(|error| panic!("{physical} as {logical}: {error}"));
        assert_eq!(result, expected, "{physical} as {logical}");
    }
}

#[test]
fn timestamps_of_every_unit_are_microseconds_rounded_down() {
    let millis = || TimestampMillisecondArray::from(vec![-1, 1]);
    let cases: Vec<(ArrayRef, &str, [i64; 2])> = vec![
        (Arc::new(millis()), "timestamp_ntz", [-1000, 1000]),
        (
            Arc::new(millis().with_timezone("UTC")),
            "timestamp",
            [-1000, 1000],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, i64::MAX])),
            "timestamp",
            [i64::MIN, i64::MAX],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![-1, 1999])),
            "timestamp_ntz",
            [-1, 1],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![-1000, 999]).with_timezone("UTC")),
            "timestamp",
            [-1, 0],
        ),
    ];
    for (array, logical, expected) in cases {
        let files = Files::new();
        let physical = array.data_type().clone();
        let file = files.write("a", &parquet(vec![("c", array)]));
        let rows = files
            .read(&plan(layout(&[("c", &format!("\"{logical}\""))])), &file)
            .unwrap();
        let result = rows
            .column(0)
            .as_primitive::<TimestampMicrosecondType>()
            .values()
            .to_vec();
        assert_eq!(result, expected, "{physical} as {logical}");
    }
    let far: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![i64::MAX]));
    let error = read_as(far, "timestamp_ntz").unwrap_err();
    assert_eq!((error.code(), error.path()), ("data.value", Some("log/a")));
}

#[test]
fn refuses_types_that_cannot_be_converted() {
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(StringArray::from(vec!["1"])), "integer"),
        (Arc::new(Int64Array::from(vec![1])), "integer"),
        (Arc::new(Int64Array::from(vec![1])), "double"),
        (Arc::new(Float64Array::from(vec![1.0])), "float"),
        (Arc::new(Int32Array::from(vec![1])), "decimal(10,2)"),
        (Arc::new(Int32Array::from(vec![1])), "boolean"),
        (Arc::new(Int32Array::from(vec![1])), "timestamp"),
        (Arc::new(Date32Array::from(vec![1])), "timestamp"),
        (
            Arc::new(
                Decimal128Array::from(vec![1])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
            "decimal(10,1)",
        ),
        (Arc::new(Int32Array::from(vec![1])), "variant"),
    ];
    for (array, logical) in cases {
        let physical = array.data_type().clone();
        let error = read_as(array, logical).expect_err(&format!("{physical} as {logical}"));
        assert_eq!(
            (error.code(), error.path()),
            ("data.type", Some("log/a")),
            "{physical} as {logical}"
        );
        assert!(
            error.message().contains(&physical.to_string())
                && error.message().contains("column c "),
            "{error}"
        );
    }
}

#[test]
fn refuses_values_that_do_not_fit() {
    let decimal = Decimal128Array::from(vec![100_000]).with_precision_and_scale(20, 2);
    let error = read_as(Arc::new(decimal.unwrap()), "decimal(5,2)").unwrap_err();
    assert_eq!(error.code(), "data.value");
    assert_eq!(
        read_as(Arc::new(Int32Array::from(vec![300])), "byte")
            .unwrap_err()
            .code(),
        "data.value"
    );
    assert_eq!(
        read_as(Arc::new(BinaryArray::from(vec![&[0xff_u8][..]])), "string")
            .unwrap_err()
            .code(),
        "data.value"
    );
}

/// Types that Arrow's writer does not write.
#[test]
fn reads_types_of_old_writers() {
    let message = "message m {
        optional int96 i96; required fixed_len_byte_array(5) d5 (DECIMAL(9,2));
        required binary db (DECIMAL(20,3)); required binary j (JSON); required binary e (ENUM);
        repeated int32 plain; required group two (LIST) { repeated binary array (UTF8); }
        required group kv (MAP_KEY_VALUE) { repeated group map { required binary key (UTF8); optional int32 value; } }
        required group maps (LIST) { repeated group array (MAP) {
            repeated group key_value { required int32 key; optional int32 value; } } } }";
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let text = |text: &str| ByteArray::from(text);
    let mut number = 0;
    while let Some(mut column) = group.next_column().unwrap() {
        match number {
            0 => {
                // 9999-12-31T23:59:59.999999999, the epoch, 0001-01-01
                let values = [
                    int96(5_373_484, 86_399_999_999_999),
                    int96(2_440_588, 0),
                    int96(1_721_426, 0),
                ];
                column
                    .typed::<Int96Type>()
                    .write_batch(&values, Some(&[1, 1, 1]), None)
                    .unwrap();
            }
            1 => {
                let values = [
                    vec![0, 0, 0, 0, 1],
                    vec![0xff; 5],
                    vec![0, 0x3b, 0x9a, 0xc9, 0xff],
                ];
                let values = values.map(|value| FixedLenByteArray::from(ByteArray::from(value)));
                column
                    .typed::<FixedLenByteArrayType>()
                    .write_batch(&values, None, None)
                    .unwrap();
            }
            2 => {
                let values = [vec![1], vec![0xff, 0x38], vec![0]].map(ByteArray::from);
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&values, None, None)
                    .unwrap();
            }
            3 | 4 => {
                let values = [text("{}"), text("x"), text("")];
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&values, None, None)
                    .unwrap();
            }
            5 => {
                let writer = column.typed::<parquet::data_type::Int32Type>();
                writer
                    .write_batch(&[1, 2, 3], Some(&[1, 1, 0, 1]), Some(&[0, 1, 0, 0]))
                    .unwrap();
            }
            6 | 7 => {
                let values = [text("a"), text("b"), text("c")];
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&values, Some(&[1, 1, 0, 1]), Some(&[0, 1, 0, 0]))
                    .unwrap();
            }
            8 | 9 => {
                let writer = column.typed::<parquet::data_type::Int32Type>();
                writer
                    .write_batch(&[7, 8], Some(&[2, 1, 0, 2]), Some(&[0, 1, 0, 0]))
                    .unwrap();
            }
            _ => {
                let writer = column.typed::<parquet::data_type::Int32Type>();
                writer
                    .write_batch(&[9], Some(&[3, 1, 0, 2]), Some(&[0, 1, 0, 0]))
                    .unwrap();
            }
        }
        column.close().unwrap();
        number += 1;
    }
    group.close().unwrap();
    writer.close().unwrap();

    let files = Files::new();
    let file = files.write("a", &bytes);
    let list = |element: &str| {
        format!(r#"{{"type":"array","elementType":"{element}","containsNull":true}}"#)
    };
    let map = r#"{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}"#;
    let (long_list, text_list) = (list("long"), list("string"));
    let map_list = r#"{"type":"array","elementType":{"type":"map","keyType":"long","valueType":"integer",
        "valueContainsNull":true},"containsNull":true}"#;
    let columns = [
        (
            "i96",
            r#""timestamp""#,
            [
                "9999-12-31T23:59:59.999999Z",
                "1970-01-01T00:00:00Z",
                "0001-01-01T00:00:00Z",
            ],
        ),
        ("d5", r#""decimal(9,2)""#, ["0.01", "-0.01", "9999999.99"]),
        ("db", r#""decimal(22,3)""#, ["0.001", "-0.200", "0.000"]),
        ("j", r#""string""#, ["{}", "x", ""]),
        ("e", r#""string""#, ["{}", "x", ""]),
        ("plain", &long_list, ["[1, 2]", "[]", "[3]"]),
        ("two", &text_list, ["[a, b]", "[]", "[c]"]),
        ("kv", map, ["{a: 7, b: }", "{}", "{c: 8}"]),
        ("maps", map_list, ["[{7: 9}, {}]", "[]", "[{8: }]"]),
    ];
    let layout = layout(&columns.map(|(name, logical, _)| (name, logical)));
    let rows = files.read(&plan(layout), &file).unwrap();
    for (name, _, expected) in columns {
        assert_eq!(
            values_of(rows.column_by_name(name).unwrap()),
            expected,
            "{name}"
        );
    }
    let ntz = files
        .read(
            &plan(super::layout(&[("i96", r#""timestamp_ntz""#)])),
            &file,
        )
        .unwrap();
    assert_eq!(values_of(ntz.column(0))[0], "9999-12-31T23:59:59.999999");
}

fn int96(julian_day: u32, nanos_of_day: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos_of_day as u32, (nanos_of_day >> 32) as u32, julian_day);
    value
}

#[test]
fn refuses_nulls_in_lists_that_must_not_contain_them() {
    let files = Files::new();
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<
        arrow_array::types::Int32Type,
        _,
        _,
    >(vec![Some(vec![Some(1), None])]));
    let file = files.write("a", &parquet(vec![("l", list)]));
    let strict = r#"{"type":"array","elementType":"integer","containsNull":false}"#;
    let error = files
        .read(&plan(layout(&[("l", strict)])), &file)
        .unwrap_err();
    assert_eq!((error.code(), error.path()), ("data.value", Some("log/a")));
}

#[test]
fn a_missing_required_column_is_null() {
    let files = Files::new();
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let file = files.write("a", &parquet(vec![("n", numbers)]));
    let layout = layout_of(
        r#"{"name":"later","type":"integer","nullable":false}"#,
        ColumnMappingMode::None,
    );
    let rows = files.read(&plan(layout), &file).unwrap();
    assert_eq!(
        (rows.column(0).null_count(), rows.column(0).data_type()),
        (1, &DataType::Int32)
    );
}
