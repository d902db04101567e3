use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array, NullArray,
    RecordBatchIterator, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields};

use super::*;

/// Creates rows with every kind of layout; their numbers begin at `from`.
fn rows(from: i64, count: usize) -> RecordBatch {
    let numbers: Vec<i64> = (from..).take(count).collect();
    let some = |number: &i64| (number % 3 > 0).then_some(*number);
    let text: StringArray = numbers
        .iter()
        .map(|number| some(number).map(|number| "text ".repeat((number % 5) as usize)))
        .collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for number in &numbers {
        for element in 0..number % 4 {
            lists.values().append_value(element as i32);
            maps.keys().append_value(format!("{element}"));
            maps.values()
                .append_option(some(&element).map(|number| number as i32));
        }
        lists.append(number % 5 > 0);
        maps.append(true).unwrap();
    }
    let within = Fields::from(vec![
        Field::new("text", DataType::Utf8, true),
        Field::new("number", DataType::Float64, true),
    ]);
    let floats: Float64Array = numbers
        .iter()
        .map(|number| some(number).map(|number| number as f64))
        .collect();
    let parts: Vec<ArrayRef> = vec![Arc::new(text.clone()), Arc::new(floats)];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Int64Array::from(numbers.clone()))),
        ("text", Arc::new(text)),
        ("list", Arc::new(lists.finish())),
        ("map", Arc::new(maps.finish())),
        ("struct", Arc::new(StructArray::new(within, parts, None))),
        (
            "flag",
            Arc::new(
                numbers
                    .iter()
                    .map(|number| Some(number % 2 > 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "amount",
            Arc::new(
                numbers
                    .iter()
                    .map(|number| some(number).map(i128::from))
                    .collect::<Decimal128Array>(),
            ),
        ),
        ("nothing", Arc::new(NullArray::new(count))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Creates batches of many sizes, including slices of larger ones.
fn batches() -> Vec<RecordBatch> {
    vec![
        rows(0, 1),
        rows(1, 0),
        rows(0, 300).slice(1, 99),
        rows(100, 70_000),
        rows(70_100, 3),
        rows(60_000, 20_000).slice(10_103, 7),
    ]
}

fn read(batches: Vec<RecordBatch>, max_bytes: usize) -> SourceRows {
    let schema = batches[0].schema();
    let batches = batches.into_iter().map(Ok);
    SourceRows::read(
        Box::new(RecordBatchIterator::new(batches, schema)),
        max_bytes,
    )
    .unwrap()
}

#[test]
fn reads_the_same_rows_from_memory_and_from_a_file() {
    let (memory, file) = (read(batches(), usize::MAX), read(batches(), 1));
    assert_eq!(memory.num_rows(), 70_110);
    assert_eq!(file.num_rows(), 70_110);
    assert_eq!(file.schema(), memory.schema());
    let all = UInt32Array::from_iter_values(0..70_110);
    assert_eq!(file.take(&all).unwrap(), memory.take(&all).unwrap());
    assert_eq!(file.batches().len(), 6);
    assert_eq!(memory.batches().len(), 3);
    let last = UInt32Array::from(vec![70_109, 0, 65_600, 65_536, 99, 100, 0, 70_000, 3]);
    let taken = file.take(&last).unwrap();
    assert_eq!(taken, memory.take(&last).unwrap());
    let numbers = taken.column(0).as_primitive::<Int64Type>();
    assert_eq!(
        numbers.values(),
        &[70_109, 0, 65_600, 65_536, 99, 100, 0, 70_000, 3]
    );
    let none = UInt32Array::from(Vec::<u32>::new());
    assert_eq!(file.take(&none).unwrap(), memory.empty());
    assert_eq!(file.empty(), memory.empty());

    let part = file.project(&[4, 1]).unwrap();
    assert_eq!(part.take(&last).unwrap(), taken.project(&[4, 1]).unwrap());
    let rows = file.project(&[]).unwrap().take(&last).unwrap();
    assert_eq!((rows.num_columns(), rows.num_rows()), (0, 9));
}

#[test]
fn spills_only_beyond_the_limit() {
    let at = |source: &SourceRows| source.batches()[0].column(0).to_data().buffers()[0].as_ptr();
    let rows = rows(0, 1000);
    let own = rows.column(0).to_data().buffers()[0].as_ptr();
    let bytes = bytes_of(&rows).unwrap();
    assert_eq!(at(&read(vec![rows.clone()], bytes)), own);
    assert_ne!(at(&read(vec![rows], bytes - 1)), own);
}

#[test]
fn combines_small_batches() {
    let small = (0..10_000).map(|number| rows(number * 10, 10)).collect();
    let source = read(small, usize::MAX);
    let counts: Vec<usize> = source.batches().iter().map(RecordBatch::num_rows).collect();
    assert_eq!(counts, [65_530, 34_470]);
    let bytes = bytes_of(&rows(0, 1000)).unwrap();
    let batches = (0..4).map(|_| rows(0, 1000)).collect();
    let source = read(batches, bytes * 2 * BATCH_PART);
    assert_eq!(source.batches().len(), 2);
}

#[test]
fn reads_an_empty_source() {
    for empty in [vec![rows(0, 0)], vec![rows(0, 0), rows(0, 0)]] {
        for max_bytes in [0, usize::MAX] {
            let source = read(empty.clone(), max_bytes);
            assert_eq!(source.num_rows(), 0);
            assert_eq!(source.batches(), [source.empty()]);
        }
    }
}

#[test]
fn converts_columns_to_types_of_tables() {
    let words: DictionaryArray<Int8Type> = ["a", "b", "a"].into_iter().collect();
    let words = RecordBatch::try_from_iter([("word", Arc::new(words) as ArrayRef)]).unwrap();
    for max_bytes in [1, usize::MAX] {
        let source = read(vec![words.clone()], max_bytes);
        assert_eq!(source.schema().field(0).data_type(), &DataType::Utf8);
        let words = source.batches()[0].column(0).as_string::<i32>();
        assert!(words.iter().flatten().eq(["a", "b", "a"]));
    }
}
