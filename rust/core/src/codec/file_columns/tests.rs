use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, FieldRef};

use super::*;
use crate::codec::file_actions::string_map_builder;

fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn minima(names: &[&str]) -> FileColumn {
    let columns: Fields = names.iter().map(|name| long(name)).collect();
    let minima = Field::new("minValues", DataType::Struct(columns), true);
    FileColumn::StatsParsed(Fields::from(vec![minima]))
}

fn partitions(names: &[&str]) -> FileColumn {
    let value = |name: &&str| (String::from(*name), Arc::new(long(name)) as FieldRef);
    FileColumn::PartitionValuesParsed(names.iter().map(value).collect())
}

fn names(columns: &FileColumns) -> Vec<String> {
    let schema = columns.schema();
    schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect()
}

#[test]
fn merged_columns_cover_both() {
    let part = FileColumns::new(vec![minima(&["a"]), FileColumn::Field(FileField::Size)]);
    let path = FileColumn::Field(FileField::Path);
    let others = FileColumns::new(vec![partitions(&["p"]), path, minima(&["b"])]);
    let both = part.merged(&others);
    assert!(both.covers(&part) && both.covers(&others));
    assert!(!part.covers(&others) && !part.covers(&both));
    assert_eq!(
        names(&both),
        ["path", "size", PARTITION_VALUES, STATS],
        "fields in the protocol's order, then derived columns"
    );
    assert!(both.covers(&FileColumns::new(vec![minima(&["b", "a"])])));
    assert!(!both.covers(&FileColumns::new(vec![minima(&["c"])])));
    assert!(!both.covers(&FileColumns::new(vec![partitions(&["q"])])));
    assert!(both.covers(&FileColumns::default()));
}

#[test]
fn columns_derived_from_one_field_decode_it_once() {
    let columns = FileColumns::new(vec![
        minima(&["a"]),
        FileColumn::NumRecords,
        FileColumn::Field(FileField::Path),
    ]);
    assert_eq!(columns.fields(), [FileField::Path, FileField::Stats]);
    assert_eq!(names(&columns), [STATS, NUM_RECORDS, "path"]);
}

fn files(values: &[(&str, &str)]) -> RecordBatch {
    let mut maps = string_map_builder();
    let mut paths = StringBuilder::new();
    for (path, value) in values {
        paths.append_value(path);
        maps.keys().append_value("p");
        maps.values().append_value(value);
        maps.append(true).unwrap();
    }
    let columns: [(&str, ArrayRef); 2] = [
        ("path", Arc::new(paths.finish())),
        ("partitionValues", Arc::new(maps.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn an_unparsable_partition_value_names_the_file() {
    let columns = FileColumns::new(vec![partitions(&["p"])]);
    let values = columns.compute(&files(&[("a", "1"), ("b", "2")])).unwrap();
    let values = values.column(0).as_struct().column(0).clone();
    assert_eq!(values.as_primitive::<Int64Type>().values(), &[1, 2]);

    let error = columns
        .compute(&files(&[("a", "1"), ("b", "x")]))
        .unwrap_err();
    assert_eq!(
        (error.code(), error.path()),
        ("partition_value.parse", Some("b"))
    );
}

#[test]
fn a_missing_field_is_an_error_or_null() {
    let columns = FileColumns::new(vec![minima(&["a"])]);
    let error = columns.compute(&files(&[("a", "1")])).unwrap_err();
    assert_eq!((error.code(), error.path()), ("log.columns", None));

    let part = files(&[("a", "1"), ("b", "2")]);
    let none = columns.compute_available(&part).unwrap();
    assert_eq!((none.num_rows(), none.column(0).null_count()), (2, 2));
}
