//! Tests of the whole module. Expected values are Spark's.

mod errors;
mod formula_conditions;
mod formulas;
mod generate;
mod model;
mod prune;
mod random;
mod rows;
mod sql;
mod timestamps;
mod without_ansi;

use std::collections::HashMap;

use crate::error::Result;
use crate::expr::{BoundColumn, BoundPredicate, Bounds, ColumnBounds, Literal, Predicate};
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

/// Bounds of some units, by the dotted names of their columns.
struct UnitBounds {
    len: usize,
    columns: HashMap<&'static str, Bounds>,
}

impl ColumnBounds for UnitBounds {
    fn len(&self) -> usize {
        self.len
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        Ok(self.columns.get(column.path.join(".").as_str()).cloned())
    }
}

fn tuple(column: &str, op: &str, value: Literal) -> (String, String, Literal) {
    (column.to_owned(), op.to_owned(), value)
}
