//! Predicates: printed text has the same meaning, and skipped units have no matches.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use deltareplay_core::error::Result;
use deltareplay_core::expr::{BoundColumn, Bounds, ColumnBounds, Predicate};
use deltareplay_core::spec::schema::StructType;

use super::{ACCEPTED, Target, feature};

/// Each row as a file with complete bounds.
struct RowBounds<'a>(&'a RecordBatch);

impl ColumnBounds for RowBounds<'_> {
    fn len(&self) -> usize {
        self.0.num_rows()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let mut path = column.path.iter();
        let mut values: Option<ArrayRef> = path
            .next()
            .and_then(|name| self.0.column_by_name(name).cloned());
        for name in path {
            values = values.and_then(|values| {
                let values = values.as_struct_opt()?;
                let inner = values.column_by_name(name)?;
                assert!(values.nulls().is_none());
                Some(Arc::clone(inner))
            });
        }
        Ok(values.map(|values| Bounds {
            null_count: Some(
                (0..values.len())
                    .map(|row| Some(i64::from(values.is_null(row))))
                    .collect(),
            ),
            num_rows: Some(Int64Array::from(vec![1; values.len()])),
            min: Some(Arc::clone(&values)),
            max: Some(values),
            covers_nan: true,
        }))
    }
}

fn rows() -> RecordBatch {
    let decimals = vec![Some(12_345), None, Some(-1)];
    let decimals = Decimal128Array::from(decimals)
        .with_precision_and_scale(10, 2)
        .unwrap();
    let instants =
        || TimestampMicrosecondArray::from(vec![Some(0), None, Some(1_767_225_600_000_001)]);
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(i64::MIN)]));
    let inner = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int64, true)),
        inner,
    )]);
    let columns: [(&str, ArrayRef); 12] = [
        (
            "i8",
            Arc::new(Int8Array::from(vec![Some(1), None, Some(-128)])),
        ),
        (
            "i32",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(i32::MAX)])),
        ),
        (
            "n",
            Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MAX)])),
        ),
        (
            "f",
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)])),
        ),
        (
            "d",
            Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::NAN)])),
        ),
        ("dec", Arc::new(decimals)),
        (
            "b",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "t",
            Arc::new(StringArray::from(vec![
                Some("abc"),
                None,
                Some("x\u{10FFFF}"),
            ])),
        ),
        (
            "bin",
            Arc::new(BinaryArray::from_opt_vec(vec![
                Some(b"\x00\xFF"),
                None,
                Some(b""),
            ])),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![Some(0), None, Some(20_454)])),
        ),
        ("ts", Arc::new(instants().with_timezone("UTC"))),
        ("ntz", Arc::new(instants())),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let inner = std::iter::once(("s", Arc::new(inner) as ArrayRef, true));
    RecordBatch::try_from_iter_with_nullable(columns.chain(inner)).unwrap()
}

fn schema() -> StructType {
    let field = |name: &str, of: &str| {
        format!(r#"{{"name":"{name}","type":{of},"nullable":true,"metadata":{{}}}}"#)
    };
    let inner = format!(
        r#"{{"type":"struct","fields":[{}]}}"#,
        field("x", r#""long""#)
    );
    let fields = [
        field("i8", r#""byte""#),
        field("i32", r#""integer""#),
        field("n", r#""long""#),
        field("f", r#""float""#),
        field("d", r#""double""#),
        field("dec", r#""decimal(10,2)""#),
        field("b", r#""boolean""#),
        field("t", r#""string""#),
        field("bin", r#""binary""#),
        field("day", r#""date""#),
        field("ts", r#""timestamp""#),
        field("ntz", r#""timestamp_ntz""#),
        field("s", &inner),
    ];
    StructType::parse(&format!(
        r#"{{"type":"struct","fields":[{}]}}"#,
        fields.join(",")
    ))
    .unwrap()
}

pub const FILTERS: Target = Target {
    name: "filters",
    words: &[
        b" AND ",
        b" OR ",
        b" NOT ",
        b" IS NULL",
        b" IS NOT NULL",
        b" BETWEEN ",
        b" IN (",
        b" LIKE '",
        b" + ",
        b" * ",
        b" % ",
        b" DIV ",
        b"::int",
        b"length(",
        b"coalesce(",
        b"CASE WHEN ",
        b" THEN ",
        b" END",
        b"('",
        b")",
        b"NULL",
        b" <=> ",
        b" <> ",
        b"NaN",
        b"-9223372036854775809",
        b"1e400",
        b"DATE '",
        b"TIMESTAMP '",
        b"INTERVAL ",
        b"CAST(",
        b"`",
        b"--",
        b"/*",
        b"\xF0\x9F\x98\x80",
    ],
    memory: |bytes| (4 << 20) + bytes * 4000,
    run: run_filters,
};

static TABLE: LazyLock<(StructType, RecordBatch)> = LazyLock::new(|| (schema(), rows()));

fn run_filters(input: &[u8]) -> u64 {
    let (schema, rows) = &*TABLE;
    let text = String::from_utf8_lossy(input);
    let parsed = Predicate::parse_sql(&text);
    if let Ok(parsed) = &parsed {
        let printed = parsed.to_string();
        let again = Predicate::parse_sql(&printed).unwrap();
        assert_eq!(again.to_string(), printed, "{text}");
    }
    feature(&parsed.and_then(|parsed| parsed.bind(schema)).map(|bound| {
        let truths = match bound.evaluate(rows) {
            Ok(truths) => truths,
            // a division by zero, an overflow
            Err(refused) => {
                assert!(refused.code().starts_with("formula."), "{refused} {text}");
                return 0;
            }
        };
        let again = Predicate::parse_sql(&bound.predicate().to_string()).unwrap();
        let again = again.bind(schema).unwrap();
        assert_eq!(again.evaluate(rows).unwrap(), truths, "{text}");
        let may_match = bound.may_match(&RowBounds(rows)).unwrap();
        let mut outcome = bound.columns().len() as u64;
        for row in 0..rows.num_rows() {
            let truth = truths.is_valid(row).then(|| truths.value(row));
            assert!(
                truth != Some(true) || may_match.value(row),
                "row {row} of {text}"
            );
            outcome = outcome << 2 | truth.map_or(2, u64::from);
        }
        outcome & !ACCEPTED
    }))
}
