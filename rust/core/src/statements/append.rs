//! APPEND: adds the rows of a stream to the table.

use std::iter::empty;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use serde_json::json;

use super::write::{schema_parameter, set_high_water_marks, set_schema, set_txn, write_options};
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::snapshot::load::cached_snapshot;
use crate::storage::{in_background, interrupt};
use crate::table::{At, RowSource, RowsOptions, RowsWritten, SchemaMode, Table};
use crate::transaction::{Transaction, json_text, metric_strings};
use crate::write::{InputConverter, Layout, Purpose, RowWriter, WrittenFiles, each_step};

/// Rows of at most this many bytes are written while the newest version is loaded.
const AHEAD_BYTES: usize = 32 << 20;

/// Rows written to files, and the converter that has the high-water marks.
struct Appended {
    written: WrittenFiles,
    converter: InputConverter,
}

impl Table {
    /// Appends rows to the newest version.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`InputConverter::new`], [`InputConverter::convert`], [`each_step`],
    /// [`RowWriter::write`] and [`Table::commit`]; Invalid argument: `rows.schema_mode`; for new columns, as
    /// [`StructType::from_arrow`](crate::spec::schema::StructType::from_arrow) and
    /// [`merged_metadata`](super::merged_metadata).
    /// Deletes the written files on any error after which the commit cannot exist.
    pub fn append(&self, rows: RowSource, options: RowsOptions) -> Result<RowsWritten> {
        let needs_no_snapshot = options.schema_mode == SchemaMode::Fixed
            && options.partition_columns.is_none()
            && options.txn.is_none()
            && options.snapshot.is_none();
        match cached_snapshot(self.source()).filter(|_| needs_no_snapshot) {
            Some(known) => self.append_ahead(&known, rows, &options),
            None => {
                let snapshot = self.snapshot_for(&options)?;
                self.append_to(&snapshot, rows, &options)
            }
        }
    }

    fn append_to(
        &self,
        snapshot: &Snapshot,
        rows: RowSource,
        options: &RowsOptions,
    ) -> Result<RowsWritten> {
        let mut transaction = self.begin_append(snapshot, options)?;
        if set_txn(&mut transaction, options)? {
            return self.commit_written(transaction, WrittenFiles::new(self.source()));
        }
        set_schema(&mut transaction, &rows, options, false)?;
        let appended = self.append_rows(&transaction, rows, options)?;
        self.commit_append(transaction, appended)
    }

    /// Writes the rows for a known version while the newest one is loaded. If the newest has other metadata or
    /// another protocol, the rows are written again.
    fn append_ahead(
        &self,
        known: &Snapshot,
        mut rows: RowSource,
        options: &RowsOptions,
    ) -> Result<RowsWritten> {
        let newest = in_background(&self.source().storage, {
            let table = self.clone();
            move |_| table.snapshot(At::Latest, None)
        });
        let schema = rows.schema();
        let (mut batches, mut bytes, mut failure) = (Vec::new(), 0, None);
        let is_complete = loop {
            interrupt::check()?;
            match rows.next() {
                None => break true,
                Some(Ok(batch)) => {
                    bytes += batch.get_array_memory_size();
                    batches.push(batch);
                }
                Some(Err(error)) => {
                    failure = Some(Err(error));
                    break false;
                }
            }
            if bytes > AHEAD_BYTES {
                break false;
            }
        };
        let rows_and = |rest: RemainingRows| source_of(&schema, batches.clone(), rest);
        if !is_complete {
            let rows = rows_and(Box::new(failure.into_iter().chain(rows)));
            return self.append_to(&newest.wait()?, rows, options);
        }
        let appended = self
            .begin_append(known, options)
            .and_then(|begun| self.append_rows(&begun, rows_and(Box::new(empty())), options));
        let newest = newest.wait()?;
        if newest.metadata() == known.metadata() && newest.protocol() == known.protocol() {
            return self.commit_append(self.begin_append(&newest, options)?, appended?);
        }
        drop(appended);
        self.append_to(&newest, rows_and(Box::new(empty())), options)
    }

    fn begin_append(&self, snapshot: &Snapshot, options: &RowsOptions) -> Result<Transaction> {
        let columns = json_text(&snapshot.metadata().partition_columns);
        let parameters = [("mode", json!("Append")), ("partitionBy", columns)];
        let parameters = parameters.into_iter().chain(schema_parameter(options));
        self.begin(snapshot, "WRITE", parameters, options)
    }

    fn append_rows(
        &self,
        transaction: &Transaction,
        rows: RowSource,
        options: &RowsOptions,
    ) -> Result<Appended> {
        let mut written = WrittenFiles::new(self.source());
        let (metadata, protocol) = transaction.effective()?;
        let layout = Layout::new(metadata, protocol, Purpose::Data, &[])?;
        layout.check_writable()?;
        let mut converter = InputConverter::new(metadata, protocol, &rows.schema())?;
        let mut writer = RowWriter::new(Arc::new(layout), write_options(options));
        each_step(rows, &mut |step| {
            writer.write(&converter.convert(&step)?, &mut written)
        })?;
        writer.finish(&mut written)?;
        Ok(Appended { written, converter })
    }

    fn commit_append(
        &self,
        mut transaction: Transaction,
        appended: Appended,
    ) -> Result<RowsWritten> {
        let Appended { written, converter } = appended;
        set_high_water_marks(&mut transaction, &converter)?;
        transaction.description().metrics = metric_strings([
            ("numFiles", written.adds.len() as u64),
            ("numOutputRows", written.rows),
            ("numOutputBytes", written.bytes),
        ]);
        self.commit_written(transaction, written)
    }
}

type RemainingRows = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

fn source_of(schema: &SchemaRef, batches: Vec<RecordBatch>, rest: RemainingRows) -> RowSource {
    let all = batches.into_iter().map(Ok).chain(rest);
    Box::new(RecordBatchIterator::new(all, Arc::clone(schema)))
}
