//! Converts the rows of files of many versions to one schema.
//!
//! All files are read with the columns at the end of the range: columns are identified by their physical
//! names, so that renames do not matter; columns that a file lacks are null; narrower types are widened.
//! The partition columns follow from the file's own partition values, even if the table is
//! partitioned differently later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{
    ArrowError, DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit,
};
use arrow_select::filter::filter_record_batch;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::scan::ScanFile;
use crate::scan::data_file::{Extras, ReadPlan, TableLayout};
use crate::snapshot::Snapshot;
use crate::spec::collation::unsupported_comparison;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// The change columns, after those of the table.
pub(super) const CHANGE_COLUMNS: [&str; 3] =
    ["_change_type", "_commit_version", "_commit_timestamp"];

/// The maximum number of cached plans.
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
    #[serde(default)]
    bare: bool,
}

/// A resolved definition.
#[derive(Debug)]
pub(in crate::changes) struct Reading {
    layout: TableLayout,
    /// Columns to read: the requested ones, then those that only the late filter needs.
    read: Vec<String>,
    num_columns: usize,
    /// The filter on the table's own columns; skips files, and is applied while files are read.
    early: Option<BoundPredicate>,
    /// The filter that uses change columns, too.
    late: Option<BoundPredicate>,
    /// The schema that `late` is applied to.
    all: SchemaRef,
    schema: SchemaRef,
    bare: bool,
    /// Plans by partition columns and purpose.
    plans: Mutex<HashMap<(Vec<String>, Purpose), ReadPlan>>,
}

/// The purpose of reading a file, which determines the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::changes) enum Purpose {
    /// The rows to return; with their positions, or with their change types.
    Rows { numbered: bool, typed: bool },
    /// Positions only.
    Positions,
    /// Positions and row ids.
    RowIds,
    /// Positions, row ids and all columns.
    TrackedValues,
    /// Positions and all columns; with their change types.
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
        let before = start.map(Snapshot::properties);
        let kept = |own: &Option<String>, before: Option<&Option<String>>| {
            own.clone().or_else(|| before.cloned().flatten())
        };
        Self {
            schema: end.metadata().schema_string.clone(),
            column_mapping: properties.column_mapping_mode,
            row_id_column: kept(
                &properties.materialized_row_id_column,
                before.map(|before| &before.materialized_row_id_column),
            ),
            row_commit_version_column: kept(
                &properties.materialized_row_commit_version_column,
                before.map(|before| &before.materialized_row_commit_version_column),
            ),
            columns,
            filter: filter.map(ToString::to_string),
            bare: false,
        }
    }

    /// Returns the definition without the change columns.
    pub(in crate::changes) fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`, `columns.twice`, `columns.reserved`, and those of filters.
    pub(in crate::changes) fn reading(&self) -> Result<Reading> {
        let schema = StructType::parse(&self.schema)?;
        let layout = TableLayout {
            schema,
            partition_columns: Vec::new(),
            column_mapping: self.column_mapping,
            row_id_column: self.row_id_column.clone(),
            row_commit_version_column: self.row_commit_version_column.clone(),
        };
        Reading::new(layout, self)
    }
}

impl Reading {
    fn new(layout: TableLayout, definition: &ChangesDefinition) -> Result<Self> {
        let own = ReadPlan::new(
            layout.clone(),
            definition.columns.as_deref(),
            Extras::default(),
        )?;
        let own = own.schema();
        let mut read: Vec<String> = own
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let num_columns = read.len();
        for name in CHANGE_COLUMNS.into_iter().filter(|_| !definition.bare) {
            if read.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                let message = format!(
                    "the table has a column named {name}, a reserved name in changes of rows: omit it by \
                     `columns`"
                );
                return Err(Error::invalid("columns.reserved", message));
            }
        }
        let (mut early, mut late) = (None, None);
        if let Some(text) = &definition.filter {
            let filter = Predicate::parse_sql(text)?;
            match filter.bind(&layout.schema) {
                Ok(bound) => early = Some(bound),
                Err(error) if definition.bare => return Err(error),
                Err(error) => {
                    let extended = extended(&layout.schema)?;
                    let Ok(bound) = filter.bind(&extended) else {
                        return Err(error);
                    };
                    for column in bound.columns() {
                        let name = column.path.first().map_or("", String::as_str);
                        let field = layout.schema.field(name);
                        let known = |field: &&StructField| !read.contains(&field.name);
                        if let Some(field) = field.filter(known) {
                            read.push(field.name.clone());
                        }
                    }
                    late = Some(bound);
                }
            }
        }
        let all = ReadPlan::new(layout.clone(), Some(&read), Extras::default())?.schema();
        Ok(Self {
            all: with_change_columns(&all, all.fields().len()),
            schema: if definition.bare {
                own
            } else {
                with_change_columns(&all, num_columns)
            },
            bare: definition.bare,
            plans: Mutex::default(),
            layout,
            read,
            num_columns,
            early,
            late,
        })
    }

    /// Returns the schema of the returned rows.
    pub(in crate::changes) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the schema that the late filter is applied to.
    pub(in crate::changes) fn all(&self) -> &SchemaRef {
        &self.all
    }

    /// Returns the number of table columns to return; columns that only the filter needs follow them.
    pub(super) fn num_columns(&self) -> usize {
        self.num_columns
    }

    /// Returns `true` if the change columns are omitted.
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    /// Returns the filter to apply once the change of a row is known.
    pub(super) fn late(&self) -> Option<&BoundPredicate> {
        self.late.as_ref()
    }

    /// Returns the table's schema and its column mapping mode.
    pub(in crate::changes) fn table(&self) -> (&StructType, ColumnMappingMode) {
        (&self.layout.schema, self.layout.column_mapping)
    }

    /// Checks the names of key columns, before anything is read.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`. Unsupported: `expression.collation`.
    pub(in crate::changes) fn check_key(&self, names: &[String]) -> Result<()> {
        for at in self.positions(names)? {
            let Some(field) = self.layout.schema.fields().get(at) else {
                continue;
            };
            if let Some(collation) = field.collation() {
                return Err(unsupported_comparison(&field.name, &collation));
            }
        }
        Ok(())
    }

    /// Returns the indexes of these columns in the table's schema.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`.
    pub(in crate::changes) fn positions(&self, names: &[String]) -> Result<Vec<usize>> {
        let plan = ReadPlan::new(self.layout.clone(), Some(names), Extras::default())?;
        let read_schema = plan.schema();
        let fields = self.layout.schema.fields();
        let position = |name: &String| fields.iter().position(|field| field.name == *name);
        let names = read_schema.fields().iter().map(|field| field.name());
        Ok(names.filter_map(position).collect())
    }

    /// Selects the columns of [`Purpose::Rows`] from rows with all columns and positions.
    pub(in crate::changes) fn project(&self, all: &RecordBatch) -> Result<RecordBatch> {
        let columns_mismatch = |cause: ArrowError| {
            Error::corrupt("log.columns", "the columns of changed rows do not fit").because(cause)
        };
        let mut columns = self.positions(&self.read)?;
        columns.push(self.layout.schema.fields().len());
        let projected = all.project(&columns).map_err(columns_mismatch)?;
        match &self.early {
            None => Ok(projected),
            Some(filter) => {
                filter_record_batch(&projected, &filter.evaluate(all)?).map_err(columns_mismatch)
            }
        }
    }

    /// Returns the plan for reading this file.
    pub(in crate::changes) fn plan(&self, file: &ScanFile, purpose: Purpose) -> Result<ReadPlan> {
        let mut partition_columns = Vec::new();
        for field in self.layout.schema.fields() {
            let name = field.name_in_files(self.layout.column_mapping)?;
            if file.partition_values.iter().any(|(key, _)| key == name) {
                partition_columns.push(field.name.clone());
            }
        }
        let key = (partition_columns, purpose);
        // a plan is inserted as a whole, so that a panic elsewhere leaves none half done
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
            plans.clear(); // partitioned in ever new ways: no table is
        }
        plans.insert(key, plan.clone());
        Ok(plan)
    }

    fn new_plan(&self, layout: TableLayout, purpose: Purpose) -> Result<ReadPlan> {
        let none: &[String] = &[];
        let (columns, extras) = match purpose {
            Purpose::Rows { numbered, typed } => (
                Some(self.read.as_slice()),
                Extras {
                    row_index: numbered,
                    change_type: typed,
                    ..Extras::default()
                },
            ),
            Purpose::Positions => (
                Some(none),
                Extras {
                    row_index: true,
                    ..Extras::default()
                },
            ),
            Purpose::RowIds => (
                Some(none),
                Extras {
                    row_index: true,
                    row_id: true,
                    ..Extras::default()
                },
            ),
            Purpose::TrackedValues => (
                None,
                Extras {
                    row_index: true,
                    row_id: true,
                    ..Extras::default()
                },
            ),
            Purpose::Values { typed } => (
                None,
                Extras {
                    row_index: true,
                    change_type: typed,
                    ..Extras::default()
                },
            ),
        };
        let plan = ReadPlan::new(layout, columns, extras)?;
        match (&self.early, purpose) {
            (Some(filter), Purpose::Rows { .. }) => plan.with_filter(filter.clone()),
            _ => Ok(plan),
        }
    }
}

/// Returns the table's schema with the change columns.
fn extended(schema: &StructType) -> Result<StructType> {
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
    StructType::new(schema.fields().iter().cloned().chain(more).collect())
}

fn with_change_columns(schema: &Schema, own: usize) -> SchemaRef {
    let types = [
        ArrowType::Utf8,
        ArrowType::Int64,
        ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    ];
    let more = CHANGE_COLUMNS
        .into_iter()
        .zip(types)
        .map(|(name, data_type)| Arc::new(Field::new(name, data_type, true)));
    let fields: Vec<FieldRef> = schema
        .fields()
        .iter()
        .take(own)
        .cloned()
        .chain(more)
        .collect();
    Arc::new(Schema::new(Fields::from(fields)))
}
