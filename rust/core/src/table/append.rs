//! APPEND: rows of a stream join those of the table.

use std::sync::Arc;

use serde_json::json;

use super::Table;
use super::write::{
    RowSource, RowsOptions, RowsWritten, set_marks, set_schema, set_txn, texts, write_options,
};
use crate::error::Result;
use crate::write::{Intake, Layout, Purpose, RowWriter, WrittenFiles, each_step};

impl Table {
    /// Appends rows to the newest version.
    ///
    /// # Errors
    ///
    /// Invalid argument and Unsupported: as [`Intake::new`] and [`Intake::take`]; as [`Table::commit`].
    /// Files that were written go away again.
    pub fn append(&self, rows: RowSource, options: RowsOptions) -> Result<RowsWritten> {
        let snapshot = self.snapshot_for(&options)?;
        let columns = json!(snapshot.metadata().partition_columns).to_string();
        let parameters = [("mode", json!("Append")), ("partitionBy", json!(columns))];
        let mut transaction = self.begin(&snapshot, "WRITE", parameters, &options)?;
        let mut written = WrittenFiles::new(&self.source);
        if !set_txn(&mut transaction, &options)? {
            set_schema(&mut transaction, &rows, &options, false)?;
            let (metadata, protocol) = transaction.effective()?;
            let layout = Layout::new(metadata, protocol, Purpose::Data, &[])?;
            let mut intake = Intake::new(metadata, protocol, &rows.schema())?;
            let mut writer = RowWriter::new(Arc::new(layout), write_options(&options));
            each_step(rows, &mut |step| {
                writer.write(&intake.take(&step)?, &mut written)
            })?;
            writer.finish(&mut written)?;
            set_marks(&mut transaction, &intake)?;
            transaction.description().metrics = texts([
                ("numFiles", written.adds.len() as u64),
                ("numOutputRows", written.rows),
                ("numOutputBytes", written.bytes),
            ]);
        }
        self.settle(transaction, written)
    }
}
