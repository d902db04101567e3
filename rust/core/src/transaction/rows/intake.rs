//! Rows as somebody gives them, brought to the columns of the table and judged by its rules.
//!
//! Which column comes from where is settled by the schemas, before a row is seen.
//!
//! Protocol: "Column Invariants", "CHECK Constraints", "Generated Columns", "Default Columns",
//! "Identity Columns".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, Fields, Schema, SchemaRef};

use super::coerce::{check, coerce, missing, place, unknown};
use super::layout::misfit;
use super::rules::Rules;
use super::values::as_read;
use crate::error::Result;
use crate::expr::Predicate;
use crate::spec::actions::{Metadata, Protocol};
use crate::spec::schema::{StructField, StructType};

/// Where a column of the table comes from.
#[derive(Debug)]
enum Origin {
    Given(usize),
    Null,
}

/// Brings rows of one schema into a table.
#[derive(Debug)]
pub struct Intake {
    columns: Vec<(StructField, Origin)>,
    partitions: Vec<usize>,
    rules: Rules,
    /// The table's columns, all of which may be null: whether they are is for the rules to say.
    schema: SchemaRef,
    seen: u64,
}

impl Intake {
    /// For rows of the schema `given`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.column` for a column that the table does not have, `rows.missing` for one
    /// that may not be left out, `rows.type`. Unsupported: `rows.expression`, with the rule that cannot be
    /// evaluated here.
    pub fn new(metadata: &Metadata, protocol: &Protocol, given: &Schema) -> Result<Self> {
        let schema = StructType::parse(&metadata.schema_string)?;
        let rules = Rules::new(metadata, protocol, &schema)?;
        if let Some(extra) = given
            .fields()
            .iter()
            .find(|field| schema.field(field.name()).is_none())
        {
            return Err(unknown(extra.name()));
        }
        let mut columns = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let origin = match place(given.fields(), &field.name) {
                Some(at) => {
                    let given = given.field(at).data_type();
                    check(given, &field.data_type, &field.name)?;
                    Origin::Given(at)
                }
                None if field.nullable => Origin::Null,
                None => return Err(missing(&field.name)),
            };
            columns.push((field.clone(), origin));
        }
        let partitions = metadata.partition_columns.iter().filter_map(|name| {
            schema
                .fields()
                .iter()
                .position(|field| field.name.to_lowercase() == name.to_lowercase())
        });
        Ok(Self {
            partitions: partitions.collect(),
            rules,
            schema: nullable(&schema),
            columns,
            seen: 0,
        })
    }

    /// Rows have to satisfy this condition, too.
    ///
    /// # Errors
    ///
    /// Invalid argument: the condition does not fit the schema.
    pub fn demand(&mut self, condition: &Predicate, schema: &StructType) -> Result<()> {
        self.rules.demand(condition.bind(schema)?);
        Ok(())
    }

    /// The table's columns, out of a batch of the schema that was given.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.value`, `rows.null`, `rows.constraint`, `rows.length`, with the first row
    /// that is refused.
    pub fn take(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (at, (field, origin)) in self.columns.iter().enumerate() {
            let mut values = match origin {
                Origin::Given(place) => coerce(rows.column(*place), &field.data_type, &field.name)?,
                Origin::Null => new_null_array(&field.data_type.arrow_type(), rows.num_rows()),
            };
            if self.partitions.contains(&at) {
                values = as_read(&values)?;
            }
            columns.push(self.rules.padded(at, values)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let taken = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(misfit)?;
        self.rules.check(&taken, self.seen)?;
        self.seen += taken.num_rows() as u64;
        Ok(taken)
    }
}

/// The schema with columns that may all be null.
pub(super) fn nullable(schema: &StructType) -> SchemaRef {
    let fields = schema.arrow_fields();
    let fields = fields.iter().map(|field| {
        Field::clone(field)
            .with_nullable(true)
            .with_metadata(HashMap::<String, String>::new())
    });
    Arc::new(Schema::new(fields.collect::<Fields>()))
}
