//! Formulas as conditions of predicates.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{Field, Schema, SchemaRef};

use crate::error::Result;
use crate::expr::bound_column::BoundColumn;
use crate::expr::formula::{BoundFormula, Formula};
use crate::expr::normal::failed;
use crate::spec::char_length::DECLARED_TYPE;

/// A formula that is a condition, and the columns of its names.
#[derive(Clone, Debug)]
pub(super) struct BoundComputed {
    formula: BoundFormula,
    pub(super) columns: Vec<Arc<BoundColumn>>,
    schema: SchemaRef,
}

impl BoundComputed {
    /// # Errors
    ///
    /// As [`Formula::bind_condition`].
    pub(super) fn new(formula: &Formula, columns: Vec<Arc<BoundColumn>>) -> Result<Self> {
        let fields = columns.iter().map(|column| {
            let field = Field::new(column.path.join("."), column.data_type.clone(), true);
            let declared = column.char_length.map(|length| format!("char({length})"));
            let metadata = declared.map(|declared| (DECLARED_TYPE.to_owned(), declared));
            field.with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self {
            formula: formula.bind_condition(schema.fields())?,
            columns,
            schema,
        })
    }

    /// The answers for rows with these values of the columns, which cast to the schema's types.
    pub(super) fn answers(&self, values: Vec<ArrayRef>, rows: usize) -> Result<BooleanArray> {
        let typed = values.iter().zip(&self.columns);
        let typed = typed.map(|(values, column)| cast(values, &column.data_type));
        let typed = typed.collect::<std::result::Result<_, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = typed.and_then(|typed| {
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), typed, &options)
        });
        self.formula.answers(&batch.map_err(failed)?)
    }
}
