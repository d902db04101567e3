//! Rows with other values in some of their columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{Fields, SchemaRef};

use super::coerce::{check, coerce, unknown};
use super::fate::{Fate, Judge};
use super::intake::Intake;
use super::layout::misfit;
use crate::error::{Error, Result};
use crate::expr::{BoundFormula, Formula};
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::json::clipped;
use crate::spec::schema::{StructField, StructType};

/// Columns, and the expressions that give them their values.
pub type Assignments = [(String, String)];

/// Gives some columns of rows other values.
#[derive(Debug)]
pub(super) struct Setter {
    schema: StructType,
    /// By place of the column.
    values: Vec<(usize, StructField, BoundFormula)>,
    intake: Intake,
    /// What the intake takes: the table's columns without those that are made anew.
    taken: SchemaRef,
}

impl Setter {
    /// `scope`: the columns that expressions see.
    pub(super) fn new(
        metadata: &Metadata,
        protocol: &Protocol,
        set: &Assignments,
        scope: &Fields,
    ) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let mut values: Vec<(usize, StructField, BoundFormula)> = Vec::with_capacity(set.len());
        for (name, text) in set {
            let field = schema.field(name).ok_or_else(|| unknown(name))?;
            let at = schema
                .fields()
                .iter()
                .position(|one| one.name == field.name);
            let at = at.ok_or_else(|| unknown(name))?;
            if values.iter().any(|(before, ..)| *before == at) {
                let message = format!("the column {} is set twice", clipped(name));
                return Err(Error::invalid("rows.column", message));
            }
            let formula = Formula::parse(text)?.bind(scope)?;
            check(formula.data_type(), &field.data_type, &field.name)?;
            values.push((at, field.clone(), formula));
        }
        let names: Vec<String> = values
            .iter()
            .map(|(_, field, _)| field.name.clone())
            .collect();
        let (intake, taken) = Intake::of_changed(metadata, protocol, &names)?;
        Ok(Self {
            schema,
            values,
            intake,
            taken,
        })
    }

    /// The rows with their new values; `scope` has what expressions see of the same rows.
    pub(super) fn set(&mut self, rows: &RecordBatch, scope: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = rows.columns().to_vec();
        for (at, field, formula) in &self.values {
            let value = coerce(&formula.evaluate(scope)?, &field.data_type, &field.name)?;
            if let Some(column) = columns.get_mut(*at) {
                *column = value;
            }
        }
        let kept: Vec<ArrayRef> = self
            .schema
            .fields()
            .iter()
            .zip(columns)
            .filter(|(field, _)| self.taken.index_of(&field.name).is_ok())
            .map(|(_, column)| column)
            .collect();
        let kept = RecordBatch::try_new(Arc::clone(&self.taken), kept).map_err(misfit)?;
        self.intake.take(&kept)
    }
}

/// All rows that are read get other values.
#[derive(Debug)]
pub struct Updated {
    setter: Setter,
    width: usize,
}

impl Updated {
    /// For these assignments, whose expressions see the table's columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.column`, `rows.type`, those of formulas. Unsupported: `rows.expression`.
    pub fn new(metadata: &Metadata, protocol: &Protocol, set: &Assignments) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let scope = super::intake::nullable(&schema);
        Ok(Self {
            setter: Setter::new(metadata, protocol, set, scope.fields())?,
            width: schema.fields().len(),
        })
    }
}

impl Judge for Updated {
    fn judge(&mut self, rows: &RecordBatch) -> Result<Fate> {
        let count = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
        let places: Vec<usize> = (0..self.width).collect();
        let rows = rows.project(&places).map_err(misfit)?;
        Ok(Fate {
            leaves: BooleanArray::from(vec![true; rows.num_rows()]),
            becomes: Some((
                UInt32Array::from_iter_values(0..count),
                self.setter.set(&rows, &rows)?,
            )),
        })
    }
}
