//! Writes rows to files: one open file per partition, closed when it reaches the target size, or when the
//! open files together use too much memory.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::STEP_ROWS;
use super::encode::{ParquetFile, worth_parallel};
use super::layout::{Layout, Purpose};
use super::partitions::PartitionValues;
use super::paths::encoded;
use super::statistics::Statistics;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::storage::{Storage, interrupt, now, pool};
use crate::write::StagedFile;
use crate::write::actions::{AddFile, CdcFile, StringMap};

/// The maximum size of all open files together in bytes.
const OPEN_BYTES: usize = 256 << 20;

/// The longest wait for files that are being written when the write is interrupted.
const ENDING: Duration = Duration::from_secs(10);

/// The options of a write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Target size of a file in bytes.
    pub target_file_size: usize,
    /// True if files are synced to disk before the write returns.
    pub durable: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            target_file_size: 128 << 20,
            durable: true,
        }
    }
}

/// Files that were written. Dropping this value deletes them, unless [`WrittenFiles::keep`] was called.
#[derive(Debug)]
pub struct WrittenFiles {
    source: Source,
    files: Vec<StagedFile>,
    /// The files to commit.
    pub adds: Vec<AddFile>,
    /// Change data files to commit.
    pub cdcs: Vec<CdcFile>,
    /// Rows in data files.
    pub rows: u64,
    /// Bytes of data files.
    pub bytes: u64,
    /// Bytes of change data files.
    pub change_bytes: u64,
}

impl WrittenFiles {
    /// Creates an empty list.
    pub fn new(source: &Source) -> Self {
        Self {
            source: source.clone(),
            files: Vec::new(),
            adds: Vec::new(),
            cdcs: Vec::new(),
            rows: 0,
            bytes: 0,
            change_bytes: 0,
        }
    }

    /// Writes one file of any kind, which is deleted or kept with the others.
    pub(crate) fn put(&mut self, path: String, bytes: &[u8], durable: bool) -> Result<()> {
        self.record(&path, bytes);
        if put(&*self.source.storage, &path, bytes, durable)? {
            return Ok(());
        }
        Err(self.foreign_file(path))
    }

    fn put_all(&mut self, files: Vec<(String, Vec<u8>)>, durable: bool) -> Result<()> {
        for (path, bytes) in &files {
            self.record(path, bytes);
        }
        let storage = Arc::clone(&self.source.storage);
        let (running, ended) = channel::<()>();
        // wait for all of them, so that all can be deleted
        let outcomes = pool::map_concurrently(files, move |(path, bytes)| {
            let _running = &running; // dropped with the last thread
            Ok((path.clone(), put(&*storage, path, bytes, durable)))
        });
        if outcomes.is_err() {
            // also after an interrupt; files that are written even later are left to VACUUM
            let _ = ended.recv_timeout(ENDING);
        }
        let mut outcome = Ok(());
        for (path, created) in outcomes? {
            outcome = outcome.and(match created {
                Ok(true) => Ok(()),
                Ok(false) => Err(self.foreign_file(path)),
                Err(error) => Err(error),
            });
        }
        outcome
    }

    /// Records a file before it is written: the write may succeed even if it returns an error.
    fn record(&mut self, path: &str, bytes: &[u8]) {
        self.files.push(StagedFile {
            path: path.to_owned(),
            size: Some(bytes.len() as u64),
            written: now(),
        });
    }

    /// Removes a file that belongs to another writer from the list, and returns the error.
    fn foreign_file(&mut self, path: String) -> Error {
        self.files.retain(|file| file.path != path);
        let message = "there is a file of this name already, although the name is random";
        Error::storage("rows.file_exists", message).at_path(path)
    }

    /// Takes over files that another process wrote and that no commit references yet.
    pub fn adopted(source: &Source, adds: Vec<AddFile>) -> Result<Self> {
        let mut adopted = Self::new(source);
        for file in &adds {
            adopted.files.push(StagedFile::of(source, file)?);
            adopted.bytes += u64::try_from(file.size).unwrap_or(0);
            adopted.rows += file.num_records().map_or(0, i64::unsigned_abs);
        }
        adopted.adds = adds;
        Ok(adopted)
    }

    /// Takes over the files of another write.
    pub fn join(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.adds.append(&mut other.adds);
        self.cdcs.append(&mut other.cdcs);
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.change_bytes += other.change_bytes;
    }

    /// Returns all files, for the transaction that commits them.
    pub fn files(&self) -> &[StagedFile] {
        &self.files
    }

    /// Keeps the files.
    pub fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        for file in &self.files {
            // what cannot be deleted is left to a vacuum
            let _ = self.source.storage.delete(&[&file.path]);
        }
    }
}

/// Writes a file with a random name; returns `false` if another writer's file exists there.
fn put(storage: &dyn Storage, path: &str, bytes: &[u8], durable: bool) -> Result<bool> {
    let created = if durable {
        storage.put_if_absent(path, bytes)?
    } else {
        storage.put_if_absent_unsynced(path, bytes)?
    };
    // an existing file with equal content was written by a request whose response was lost
    let same = || {
        let stored = storage.read_at_most(path, bytes.len() as u64);
        stored.is_ok_and(|stored| stored == bytes)
    };
    Ok(created || same())
}

/// Writes rows of one layout.
#[derive(Debug)]
pub struct RowWriter {
    layout: Arc<Layout>,
    options: WriteOptions,
    open: BTreeMap<PartitionValues, UnfinishedFile>,
}

struct UnfinishedFile {
    file: ParquetFile,
    statistics: Statistics,
    rows: u64,
}

impl std::fmt::Debug for UnfinishedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UnfinishedFile({} rows)", self.rows)
    }
}

impl UnfinishedFile {
    fn new(layout: &Layout, options: WriteOptions) -> Result<Self> {
        Ok(Self {
            file: ParquetFile::new(layout, options.target_file_size)?,
            statistics: Statistics::new(&layout.statistics),
            rows: 0,
        })
    }

    fn write(&mut self, layout: &Layout, rows: &RecordBatch) -> Result<()> {
        self.rows += rows.num_rows() as u64;
        if layout.purpose != Purpose::Data {
            return self.file.write(rows);
        }
        let Self {
            file, statistics, ..
        } = self;
        let mut encode = || file.write(rows);
        let mut accumulate = || statistics.take(&layout.statistics, rows);
        let (encoded, accumulated) = if worth_parallel(rows.num_rows(), rows.num_columns()) {
            pool::pool()?.join(encode, accumulate)
        } else {
            (encode(), accumulate())
        };
        encoded.and(accumulated)
    }
}

impl RowWriter {
    /// Creates a writer of files with this layout.
    pub fn new(layout: Arc<Layout>, options: WriteOptions) -> Self {
        Self {
            layout,
            options,
            open: BTreeMap::new(),
        }
    }

    /// Returns the schema of the rows to write: see [`Layout::schema`].
    pub fn schema(&self) -> SchemaRef {
        self.layout.schema()
    }

    /// Writes rows of the layout's schema.
    ///
    /// # Errors
    ///
    /// Invalid argument: `rows.partition`, `rows.type`, `rows.parquet`. Storage: `rows.file_exists`.
    pub fn write(&mut self, rows: &RecordBatch, written: &mut WrittenFiles) -> Result<()> {
        if rows.num_rows() > 0 {
            self.layout.check_writable()?;
        }
        let mut from = 0;
        while from < rows.num_rows() {
            interrupt::check()?;
            let step = rows.slice(from, STEP_ROWS.min(rows.num_rows() - from));
            from += step.num_rows();
            for (values, part) in self.layout.split_by_partition(&step)? {
                self.write_part(values, &part, written)?;
            }
        }
        Ok(())
    }

    fn write_part(
        &mut self,
        values: PartitionValues,
        rows: &RecordBatch,
        written: &mut WrittenFiles,
    ) -> Result<()> {
        let rows = self.layout.as_in_files(rows)?;
        let file = match self.open.get_mut(&values) {
            Some(file) => file,
            None => {
                let file = UnfinishedFile::new(&self.layout, self.options)?;
                self.open.entry(values.clone()).or_insert(file)
            }
        };
        file.write(&self.layout, &rows)?;
        if file.file.length() >= self.options.target_file_size {
            return self.close(&values, written);
        }
        let buffered: usize = self.open.values().map(|open| open.file.memory()).sum();
        if buffered > OPEN_BYTES && self.open.len() > 1 {
            let largest = self.open.iter().max_by_key(|(_, open)| open.file.length());
            if let Some(largest) = largest.map(|(values, _)| values.clone()) {
                return self.close(&largest, written);
            }
        }
        Ok(())
    }

    fn close(&mut self, values: &PartitionValues, written: &mut WrittenFiles) -> Result<()> {
        let Some(file) = self.open.remove(values) else {
            return Ok(());
        };
        let (path, bytes) = self.finish_file(values, file, written)?;
        written.put(path, &bytes, self.options.durable)
    }

    /// Encodes one file and adds its action to `written`; returns its storage path and its bytes.
    fn finish_file(
        &self,
        values: &PartitionValues,
        file: UnfinishedFile,
        written: &mut WrittenFiles,
    ) -> Result<(String, Vec<u8>)> {
        let layout = &*self.layout;
        let bytes = file.file.finish()?;
        let stored_path = layout.path(values);
        let path = encoded(&stored_path);
        let length = bytes.len() as u64;
        let size = i64::try_from(length).unwrap_or(i64::MAX);
        let partition_values: StringMap = layout
            .partitions
            .iter()
            .zip(values)
            .map(|((.., name), value)| (name.clone(), value.clone()))
            .collect();
        match layout.purpose {
            Purpose::Data => {
                written.rows += file.rows;
                written.bytes += length;
                written.adds.push(AddFile {
                    path,
                    partition_values,
                    size,
                    modification_time: now(),
                    data_change: true,
                    stats: Some(file.statistics.json(&layout.statistics)?),
                    ..AddFile::default()
                });
            }
            Purpose::Changes => {
                written.change_bytes += length;
                written.cdcs.push(CdcFile {
                    path,
                    partition_values,
                    size,
                    ..CdcFile::default()
                });
            }
        }
        Ok((stored_path, bytes))
    }

    /// Closes the open files.
    pub fn finish(&mut self, written: &mut WrittenFiles) -> Result<()> {
        let durable = self.options.durable;
        // on a remote store, writing many files in parallel takes as long as writing one
        let in_parallel = self.open.len() > 1 && written.source.storage.is_remote();
        let mut files = Vec::new();
        for (values, file) in take(&mut self.open) {
            interrupt::check()?;
            let (path, bytes) = self.finish_file(&values, file, written)?;
            if in_parallel {
                files.push((path, bytes));
            } else {
                written.put(path, &bytes, durable)?;
            }
        }
        written.put_all(files, durable)
    }
}

#[cfg(test)]
mod tests;
