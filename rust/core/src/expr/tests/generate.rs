//! Random tables and predicates on them.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use chrono::{DateTime, NaiveDate};
use proptest::prelude::*;

use super::model::{Row, Value};
use super::schema;
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::{Decimal, Literal};
use crate::spec::schema::StructType;

/// The leaf columns; those with a dot are nested in the struct `st`.
pub(super) const COLUMNS: [(&str, &str); 14] = [
    ("b", "boolean"),
    ("y", "byte"),
    ("i", "integer"),
    ("l", "long"),
    ("d", "decimal(6,2)"),
    ("f", "float"),
    ("x", "double"),
    ("s", "string"),
    ("r", "binary"),
    ("day", "date"),
    ("t", "timestamp"),
    ("n", "timestamp_ntz"),
    ("st.v", "long"),
    ("st.w", "string"),
];

/// The number of columns that are not nested.
const TOP_LEVEL: usize = 12;

pub(super) fn table_schema() -> StructType {
    let structure =
        r#"{"type":"struct","fields":[{"name":"v","type":"long"},{"name":"w","type":"string"}]}"#;
    let mut columns = COLUMNS[..TOP_LEVEL].to_vec();
    columns.push(("st", structure));
    schema(&columns)
}

fn integers(min: i64, max: i64) -> BoxedStrategy<i64> {
    prop_oneof![6 => -3i64..4, 1 => Just(min), 1 => Just(max)].boxed()
}

fn doubles() -> BoxedStrategy<f64> {
    prop_oneof![
        6 => (-4i32..5).prop_map(|value| f64::from(value) / 2.0),
        1 => Just(0.1),
        1 => Just(-0.0),
        1 => Just(f64::NAN),
        1 => Just(-f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
    .boxed()
}

fn strings() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[ab%_\\\\]{0,3}",
        2 => "[aé🚀\u{7F}\u{10FFFF}]{0,4}",
        1 => "a{2,5}[b-d]?",
    ]
    .boxed()
}

fn micros() -> BoxedStrategy<i64> {
    prop_oneof![
        4 => (-3i64..4).prop_map(|step| step * 43_200_000_000),
        3 => -2_500i64..2_500,
    ]
    .boxed()
}

/// Values of a column, without null.
fn value(data_type: &str) -> BoxedStrategy<Value> {
    let exact = |min: i64, max: i64| {
        integers(min, max)
            .prop_map(|value| Value::Exact(value.into(), 0))
            .boxed()
    };
    match data_type {
        "boolean" => any::<bool>().prop_map(Value::Boolean).boxed(),
        "byte" => exact(i8::MIN.into(), i8::MAX.into()),
        "integer" => exact(i32::MIN.into(), i32::MAX.into()),
        "long" => exact(i64::MIN, i64::MAX),
        "float" => doubles()
            .prop_map(|value| Value::Single(value as f32))
            .boxed(),
        "double" => doubles().prop_map(Value::Double).boxed(),
        "string" => strings().prop_map(Value::Text).boxed(),
        "binary" => proptest::collection::vec(prop_oneof![Just(0u8), Just(97), Just(255)], 0..3)
            .prop_map(Value::Bytes)
            .boxed(),
        "date" => (-3i32..4).prop_map(Value::Day).boxed(),
        "timestamp" | "timestamp_ntz" => micros().prop_map(Value::Instant).boxed(),
        _ => prop_oneof![5 => -300i128..301, 1 => Just(999_999), 1 => Just(-999_999)]
            .prop_map(|value| Value::Exact(value, 2))
            .boxed(),
    }
}

/// Rows with some nulls.
pub(super) fn rows(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    let columns: Vec<_> = COLUMNS
        .iter()
        .map(|(_, data_type)| prop_oneof![1 => Just(Value::Null), 4 => value(data_type)].boxed())
        .collect();
    let row = (columns, 0..8).prop_map(|(values, choice)| {
        let mut row: Row = COLUMNS.iter().map(|(name, _)| *name).zip(values).collect();
        if choice == 0 {
            // a null struct: its fields are null
            row.insert("st.v", Value::Null);
            row.insert("st.w", Value::Null);
            row.insert("st", Value::Null);
        }
        row
    });
    proptest::collection::vec(row, count)
}

/// Converts values of one column to Arrow.
pub(super) fn array(data_type: &str, values: &[Value]) -> ArrayRef {
    macro_rules! collect {
        ($array:ty, $pattern:pat => $value:expr) => {
            values
                .iter()
                .map(|value| match value {
                    Value::Null => None,
                    $pattern => Some($value),
                    other => panic!("{other:?} in a column of {data_type}"),
                })
                .collect::<$array>()
        };
    }
    match data_type {
        "boolean" => Arc::new(collect!(BooleanArray, Value::Boolean(value) => *value)),
        "byte" => Arc::new(collect!(Int8Array, Value::Exact(value, 0) => *value as i8)),
        "integer" => Arc::new(collect!(Int32Array, Value::Exact(value, 0) => *value as i32)),
        "long" => Arc::new(collect!(Int64Array, Value::Exact(value, 0) => *value as i64)),
        "float" => Arc::new(collect!(Float32Array, Value::Single(value) => *value)),
        "double" => Arc::new(collect!(Float64Array, Value::Double(value) => *value)),
        "string" => Arc::new(collect!(StringArray, Value::Text(value) => value.as_str())),
        "binary" => Arc::new(collect!(BinaryArray, Value::Bytes(value) => value.as_slice())),
        "date" => Arc::new(collect!(Date32Array, Value::Day(value) => *value)),
        "timestamp" => Arc::new(
            collect!(TimestampMicrosecondArray, Value::Instant(value) => *value)
                .with_timezone("UTC"),
        ),
        "timestamp_ntz" => {
            Arc::new(collect!(TimestampMicrosecondArray, Value::Instant(value) => *value))
        }
        _ => Arc::new(
            collect!(Decimal128Array, Value::Exact(value, 2) => *value)
                .with_precision_and_scale(6, 2)
                .unwrap(),
        ),
    }
}

pub(super) fn batch(rows: &[Row]) -> RecordBatch {
    let leaf = |(name, data_type): &(&str, &str)| {
        // values below a null struct are arbitrary
        let values: Vec<Value> = rows
            .iter()
            .map(|row| match (*name, row.contains_key("st")) {
                ("st.v", true) => Value::Exact(1, 0),
                ("st.w", true) => Value::Text("a".into()),
                (name, _) => row[name].clone(),
            })
            .collect();
        array(data_type, &values)
    };
    let schema = table_schema().arrow_schema();
    let mut columns: Vec<ArrayRef> = COLUMNS[..TOP_LEVEL].iter().map(leaf).collect();
    let DataType::Struct(fields) = schema.field(TOP_LEVEL).data_type().clone() else {
        panic!("no struct")
    };
    let inner = COLUMNS[TOP_LEVEL..].iter().map(leaf).collect();
    let valid: NullBuffer = rows.iter().map(|row| !row.contains_key("st")).collect();
    columns.push(Arc::new(StructArray::new(fields, inner, Some(valid))));
    let schema = Schema::new(schema.fields().clone());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

/// Literals that can be compared with a column of this type.
fn literal(data_type: &'static str) -> BoxedStrategy<Literal> {
    let same = value(data_type).prop_map(|value| match value {
        Value::Boolean(value) => Literal::Boolean(value),
        Value::Exact(value, 0) => Literal::Integer(value as i64),
        Value::Exact(value, scale) => decimal(value, scale),
        Value::Single(value) => Literal::Double(value.into()),
        Value::Double(value) => Literal::Double(value),
        Value::Text(value) => Literal::String(value),
        Value::Bytes(value) => Literal::Binary(value),
        Value::Day(value) => Literal::Date(value),
        Value::Instant(value) => Literal::Timestamp(value),
        Value::Null => Literal::Null,
    });
    let number = prop_oneof![
        3 => (-4i64..5).prop_map(Literal::Integer),
        1 => prop_oneof![Just(1000i64), Just(-1000), Just(i64::MAX), Just(i64::MIN)].prop_map(Literal::Integer),
        2 => (-3000i128..3001, 0u32..4).prop_map(|(value, scale)| decimal(value, scale)),
        1 => prop_oneof![Just(1i128 << 100), Just(-(1i128 << 100))].prop_map(|value| decimal(value, 0)),
        1 => doubles().prop_map(Literal::Double),
    ];
    let time = prop_oneof![
        (-3i32..4).prop_map(Literal::Date),
        micros().prop_map(Literal::Timestamp),
        micros().prop_map(Literal::TimestampNtz),
        micros().prop_map(Literal::LocalTimestamp),
    ];
    let text = |literal: BoxedStrategy<String>| literal.prop_map(Literal::String).boxed();
    let other = match data_type {
        "boolean" => text(any::<bool>().prop_map(|value| value.to_string()).boxed()),
        "byte" | "integer" | "long" => {
            prop_oneof![6 => number, 1 => text("-?[0-9]{1,3}".boxed())].boxed()
        }
        "float" | "double" => {
            prop_oneof![6 => number, 1 => text("-?[0-9]\\.[0-9]".boxed())].boxed()
        }
        "string" => value("binary")
            .prop_map(|value| match value {
                Value::Bytes(value) => Literal::Binary(value),
                other => panic!("{other:?}"),
            })
            .boxed(),
        "binary" => text(strings()),
        "date" => {
            let day = |days| (NaiveDate::default() + chrono::Days::new(days)).to_string();
            prop_oneof![3 => time, 1 => text((0u64..4).prop_map(day).boxed())].boxed()
        }
        "timestamp" | "timestamp_ntz" => {
            let formatted = |micros| {
                let time = DateTime::from_timestamp_micros(micros).unwrap();
                time.format("%Y-%m-%d %H:%M:%S%.6f").to_string()
            };
            prop_oneof![3 => time, 1 => text(micros().prop_map(formatted).boxed())].boxed()
        }
        _ => prop_oneof![6 => number, 1 => text("-?[0-9]{1,3}\\.[0-9]{1,3}".boxed())].boxed(),
    };
    prop_oneof![1 => Just(Literal::Null), 6 => same, 6 => other].boxed()
}

fn decimal(value: i128, scale: u32) -> Literal {
    let text = format!("{value}e-{scale}");
    Literal::Decimal(Decimal::parse(&text).unwrap())
}

fn path(name: &str) -> Path {
    Path(name.split('.').map(str::to_owned).collect())
}

fn op() -> impl Strategy<Value = Op> {
    proptest::sample::select(vec![
        Op::Eq,
        Op::NotEq,
        Op::Lt,
        Op::LtEq,
        Op::Gt,
        Op::GtEq,
        Op::NullSafeEq,
    ])
}

fn condition() -> BoxedStrategy<Expr> {
    let column = || proptest::sample::select(COLUMNS.to_vec());
    let with_literal =
        (column(), op(), any::<bool>()).prop_flat_map(|((name, data_type), op, swap)| {
            literal(data_type).prop_map(move |literal| {
                let sides = (Operand::Column(path(name)), Operand::Literal(literal));
                let (left, right) = if swap { (sides.1, sides.0) } else { sides };
                Expr::Compare(left, op, right)
            })
        });
    let comparable: [&[&str]; 5] = [
        &["y", "i", "l", "d", "f", "x", "st.v"],
        &["s", "r", "st.w"],
        &["day", "t", "n"],
        &["b"],
        &["l", "st.v"],
    ];
    let with_column = proptest::sample::select(comparable.to_vec()).prop_flat_map(|names| {
        let column = || {
            proptest::sample::select(names.to_vec()).prop_map(|name| Operand::Column(path(name)))
        };
        (column(), op(), column()).prop_map(|(left, op, right)| Expr::Compare(left, op, right))
    });
    let in_list = column().prop_flat_map(|(name, data_type)| {
        proptest::collection::vec(literal(data_type), 0..24)
            .prop_map(move |list| Expr::In(path(name), list))
    });
    let like = (
        proptest::sample::select(vec!["s", "st.w"]),
        "([abé%_]|\\\\%|\\\\_|\\\\\\\\){0,5}|a{1,3}%",
    )
        .prop_map(|(name, pattern)| Expr::Like {
            column: path(name),
            pattern,
            escape: '\\',
        });
    let is_null = column()
        .prop_map(|(name, _)| Expr::IsNull(Box::new(Expr::Value(Operand::Column(path(name))))));
    let constant = proptest::sample::select(vec![
        Operand::Column(path("b")),
        Operand::Literal(Literal::Boolean(true)),
        Operand::Literal(Literal::Boolean(false)),
        Operand::Literal(Literal::Null),
    ]);
    prop_oneof![
        8 => with_literal,
        3 => with_column,
        3 => in_list,
        2 => like,
        2 => is_null,
        1 => constant.prop_map(Expr::Value),
    ]
    .boxed()
}

/// Predicates on the table.
pub(super) fn predicates() -> impl Strategy<Value = Predicate> {
    let nested = condition().prop_recursive(3, 12, 3, |inner| {
        let parts = || proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            3 => parts().prop_map(Expr::all),
            3 => parts().prop_map(Expr::any),
            2 => inner.clone().prop_map(Expr::negated),
            1 => inner.clone().prop_map(|inner| Expr::IsNull(Box::new(inner))),
            1 => (inner.clone(), any::<bool>()).prop_map(|(inner, value)| Expr::Is(Box::new(inner), value)),
        ]
    });
    nested.prop_map(|root| Predicate { root })
}
