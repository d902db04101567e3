//! Column helpers shared by all steps of a write.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Fields, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::spec::char_length::DECLARED_TYPE;
use crate::spec::collation::COLLATIONS;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// Returns `true` if a column has the type `void`; data files do not contain it.
pub(super) fn is_void(field: &StructField) -> bool {
    field.data_type == DataType::Primitive(PrimitiveType::Void)
}

/// Returns the Arrow schema with all columns nullable; of their metadata, only the declared type (`char(n)`,
/// `varchar(n)`) and the collations are kept.
pub(crate) fn nullable(schema: &StructType) -> SchemaRef {
    let fields = schema.arrow_fields();
    let fields = fields.iter().map(|field| {
        let entry = |key: &str| Some((key.to_owned(), field.metadata().get(key)?.clone()));
        let metadata = [DECLARED_TYPE, COLLATIONS].into_iter().filter_map(entry);
        Field::clone(field)
            .with_nullable(true)
            .with_metadata(metadata.collect::<HashMap<_, _>>())
    });
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Creates a batch of any number of columns, including none.
pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(columns_mismatch)
}

/// Returns the error for rows that Arrow cannot convert to the columns of the table.
pub(crate) fn columns_mismatch(cause: ArrowError) -> Error {
    Error::invalid("rows.type", "the rows do not fit into the table's columns").because(cause)
}
