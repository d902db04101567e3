//! The work of a scan: data files opened with their deletion vectors, and read unit by unit.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::data_file::{DataFile, FileUnit, OpenFile, ReadPlan};
use super::scan_file::ScanFile;
use super::vector_windows::VectorWindows;
use crate::error::{Error, ErrorKind, Result};
use crate::replay::Source;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Ahead, Give, Look, OrderedRows, Work};

/// A file, or the row groups of it whose middle lies in a range of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The file.
    pub file: ScanFile,
    /// The bytes in which its row groups begin; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Range<u64>>,
}

impl Part {
    /// All of a file.
    pub(super) fn whole(file: ScanFile) -> Self {
        Self { file, bytes: None }
    }
}

/// A file that was left out, for it could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path as the log has it.
    pub path: String,
    /// The code of the error.
    pub code: &'static str,
    /// The error in words.
    pub message: String,
}

/// The list of files that are passed over.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped(Arc<Mutex<Vec<SkippedFile>>>);

impl Skipped {
    /// The files so far, each once.
    pub(super) fn list(&self) -> Vec<SkippedFile> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SkippedFile>> {
        // a push leaves nothing half done
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if a file with this error may be passed over; if so, it is listed.
    pub(super) fn takes(&self, path: &str, error: &Error) -> bool {
        let takes = matches!(
            error.kind(),
            ErrorKind::Corrupt | ErrorKind::Storage | ErrorKind::Unsupported
        );
        if takes {
            let file = SkippedFile {
                path: path.to_owned(),
                code: error.code(),
                message: error.to_string(),
            };
            let mut files = self.lock();
            if !files.contains(&file) {
                files.push(file);
            }
        }
        takes
    }
}

/// Data files to be read by one plan.
pub(super) struct Files {
    plan: ReadPlan,
    source: Source,
    parts: Vec<Part>,
    vectors: VectorWindows,
    skipped: Option<Skipped>,
}

impl Files {
    /// These parts in this order.
    pub(super) fn new(
        plan: ReadPlan,
        source: &Source,
        parts: Vec<Part>,
        skipped: Option<Skipped>,
    ) -> Self {
        Self {
            plan,
            source: source.clone(),
            vectors: VectorWindows::new(
                &source.storage,
                &source.resolver,
                parts
                    .iter()
                    .map(|part| part.file.deletion_vector.clone())
                    .collect(),
            ),
            parts,
            skipped,
        }
    }

    fn open_file(
        &self,
        number: usize,
        part: &Part,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<OpenFile> {
        let vector = self.vectors.take(number)?;
        let file = part.file.data_file(&self.source.resolver, vector)?;
        let file = DataFile { bytes, ..file };
        self.plan.open_file(&self.source.storage, &file)
    }
}

impl Work for Files {
    type Unit = FileUnit;
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        self.parts.len()
    }

    fn max_requests(&self) -> Option<usize> {
        self.source.storage.max_requests()
    }

    fn bytes(&self, number: usize) -> Option<Arc<FileBytes>> {
        let file = &self.parts.get(number)?.file;
        self.source.file_bytes(&file.path, file.size)
    }

    fn open(&self, number: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Self::Unit>> {
        let Some(part) = self.parts.get(number) else {
            return Ok(Vec::new());
        };
        let open = self
            .open_file(number, part, bytes)
            .map_err(|error| error.at_path(part.file.path.clone()))?;
        if part.bytes.is_none() {
            self.source.forget(&part.file.path); // it is not read again
        }
        let mut units = FileUnit::all(open);
        if let Some(bytes) = &part.bytes {
            units.retain(|unit| {
                let middle = unit.file().middle(unit.unit().row_group);
                middle.is_some_and(|middle| bytes.contains(&middle))
            });
        }
        Ok(units)
    }

    fn ahead(&self, unit: &Self::Unit) -> Option<Ahead> {
        unit.ahead()
    }

    fn read(&self, unit: Self::Unit, give: &mut Give<'_>) -> Result<Option<Self::Unit>> {
        unit.read(&mut |batch| {
            if batch.num_rows() > 0 {
                give(batch)?;
            }
            Ok(())
        })
    }

    fn passes_over(&self, number: usize, error: &Error) -> bool {
        let (Some(skipped), Some(part)) = (&self.skipped, self.parts.get(number)) else {
            return false;
        };
        skipped.takes(&part.file.path, error)
    }
}

/// Rows of data files, batch by batch, in their order.
pub struct ScanBatches {
    inner: OrderedRows<Files>,
}

impl ScanBatches {
    pub(super) fn new(files: Files, look: Look) -> Self {
        Self {
            inner: OrderedRows::new(files, look),
        }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.inner.work().plan.schema()
    }
}

impl ScanBatches {
    pub(super) fn count_rows(self) -> Result<u64> {
        let mut total = 0_u64;
        for batch in self {
            total = total.saturating_add(batch?.num_rows() as u64);
        }
        Ok(total)
    }
}

impl Iterator for ScanBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.inner.next()
    }
}
