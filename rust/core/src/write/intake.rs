//! Conversion of a caller's rows to the columns of the table, with all checks.
//!
//! The source of each column is derived from the schemas before any row is read.
//!
//! Protocol: "Column Invariants", "CHECK Constraints", "Generated Columns", "Default Columns",
//! "Identity Columns".

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Schema, SchemaRef};

use super::coerce::{check, coerce, missing, refuse_duplicates, unknown};
use super::columns::{columns_mismatch, nullable};
use super::constraints::Rules;
use super::derive::{
    Identity, check_explicit, check_generated, check_updated, computed, default, generated,
    is_identity,
};
use super::partition_values::as_read;
use crate::error::Result;
use crate::expr::{BoundFormula, Predicate};
use crate::spec::arrow::field_index;
use crate::spec::schema::{StructField, StructType, same_name};
use crate::spec::{Metadata, Protocol};

/// The source of a column of the table.
#[derive(Debug)]
enum Origin {
    Source(usize),
    Null,
    Default(BoundFormula),
    Counted(Identity),
    /// Computed from the other columns.
    Generated(BoundFormula),
}

/// Converts rows of one schema to rows of a table.
#[derive(Debug)]
pub struct Intake {
    columns: Vec<(StructField, Origin)>,
    /// Generated columns that the rows contain.
    checked: Vec<(usize, BoundFormula)>,
    partitions: Vec<usize>,
    rules: Rules,
    /// The table's columns, all nullable: nullability is checked by the rules.
    schema: SchemaRef,
    seen: u64,
}

impl Intake {
    /// Creates an intake for rows of the schema `source`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.column` for a column that the table does not have or that occurs twice,
    /// `rows.missing` for a required column that the rows lack, `rows.type`, `rows.identity`. Unsupported:
    /// `rows.expression`, with the rule that cannot be evaluated here.
    pub fn new(metadata: &Metadata, protocol: &Protocol, source: &Schema) -> Result<Self> {
        Self::of(metadata, protocol, source, false)
    }

    /// Creates an intake for the table's own rows with new values in the columns `set`: generated columns not
    /// among these are recomputed.
    ///
    /// # Errors
    ///
    /// As [`Intake::new`].
    pub fn of_changed(
        metadata: &Metadata,
        protocol: &Protocol,
        set: &[String],
    ) -> Result<(Self, SchemaRef)> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let all = nullable(&schema);
        let mut kept = Vec::new();
        for (field, arrow) in schema.fields().iter().zip(all.fields()) {
            let is_set = set.contains(&field.name);
            if is_set {
                check_updated(field, protocol)?;
            }
            if is_set || generated(field, protocol, &all)?.is_none() {
                kept.push(Arc::clone(arrow));
            }
        }
        let source = Arc::new(Schema::new(kept));
        let intake = Self::of(metadata, protocol, &source, true)?;
        Ok((intake, source))
    }

    fn of(metadata: &Metadata, protocol: &Protocol, source: &Schema, own: bool) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let rules = Rules::new(metadata, protocol, &schema)?;
        let all = nullable(&schema);
        refuse_duplicates(source.fields())?;
        if let Some(extra) = source
            .fields()
            .iter()
            .find(|field| schema.field(field.name()).is_none())
        {
            return Err(unknown(extra.name()));
        }
        let mut columns = Vec::with_capacity(schema.fields().len());
        let mut checked = Vec::new();
        for (at, field) in schema.fields().iter().enumerate() {
            let expression = generated(field, protocol, &all)?;
            let origin = match field_index(source.fields(), &field.name) {
                Some(index) => {
                    if !own {
                        check_explicit(field, protocol)?;
                    }
                    check(
                        source.field(index).data_type(),
                        &field.data_type,
                        &field.name,
                    )?;
                    checked.extend(expression.map(|expression| (at, expression)));
                    Origin::Source(index)
                }
                None => match (expression, default(field, protocol)?) {
                    (Some(expression), _) => Origin::Generated(expression),
                    (None, Some(default)) => Origin::Default(default),
                    (None, None) if is_identity(field) => match Identity::of(field, protocol) {
                        Some(identity) => Origin::Counted(identity),
                        None => Origin::Null,
                    },
                    (None, None) if field.nullable => Origin::Null,
                    (None, None) => return Err(missing(&field.name)),
                },
            };
            columns.push((field.clone(), origin));
        }
        let partitions = metadata.partition_columns.iter().filter_map(|name| {
            schema
                .fields()
                .iter()
                .position(|field| same_name(&field.name, name))
        });
        Ok(Self {
            partitions: partitions.collect(),
            rules,
            schema: all,
            columns,
            checked,
            seen: 0,
        })
    }

    /// Adds a condition that the rows must satisfy.
    ///
    /// # Errors
    ///
    /// Invalid argument: the condition does not match the schema.
    pub fn demand(&mut self, condition: &Predicate, schema: &StructType) -> Result<()> {
        self.rules.demand(condition.bind(schema)?);
        Ok(())
    }

    /// Returns the high-water marks of identity columns, by name.
    pub fn marks(&self) -> Vec<(String, i64)> {
        let mark = |(field, origin): &(StructField, Origin)| match origin {
            Origin::Counted(identity) => Some((field.name.clone(), identity.last?)),
            _ => None,
        };
        self.columns.iter().filter_map(mark).collect()
    }

    /// Converts a batch of the source schema to the table's columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.value`, `rows.null`, `rows.constraint`, `rows.length`, `rows.generated`, with
    /// the first row that is refused.
    pub fn take(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (at, (field, origin)) in self.columns.iter_mut().enumerate() {
            let mut values = match origin {
                Origin::Source(index) => {
                    coerce(rows.column(*index), &field.data_type, &field.name)?
                }
                Origin::Null | Origin::Generated(_) => {
                    new_null_array(&field.data_type.arrow_type(), count)
                }
                Origin::Default(formula) => computed(formula, &without_columns(count)?, field)?,
                Origin::Counted(identity) => identity.take(count, &field.name)?,
            };
            if self.partitions.contains(&at) {
                values = as_read(&values)?;
            }
            columns.push(self.rules.padded(at, values));
        }
        let mut taken = self.batch(columns, count)?;
        for (at, (field, origin)) in self.columns.iter().enumerate() {
            let Origin::Generated(formula) = origin else {
                continue;
            };
            let mut values = computed(formula, &taken, field)?;
            if self.partitions.contains(&at) {
                values = as_read(&values)?;
            }
            let mut columns = taken.columns().to_vec();
            if let Some(column) = columns.get_mut(at) {
                *column = values;
            }
            taken = self.batch(columns, count)?;
        }
        for (at, formula) in &self.checked {
            if let Some((field, _)) = self.columns.get(*at) {
                check_generated(formula, &taken, *at, field, self.seen)?;
            }
        }
        self.rules.check(&taken, self.seen)?;
        self.seen += count as u64;
        Ok(taken)
    }

    fn batch(&self, columns: Vec<ArrayRef>, count: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(columns_mismatch)
    }
}

fn without_columns(rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(columns_mismatch)
}
