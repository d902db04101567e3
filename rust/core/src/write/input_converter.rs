//! Conversion of a caller's rows to the columns of the table, with all checks.
//!
//! The source of each column is derived from the schemas before any row is read.
//!
//! Protocol: "Column Invariants", "CHECK Constraints", "Generated Columns", "Default Columns",
//! "Identity Columns".

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Schema, SchemaRef};

use super::coerce::{check, coerce, missing_column, refuse_duplicates, unknown_column};
use super::columns::{batch, nullable};
use super::constraints::Constraints;
use super::derive::{
    Identity, check_explicit, check_generated, check_updated, computed, default, generated,
    is_identity,
};
use super::partition_values::empty_binary_as_null;
use crate::error::Result;
use crate::expr::{BoundFormula, Predicate};
use crate::spec::arrow::field_index;
use crate::spec::schema::{StructField, StructType, same_name};
use crate::spec::{Metadata, Protocol};

#[derive(Debug)]
enum ColumnSource {
    /// A column of the input, by index.
    Input(usize),
    Null,
    Default(BoundFormula),
    Identity(Identity),
    /// Computed from the other columns.
    Generated(BoundFormula),
}

/// Converts rows of one schema to rows of a table.
#[derive(Debug)]
pub struct InputConverter {
    columns: Vec<(StructField, ColumnSource)>,
    /// Generated columns that the input contains.
    checked_generated: Vec<(usize, BoundFormula)>,
    /// The indexes of the partition columns.
    partition_columns: Vec<usize>,
    constraints: Constraints,
    /// The table's columns, all nullable: `constraints` checks nullability.
    schema: SchemaRef,
    rows: u64,
}

impl InputConverter {
    /// Creates a converter for rows of the schema `source`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.column` for a column that the table does not have or that occurs twice,
    /// `rows.missing` for a required column that the rows lack, `rows.type`, `rows.identity`. Unsupported:
    /// `rows.expression` with the constraint, generated column or default that cannot be evaluated,
    /// `rows.unsupported`.
    pub fn new(metadata: &Metadata, protocol: &Protocol, source: &Schema) -> Result<Self> {
        Self::of(metadata, protocol, source, false)
    }

    /// Creates a converter for existing rows of the table with new values in the columns `set`. It recomputes
    /// all generated columns that are not among these. Also returns the schema of its input.
    pub fn for_update(
        metadata: &Metadata,
        protocol: &Protocol,
        set: &[String],
    ) -> Result<(Self, SchemaRef)> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let all = nullable(&schema);
        let mut input = Vec::new();
        for (field, arrow) in schema.fields().iter().zip(all.fields()) {
            let is_set = set.contains(&field.name);
            if is_set {
                check_updated(field, protocol)?;
            }
            if is_set || generated(field, protocol, &all)?.is_none() {
                input.push(Arc::clone(arrow));
            }
        }
        let source = Arc::new(Schema::new(input));
        let converter = Self::of(metadata, protocol, &source, true)?;
        Ok((converter, source))
    }

    fn of(metadata: &Metadata, protocol: &Protocol, source: &Schema, update: bool) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let constraints = Constraints::new(metadata, protocol, &schema)?;
        let all = nullable(&schema);
        refuse_duplicates(source.fields())?;
        let mut names = source.fields().iter().map(|field| field.name());
        if let Some(unknown) = names.find(|name| !schema.contains(name)) {
            return Err(unknown_column(unknown));
        }
        let mut columns = Vec::with_capacity(schema.fields().len());
        let mut checked_generated = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let expression = generated(field, protocol, &all)?;
            let column_source = match field_index(source.fields(), &field.name) {
                Some(input) => {
                    if !update {
                        check_explicit(field, protocol)?;
                    }
                    check(
                        source.field(input).data_type(),
                        &field.data_type,
                        &field.name,
                    )?;
                    checked_generated.extend(expression.map(|expression| (index, expression)));
                    ColumnSource::Input(input)
                }
                None => match (expression, default(field, protocol)?) {
                    (Some(expression), _) => ColumnSource::Generated(expression),
                    (None, Some(default)) => ColumnSource::Default(default),
                    (None, None) => match Identity::of(field, protocol) {
                        Some(identity) => ColumnSource::Identity(identity),
                        None if field.nullable || is_identity(field) => ColumnSource::Null,
                        None => return Err(missing_column(&field.name)),
                    },
                },
            };
            columns.push((field.clone(), column_source));
        }
        let partition_columns = metadata.partition_columns.iter().filter_map(|name| {
            let mut fields = schema.fields().iter();
            fields.position(|field| same_name(&field.name, name))
        });
        Ok(Self {
            partition_columns: partition_columns.collect(),
            constraints,
            schema: all,
            columns,
            checked_generated,
            rows: 0,
        })
    }

    /// Adds the condition of the rows being replaced, which the new rows must satisfy.
    pub fn add_replaced_condition(
        &mut self,
        condition: &Predicate,
        schema: &StructType,
    ) -> Result<()> {
        self.constraints
            .add_replaced_condition(condition.bind(schema)?);
        Ok(())
    }

    /// Returns the high-water marks of identity columns, by name.
    pub fn high_water_marks(&self) -> Vec<(String, i64)> {
        let mark = |(field, source): &(StructField, ColumnSource)| match source {
            ColumnSource::Identity(identity) => Some((field.name.clone(), identity.last?)),
            _ => None,
        };
        self.columns.iter().filter_map(mark).collect()
    }

    /// Converts a batch of the source schema to the table's columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.value`; `rows.identity` if an identity column has no values left; `rows.null`,
    /// `rows.constraint`, `rows.where`, `rows.length` and `rows.generated` with the first row that is
    /// refused.
    pub fn convert(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (index, (field, source)) in self.columns.iter_mut().enumerate() {
            let mut values = match source {
                ColumnSource::Input(input) => {
                    coerce(rows.column(*input), &field.data_type, &field.name)?
                }
                ColumnSource::Null | ColumnSource::Generated(_) => {
                    new_null_array(&field.data_type.arrow_type(), count)
                }
                ColumnSource::Default(formula) => {
                    let no_columns = batch(&Arc::new(Schema::empty()), Vec::new(), count)?;
                    computed(formula, &no_columns, field)?
                }
                ColumnSource::Identity(identity) => identity.next_values(count, &field.name)?,
            };
            if self.partition_columns.contains(&index) {
                values = empty_binary_as_null(&values)?;
            }
            columns.push(self.constraints.padded(index, values));
        }
        let mut converted = batch(&self.schema, columns, count)?;
        for (index, (field, source)) in self.columns.iter().enumerate() {
            let ColumnSource::Generated(formula) = source else {
                continue;
            };
            let mut values = computed(formula, &converted, field)?;
            if self.partition_columns.contains(&index) {
                values = empty_binary_as_null(&values)?;
            }
            let mut columns = converted.columns().to_vec();
            if let Some(column) = columns.get_mut(index) {
                *column = values;
            }
            converted = batch(&self.schema, columns, count)?;
        }
        for (index, formula) in &self.checked_generated {
            if let Some((field, _)) = self.columns.get(*index) {
                check_generated(formula, &converted, *index, field, self.rows)?;
            }
        }
        self.constraints.check(&converted, self.rows)?;
        self.rows += count as u64;
        Ok(converted)
    }
}
