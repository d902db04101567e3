//! Converts the rows of files of many versions to one schema.
//!
//! All files are read with the columns at the end of the range: columns are identified by their physical
//! names, so that renames do not matter; columns that a file lacks are null; narrower types are widened.
//! The partition columns follow from the file's own partition values, even if the table is
//! partitioned differently later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Fields, Schema, SchemaRef, TimeUnit};
use arrow_select::filter::filter_record_batch;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::scan::ScanFile;
use crate::scan::data_file::{Extras, ReadPlan, TableLayout};
use crate::snapshot::Snapshot;
use crate::spec::collation::unsupported_comparison;
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType, same_name};

/// The change columns, after those of the table.
pub(super) const CHANGE_COLUMNS: [&str; 3] =
    ["_change_type", "_commit_version", "_commit_timestamp"];

const MAX_PLANS: usize = 64;

/// The columns to read from changed files, as serializable values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) struct ChangesDefinition {
    schema: String,
    column_mapping: ColumnMappingMode,
    row_id_column: Option<String>,
    row_commit_version_column: Option<String>,
    /// Logical names of the requested columns, in order; `None` for all.
    columns: Option<Vec<String>>,
    /// The predicate as SQL.
    filter: Option<String>,
    /// True to omit the change columns.
    #[serde(default, rename = "bare")]
    without_change_columns: bool,
}

/// A resolved definition: the schema of the returned rows, and the plans for reading files.
#[derive(Debug)]
pub(in crate::changes) struct ResolvedDefinition {
    layout: TableLayout,
    /// Columns to read: the requested ones, then those that only the change filter needs.
    columns: Vec<String>,
    /// The number of requested columns.
    pub(super) num_columns: usize,
    /// A filter that uses columns of the table only, applied while files are read.
    scan_filter: Option<BoundPredicate>,
    /// A filter that also uses change columns.
    pub(super) change_filter: Option<BoundPredicate>,
    /// The schema for the change filter: the columns to read and the change columns.
    pub(super) filter_schema: SchemaRef,
    schema: SchemaRef,
    pub(super) without_change_columns: bool,
    /// Plans by partition columns and purpose.
    plans: Mutex<HashMap<(Vec<String>, Purpose), ReadPlan>>,
}

/// The purpose of reading a file, which determines the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::changes) enum Purpose {
    /// The rows to return; with their positions if `numbered`, and their change types if `typed`.
    Rows { numbered: bool, typed: bool },
    /// Positions only.
    Positions,
    /// Positions and row ids.
    RowIds,
    /// Positions, row ids and all columns.
    TrackedValues,
    /// Positions and all columns; with the change types of the rows if `typed`.
    Values { typed: bool },
}

impl ChangesDefinition {
    pub(in crate::changes) fn new(
        end: &Snapshot,
        start: Option<&Snapshot>,
        columns: Option<Vec<String>>,
        filter: Option<&Predicate>,
    ) -> Self {
        let properties = end.properties();
        // older files still have row ids if row tracking was dropped
        let or_before = |column: fn(&TableProperties) -> Option<&String>| {
            let before = || start.and_then(|start| column(start.properties()));
            column(properties).or_else(before).cloned()
        };
        Self {
            schema: end.metadata().schema_string.clone(),
            column_mapping: properties.column_mapping_mode,
            row_id_column: or_before(|table| table.materialized_row_id_column.as_ref()),
            row_commit_version_column: or_before(|table| {
                table.materialized_row_commit_version_column.as_ref()
            }),
            columns,
            filter: filter.map(ToString::to_string),
            without_change_columns: false,
        }
    }

    pub(in crate::changes) fn without_change_columns(self) -> Self {
        Self {
            without_change_columns: true,
            ..self
        }
    }

    /// Resolves the columns and the filter.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.reserved` for a column to read with the name of a change column.
    pub(in crate::changes) fn resolve(&self) -> Result<ResolvedDefinition> {
        let schema = StructType::parse(&self.schema)?;
        let layout = TableLayout {
            schema,
            partition_columns: Vec::new(),
            column_mapping: self.column_mapping,
            row_id_column: self.row_id_column.clone(),
            row_commit_version_column: self.row_commit_version_column.clone(),
        };
        ResolvedDefinition::new(layout, self)
    }
}

impl ResolvedDefinition {
    fn new(layout: TableLayout, definition: &ChangesDefinition) -> Result<Self> {
        let without_change_columns = definition.without_change_columns;
        let requested = definition.columns.as_deref();
        let requested = ReadPlan::new(layout.clone(), requested, Extras::default())?.schema();
        let fields = requested.fields().iter();
        let mut columns: Vec<String> = fields.map(|field| field.name().clone()).collect();
        let num_columns = columns.len();
        let (mut scan_filter, mut change_filter) = (None, None);
        if let Some(text) = &definition.filter {
            let filter = Predicate::parse_sql(text)?;
            match filter.bind(&layout.schema) {
                Ok(bound) => scan_filter = Some(bound),
                Err(error) if without_change_columns => return Err(error),
                Err(error) => {
                    let extended = extended_schema(&layout.schema)?;
                    let Ok(bound) = filter.bind(&extended) else {
                        return Err(error);
                    };
                    for column in bound.columns() {
                        let name = column.path.first().map_or("", String::as_str);
                        let field = layout.schema.field(name);
                        let is_unread = |field: &&StructField| !columns.contains(&field.name);
                        if let Some(field) = field.filter(is_unread) {
                            columns.push(field.name.clone());
                        }
                    }
                    change_filter = Some(bound);
                }
            }
        }
        if !without_change_columns {
            check_not_reserved(&columns)?;
        }
        let read = ReadPlan::new(layout.clone(), Some(&columns), Extras::default())?.schema();
        Ok(Self {
            filter_schema: with_change_columns(&read),
            schema: if without_change_columns {
                requested
            } else {
                with_change_columns(&requested)
            },
            without_change_columns,
            plans: Mutex::default(),
            layout,
            columns,
            num_columns,
            scan_filter,
            change_filter,
        })
    }

    pub(in crate::changes) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(in crate::changes) fn table(&self) -> (&StructType, ColumnMappingMode) {
        (&self.layout.schema, self.layout.column_mapping)
    }

    /// Checks the names of key columns, before anything is read.
    ///
    /// # Errors
    ///
    /// Unsupported: `expression.collation`.
    pub(in crate::changes) fn check_key(&self, names: &[String]) -> Result<()> {
        for index in self.indexes(names)? {
            let Some(field) = self.layout.schema.fields().get(index) else {
                continue;
            };
            if let Some(collation) = field.collation() {
                return Err(unsupported_comparison(&field.name, &collation));
            }
        }
        Ok(())
    }

    /// Returns the indexes of these columns in the table's schema.
    pub(in crate::changes) fn indexes(&self, names: &[String]) -> Result<Vec<usize>> {
        let plan = ReadPlan::new(self.layout.clone(), Some(names), Extras::default())?;
        let read_schema = plan.schema();
        let fields = self.layout.schema.fields();
        let index = |name: &String| fields.iter().position(|field| field.name == *name);
        let names = read_schema.fields().iter().map(|field| field.name());
        Ok(names.filter_map(index).collect())
    }

    /// Selects the columns of [`Purpose::Rows`] from rows with all columns of the table and one more,
    /// which is kept as the last, and applies the filter on columns of the table.
    pub(in crate::changes) fn project(&self, all: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = self.indexes(&self.columns)?;
        columns.push(self.layout.schema.fields().len());
        let projected = all.project(&columns).map_err(columns_mismatch)?;
        match &self.scan_filter {
            None => Ok(projected),
            Some(filter) => {
                filter_record_batch(&projected, &filter.evaluate(all)?).map_err(columns_mismatch)
            }
        }
    }

    pub(in crate::changes) fn plan(&self, file: &ScanFile, purpose: Purpose) -> Result<ReadPlan> {
        let mut partition_columns = Vec::new();
        for field in self.layout.schema.fields() {
            let name = field.name_in_files(self.layout.column_mapping)?;
            if file.partition_values.iter().any(|(key, _)| key == name) {
                partition_columns.push(field.name.clone());
            }
        }
        let key = (partition_columns, purpose);
        // a plan is inserted as a whole, so that a panic elsewhere cannot leave the map inconsistent
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans().get(&key) {
            return Ok(plan.clone());
        }
        let layout = TableLayout {
            partition_columns: key.0.clone(),
            ..self.layout.clone()
        };
        let plan = self.new_plan(layout, purpose)?;
        let mut plans = plans();
        if plans.len() >= MAX_PLANS {
            plans.clear(); // no real table has so many partitionings
        }
        plans.insert(key, plan.clone());
        Ok(plan)
    }

    fn new_plan(&self, layout: TableLayout, purpose: Purpose) -> Result<ReadPlan> {
        let (requested, none) = (self.columns.as_slice(), [].as_slice());
        let (columns, row_index, row_id, change_type) = match purpose {
            Purpose::Rows { numbered, typed } => (Some(requested), numbered, false, typed),
            Purpose::Positions => (Some(none), true, false, false),
            Purpose::RowIds => (Some(none), true, true, false),
            Purpose::TrackedValues => (None, true, true, false),
            Purpose::Values { typed } => (None, true, false, typed),
        };
        let extras = Extras {
            file_path: false,
            row_index,
            row_id,
            change_type,
        };
        let plan = ReadPlan::new(layout, columns, extras)?;
        match (&self.scan_filter, purpose) {
            (Some(filter), Purpose::Rows { .. }) => plan.with_filter(filter.clone()),
            _ => Ok(plan),
        }
    }
}

/// Returns the error for columns that Arrow cannot combine or filter.
pub(super) fn columns_mismatch(cause: ArrowError) -> Error {
    Error::corrupt("log.columns", "the columns of changed rows do not fit").because(cause)
}

fn is_change_column(name: &str) -> bool {
    CHANGE_COLUMNS.iter().any(|column| same_name(column, name))
}

fn check_not_reserved(columns: &[String]) -> Result<()> {
    let Some(name) = columns.iter().find(|name| is_change_column(name)) else {
        return Ok(());
    };
    let message = format!(
        "the table has a column named {name}, like a change column: omit it in `columns` and the filter"
    );
    Err(Error::invalid("columns.reserved", message))
}

/// Returns the table's schema with the change columns; they replace columns of the same names.
fn extended_schema(schema: &StructType) -> Result<StructType> {
    let types = [
        PrimitiveType::String,
        PrimitiveType::Long,
        PrimitiveType::Timestamp,
    ];
    let more = CHANGE_COLUMNS
        .into_iter()
        .zip(types)
        .map(|(name, data_type)| StructField {
            name: name.to_owned(),
            data_type: DataType::Primitive(data_type),
            nullable: true,
            metadata: Map::new(),
        });
    let own = schema.fields().iter();
    let own = own.filter(|field| !is_change_column(&field.name));
    StructType::new(own.cloned().chain(more).collect())
}

fn with_change_columns(schema: &Schema) -> SchemaRef {
    let types = [
        ArrowType::Utf8,
        ArrowType::Int64,
        ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    ];
    let more = CHANGE_COLUMNS
        .into_iter()
        .zip(types)
        .map(|(name, data_type)| Arc::new(Field::new(name, data_type, true)));
    let fields = schema.fields().iter().cloned().chain(more);
    Arc::new(Schema::new(fields.collect::<Fields>()))
}
