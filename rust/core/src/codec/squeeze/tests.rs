use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, FixedSizeBinaryBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder,
    StringBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, NullArray, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::Field;
use arrow_select::take::take;
use proptest::prelude::*;

use super::*;

/// A column of each type that data files are decoded to, and some others, from one number a row.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // any values will do
fn columns(rows: &[Option<i64>]) -> Vec<ArrayRef> {
    let text = |row: &Option<i64>| row.map(|row| "aé".repeat(row.unsigned_abs() as usize % 9));
    let each = || rows.iter().copied();
    let mut bytes = BinaryBuilder::new();
    let mut fixed = FixedSizeBinaryBuilder::new(5);
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut texts = ListBuilder::new(StringBuilder::new());
    let mut maps = MapBuilder::new(
        None,
        StringBuilder::new(),
        ListBuilder::new(Int64Builder::new()),
    );
    for row in rows {
        bytes.append_option(text(row).map(String::into_bytes));
        match row {
            Some(row) => fixed.append_value(&row.to_le_bytes()[..5]).unwrap(),
            None => fixed.append_null(),
        }
        // null lists that have values: readers are not to see them
        let many = row.map_or(2, |row| row.unsigned_abs() as usize % 4);
        for part in 0..many {
            let part = part as i64;
            lists.values().append_option(row.map(|_| part as i32));
            texts
                .values()
                .append_option(text(row).filter(|_| part != 1));
            maps.keys().append_value(format!("key {part}"));
            let values = maps.values();
            (0..part).for_each(|value| values.values().append_value(value));
            values.append(part != 2);
        }
        lists.append(row.is_some());
        texts.append(row.is_some());
        maps.append(row.is_some()).unwrap();
    }
    let longs: ArrayRef = Arc::new(each().collect::<Int64Array>());
    let strings: ArrayRef = Arc::new(rows.iter().map(text).collect::<StringArray>());
    let lists: ArrayRef = Arc::new(lists.finish());
    let named = |name: &str, array: &ArrayRef| {
        let field = Field::new(name, array.data_type().clone(), true);
        (
            Arc::new(field),
            Arc::new(array.slice(0, rows.len())) as ArrayRef,
        )
    };
    let parts = vec![named("n", &longs), named("s", &strings), named("l", &lists)];
    let (fields, parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let nulls = longs.nulls().cloned();
    let inner = StructArray::try_new_with_length(fields.into(), parts, nulls, rows.len());
    let inner: ArrayRef = Arc::new(inner.unwrap());
    let outer = StructArray::from(vec![named("inner", &inner), named("n", &longs)]);
    let dictionary: DictionaryArray<Int32Type> = rows
        .iter()
        .map(|row| row.map(|row| if row % 2 == 0 { "even" } else { "odd" }))
        .collect();
    vec![
        Arc::new(
            each()
                .map(|row| row.map(|row| row as i8))
                .collect::<Int8Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row as i16))
                .collect::<Int16Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row as i32))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row as f32))
                .collect::<Float32Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row as f64))
                .collect::<Float64Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row as i32))
                .collect::<Date32Array>(),
        ),
        Arc::new(
            each()
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        Arc::new(
            each()
                .map(|row| row.map(i128::from))
                .collect::<Decimal128Array>(),
        ),
        Arc::new(
            each()
                .map(|row| row.map(|row| row % 3 == 0))
                .collect::<BooleanArray>(),
        ),
        Arc::new(each().map(|row| text(&row)).collect::<LargeStringArray>()),
        Arc::new(NullArray::new(rows.len())),
        Arc::new(bytes.finish()),
        Arc::new(fixed.finish()),
        Arc::new(texts.finish()),
        Arc::new(maps.finish()),
        Arc::new(outer),
        Arc::new(dictionary),
        inner,
        lists,
        strings,
        longs,
    ]
}

fn check(rows: &[(Option<i64>, bool)], nulls: bool, cut: usize) {
    let values: Vec<_> = rows
        .iter()
        .map(|(row, _)| if nulls { *row } else { Some(row.unwrap_or(7)) })
        .collect();
    let kept: Vec<bool> = rows.iter().skip(cut).map(|(_, kept)| *kept).collect();
    let mut runs = Runs::new(kept.len());
    for (row, kept) in kept.iter().enumerate() {
        if *kept {
            runs.push(row..row + 1);
        }
    }
    let mask = BooleanArray::from(kept.clone());
    for array in columns(&values) {
        let array = array.slice(cut, kept.len());
        let wanted = filter(&array, &mask).unwrap();
        // as one of several that hold the memory, and as the only one
        let all = Int64Array::from_iter_values(0..kept.len() as i64);
        let alone = take(&array, &all, None).unwrap();
        let shared = runs.squeeze(Arc::clone(&array)).unwrap();
        let found = runs.squeeze(alone).unwrap();
        for found in [shared, found] {
            found.to_data().validate_full().unwrap();
            assert_eq!(&found, &wanted, "{}", wanted.data_type());
        }
    }
}

proptest! {
    #[test]
    fn keeps_what_filter_keeps(
        rows in prop::collection::vec((prop::option::of(any::<i64>()), prop::bool::weighted(0.8)), 0..90),
        nulls in any::<bool>(),
        cut in 0_usize..9,
    ) {
        check(&rows, nulls, cut.min(rows.len()));
    }
}

#[test]
fn keeps_none_all_and_ends() {
    let rows = |kept: &dyn Fn(i64) -> bool| -> Vec<_> {
        (0..200)
            .map(|row| ((row % 5 != 0).then_some(row), kept(row)))
            .collect()
    };
    let choices: [&dyn Fn(i64) -> bool; 5] = [
        &|_| false,
        &|_| true,
        &|row| row >= 70,
        &|row| row < 70,
        &|row| row == 0 || row == 199,
    ];
    for kept in choices {
        check(&rows(kept), true, 0);
        check(&rows(kept), false, 3);
    }
}

#[test]
fn memory_that_nobody_else_holds_is_used_again() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..1000).map(|row| format!("row {row}")),
    ));
    let mut runs = Runs::new(1000);
    runs.push(0..10);
    runs.push(11..1000);
    for array in [numbers, texts] {
        let places = |array: &ArrayRef| -> Vec<_> {
            let data = array.to_data();
            data.buffers().iter().map(Buffer::as_ptr).collect()
        };
        let before = places(&array);
        let found = runs.squeeze(array).unwrap();
        assert_eq!(places(&found), before);
        assert_eq!(found.len(), 999);
    }
}

#[test]
fn runs_are_clipped_and_joined() {
    let mut runs = Runs::new(10);
    for run in [2..4, 4..5, 3..6, 8..8, 9..30] {
        runs.push(run);
    }
    assert_eq!((runs.runs.clone(), runs.rows()), (vec![2..6, 9..10], 5));
}

#[test]
fn arrays_of_another_length_are_refused() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    for of in [2, 4] {
        let mut runs = Runs::new(of);
        runs.push(0..1);
        assert!(runs.squeeze(Arc::clone(&array)).is_err());
    }
}
