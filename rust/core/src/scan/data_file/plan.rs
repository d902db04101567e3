//! The columns to read from every data file of a snapshot, and the schema of the batches.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::codec::partition_values::check_partition_column;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{StructField, StructType, same_name};

/// The layout of a table's columns in data files.
#[derive(Clone, Debug, Default)]
pub struct TableLayout {
    /// The logical schema.
    pub schema: StructType,
    /// Logical names of the partition columns.
    pub partition_columns: Vec<String>,
    /// The method to match physical columns to the table's.
    pub column_mapping: ColumnMappingMode,
    /// The physical column of materialized row ids.
    pub row_id_column: Option<String>,
    /// The physical column of materialized row commit versions.
    pub row_commit_version_column: Option<String>,
}

/// Columns that are not in the schema, at the end of each batch in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extras {
    /// `_file_path`: the path as in the log.
    pub file_path: bool,
    /// `_row_index`: the position in the file, before deletion.
    pub row_index: bool,
    /// `_row_id` and `_row_commit_version`.
    pub row_id: bool,
    /// `_change_type`, as in a change data file; null if the file has none. Scans lack it.
    #[serde(skip)]
    pub change_type: bool,
}

/// Returns the index of an extra by its name, which a column of the table before it may have, too.
pub fn extra_index(rows: &RecordBatch, name: &str) -> Option<usize> {
    let mut fields = rows.schema_ref().fields().iter();
    fields.rposition(|field| field.name() == name)
}

/// One column of the output.
#[derive(Clone, Debug)]
pub(super) enum OutputColumn {
    /// From the file.
    Data(StructField),
    /// From the log: the name in `partitionValues`, and the output field.
    Partition(String, FieldRef),
    FilePath,
    RowIndex,
    RowId,
    RowCommitVersion,
    ChangeType,
}

impl OutputColumn {
    /// Returns `true` for a column of the schema, `false` for an extra.
    fn is_of_table(&self) -> bool {
        matches!(self, Self::Data(_) | Self::Partition(..))
    }
}

/// The columns to read from each data file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReadPlan(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    columns: Vec<OutputColumn>,
    schema: SchemaRef,
    /// The schema including columns that only the filter needs, at the end.
    decoded: SchemaRef,
    filter: Option<BoundPredicate>,
    /// The indexes in `decoded` of the filter's columns.
    filter_columns: Vec<usize>,
    /// The same plan in two steps, if that may save work.
    steps: Option<Steps>,
    layout: TableLayout,
    batch_rows: Option<usize>,
}

/// A plan with a filter, in two steps.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Reads only the predicate's columns, for the positions of the rows that satisfy it.
    pub(super) filter_pass: ReadPlan,
    /// Reads the requested columns, of any rows.
    pub(super) unfiltered: ReadPlan,
}

impl ReadPlan {
    /// Creates a plan with the columns of these names in this order (case-insensitive as in Spark; `None`
    /// for all, in the schema's order), and the extras, which may have the names of columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown`, `columns.twice`.
    pub fn new(layout: TableLayout, columns: Option<&[String]>, extras: Extras) -> Result<Self> {
        use ArrowType::{Int64, Utf8};
        use OutputColumn::{ChangeType, FilePath, RowCommitVersion, RowId, RowIndex};
        let mut selected: Vec<&StructField> = Vec::new();
        match columns {
            None => selected.extend(layout.schema.fields()),
            Some(names) => {
                for name in names {
                    let field = layout
                        .schema
                        .field(name)
                        .ok_or_else(|| unknown(name, &layout.schema))?;
                    if selected.iter().any(|before| before.name == field.name) {
                        let message = format!("the column {name:?} is requested twice");
                        return Err(Error::invalid("columns.twice", message));
                    }
                    selected.push(field);
                }
            }
        }
        let mut planned = Vec::with_capacity(selected.len() + 4);
        let mut fields: Vec<FieldRef> = Vec::with_capacity(selected.len() + 4);
        for field in selected {
            let (column, output) = layout.column(field)?;
            planned.push(column);
            fields.push(output);
        }
        let Extras {
            file_path,
            row_index,
            row_id,
            change_type,
        } = extras;
        let extras = [
            (file_path, FilePath, "_file_path", Utf8),
            (row_index, RowIndex, "_row_index", Int64),
            (row_id, RowId, "_row_id", Int64),
            (row_id, RowCommitVersion, "_row_commit_version", Int64),
            (change_type, ChangeType, "_change_type", Utf8),
        ];
        for (_, column, name, data_type) in extras.into_iter().filter(|(selected, ..)| *selected) {
            let nullable = !matches!(column, FilePath | RowIndex);
            fields.push(Arc::new(Field::new(name, data_type, nullable)));
            planned.push(column);
        }
        let schema = Arc::new(Schema::new(Fields::from(fields)));
        Ok(Self(Arc::new(Inner {
            columns: planned,
            decoded: Arc::clone(&schema),
            schema,
            filter: None,
            filter_columns: Vec::new(),
            steps: None,
            layout,
            batch_rows: None,
        })))
    }

    /// Refuses extras with the names of columns.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.reserved`.
    pub fn check_names(&self) -> Result<()> {
        let columns = self.columns().iter().zip(self.0.schema.fields());
        let (of_table, extras): (Vec<_>, Vec<_>) =
            columns.partition(|(column, _)| column.is_of_table());
        for (_, extra) in extras {
            let name = extra.name();
            if of_table
                .iter()
                .any(|(_, field)| same_name(field.name(), name))
            {
                let message = format!(
                    "the table has a column named {name}: omit it, or do not request the metadata column of \
                     this name"
                );
                return Err(Error::invalid("columns.reserved", message));
            }
        }
        Ok(())
    }

    /// Sets the maximum number of rows of a batch; by default it depends on the size of the rows.
    #[must_use]
    pub fn with_batch_rows(self, rows: usize) -> Self {
        let mut inner = Inner::clone(&self.0);
        inner.batch_rows = Some(rows.max(1));
        if let Some(steps) = &mut inner.steps {
            steps.filter_pass = steps.filter_pass.clone().with_batch_rows(rows);
            steps.unfiltered = steps.unfiltered.clone().with_batch_rows(rows);
        }
        Self(Arc::new(inner))
    }

    /// Restricts the plan to rows that satisfy the predicate, which was bound to the layout's schema. Its
    /// columns are read, but only returned if requested.
    ///
    /// # Errors
    ///
    /// Invalid argument: `columns.unknown` when it was bound to another schema.
    pub fn with_filter(self, filter: BoundPredicate) -> Result<Self> {
        let mut unfiltered = Inner::clone(&self.0);
        unfiltered
            .columns
            .truncate(unfiltered.schema.fields().len());
        unfiltered.decoded = Arc::clone(&unfiltered.schema);
        (
            unfiltered.filter,
            unfiltered.filter_columns,
            unfiltered.steps,
        ) = (None, Vec::new(), None);
        let positions = Field::new("_row_index", ArrowType::Int64, false);
        let schema = Arc::new(Schema::new(vec![positions]));
        let filter_pass = Inner {
            columns: vec![OutputColumn::RowIndex],
            decoded: Arc::clone(&schema),
            schema,
            ..unfiltered.clone()
        };
        let filter_pass = filter_pass.filtered(filter.clone())?;
        let mut inner = unfiltered.clone().filtered(filter)?;
        let is_data = |column: &&OutputColumn| matches!(column, OutputColumn::Data(_));
        let filter_columns = filter_pass.columns.iter().filter(is_data).count();
        let all_columns = inner.columns.iter().filter(is_data).count();
        if (1..all_columns).contains(&filter_columns) {
            inner.steps = Some(Steps {
                filter_pass: Self(Arc::new(filter_pass)),
                unfiltered: Self(Arc::new(unfiltered)),
            });
        }
        Ok(Self(Arc::new(inner)))
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    pub(super) fn columns(&self) -> &[OutputColumn] {
        &self.0.columns
    }

    pub(super) fn layout(&self) -> &TableLayout {
        &self.0.layout
    }

    /// Returns the schema of decoded rows: the output, then columns that only the filter needs.
    pub(super) fn decoded(&self) -> &SchemaRef {
        &self.0.decoded
    }

    pub(super) fn filter(&self) -> Option<&BoundPredicate> {
        self.0.filter.as_ref()
    }

    /// Returns the index among the decoded columns for each column of the filter.
    pub(super) fn filter_columns(&self) -> &[usize] {
        &self.0.filter_columns
    }

    /// Returns the plan in two steps, if that may save work.
    pub(super) fn steps(&self) -> Option<&Steps> {
        self.0.steps.as_ref()
    }

    /// Returns `true` if the predicate uses columns in the files.
    pub(super) fn filters_data(&self) -> bool {
        let columns = self.columns();
        let mut used = self
            .filter_columns()
            .iter()
            .filter_map(|at| columns.get(*at));
        used.any(|column| matches!(column, OutputColumn::Data(_)))
    }

    pub(super) fn batch_rows(&self) -> Option<usize> {
        self.0.batch_rows
    }
}

impl Inner {
    /// Adds the predicate, and the columns that only it needs.
    fn filtered(mut self, filter: BoundPredicate) -> Result<Self> {
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        for column in filter.columns() {
            let name = column.path.first().map_or("", String::as_str);
            let field = self.layout.schema.field(name);
            let field = field.ok_or_else(|| unknown(name, &self.layout.schema))?;
            // an extra may have the name of a column that is not requested
            let mut known = self.columns.iter().zip(&fields);
            let known = known
                .position(|(column, known)| column.is_of_table() && *known.name() == field.name);
            self.filter_columns.push(known.unwrap_or(fields.len()));
            if known.is_none() {
                let (column, output) = self.layout.column(field)?;
                self.columns.push(column);
                fields.push(output);
            }
        }
        self.decoded = Arc::new(Schema::new(Fields::from(fields)));
        self.filter = Some(filter);
        Ok(self)
    }
}

impl TableLayout {
    /// Returns the origin of a column of the schema, and its field in the output.
    fn column(&self, field: &StructField) -> Result<(OutputColumn, FieldRef)> {
        // a file may lack any column, so all are nullable
        let output = Arc::new(field.arrow_field().with_nullable(true));
        let column = if self.partitions_by(field) {
            check_partition_column(field)?;
            let key = field.name_in_files(self.column_mapping)?;
            OutputColumn::Partition(key.to_owned(), Arc::clone(&output))
        } else {
            OutputColumn::Data(field.clone())
        };
        Ok((column, output))
    }

    fn partitions_by(&self, field: &StructField) -> bool {
        let mut names = self.partition_columns.iter();
        names.any(|name| *name == field.name || same_name(name, &field.name))
    }
}

fn unknown(name: &str, schema: &StructType) -> Error {
    const MAX_NAMES: usize = 50;
    let fields = schema.fields();
    let names: Vec<&str> = fields
        .iter()
        .take(MAX_NAMES)
        .map(|field| field.name.as_str())
        .collect();
    let more = if fields.len() > MAX_NAMES {
        ", ..."
    } else {
        ""
    };
    let message = format!(
        "the table has no column {name:?}; it has {}{more}",
        names.join(", ")
    );
    Error::invalid("columns.unknown", message)
}
