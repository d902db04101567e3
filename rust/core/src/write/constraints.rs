//! Constraints on the rows of a table: nullability, invariants, CHECK constraints, text length.
//!
//! Protocol: "Column Invariants", "CHECK Constraints"; length limits of text as in Spark.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use serde_json::Value;

use super::row_display::row_display;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::spec::char_length::{DECLARED_TYPE, declared_length, pad_values};
use crate::spec::json::clipped;
use crate::spec::schema::{DataType, StructField, StructType};
use crate::spec::{Metadata, Protocol};

pub(crate) const INVARIANTS: &str = "delta.invariants";
const CONSTRAINTS: &str = "delta.constraints.";

#[derive(Debug, Default)]
pub(super) struct Constraints {
    /// Required columns and fields of structs, by their index paths.
    required: Vec<Vec<usize>>,
    lengths: Vec<Length>,
    conditions: Vec<Condition>,
}

#[derive(Debug)]
struct Length {
    column: usize,
    limit: usize,
    /// True if shorter text is padded with spaces.
    padded: bool,
    declared_type: String,
}

#[derive(Debug)]
struct Condition {
    code: &'static str,
    description: String,
    sql: String,
    bound: BoundPredicate,
}

impl Constraints {
    /// Binds the constraints, invariants and `NOT NULL` columns of a table.
    ///
    /// # Errors
    ///
    /// Unsupported: `rows.expression` with the constraint that cannot be evaluated, `rows.unsupported` for a
    /// nested field of type `char` or `varchar`.
    pub(crate) fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        schema: &StructType,
    ) -> Result<Self> {
        let mut constraints = Self::default();
        for (index, field) in schema.fields().iter().enumerate() {
            constraints.require(field, &[index]);
            constraints.lengths.extend(length(field, index)?);
            if let DataType::Primitive(_) = field.data_type {
                continue;
            }
            let limited = |part: &StructField| part.metadata.contains_key(DECLARED_TYPE);
            let inside = StructType::new(vec![field.clone()])?;
            if inside.all_fields().any(limited) {
                let message = format!(
                    "the column {} has a nested field of type char or varchar, whose length is not \
                     checked here: write with another client",
                    clipped(&field.name)
                );
                return Err(Error::unsupported("rows.unsupported", message));
            }
        }
        if protocol.is_supported("invariants") {
            constraints.add_invariants(schema, schema)?;
        }
        if protocol.is_supported("checkConstraints") {
            for (key, text) in &metadata.configuration {
                let start = key.get(..CONSTRAINTS.len()).unwrap_or_default();
                if start.eq_ignore_ascii_case(CONSTRAINTS) {
                    let name = key.get(CONSTRAINTS.len()..).unwrap_or_default();
                    let description = format!("the CHECK constraint {}", clipped(name));
                    constraints.add(description, text, schema)?;
                }
            }
        }
        Ok(constraints)
    }

    /// Records a required field: the structs around it must not be null either.
    fn require(&mut self, field: &StructField, path: &[usize]) {
        if !field.nullable {
            self.required.push(path.to_vec());
        }
        if let DataType::Struct(parts) = &field.data_type {
            for (index, part) in parts.fields().iter().enumerate() {
                self.require(part, &[path, &[index]].concat());
            }
        }
    }

    fn add_invariants(&mut self, parts: &StructType, schema: &StructType) -> Result<()> {
        for field in parts.fields() {
            if let Some(text) = field.metadata.get(INVARIANTS).and_then(Value::as_str) {
                let description = format!("the invariant of the column {}", clipped(&field.name));
                let parsed: Value = serde_json::from_str(text).unwrap_or_default();
                let sql = parsed.pointer("/expression/expression");
                match sql.and_then(Value::as_str) {
                    Some(sql) => self.add(description, sql, schema)?,
                    None => return Err(unsupported_expression(&description, text)),
                }
            }
            if let DataType::Struct(parts) = &field.data_type {
                self.add_invariants(parts, schema)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, description: String, sql: &str, schema: &StructType) -> Result<()> {
        let bound = Predicate::parse_constraint(sql)
            .and_then(|predicate| predicate.bind(schema))
            .map_err(|cause| unsupported_expression(&description, sql).because(cause))?;
        self.conditions.push(Condition {
            code: "rows.constraint",
            description,
            sql: sql.to_owned(),
            bound,
        });
        Ok(())
    }

    /// Adds the condition of the rows being replaced, which the new rows must satisfy.
    pub(super) fn add_replaced_condition(&mut self, bound: BoundPredicate) {
        self.conditions.push(Condition {
            code: "rows.where",
            description: "the condition of the rows that are replaced".to_owned(),
            sql: bound.predicate().to_string(),
            bound,
        });
    }

    /// Returns the values of a `char(n)` column padded with spaces, unless `n` is too large. Longer text is left
    /// to the check.
    pub(super) fn padded(&self, column: usize, values: ArrayRef) -> ArrayRef {
        let mut lengths = self.lengths.iter();
        let Some(length) = lengths.find(|length| length.padded && length.column == column) else {
            return values;
        };
        let Some(strings) = values.as_string_opt::<i32>() else {
            return values;
        };
        let is_short = |text: &str| text.chars().count() < length.limit;
        if strings.iter().flatten().any(is_short) {
            pad_values(&values, length.limit)
        } else {
            values
        }
    }

    /// Checks rows; `before` is the number of preceding rows.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.null`, `rows.length`, `rows.constraint`, `rows.where`, with the first row that
    /// is refused.
    pub(crate) fn check(&self, rows: &RecordBatch, before: u64) -> Result<()> {
        for path in &self.required {
            if let Some((name, row)) = first_null(rows, path) {
                let message = format!("the column {} may not be null", clipped(&name));
                return Err(violation("rows.null", &message, rows, row, before));
            }
        }
        for length in &self.lengths {
            let values = rows.columns().get(length.column);
            let Some(strings) = values.and_then(|values| values.as_string_opt::<i32>()) else {
                continue;
            };
            let is_too_long = |text: Option<&str>| match text {
                Some(text) => text.len() > length.limit && text.chars().count() > length.limit,
                None => false,
            };
            if let Some(row) = strings.iter().position(is_too_long) {
                let name = clipped(rows.schema_ref().field(length.column).name());
                let message = format!(
                    "the column {name} is {}, and a text is longer",
                    length.declared_type
                );
                return Err(violation("rows.length", &message, rows, row, before));
            }
        }
        for condition in &self.conditions {
            let results = condition.bound.evaluate(rows)?;
            if let Some(row) = results.iter().position(|result| result != Some(true)) {
                let message = format!(
                    "{} is not satisfied ({})",
                    condition.description,
                    clipped(&condition.sql)
                );
                return Err(violation(condition.code, &message, rows, row, before));
            }
        }
        Ok(())
    }
}

/// Returns the name of a field and the first row in which it, or a struct around it, is null.
fn first_null(rows: &RecordBatch, path: &[usize]) -> Option<(String, usize)> {
    let (column, parts) = path.split_first()?;
    let mut name = rows.schema_ref().fields().get(*column)?.name().clone();
    let mut values = rows.columns().get(*column)?;
    let mut nulls = values.logical_nulls();
    for part in parts {
        let parent = values.as_struct_opt()?;
        name = format!("{name}.{}", parent.fields().get(*part)?.name());
        values = parent.columns().get(*part)?;
        nulls = NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref());
    }
    let row = nulls?.iter().position(|valid| !valid)?;
    Some((name, row))
}

pub(super) fn unsupported_expression(description: &str, sql: &str) -> Error {
    let message = format!(
        "{description} cannot be evaluated by this release, so no rows can be written: {}",
        clipped(sql)
    );
    Error::unsupported("rows.expression", message)
}

/// Returns the error for a row that violates a constraint, with the row.
pub(super) fn violation(
    code: &'static str,
    problem: &str,
    rows: &RecordBatch,
    row: usize,
    before: u64,
) -> Error {
    let message = format!(
        "{problem}: row {} of the data, {}, is the first one; nothing was written",
        before.saturating_add(row as u64),
        row_display(rows, row)
    );
    Error::invalid(code, message)
}

/// Returns the maximum length of a `char(n)` or `varchar(n)` column.
fn length(field: &StructField, column: usize) -> Result<Option<Length>> {
    let Some(text) = field.metadata.get(DECLARED_TYPE).and_then(Value::as_str) else {
        return Ok(None);
    };
    let lowered = text.trim().to_ascii_lowercase();
    let limit = |name: &str| declared_length(&lowered, name);
    match limit("char").or_else(|| limit("varchar")) {
        Some(limit) => Ok(Some(Length {
            column,
            limit,
            padded: field.char_length().is_some(),
            declared_type: lowered,
        })),
        None if lowered == "string" => Ok(None),
        None => {
            let description = format!("the type of the column {}", clipped(&field.name));
            Err(unsupported_expression(&description, text))
        }
    }
}
