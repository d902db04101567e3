//! Record batches that are read on demand.

use std::iter;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;

/// Batches of one schema, read on demand; they end with the first error.
pub struct Batches {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl Batches {
    /// Wraps an iterator, which is dropped at its end or first error.
    pub fn new(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Self {
        Self {
            schema,
            batches: Box::new(batches),
        }
    }

    /// Calls `next` for each batch, until it returns `None`.
    pub fn from_fn(
        schema: SchemaRef,
        mut next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
    ) -> Self {
        Self::new(schema, iter::from_fn(move || next().transpose()))
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next();
        if !matches!(next, Some(Ok(_))) {
            self.batches = Box::new(iter::empty());
        }
        next
    }
}
