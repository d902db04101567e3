//! Tests of the whole module. Expected values are Spark's.

mod computed;
mod errors;
mod formulas;
mod generate;
mod model;
mod timestamps;
mod prune;
mod random;
mod rows;
mod sql;

use crate::expr::{BoundPredicate, Literal, Predicate};
use crate::spec::schema::StructType;

fn sql(text: &str) -> Predicate {
    Predicate::parse_sql(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Creates a schema from names and types as in the log; all fields are nullable.
fn schema(columns: &[(&str, &str)]) -> StructType {
    let field = |(name, data_type): &(&str, &str)| {
        let data_type = match data_type.starts_with('{') {
            true => (*data_type).to_owned(),
            false => format!("\"{data_type}\""),
        };
        format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    StructType::parse(&format!(
        r#"{{"type":"struct","fields":[{}]}}"#,
        fields.join(",")
    ))
    .unwrap()
}

fn bound(text: &str, schema: &StructType) -> BoundPredicate {
    sql(text)
        .bind(schema)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn tuple(column: &str, op: &str, value: Literal) -> (String, String, Literal) {
    (column.to_owned(), op.to_owned(), value)
}
