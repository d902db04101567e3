//! Predicates on rows. Expected results are those of Spark's documentation.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use proptest::prelude::*;

use super::model::like;
use super::{bound, schema};
use crate::expr::evaluate::like::LikePattern;

/// Returns a character for each row: `t` for true, `f` for false, `n` for null.
fn results(text: &str, columns: &[(&str, &str, ArrayRef)]) -> String {
    let types: Vec<_> = columns
        .iter()
        .map(|(name, data_type, _)| (*name, *data_type))
        .collect();
    let arrays = columns
        .iter()
        .map(|(name, _, values)| (*name, Arc::clone(values), true));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
    let results = bound(text, &schema(&types)).evaluate(&batch).unwrap();
    let character = |result| match result {
        Some(true) => 't',
        Some(false) => 'f',
        None => 'n',
    };
    results.iter().map(character).collect()
}

/// Spark's "NaN Semantics": NaN = NaN, and NaN is larger than any other number; zeros are equal.
#[test]
fn nan_is_the_greatest_and_equals_itself() {
    let values = [
        Some(1.0),
        Some(-0.0),
        Some(0.0),
        Some(f64::INFINITY),
        Some(f64::NAN),
        Some(-f64::NAN),
        None,
    ];
    let doubles: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let singles: ArrayRef = Arc::new(
        values
            .iter()
            .map(|value| value.map(|value| value as f32))
            .collect::<Float32Array>(),
    );
    for (text, expected) in [
        ("x > 5", "ffftttn"),
        ("x = CAST('NaN' AS DOUBLE)", "ffffttn"),
        ("x < CAST('NaN' AS DOUBLE)", "ttttffn"),
        ("x = 0", "fttfffn"),
        ("x = -0.0D", "fttfffn"),
        ("x >= 0", "ttttttn"),
        ("x < 0", "ffffffn"),
        ("x IN (0.0, CAST('NaN' AS DOUBLE))", "fttfttn"),
        ("isnan(x)", "ffffttf"),
        ("x = x", "ttttttn"),
        ("x <=> NULL", "fffffft"),
    ] {
        for (data_type, values) in [("double", &doubles), ("float", &singles)] {
            assert_eq!(
                results(text, &[("x", data_type, Arc::clone(values))]),
                expected,
                "{text}"
            );
        }
    }
}

/// Spark widens a float column for comparison with a double, a decimal literal or a string.
#[test]
fn floats_are_widened_to_doubles() {
    let single: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 0.5]));
    for (text, expected) in [
        ("x = 0.1", "ff"),
        ("x = 0.1D", "ff"),
        ("x = 0.1F", "tf"),
        ("x = '0.1'", "ff"),
        ("x = ' 0.5f'", "ft"),
        ("x = 0.5", "ft"),
    ] {
        assert_eq!(
            results(text, &[("x", "float", Arc::clone(&single))]),
            expected,
            "{text}"
        );
    }
}

/// The truth tables of Spark's "Logical Operators" and "Null Semantics".
#[test]
fn conditions_have_three_values() {
    let booleans = |characters: &str| -> ArrayRef {
        let value = |character| match character {
            't' => Some(true),
            'f' => Some(false),
            _ => None,
        };
        Arc::new(characters.chars().map(value).collect::<BooleanArray>())
    };
    let columns = [
        ("a", "boolean", booleans("tttfffnnn")),
        ("b", "boolean", booleans("tfntfntfn")),
    ];
    for (text, expected) in [
        ("a AND b", "tfnfffnfn"),
        ("a OR b", "ttttfntnn"),
        ("NOT a", "ffftttnnn"),
        ("a = b", "tfnftnnnn"),
        ("a <=> b", "tffftffft"),
        ("a IS DISTINCT FROM b", "ftttftttf"),
        ("a IS NULL", "ffffffttt"),
        ("(a AND b) IS NULL", "fftffftft"),
        ("a IS NOT TRUE", "ffftttttt"),
        ("a IS FALSE", "ffftttfff"),
        ("a IN (TRUE, NULL)", "tttnnnnnn"),
        ("a NOT IN (TRUE, NULL)", "fffnnnnnn"),
        ("a IN ()", "fffffffff"),
        ("NULL OR a", "tttnnnnnn"),
        ("a AND NULL", "nnnfffnnn"),
        ("a = 'true'", "tttfffnnn"),
        ("1 = 1 AND a", "tttfffnnn"),
        ("1 > 2.5 OR NULL = 1", "nnnnnnnnn"),
        ("NULL <=> NULL", "ttttttttt"),
        ("'2020-01-02' = DATE '2020-01-02'", "ttttttttt"),
    ] {
        assert_eq!(results(text, &columns), expected, "{text}");
    }
}

/// A literal is compared by its value, even if it is not a value of the column's type.
#[test]
fn integers_are_compared_with_any_number() {
    let bytes: ArrayRef = Arc::new(Int8Array::from(vec![
        Some(-128),
        Some(2),
        Some(3),
        Some(127),
        None,
    ]));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![
        Some(i64::MIN),
        Some(2),
        Some(3),
        Some(i64::MAX),
        None,
    ]));
    for (text, expected) in [
        ("v = 2.5", "ffffn"),
        ("v <> 2.5", "ttttn"),
        ("v > 2.5", "ffttn"),
        ("v >= 2.5", "ffttn"),
        ("v < 2.5", "ttffn"),
        ("v <= 2.5", "ttffn"),
        ("v > -2.5", "ftttn"),
        ("v < -2.5", "tfffn"),
        ("v = 2.0", "ftffn"),
        ("v <=> 2.5", "fffff"),
        ("v = 100000000000000000000", "ffffn"),
        ("v < 100000000000000000000", "ttttn"),
        ("v >= 100000000000000000000", "ffffn"),
        ("v > -100000000000000000000.5", "ttttn"),
        ("v IN (2, 2.5, 100000000000000000000)", "ftffn"),
        ("v IN (2.5)", "ffffn"),
        ("v NOT IN (2.5, NULL)", "nnnnn"),
        ("v = '2'", "ftffn"),
        ("v > 2.5D", "ffttn"),
    ] {
        for (data_type, values) in [("byte", &bytes), ("long", &longs)] {
            assert_eq!(
                results(text, &[("v", data_type, Arc::clone(values))]),
                expected,
                "{text} on {data_type}"
            );
        }
    }
    for (text, expected) in [
        ("v = 1000", "ffffn"),
        ("v < 1000", "ttttn"),
        ("v <> 1000", "ttttn"),
        ("v <= -129", "ffffn"),
    ] {
        assert_eq!(
            results(text, &[("v", "byte", Arc::clone(&bytes))]),
            expected,
            "{text}"
        );
    }
    // as in Spark, a comparison with a double converts the integer: 2^63 - 1 becomes 2^63
    assert_eq!(
        results("v = 9223372036854775808D", &[("v", "long", longs)]),
        "ffftn"
    );
}

#[test]
fn decimals_are_compared_exactly() {
    let values = Decimal128Array::from(vec![Some(150), Some(151), Some(-150), None])
        .with_precision_and_scale(5, 2)
        .unwrap();
    let values: ArrayRef = Arc::new(values);
    for (text, expected) in [
        ("v = 1.5", "tffn"),
        ("v = 1.500", "tffn"),
        ("v = 1.505", "fffn"),
        ("v > 1.505", "ftfn"),
        ("v <= 1.505", "tftn"),
        ("v > -1.505", "tttn"),
        ("v = '1.51'", "ftfn"),
        ("v < 2", "tttn"),
        ("v = 1.51D", "ftfn"),
        ("v < 99999999999999999999999999999999999999", "tttn"),
        ("v IN (1.50, 1.5049, -1.5)", "tftn"),
    ] {
        assert_eq!(
            results(text, &[("v", "decimal(5,2)", Arc::clone(&values))]),
            expected,
            "{text}"
        );
    }
}

#[test]
fn dates_and_timestamps_are_compared_as_instants() {
    const HOUR: i64 = 3_600_000_000;
    let noon = 1_666_612_800_000_000; // 2022-10-24T12:00:00Z
    let instants = TimestampMicrosecondArray::from(vec![
        Some(noon),
        Some(noon - 12 * HOUR),
        Some(noon + 1),
        None,
    ]);
    let columns = [
        (
            "t",
            "timestamp",
            Arc::new(instants.clone().with_timezone("UTC")) as ArrayRef,
        ),
        ("n", "timestamp_ntz", Arc::new(instants)),
        (
            "d",
            "date",
            Arc::new(Date32Array::from(vec![
                Some(19_289),
                Some(19_289),
                Some(19_290),
                None,
            ])),
        ),
    ];
    for (text, expected) in [
        ("t = '2022-10-24 12:00:00'", "tffn"),
        ("t = '2022-10-24T14:00:00+02:00'", "tffn"),
        ("t >= TIMESTAMP '2022-10-24T12:00:00.000001Z'", "fftn"),
        ("t = DATE '2022-10-24'", "ftfn"),
        ("t > '2022-10-24'", "tftn"),
        ("n = TIMESTAMP_NTZ '2022-10-24 12:00:00'", "tffn"),
        ("n = '2022-10-24'", "ftfn"),
        ("d = '2022-10-24'", "ttfn"),
        ("d < TIMESTAMP '2022-10-24 12:00:00'", "ttfn"),
        ("d >= TIMESTAMP '2022-10-24 12:00:00'", "fftn"),
        ("d = TIMESTAMP '2022-10-24 12:00:00'", "fffn"),
        ("d = TIMESTAMP '2022-10-24'", "ttfn"),
        ("d < t", "tffn"),
        ("d = n", "ftfn"),
        ("t = n", "tttn"),
    ] {
        assert_eq!(results(text, &columns), expected, "{text}");
    }
}

#[test]
fn strings_are_compared_bytewise_in_each_layout() {
    let values = vec![
        Some("a"),
        Some("B"),
        Some("é"),
        Some(""),
        None,
        Some("\u{FFFF}"),
        Some("🚀"),
    ];
    let plain = StringArray::from(values.clone());
    let layouts: [ArrayRef; 3] = [
        Arc::new(plain.clone()),
        Arc::new(StringViewArray::from(values.clone())),
        Arc::new(values.into_iter().collect::<DictionaryArray<Int32Type>>()),
    ];
    for (text, expected) in [
        ("s > 'Z'", "tftfntt"),
        // in UTF-16, 🚀 would be less
        ("s > '\u{FFFF}'", "ffffnft"),
        ("s = ''", "ffftnff"),
        ("s IN ('a', 'é', 'x')", "tftfnff"),
        ("s LIKE '_'", "tttfntt"),
        ("s LIKE '%'", "ttttntt"),
        ("s = X'61'", "tfffnff"),
    ] {
        for values in &layouts {
            assert_eq!(
                results(text, &[("s", "string", Arc::clone(values))]),
                expected,
                "{text}"
            );
        }
    }
}

#[test]
fn in_finds_values_in_long_lists() {
    let values: ArrayRef = Arc::new(
        (0..2_000i64)
            .map(|value| (value % 7 != 0).then_some(value))
            .collect::<Int64Array>(),
    );
    let strings: ArrayRef = Arc::new(
        (0..2_000i64)
            .map(|value| (value % 7 != 0).then(|| format!("k{value}")))
            .collect::<StringArray>(),
    );
    let list = |literal: &dyn Fn(i64) -> String| {
        (0..1_000)
            .map(|value| literal(value * 3))
            .collect::<Vec<_>>()
            .join(",")
    };
    let columns = [("v", "long", values), ("s", "string", strings)];
    let numbers = results(
        &format!("v IN ({})", list(&|value| value.to_string())),
        &columns,
    );
    let strings = results(
        &format!("s IN ({})", list(&|value| format!("'k{value}'"))),
        &columns,
    );
    for (value, result) in numbers.chars().enumerate() {
        let expected = match value {
            value if value % 7 == 0 => 'n',
            value if value % 3 == 0 => 't',
            _ => 'f',
        };
        assert_eq!(result, expected, "{value}");
    }
    assert_eq!(numbers, strings);
}

#[test]
fn binds_names_of_any_case_and_nested_names() {
    let types = schema(&[
        ("Name", "string"),
        (
            "info",
            r#"{"type":"struct","fields":[{"name":"City","type":"string"}]}"#,
        ),
    ]);
    let bound = bound(
        "INFO.city = 'x' AND NAME IS NOT NULL AND info IS NOT NULL",
        &types,
    );
    let paths: Vec<String> = bound
        .columns()
        .iter()
        .map(|column| column.path.join("."))
        .collect();
    assert_eq!(paths, ["info.City", "Name", "info"]);
    assert!(bound.uses_only(&|column| column.path[0] != "id"));
    assert!(!bound.uses_only(&|column| column.path[0] != "Name"));
    let parts = bound.conjuncts();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[1].columns()[0].path, ["Name"]);
}

#[test]
fn evaluate_rejects_rows_without_a_column() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("x", values)]).unwrap();
    let bound = bound("y = 1", &schema(&[("x", "long"), ("y", "long")]));
    assert_eq!(bound.evaluate(&batch).unwrap_err().code(), "filter.values");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn like_patterns_match_as_in_the_model(
        pattern in r"([abé%_]|\\[%_\\]){0,6}",
        text in r"[abé%_\\]{0,6}",
    ) {
        let matcher = LikePattern::new(&pattern, '\\').unwrap();
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = like(&chars(&pattern), '\\', &chars(&text));
        prop_assert_eq!(matcher.matches(text.as_bytes()), expected);
    }
}
