//! Matching of logical with physical columns.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, Int32Array, Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Fields;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::*;

fn int(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn ints(batch: &RecordBatch, name: &str) -> Vec<Option<i32>> {
    batch
        .column_by_name(name)
        .unwrap()
        .as_primitive::<Int32Type>()
        .iter()
        .collect()
}

fn mapped(name: &str, data_type: &str, id: i64, physical: &str) -> String {
    format!(
        r#"{{"name":"{name}","type":{data_type},"metadata":{{"delta.columnMapping.id":{id},
            "delta.columnMapping.physicalName":"{physical}"}}}}"#
    )
}

fn with_id(name: &str, array: &ArrayRef, id: i64) -> Field {
    let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    Field::new(name, array.data_type().clone(), true).with_metadata(metadata)
}

#[test]
fn without_mapping_the_exact_name_wins_over_another_case() {
    let files = Files::new();
    let file = files.write("a", &parquet(vec![("A", int(&[1])), ("a", int(&[2]))]));
    let read = |name: &str| files.read(&plan(layout(&[(name, r#""integer""#)])), &file);
    assert_eq!(ints(&read("A").unwrap(), "A"), [Some(1)]);
    assert_eq!(ints(&read("a").unwrap(), "a"), [Some(2)]);
    let file = files.write(
        "b",
        &parquet(vec![
            ("Ab", int(&[1])),
            ("aB", int(&[2])),
            ("Cd", int(&[3])),
        ]),
    );
    let read = |name: &str| files.read(&plan(layout(&[(name, r#""integer""#)])), &file);
    let error = read("ab").unwrap_err();
    assert_eq!(
        (error.code(), error.path()),
        ("data.ambiguous", Some("log/b"))
    );
    assert_eq!(ints(&read("cD").unwrap(), "cD"), [Some(3)]);
    assert_eq!(ints(&read("missing").unwrap(), "missing"), [None]);
}

#[test]
fn matches_physical_names_after_rename_swap_and_drop() {
    let files = Files::new();
    let file = files.write(
        "a",
        &parquet(vec![
            ("col-1", int(&[1])),
            ("a", int(&[2])),
            ("gone", int(&[3])),
        ]),
    );
    // `b` was called `a` before and kept its physical name; a new `a` was added later
    let fields = [
        mapped("a", r#""integer""#, 5, "col-5"),
        mapped("b", r#""integer""#, 2, "a"),
        mapped("c d", r#""integer""#, 1, "col-1"),
    ];
    let rows = files
        .read(
            &plan(layout_of(&fields.join(","), ColumnMappingMode::Name)),
            &file,
        )
        .unwrap();
    assert_eq!(
        (ints(&rows, "a"), ints(&rows, "b"), ints(&rows, "c d")),
        (vec![None], vec![Some(2)], vec![Some(1)])
    );
    let unmapped = layout_of(r#"{"name":"a","type":"integer"}"#, ColumnMappingMode::Name);
    assert_eq!(
        files.read(&plan(unmapped), &file).unwrap_err().code(),
        "schema.physical_name"
    );
}

#[test]
fn matches_ids_at_each_level_and_names_in_files_without_ids() {
    let files = Files::new();
    let inner = int(&[10, 20]);
    let parts = Fields::from(vec![with_id("x", &inner, 4), with_id("y", &inner, 6)]);
    let structure: ArrayRef = Arc::new(StructArray::new(parts, vec![inner, int(&[30, 40])], None));
    let top = int(&[1, 2]);
    let columns = vec![
        (with_id("weird", &top, 3), Arc::clone(&top)),
        (with_id("s", &structure, 2), structure),
    ];
    let file = files.write("ids", &parquet_of(columns, 100, 100));
    let inner_fields = format!(
        r#"{{"type":"struct","fields":[{},{}]}}"#,
        mapped("renamed", r#""integer""#, 6, "y"),
        mapped("added", r#""integer""#, 9, "x"),
    );
    let fields = [
        mapped("a", r#""integer""#, 3, "col-a"),
        mapped("st", &inner_fields, 2, "s"),
    ]
    .join(",");
    let plan_of = |mode| plan(layout_of(&fields, mode));
    let rows = files.read(&plan_of(ColumnMappingMode::Id), &file).unwrap();
    assert_eq!(ints(&rows, "a"), [Some(1), Some(2)]);
    let parts = rows.column_by_name("st").unwrap().as_struct().clone();
    let column = |name: &str| {
        parts
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Int32Type>()
            .iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(column("renamed"), [Some(30), Some(40)]);
    assert_eq!(column("added"), [None, None]); // the file has its physical name, but not its id

    // by name, the same file returns its other column
    let rows = files
        .read(&plan_of(ColumnMappingMode::Name), &file)
        .unwrap();
    assert_eq!(ints(&rows, "a"), [None, None]);
    let parts = rows.column_by_name("st").unwrap().as_struct().clone();
    assert_eq!(
        parts
            .column_by_name("added")
            .unwrap()
            .as_primitive::<Int32Type>()
            .values()
            .to_vec(),
        [10, 20]
    );

    let plain = files.write("no ids", &parquet(vec![("col-a", int(&[7]))]));
    let rows = files.read(&plan_of(ColumnMappingMode::Id), &plain).unwrap();
    assert_eq!(ints(&rows, "a"), [Some(7)]);
    assert_eq!(rows.column_by_name("st").unwrap().null_count(), 1);

    let twice = vec![
        (with_id("p", &top, 3), Arc::clone(&top)),
        (with_id("q", &top, 3), top),
    ];
    let twice = files.write("twice", &parquet_of(twice, 100, 100));
    assert_eq!(
        files
            .read(&plan_of(ColumnMappingMode::Id), &twice)
            .unwrap_err()
            .code(),
        "data.ambiguous"
    );
}

/// Spark 4.1 (SPARK-53535): a struct without any requested field in the file is null only where it is null
/// in the file.
#[test]
fn a_struct_without_requested_fields_keeps_its_nulls() {
    let files = Files::new();
    let repeated: ArrayRef = Arc::new(ListArray::new(
        Arc::new(Field::new("element", arrow_schema::DataType::Int32, true)),
        OffsetBuffer::from_lengths([2, 0, 3]),
        int(&[1, 2, 3, 4, 5]),
        None,
    ));
    let parts = Fields::from(vec![
        Field::new("l", repeated.data_type().clone(), true),
        Field::new("old", arrow_schema::DataType::Int32, true),
    ]);
    let nulls = NullBuffer::from(vec![true, false, true]);
    let structure: ArrayRef = Arc::new(StructArray::new(
        parts,
        vec![repeated, int(&[1, 2, 3])],
        Some(nulls),
    ));
    let file = files.write("a", &parquet(vec![("s", structure)]));
    let new =
        r#"{"type":"struct","fields":[{"name":"new","type":"string"},{"name":"v","type":"void"}]}"#;
    let rows = files.read(&plan(layout(&[("s", new)])), &file).unwrap();
    let structure = rows.column(0).as_struct();
    assert_eq!(
        structure
            .nulls()
            .map(|nulls| nulls.iter().collect::<Vec<_>>()),
        Some(vec![true, false, true])
    );
    assert_eq!(structure.column(0).null_count(), 3);
}

#[test]
fn reorders_and_widens_fields_of_structs_in_lists_and_maps() {
    let files = Files::new();
    let people = || -> ArrayRef {
        let parts = Fields::from(vec![
            Field::new("age", arrow_schema::DataType::Int32, true),
            Field::new("unwanted", arrow_schema::DataType::Utf8, true),
            Field::new("name", arrow_schema::DataType::Utf8, true),
        ]);
        let unwanted: ArrayRef = Arc::new(StringArray::from(vec!["-", "-", "-"]));
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("Ann"), None, Some("Cy")]));
        let nulls = NullBuffer::from(vec![true, true, true]);
        Arc::new(StructArray::new(
            parts,
            vec![int(&[1, 2, 3]), unwanted, names],
            Some(nulls),
        ))
    };
    let element = Arc::new(Field::new("item", people().data_type().clone(), true));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let offsets = OffsetBuffer::from_lengths([2, 0, 1]);
    let list: ArrayRef = Arc::new(ListArray::new(
        element,
        offsets.clone(),
        people(),
        nulls.clone(),
    ));
    let entries = StructArray::new(
        Fields::from(vec![
            Field::new("keys", arrow_schema::DataType::Int32, false),
            Field::new("values", people().data_type().clone(), true),
        ]),
        vec![int(&[7, 8, 9]), people()],
        None,
    );
    let field = Arc::new(Field::new("key_value", entries.data_type().clone(), false));
    let map: ArrayRef = Arc::new(arrow_array::MapArray::new(
        field, offsets, entries, nulls, false,
    ));
    let file = files.write("a", &parquet(vec![("l", list), ("m", map)]));
    let person = r#"{"type":"struct","fields":[{"name":"NAME","type":"string"},{"name":"added","type":"date"},{"name":"age","type":"long"}]}"#;
    let list = format!(r#"{{"type":"array","elementType":{person},"containsNull":true}}"#);
    let map = format!(
        r#"{{"type":"map","keyType":"long","valueType":{person},"valueContainsNull":true}}"#
    );
    let rows = files
        .read(&plan(layout(&[("m", &map), ("l", &list)])), &file)
        .unwrap();
    let check = |people: &StructArray| {
        let names = people.column_by_name("NAME").unwrap().as_string::<i32>();
        assert_eq!(
            names.iter().collect::<Vec<_>>(),
            [Some("Ann"), None, Some("Cy")]
        );
        assert_eq!(
            people
                .column_by_name("age")
                .unwrap()
                .as_primitive::<Int64Type>(),
            &Int64Array::from(vec![1, 2, 3])
        );
        assert_eq!(people.column_by_name("added").unwrap().null_count(), 3);
    };
    let list = rows.column_by_name("l").unwrap().as_list::<i32>();
    check(list.values().as_struct());
    assert_eq!(
        (list.is_null(1), list.value_length(0), list.value_length(2)),
        (true, 2, 1)
    );
    let map = rows.column_by_name("m").unwrap().as_map();
    check(map.values().as_struct());
    assert_eq!(
        map.keys().as_primitive::<Int64Type>().values().to_vec(),
        [7, 8, 9]
    );
}
