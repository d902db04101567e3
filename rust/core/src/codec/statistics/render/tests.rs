use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::*;
use arrow_schema::Field;

use super::*;

fn structure(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    nullable(columns, None)
}

fn nullable(columns: Vec<(&str, ArrayRef)>, valid: Option<Vec<bool>>) -> StructArray {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    StructArray::new(fields.into(), arrays, valid.map(NullBuffer::from))
}

fn render_one(stats: &StructArray) -> String {
    let strings = render_stats(stats, None).unwrap();
    assert_eq!(strings.len(), 1);
    strings.value(0).to_owned()
}

/// The first file of delta-rs's `delta-1.2.1-only-struct-stats`: the struct as in its checkpoint
/// (timestamps in INT96), the text as delta-spark renders it.
#[test]
fn renders_like_spark() {
    let bounds = |decimal: i128| {
        let inner = structure(vec![(
            "nested_struct_element",
            Arc::new(StringArray::from(vec!["nested_struct_value"])),
        )]);
        structure(vec![
            ("integer", Arc::new(Int32Array::from(vec![3]))),
            ("double", Arc::new(Float64Array::from(vec![1.234]))),
            (
                "decimal",
                Arc::new(
                    Decimal128Array::from(vec![decimal])
                        .with_precision_and_scale(8, 5)
                        .unwrap(),
                ),
            ),
            ("string", Arc::new(StringArray::from(vec!["string"]))),
            ("date", Arc::new(Date32Array::from(vec![19_289]))),
            (
                "timestamp",
                Arc::new(TimestampNanosecondArray::from(vec![
                    1_666_652_376_177_000_000,
                ])),
            ),
            (
                "struct",
                Arc::new(structure(vec![(
                    "struct_element",
                    Arc::new(StringArray::from(vec!["struct_value"])),
                )])),
            ),
            (
                "nested_struct",
                Arc::new(structure(vec![("struct_element", Arc::new(inner))])),
            ),
            ("new_column", Arc::new(Int32Array::from(vec![None]))),
        ])
    };
    let stats = structure(vec![
        ("numRecords", Arc::new(Int64Array::from(vec![1]))),
        ("minValues", Arc::new(bounds(-567_800))),
    ]);
    assert_eq!(
        render_one(&stats),
        r#"{"numRecords":1,"minValues":{"integer":3,"double":1.234,"decimal":-5.67800,"string":"string","date":"2022-10-24","timestamp":"2022-10-24T22:59:36.177Z","struct":{"struct_element":"struct_value"},"nested_struct":{"struct_element":{"nested_struct_element":"nested_struct_value"}}}}"#
    );
}

#[test]
fn omits_nulls_and_keeps_empty_structs() {
    let inner =
        |value: Option<i32>| structure(vec![("x", Arc::new(Int32Array::from(vec![value])))]);
    let stats = structure(vec![
        ("a", Arc::new(Int64Array::from(vec![None]))),
        ("n", Arc::new(inner(None))),
        (
            "gone",
            Arc::new(nullable(
                vec![("x", Arc::new(inner(Some(1))))],
                Some(vec![false]),
            )),
        ),
        ("m", Arc::new(inner(Some(7)))),
        ("tightBounds", Arc::new(BooleanArray::from(vec![true]))),
    ]);
    assert_eq!(
        render_one(&stats),
        r#"{"n":{},"m":{"x":7},"tightBounds":true}"#
    );
}

#[test]
fn null_rows_stay_null() {
    let mut counts = Int64Builder::new();
    let mut names = StringBuilder::new();
    for row in 0..3 {
        counts.append_option((row != 1).then_some(row));
        names.append_option((row != 2).then_some("ü\"\u{7f}"));
    }
    let stats = nullable(
        vec![
            ("n", Arc::new(counts.finish())),
            ("s", Arc::new(names.finish())),
        ],
        Some(vec![true, false, true]),
    );
    let expected = StringArray::from(vec![
        Some("{\"n\":0,\"s\":\"ü\\\"\u{7f}\"}"),
        None,
        Some("{\"n\":2}"),
    ]);
    assert_eq!(render_stats(&stats, None).unwrap(), expected);
    assert_eq!(
        render_stats(&stats.slice(1, 2), None).unwrap(),
        expected.slice(1, 2)
    );
}

#[test]
fn renders_every_type() {
    let decimal = Decimal128Array::from(vec![0]);
    let decimal = decimal.with_precision_and_scale(18, 10).unwrap();
    let stats = structure(vec![
        ("i8", Arc::new(Int8Array::from(vec![-128]))),
        ("i16", Arc::new(Int16Array::from(vec![-32_768]))),
        ("f", Arc::new(Float32Array::from(vec![f32::NAN]))),
        ("d", Arc::new(decimal)),
        (
            "ltz",
            Arc::new(TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC")),
        ),
        ("ntz", Arc::new(TimestampMicrosecondArray::from(vec![-1]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![5]))),
        ("s", Arc::new(TimestampSecondArray::from(vec![5]))),
        ("t", Arc::new(StringArray::from(vec!["t"]))),
        ("b", Arc::new(BinaryArray::from(vec![&b"foob"[..]]))),
        (
            "list",
            new_null_array(&DataType::new_list(DataType::Int8, true), 1),
        ),
    ]);
    assert_eq!(
        render_one(&stats),
        concat!(
            r#"{"i8":-128,"i16":-32768,"f":"NaN","d":0E-10,"ltz":"1970-01-01T00:00:00.000Z","#,
            r#""ntz":"1969-12-31T23:59:59.999","ms":"1970-01-01T00:00:00.005","s":"1970-01-01T00:00:05.000","#,
            r#""t":"t","b":"Zm9vYg=="}"#
        )
    );
}

#[test]
fn the_shape_determines_time_zones() {
    let column = || -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![0])) };
    let stats = structure(vec![(
        "minValues",
        Arc::new(structure(vec![("t", column()), ("u", column())])),
    )]);
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let bounds = DataType::Struct(vec![Field::new("t", utc, true)].into());
    let shape = Fields::from(vec![Field::new("minValues", bounds, true)]);
    assert_eq!(
        render_stats(&stats, Some(&shape)).unwrap().value(0),
        r#"{"minValues":{"t":"1970-01-01T00:00:00.000Z","u":"1970-01-01T00:00:00.000"}}"#
    );
}

#[test]
fn keys_are_escaped() {
    let stats = structure(vec![("a\"b\n", Arc::new(Int8Array::from(vec![1])))]);
    assert_eq!(render_one(&stats), r#"{"a\"b\n":1}"#);
}

#[test]
fn a_struct_without_fields_is_an_empty_object() {
    let stats = StructArray::new_empty_fields(2, Some(NullBuffer::from(vec![true, false])));
    assert_eq!(
        render_stats(&stats, None).unwrap(),
        StringArray::from(vec![Some("{}"), None])
    );
}
