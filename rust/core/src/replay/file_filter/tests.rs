//! Skipping of files by statistics and partition values, in the forms in which writers store them.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};

use super::*;
use crate::expr::Predicate;

/// A file: partition values and statistics.
type File<'a> = (&'a [(&'a str, Option<&'a str>)], Option<&'a str>);

fn rows(files: &[File<'_>]) -> RecordBatch {
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for (partition, _) in files {
        for (key, value) in *partition {
            maps.keys().append_value(key);
            maps.values().append_option(*value);
        }
        maps.append(true).unwrap();
    }
    let stats: StringArray = files.iter().map(|(_, stats)| *stats).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("partitionValues", Arc::new(maps.finish()) as ArrayRef, true),
        ("stats", Arc::new(stats), true),
    ])
    .unwrap()
}

fn kept(text: &str, schema: &str, mode: ColumnMappingMode, files: &[File<'_>]) -> String {
    let schema = StructType::parse(schema).unwrap();
    let predicate = Predicate::parse_sql(text).unwrap().bind(&schema).unwrap();
    let partition = ["p".to_owned(), "day".to_owned()];
    let filter = FileFilter::new(predicate, &schema, &partition, mode).unwrap();
    let columns = filter.columns().compute(&rows(files)).unwrap();
    let character = |keep| if keep { 'k' } else { '-' };
    let kept = filter.may_match(&columns).unwrap();
    kept.iter().map(character).collect()
}

const SCHEMA: &str = r#"{"type":"struct","fields":[
    {"name":"p","type":"integer","nullable":true,"metadata":{}},
    {"name":"day","type":"date","nullable":true,"metadata":{}},
    {"name":"id","type":"long","nullable":true,"metadata":{}},
    {"name":"at","type":"timestamp","nullable":true,"metadata":{}},
    {"name":"ok","type":"boolean","nullable":true,"metadata":{}},
    {"name":"x","type":"double","nullable":true,"metadata":{}},
    {"name":"tags","type":{"type":"array","elementType":"string","containsNull":true},"nullable":true,"metadata":{}},
    {"name":"s","type":{"type":"struct","fields":[
        {"name":"name","type":"string","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}"#;

#[test]
fn files_are_skipped_by_statistics() {
    let files: [File<'_>; 8] = [
        (
            &[],
            Some(
                r#"{"numRecords":4,"minValues":{"id":0,"at":"2024-01-01T00:00:00.000Z","s":{"name":"a"}},"maxValues":{"id":9,"at":"2024-01-01T00:00:00.123Z","s":{"name":"c"}},"nullCount":{"id":0,"at":0,"ok":4,"tags":0,"s":{"name":1}}}"#,
            ),
        ),
        (
            &[],
            Some(
                r#"{"numRecords":4,"minValues":{"id":10,"s":{"name":"m"}},"maxValues":{"id":19,"s":{"name":"z"}},"nullCount":{"id":2,"ok":0,"tags":4,"s":{"name":0}},"tightBounds":false}"#,
            ),
        ),
        // all null
        (
            &[],
            Some(
                r#"{"numRecords":4,"minValues":{},"maxValues":{},"nullCount":{"id":4,"s":{"name":4}}}"#,
            ),
        ),
        // no statistics, invalid ones, and impossible ones
        (&[], None),
        (&[], Some(r#"{"numRecords":4,"minValues":{"id":0"#)),
        (
            &[],
            Some(
                r#"{"numRecords":-1,"minValues":{"id":"zero"},"maxValues":{"id":1e99},"nullCount":{"id":-1}}"#,
            ),
        ),
        (
            &[],
            Some(
                r#"{"numRecords":4,"minValues":{"id":9},"maxValues":{"id":0},"nullCount":{"id":0}}"#,
            ),
        ),
        (&[], Some(r#"{"numRecords":4}"#)),
    ];
    for (text, expected) in [
        ("id = 5", "k--kkkkk"),
        ("id > 9", "-k-kkkkk"),
        ("id IS NULL", "-kkkkk-k"),
        ("id IS NOT NULL", "kk-kkkkk"),
        ("s.name >= 'd'", "-k-kkkkk"),
        ("S.NAME LIKE 'b%'", "k--kkkkk"),
        // the maximum was truncated to milliseconds
        ("at > '2024-01-01T00:00:00.123999Z'", "kkkkkkkk"),
        ("at > '2024-01-01T00:00:00.124Z'", "-kkkkkkk"),
        ("at < '2024-01-01T00:00:00Z'", "-kkkkkkk"),
        ("ok", "-kkkkkkk"),
        ("ok IS NULL", "k-kkkkkk"),
        ("tags IS NOT NULL", "k-kkkkkk"),
        ("s IS NULL", "kkkkkkkk"),
        // a missing partition value is null
        ("id = 5 OR p = 1", "k--kkkkk"),
    ] {
        assert_eq!(
            kept(text, SCHEMA, ColumnMappingMode::None, &files),
            expected,
            "{text}"
        );
    }
}

#[test]
fn files_are_skipped_by_partition_values() {
    let files: [File<'_>; 5] = [
        (&[("p", Some("1")), ("day", Some("2024-01-01"))], None),
        (&[("p", Some("12")), ("day", Some("2024-1-2"))], None),
        (&[("p", None), ("day", None)], None),
        (&[("p", Some("")), ("day", Some("2024-01-01"))], None),
        (&[], None),
    ];
    for (text, expected) in [
        ("p = 1", "k----"),
        ("p <> 1", "-k---"),
        ("p > 5", "-k---"),
        ("p IS NULL", "--kkk"),
        ("p IS NOT NULL", "kk---"),
        ("p <=> NULL", "--kkk"),
        ("NOT p IN (12, 13)", "k----"),
        ("day >= '2024-01-02'", "-k---"),
        ("day = '2024-01-01' AND p IS NULL", "---k-"),
        ("p = 1 AND id = 5", "k----"),
    ] {
        assert_eq!(
            kept(text, SCHEMA, ColumnMappingMode::None, &files),
            expected,
            "{text}"
        );
    }
}

#[test]
fn mapped_columns_are_found_by_physical_name() {
    let field = |name: &str, physical: &str, data_type: &str| {
        format!(
            r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"{physical}"}}}}"#
        )
    };
    let inner = format!(
        r#"{{"type":"struct","fields":[{}]}}"#,
        field("id", "col-3", r#""long""#)
    );
    let fields = [
        field("p", "col-1", r#""integer""#),
        field("s", "col-2", &inner),
    ];
    let schema = format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","));
    let files: [File<'_>; 2] = [
        (
            &[("col-1", Some("1"))],
            Some(
                r#"{"numRecords":1,"minValues":{"col-2":{"col-3":5}},"maxValues":{"col-2":{"col-3":5}},"nullCount":{"col-2":{"col-3":0}}}"#,
            ),
        ),
        (
            &[("col-1", Some("2")), ("p", Some("1"))],
            Some(r#"{"numRecords":1,"minValues":{"s":{"id":5}},"maxValues":{"s":{"id":5}}}"#),
        ),
    ];
    for (text, expected) in [("p = 1", "k-"), ("s.id = 5", "kk"), ("s.id = 6", "-k")] {
        assert_eq!(
            kept(text, &schema, ColumnMappingMode::Name, &files),
            expected,
            "{text}"
        );
    }
}

/// As a double, the float `0.1` is 0.10000000149…; statistics have `0.1`.
#[test]
fn floats_widened_to_doubles() {
    let schema = |changes: &str| {
        format!(
            r#"{{"type":"struct","fields":[{{"name":"x","type":"double","nullable":true,"metadata":{{{changes}}}}}]}}"#
        )
    };
    let widened = schema(r#""delta.typeChanges":[{"fromType":"float","toType":"double"}]"#);
    let files: [File<'_>; 1] = [(
        &[],
        Some(r#"{"numRecords":1,"minValues":{"x":0.1},"maxValues":{"x":0.1},"nullCount":{"x":0}}"#),
    )];
    let text = format!("x = {:e}", f64::from(0.1_f32));
    assert_eq!(kept(&text, &widened, ColumnMappingMode::None, &files), "k");
    assert_eq!(
        kept(&text, &schema(""), ColumnMappingMode::None, &files),
        "-"
    );
    assert_eq!(
        kept("x = 0.1001", &widened, ColumnMappingMode::None, &files),
        "-"
    );
}
