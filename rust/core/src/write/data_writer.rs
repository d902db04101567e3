//! Writes rows to data files; rows copied from other files keep their row ids and commit versions.
//!
//! Protocol: "Row Tracking".

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, Field};

use super::columns::columns_mismatch;
use super::layout::{Layout, Purpose};
use super::writer::{RowWriter, WriteOptions, WrittenFiles};
use crate::error::{Error, Result};
use crate::scan::data_file::{TableLayout, extra_index};
use crate::spec::properties::TableProperties;
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};

/// Writes rows of the table's columns.
#[derive(Debug)]
pub struct DataWriter {
    rows: RowWriter,
    /// The number of columns of the table.
    columns: usize,
    row_tracking: bool,
}

impl DataWriter {
    /// Creates a writer for a table of this metadata and protocol.
    ///
    /// # Errors
    ///
    /// Corrupt: `rows.row_ids` if row tracking is enabled but the properties do not name the materialized
    /// columns.
    pub fn new(metadata: &Metadata, protocol: &Protocol, options: WriteOptions) -> Result<Self> {
        let (properties, _) = TableProperties::new(metadata, protocol)?;
        let mut extras = Vec::new();
        if properties.row_tracking {
            for name in [
                &properties.materialized_row_id_column,
                &properties.materialized_row_commit_version_column,
            ] {
                let name = name.as_deref().ok_or_else(|| {
                    let message = "row tracking is enabled, but the table's properties do not name the \
                                   columns for the row ids and commit versions of copied rows: enable row \
                                   tracking again";
                    Error::corrupt("rows.row_ids", message)
                })?;
                extras.push(Field::new(name, ArrowType::Int64, true));
            }
        }
        let layout = Layout::new(metadata, protocol, Purpose::Data, &extras)?;
        Ok(Self {
            columns: layout.schema().fields().len() - extras.len(),
            rows: RowWriter::new(Arc::new(layout), options),
            row_tracking: properties.row_tracking,
        })
    }

    /// Writes rows with the table's columns, and with their row ids and commit versions where they have any.
    pub fn write(
        &mut self,
        rows: &RecordBatch,
        ids: Option<ArrayRef>,
        versions: Option<ArrayRef>,
        written: &mut WrittenFiles,
    ) -> Result<()> {
        let mut columns = rows.columns().to_vec();
        if self.row_tracking {
            let nulls = || new_null_array(&ArrowType::Int64, rows.num_rows());
            columns.push(ids.unwrap_or_else(nulls));
            columns.push(versions.unwrap_or_else(nulls));
        }
        let schema = self.rows.schema();
        for (column, field) in columns.iter_mut().zip(schema.fields()) {
            let target = field.data_type();
            // the metadata of nested fields changes if column mapping is removed
            if column.data_type() != target && column.data_type().equals_datatype(target) {
                *column = cast(column, target).map_err(columns_mismatch)?;
            }
        }
        let all = RecordBatch::try_new(schema, columns).map_err(columns_mismatch)?;
        self.rows.write(&all, written)
    }

    /// Writes rows read from other files: the table's columns, then others, of which only `_row_id` and
    /// `_row_commit_version` are used.
    pub fn copy(&mut self, rows: &RecordBatch, written: &mut WrittenFiles) -> Result<()> {
        let column = |name| Some(Arc::clone(rows.column(extra_index(rows, name)?)));
        let (ids, versions) = (column("_row_id"), column("_row_commit_version"));
        let rows = rows.project(&(0..self.columns).collect::<Vec<_>>());
        self.write(&rows.map_err(columns_mismatch)?, ids, versions, written)
    }

    /// Closes the open files.
    pub fn finish(&mut self, written: &mut WrittenFiles) -> Result<()> {
        self.rows.finish(written)
    }
}

/// Returns the layout for reading the data files of a table.
pub fn table_layout(metadata: &Metadata, properties: &TableProperties) -> Result<TableLayout> {
    Ok(TableLayout {
        schema: StructType::parse(&metadata.schema_string)?,
        partition_columns: metadata.partition_columns.clone(),
        column_mapping: properties.column_mapping_mode,
        row_id_column: properties.materialized_row_id_column.clone(),
        row_commit_version_column: properties.materialized_row_commit_version_column.clone(),
    })
}
