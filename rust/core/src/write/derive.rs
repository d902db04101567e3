//! Columns whose values the table computes: generated, default and identity columns.
//!
//! Protocol: "Generated Columns", "Default Columns", "Identity Columns".

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType as ArrowType, Fields, SchemaRef, SortOptions};
use serde_json::Value;

use super::coerce::{check, coerce};
use super::columns::columns_mismatch;
use super::constraints::{unsupported_expression, violation};
use crate::error::{Error, Result};
use crate::expr::value::floats::normalized;
use crate::expr::{BoundFormula, Formula};
use crate::spec::json::clipped;
use crate::spec::schema::{StructField, StructType};
use crate::spec::{Metadata, Protocol};

/// The metadata key of the expression of a generated column.
pub(crate) const GENERATED: &str = "delta.generationExpression";
/// The metadata key of a field's default.
pub const CURRENT_DEFAULT: &str = "CURRENT_DEFAULT";
const START: &str = "delta.identity.start";
const STEP: &str = "delta.identity.step";
pub(crate) const MARK: &str = "delta.identity.highWaterMark";
const EXPLICIT: &str = "delta.identity.allowExplicitInsert";

pub(super) fn generated(
    field: &StructField,
    protocol: &Protocol,
    schema: &SchemaRef,
) -> Result<Option<BoundFormula>> {
    if !protocol.is_supported("generatedColumns") {
        return Ok(None);
    }
    formula(field, GENERATED, "the generated column", schema.fields())
}

/// Returns the default of a column that the rows lack.
pub(super) fn default(field: &StructField, protocol: &Protocol) -> Result<Option<BoundFormula>> {
    if !protocol.is_supported("allowColumnDefaults") {
        return Ok(None);
    }
    formula(
        field,
        CURRENT_DEFAULT,
        "the default of the column",
        &Fields::empty(),
    )
}

/// Refuses an expression that cannot be the default of a column.
///
/// # Errors
///
/// Invalid argument: `rows.type`, `rows.value`.
pub fn check_default(field: &StructField, expression: &str) -> Result<()> {
    let formula = Formula::parse(expression)?.bind(&Fields::empty())?;
    check(formula.data_type(), &field.data_type, &field.name)?;
    check_boolean(formula.data_type(), field)?;
    coerce(&formula.constant_value()?, &field.data_type, &field.name).map(|_| ())
}

/// Refuses booleans for other columns than strings, and other values for booleans, as Spark does.
fn check_boolean(value: &ArrowType, field: &StructField) -> Result<()> {
    let column = field.data_type.arrow_type();
    let converts = match (value, &column) {
        (ArrowType::Boolean, to) => !matches!(to, ArrowType::Boolean | ArrowType::Utf8),
        (from, ArrowType::Boolean) => *from != ArrowType::Null,
        _ => false,
    };
    if !converts {
        return Ok(());
    }
    let message = format!("its type is {value}, and that of the column {column}");
    Err(Error::invalid("rows.type", message))
}

fn formula(
    field: &StructField,
    key: &str,
    kind: &str,
    fields: &Fields,
) -> Result<Option<BoundFormula>> {
    let Some(text) = field.metadata.get(key).and_then(Value::as_str) else {
        return Ok(None);
    };
    let bound = Formula::parse(text).and_then(|formula| formula.bind(fields));
    let bound = bound.and_then(|bound| {
        check(bound.data_type(), &field.data_type, &field.name)?;
        Ok(bound)
    });
    bound.map(Some).map_err(|cause| {
        let description = format!("{kind} {}", clipped(&field.name));
        unsupported_expression(&description, text).because(cause)
    })
}

/// Evaluates a formula and converts the values to the type of a column.
pub(super) fn computed(
    formula: &BoundFormula,
    rows: &RecordBatch,
    field: &StructField,
) -> Result<ArrayRef> {
    coerce(&formula.evaluate(rows)?, &field.data_type, &field.name)
}

/// Refuses rows whose value in a generated column differs from its expression, by Spark's `<=>`.
pub(super) fn check_generated(
    formula: &BoundFormula,
    rows: &RecordBatch,
    index: usize,
    field: &StructField,
    before: u64,
) -> Result<()> {
    let expected = computed(formula, rows, field)?;
    let Some(column) = rows.columns().get(index) else {
        return Ok(());
    };
    let compare = normalized(column)
        .and_then(|column| {
            make_comparator(&column, &normalized(&expected)?, SortOptions::default())
        })
        .map_err(columns_mismatch)?;
    match (0..rows.num_rows()).find(|row| compare(*row, *row).is_ne()) {
        Some(row) => {
            let message = format!(
                "the generated column {} must be {}, but has another value",
                clipped(&field.name),
                clipped(formula.text())
            );
            Err(violation("rows.generated", &message, rows, row, before))
        }
        None => Ok(()),
    }
}

#[derive(Debug)]
pub(super) struct Identity {
    next: i64,
    step: i64,
    /// The last value that was assigned.
    pub(crate) last: Option<i64>,
}

impl Identity {
    /// Returns `None` for a column that is not an identity column.
    pub(crate) fn of(field: &StructField, protocol: &Protocol) -> Option<Self> {
        if !protocol.is_supported("identityColumns") || !is_identity(field) {
            return None;
        }
        let step = integer(field, STEP).unwrap_or(1);
        let start = integer(field, START).unwrap_or(1);
        let next = integer(field, MARK).map_or(start, |mark| mark.saturating_add(step));
        Some(Self {
            next,
            step,
            last: None,
        })
    }

    pub(crate) fn next_values(&mut self, rows: usize, name: &str) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(rows);
        for _ in 0..rows {
            values.push(self.next);
            self.last = Some(self.next);
            self.next = self.next.checked_add(self.step).ok_or_else(|| {
                let message = format!("the identity column {} has no values left", clipped(name));
                Error::invalid("rows.identity", message)
            })?;
        }
        Ok(Arc::new(Int64Array::from(values)))
    }
}

/// Returns an integer in the metadata of a column; some writers store it as text.
fn integer(field: &StructField, key: &str) -> Option<i64> {
    let value = field.metadata.get(key)?;
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// Returns `true` for an identity column.
pub fn is_identity(field: &StructField) -> bool {
    [START, STEP, MARK]
        .iter()
        .any(|key| field.metadata.contains_key(*key))
}

/// Refuses an update of an identity column, as delta-spark does.
pub(super) fn check_updated(field: &StructField, protocol: &Protocol) -> Result<()> {
    if protocol.is_supported("identityColumns") && is_identity(field) {
        let message = format!(
            "the identity column {} cannot be updated: omit it",
            clipped(&field.name)
        );
        return Err(Error::invalid("rows.identity", message));
    }
    Ok(())
}

/// Refuses explicit values for an identity column that is `GENERATED ALWAYS`.
pub(super) fn check_explicit(field: &StructField, protocol: &Protocol) -> Result<()> {
    let allowed = field.metadata.get(EXPLICIT).and_then(Value::as_bool);
    if protocol.is_supported("identityColumns") && is_identity(field) && allowed != Some(true) {
        let message = format!(
            "the identity column {} is GENERATED ALWAYS: omit it",
            clipped(&field.name)
        );
        return Err(Error::invalid("rows.identity", message));
    }
    Ok(())
}

/// Returns metadata with these high-water marks of identity columns; `None` if none changed.
pub fn with_high_water_marks(
    metadata: &Metadata,
    marks: &[(String, i64)],
) -> Result<Option<Metadata>> {
    if marks.is_empty() {
        return Ok(None);
    }
    let schema = StructType::parse(&metadata.schema_string)?;
    let (mut fields, mut changed) = (schema.fields().to_vec(), false);
    for (name, mark) in marks {
        let Some(field) = fields.iter_mut().find(|field| field.name == *name) else {
            continue;
        };
        let rises = integer(field, STEP).unwrap_or(1) > 0;
        let is_beyond = |known| if rises { *mark > known } else { *mark < known };
        if integer(field, MARK).is_none_or(is_beyond) {
            field.metadata.insert(MARK.to_owned(), (*mark).into());
            changed = true;
        }
    }
    if !changed {
        return Ok(None);
    }
    Ok(Some(Metadata {
        schema_string: StructType::new(fields)?.to_json(),
        ..metadata.clone()
    }))
}

/// Returns metadata whose identity columns have at least the high-water marks of the newest version, so that
/// no value is generated twice. The columns are matched by their physical names.
pub fn keep_high_water_marks(metadata: Metadata, newest: &Metadata) -> Result<Metadata> {
    let physical = |field: &StructField| field.physical_name().unwrap_or(&field.name).to_owned();
    let known = StructType::parse(&newest.schema_string)?;
    let known: Vec<_> = known
        .fields()
        .iter()
        .filter_map(|field| Some((physical(field), integer(field, MARK)?)))
        .collect();
    let mut marks = Vec::new();
    if !known.is_empty() {
        let schema = StructType::parse(&metadata.schema_string)?;
        for field in schema.fields().iter().filter(|field| is_identity(field)) {
            let name = physical(field);
            let same = known.iter().find(|(known, _)| *known == name);
            marks.extend(same.map(|(_, mark)| (field.name.clone(), *mark)));
        }
    }
    let kept = with_high_water_marks(&metadata, &marks)?;
    Ok(kept.unwrap_or(metadata))
}
