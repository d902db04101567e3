//! Predicates on bounds, case by case: the units that are kept, some of which cannot match.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray};

use super::{UnitBounds, schema, sql};
use crate::expr::Bounds;
use crate::spec::schema::StructType;

fn unit_bounds<const N: usize>(len: usize, columns: [(&'static str, Bounds); N]) -> UnitBounds {
    UnitBounds {
        len,
        columns: columns.into(),
    }
}

/// Returns a character for each unit: `k` if it is kept, `-` if it is skipped.
fn kept(text: &str, schema: &StructType, bounds: &UnitBounds) -> String {
    let kept = sql(text).bind(schema).unwrap().may_match(bounds).unwrap();
    let character = |keep| if keep { 'k' } else { '-' };
    kept.iter().map(character).collect()
}

fn counts(values: &[Option<i64>]) -> Option<Int64Array> {
    Some(Int64Array::from(values.to_vec()))
}

fn longs(values: &[Option<i64>]) -> Option<ArrayRef> {
    counts(values).map(|values| Arc::new(values) as ArrayRef)
}

fn strings(values: &[&str]) -> Option<ArrayRef> {
    Some(Arc::new(StringArray::from(values.to_vec())))
}

#[test]
fn constant_expressions_are_compared_with_bounds() {
    let days = |days: [i32; 3]| Some(Arc::new(Date32Array::from(days.to_vec())) as ArrayRef);
    let column = Bounds {
        min: days([20_000, 20_007, 20_014]), // weeks from 2024-10-04
        max: days([20_006, 20_013, 20_020]),
        null_count: counts(&[Some(0); 3]),
        num_rows: counts(&[Some(7); 3]),
        covers_nan: false,
    };
    let bounds = unit_bounds(3, [("day", column)]);
    let schema = schema(&[("day", "date")]);
    for (text, expected) in [
        ("day >= DATE '2024-10-12' - INTERVAL 1 DAY", "-kk"),
        ("DATE '2024-10-12' - INTERVAL 1 DAY > day", "k--"),
        ("day < date_sub(DATE '2024-10-18', 7)", "k--"),
        (
            "day = last_day(DATE '2024-10-20') - INTERVAL 2 WEEKS",
            "-k-",
        ),
        (
            "day BETWEEN add_months('2024-09-11', 1) AND date_add('2024-10-11', 1)",
            "-k-",
        ),
        (
            "NOT day BETWEEN date_add('2024-10-04', 0) AND date_add('2024-10-10', 0)",
            "-kk",
        ),
        // depends on the row
        ("date_add(day, 1) > DATE '2024-10-12'", "kkk"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

/// Bounds are those of stored strings, padded or not; comparisons pad them.
#[test]
fn bounds_of_char_columns_hold_for_padded_strings() {
    let declared = r#"{"__CHAR_VARCHAR_TYPE_STRING":"char(4)"}"#;
    let schema = format!(
        r#"{{"type":"struct","fields":[{{"name":"c","type":"string","metadata":{declared}}}]}}"#
    );
    let schema = StructType::parse(&schema).unwrap();
    let column = Bounds {
        min: strings(&["a", "ab  ", "b", "a"]),
        max: strings(&["ab", "ab  ", "c", "a\t"]),
        null_count: counts(&[Some(0); 4]),
        num_rows: counts(&[Some(7); 4]),
        covers_nan: false,
    };
    let bounds = unit_bounds(4, [("c", column)]);
    for (text, expected) in [
        ("c = 'ab'", "kk-k"),
        ("c = 'a'", "k--k"),
        ("c > 'ab'", "--kk"), // "a" padded with spaces is greater than "a\t"
        ("c >= 'ab  '", "kkkk"),
        ("c < 'ab'", "k--k"),
        ("c <> 'ab'", "k-kk"),
        ("c LIKE 'ab  '", "kk-k"),
        ("c LIKE 'c%'", "--kk"),
        ("c IN ('c', 'd')", "--kk"),
        ("length(c) = 4", "kkkk"),
        ("c = 2", "kkkk"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

/// Strings are cast to numbers, which have another order: 9 is less than 10.
#[test]
fn bounds_of_strings_do_not_order_numbers() {
    let column = Bounds {
        min: strings(&["10", "9", "2"]),
        max: strings(&["100", "9", "9"]),
        null_count: counts(&[Some(0); 3]),
        num_rows: counts(&[Some(7); 3]),
        covers_nan: false,
    };
    let (bounds, schema) = (unit_bounds(3, [("s", column)]), schema(&[("s", "string")]));
    for (text, expected) in [
        ("s > 9", "k-k"),
        ("s = 9", "kkk"),
        ("s IN (9, 10)", "kkk"),
        ("s < 9.5D", "kkk"),
        ("s > '9'", "---"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

#[test]
fn formulas_are_evaluated_on_single_values() {
    // only 4, only 5, all null, 4 or null, 4 to 5, unknown minimum
    let column = Bounds {
        min: longs(&[Some(4), Some(5), None, Some(4), Some(4), None]),
        max: longs(&[Some(4), Some(5), None, Some(4), Some(5), Some(4)]),
        null_count: counts(&[Some(0), Some(0), Some(7), Some(3), Some(0), Some(0)]),
        num_rows: counts(&[Some(7); 6]),
        covers_nan: false,
    };
    let bounds = unit_bounds(6, [("v", column)]);
    let schema = schema(&[("v", "long"), ("w", "long")]);
    for (text, expected) in [
        ("v % 2 = 0", "k--kkk"),
        ("NOT v % 2 = 0", "-k-kkk"),
        ("(v + 1) IS NULL", "--kkkk"),
        ("coalesce(v, 5) + 0 = 5", "-kkkkk"),
        ("v % 2 = 0 AND w > 1", "k--kkk"),
        // a computed constant is like a literal
        ("v > 2 + 2", "-k--k-"),
        ("v + w > 1", "kkkkkk"),
        ("1 / (v - 5) > 0", "kkkkkk"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

#[test]
fn integers_are_compared_with_bounds() {
    // 0..9, 10..19, only 5, unknown maximum, unknown minimum, all null, some nulls, contradictory
    let column = Bounds {
        min: longs(&[
            Some(0),
            Some(10),
            Some(5),
            Some(0),
            None,
            None,
            Some(0),
            Some(9),
        ]),
        max: longs(&[
            Some(9),
            Some(19),
            Some(5),
            None,
            Some(9),
            None,
            Some(9),
            Some(0),
        ]),
        null_count: counts(&[
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(7),
            Some(3),
            None,
        ]),
        num_rows: counts(&[Some(7); 8]),
        covers_nan: false,
    };
    let bounds = unit_bounds(8, [("v", column)]);
    let schema = schema(&[("v", "long"), ("w", "long")]);
    for (text, expected) in [
        ("v = 5", "k-kkk-kk"),
        ("v <> 5", "kk-kk-kk"),
        ("NOT v = 5", "kk-kk-kk"),
        ("v < 10", "k-kkk-kk"),
        ("v <= 10", "kkkkk-kk"),
        ("v > 9", "-k-k---k"),
        ("v >= 9", "kk-kk-kk"),
        ("9 <= v", "kk-kk-kk"),
        ("NOT v >= 9", "k-kkk-kk"),
        ("v < 0", "----k--k"),
        ("v IS NULL", "-----kkk"),
        ("v IS NOT NULL", "kkkkk-kk"),
        ("v <=> NULL", "-----kkk"),
        ("v <=> 5", "k-kkk-kk"),
        ("NOT v <=> 5", "kk-kkkkk"),
        ("(v = 5) IS NULL", "-----kkk"),
        ("v = NULL", "--------"),
        ("v IN (5, 25)", "k-kkk-kk"),
        ("v IN (-1, 12)", "-k-kk--k"),
        ("v NOT IN (5, 25)", "kk-kk-kk"),
        ("v NOT IN (5, NULL)", "--------"),
        ("v IN (5, NULL)", "k-kkk-kk"),
        ("v = 5.5", "--------"),
        ("v <> 5.5", "kkkkk-kk"),
        ("v > 9.5", "-k-k---k"),
        ("v > 9.5D", "-k-k---k"),
        ("v < 1000000000000000000000", "kkkkk-kk"),
        ("v > 1000000000000000000000", "--------"),
        ("v = 5 AND v IS NULL", "------kk"),
        ("v = 5 OR v IS NULL", "k-kkkkkk"),
        ("v > 9 OR w = 3", "kkkkkkkk"),
        ("v > 9 AND w = 3", "-k-k---k"),
        ("NOT (v > 9 OR w = 3)", "k-kkk-kk"),
        ("NOT (v > 9 AND w = 3)", "kkkkkkkk"),
        ("TRUE", "kkkkkkkk"),
        ("FALSE OR NULL", "--------"),
        ("v < w", "kkkkk-kk"),
        ("v <> v", "kk-kk-kk"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

#[test]
fn counts_may_be_missing_or_contradictory() {
    let column = Bounds {
        null_count: counts(&[None, Some(0), Some(5), Some(5), Some(9), Some(-1), Some(0)]),
        num_rows: counts(&[Some(5), None, None, Some(5), Some(5), Some(5), Some(0)]),
        ..Bounds::default()
    };
    let (bounds, schema) = (unit_bounds(7, [("v", column)]), schema(&[("v", "long")]));
    for (text, expected) in [
        ("v IS NULL", "k-kkkk-"),
        ("v IS NOT NULL", "kkk-kk-"),
        ("v = 1", "kkk-kk-"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

/// Writers treat NaN differently, and NaN is greater than all other numbers.
#[test]
fn bounds_may_not_cover_nan() {
    let bounds = |covers_nan| {
        // 1 to 3, only 3, 1 to NaN
        let min = Float64Array::from(vec![1.0, 3.0, 1.0]);
        let max = Float64Array::from(vec![3.0, 3.0, f64::NAN]);
        let column = Bounds {
            min: Some(Arc::new(min)),
            max: Some(Arc::new(max)),
            null_count: counts(&[Some(0); 3]),
            num_rows: counts(&[Some(2); 3]),
            covers_nan,
        };
        unit_bounds(3, [("x", column)])
    };
    let schema = schema(&[("x", "double"), ("y", "double")]);
    for (text, uncovered, covered) in [
        ("x > 5", "kkk", "--k"),
        ("x >= 3", "kkk", "kkk"),
        ("x < 1", "---", "---"),
        ("x < 2", "k-k", "k-k"),
        ("x = 5", "--k", "--k"),
        ("x <> 3", "kkk", "k-k"),
        ("isnan(x)", "kkk", "--k"),
        ("NOT isnan(x)", "kkk", "kkk"),
        ("x IN (0, 5)", "--k", "--k"),
        ("x NOT IN (3)", "kkk", "k-k"),
        ("x IN (CAST('NaN' AS DOUBLE))", "kkk", "--k"),
        ("x > y", "kkk", "kkk"),
        ("x < -0.0D", "---", "---"),
    ] {
        assert_eq!(kept(text, &schema, &bounds(false)), uncovered, "{text}");
        assert_eq!(kept(text, &schema, &bounds(true)), covered, "{text}");
    }
}

#[test]
fn bounds_of_strings_may_be_truncated() {
    let min = vec![Some("abc"), Some("b"), Some("ab"), Some(""), None];
    let max = vec![
        Some("abc"),
        Some("c\u{7F}"),
        Some("ab\u{10FFFF}"),
        Some("zz"),
        Some("b"),
    ];
    let column = Bounds {
        min: Some(Arc::new(StringArray::from(min))),
        max: Some(Arc::new(StringArray::from(max))),
        null_count: counts(&[Some(0); 5]),
        num_rows: counts(&[Some(2); 5]),
        covers_nan: false,
    };
    let (bounds, schema) = (unit_bounds(5, [("s", column)]), schema(&[("s", "string")]));
    for (text, expected) in [
        ("s = 'abc'", "k-kkk"),
        ("s LIKE 'abc'", "k-kkk"),
        ("s LIKE 'ab%'", "k-kkk"),
        ("s NOT LIKE 'ab%'", "-k-kk"),
        ("s LIKE 'c%'", "-k-k-"),
        ("s LIKE 'b%'", "-k-kk"),
        ("s LIKE '%c'", "kkkkk"),
        ("s LIKE 'x%y'", "---k-"),
        ("s LIKE '%'", "kkkkk"),
        ("s NOT LIKE '%'", "-----"),
        ("s NOT LIKE 'abc'", "-kkkk"),
        ("startswith(s, 'd')", "---k-"),
        ("s LIKE 'a_c'", "k-kkk"),
        ("s > 'cc'", "-k-k-"),
        ("s > 'd'", "---k-"),
        ("s >= 'c' AND s < 'd'", "-k-k-"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

#[test]
fn boolean_partition_values_decide_conditions() {
    let values: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let flag = Bounds {
        min: Some(Arc::clone(&values)),
        max: Some(values),
        null_count: counts(&[Some(0), Some(0), Some(1)]),
        num_rows: counts(&[Some(1); 3]),
        covers_nan: true,
    };
    let (bounds, schema) = (unit_bounds(3, [("b", flag)]), schema(&[("b", "boolean")]));
    for (text, expected) in [
        ("b", "k--"),
        ("NOT b", "-k-"),
        ("b IS NULL", "--k"),
        ("b = FALSE", "-k-"),
        ("b IS NOT TRUE", "-kk"),
        ("b IS FALSE OR b", "kk-"),
        ("b <> TRUE", "-k-"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}

#[test]
fn columns_are_compared_by_their_bounds() {
    let bounds_of = |values: [(i64, i64); 3]| Bounds {
        min: Some(Arc::new(Int64Array::from_iter_values(
            values.map(|(min, _)| min),
        ))),
        max: Some(Arc::new(Int64Array::from_iter_values(
            values.map(|(_, max)| max),
        ))),
        null_count: counts(&[Some(0), Some(0), Some(1)]),
        num_rows: counts(&[Some(4); 3]),
        covers_nan: false,
    };
    let left = bounds_of([(0, 5), (7, 7), (9, 12)]);
    let right = bounds_of([(5, 9), (7, 7), (1, 3)]);
    let bounds = unit_bounds(3, [("v", left), ("w", right)]);
    let schema = schema(&[("v", "long"), ("w", "long")]);
    for (text, expected) in [
        ("v = w", "kk-"),
        ("v <> w", "k-k"),
        ("v < w", "k--"),
        ("v <= w", "kk-"),
        ("v > w", "--k"),
        ("v >= w", "kkk"),
        ("NOT v >= w", "k--"),
        ("v <=> w", "kkk"),
        ("(v < w) IS NULL", "--k"),
    ] {
        assert_eq!(kept(text, &schema, &bounds), expected, "{text}");
    }
}
