use super::super::{parse_stats, render_stats};
use super::*;
use arrow_array::StringArray;
use arrow_schema::TimeUnit;

fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields.into())
}

#[test]
fn ordered_types_have_bounds_and_all_columns_have_null_counts() {
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let list = DataType::new_list(DataType::Int64, true);
    let data = Fields::from(vec![
        field("id", DataType::Int64),
        field("ok", DataType::Boolean),
        field("raw", DataType::Binary),
        field(
            "s",
            structure(vec![field("t", instant.clone()), field("l", list.clone())]),
        ),
        field("flags", structure(vec![field("f", DataType::Boolean)])),
        field("name", DataType::Utf8),
        field("l", list),
        field(
            "v",
            structure(vec![
                field("metadata", DataType::Binary),
                field("value", DataType::Binary),
            ]),
        ),
    ]);
    let nullable = |name: &str, data_type| Field::new(name, data_type, true);
    let bounds = structure(vec![
        nullable("id", DataType::Int64),
        nullable("s", structure(vec![nullable("t", instant)])),
        nullable("name", DataType::Utf8),
    ]);
    let count = |name: &str| nullable(name, DataType::Int64);
    let counts = structure(vec![
        count("id"),
        count("ok"),
        count("raw"),
        nullable("s", structure(vec![count("t"), count("l")])),
        nullable("flags", structure(vec![count("f")])),
        count("name"),
        count("l"),
        count("v"),
    ]);
    let expected = Fields::from(vec![
        nullable("numRecords", DataType::Int64),
        nullable("minValues", bounds.clone()),
        nullable("maxValues", bounds),
        nullable("nullCount", counts),
        nullable("tightBounds", DataType::Boolean),
    ]);
    assert_eq!(stats_schema(&data), expected);
}

#[test]
fn statistics_of_a_table_without_columns() {
    let names: Vec<_> = stats_schema(&Fields::empty())
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["numRecords", "tightBounds"]);
}

#[test]
fn columns_that_are_nested_too_deep_are_omitted() {
    let mut deep = DataType::Int64;
    for _ in 0..=MAX_SCHEMA_DEPTH {
        deep = structure(vec![field("a", deep)]);
    }
    let data = Fields::from(vec![field("deep", deep), field("id", DataType::Int64)]);
    let stats = stats_schema(&data);
    let (_, counts) = stats.find("nullCount").unwrap();
    assert_eq!(
        counts.data_type(),
        &structure(vec![Field::new("id", DataType::Int64, true)])
    );
}

#[test]
fn statistics_of_columns_that_are_nested_as_deep_as_possible_are_parsed_and_rendered() {
    let mut deep = field("a", DataType::Int64);
    let mut json = "1".to_owned();
    for _ in 0..MAX_SCHEMA_DEPTH {
        deep = field("a", structure(vec![deep]));
        json = format!("{{\"a\":{json}}}");
    }
    let shape = stats_schema(&Fields::from(vec![deep]));
    let json = format!("{{\"minValues\":{{\"a\":{json}}}}}");
    let stats = parse_stats(&StringArray::from(vec![json.as_str()]), &shape).unwrap();
    assert_eq!(render_stats(&stats, None).unwrap().value(0), json);
}
