//! The rows of a scan: those of data files, or of parts of them, in order.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::data_file::ReadPlan;
use super::data_files::{FileRows, Opener, Step, read_files};
use super::scan_file::ScanFile;
use crate::codec::batches::Batches;
use crate::error::{Error, ErrorKind, Result};
use crate::replay::Source;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Emit, ReadAheadLimits};

/// A file, or those of its row groups whose middle is in a byte range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FilePart {
    /// The file.
    pub file: ScanFile,
    /// The byte range of its row groups; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Range<u64>>,
}

impl FilePart {
    /// Returns a whole file.
    pub(super) fn whole(file: ScanFile) -> Self {
        Self { file, bytes: None }
    }
}

/// A file that was skipped because it could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path as in the log.
    pub path: String,
    /// The code of the error.
    pub code: &'static str,
    /// The error message.
    pub message: String,
}

/// The list of skipped files.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped(Arc<Mutex<Vec<SkippedFile>>>);

impl Skipped {
    /// Returns the distinct files so far.
    pub(super) fn list(&self) -> Vec<SkippedFile> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SkippedFile>> {
        // a push cannot leave the list inconsistent
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if a file with this error can be skipped; if so, it is added to the list.
    pub(super) fn add_if_skippable(&self, path: &str, error: &Error) -> bool {
        let is_skippable = matches!(
            error.kind(),
            ErrorKind::Corrupt | ErrorKind::Storage | ErrorKind::Unsupported
        );
        if is_skippable {
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
        is_skippable
    }
}

/// Parts of files to read by one plan.
struct PlannedFiles {
    plan: ReadPlan,
    parts: Vec<FilePart>,
    skipped: Option<Skipped>,
}

impl FileRows for PlannedFiles {
    type Batch = RecordBatch;

    fn len(&self) -> usize {
        self.parts.len()
    }

    fn file(&self, number: usize) -> Option<(&str, i64)> {
        let file = &self.parts.get(number)?.file;
        Some((&file.path, file.size))
    }

    fn open(
        &self,
        opener: &Opener,
        number: usize,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<Vec<Step<RecordBatch>>> {
        let Some(part) = self.parts.get(number) else {
            return Ok(Vec::new());
        };
        let vector = opener.vector(number)?;
        let file = part.file.data_file(&opener.source.resolver, vector)?;
        let mut units = opener.units(&self.plan, file, bytes)?;
        match &part.bytes {
            None => opener.source.forget(&part.file.path), // it is not read again
            Some(bytes) => units.retain(|unit| {
                let middle = unit.file().middle(unit.unit().row_group);
                middle.is_some_and(|middle| bytes.contains(&middle))
            }),
        }
        Ok(units.into_iter().map(Step::Unit).collect())
    }

    fn emit(&self, _: usize, batch: RecordBatch, emit: &mut Emit<'_>) -> Result<()> {
        if batch.num_rows() > 0 {
            emit(batch)?;
        }
        Ok(())
    }

    fn continues_after(&self, number: usize, error: &Error) -> bool {
        let (Some(skipped), Some(part)) = (&self.skipped, self.parts.get(number)) else {
            return false;
        };
        skipped.add_if_skippable(&part.file.path, error)
    }
}

/// Reads these parts of data files in order; `skipped` collects the files that are skipped.
pub(super) fn read_parts(
    plan: ReadPlan,
    source: &Source,
    parts: Vec<FilePart>,
    skipped: Option<Skipped>,
    limits: ReadAheadLimits,
) -> Batches {
    let vectors = parts.iter().map(|part| part.file.deletion_vector.clone());
    let vectors = vectors.collect();
    let schema = plan.schema();
    let files = PlannedFiles {
        plan,
        parts,
        skipped,
    };
    Batches::new(schema, read_files(source, vectors, files, limits))
}
