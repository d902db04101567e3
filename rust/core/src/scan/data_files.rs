//! Reads many data files in order: opens them with their deletion vectors, and reads their units ahead of
//! the caller.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::data_file::{DataFile, FileUnit, OpenFile, ReadPlan};
use super::scan_file::ScanFile;
use super::vector_windows::VectorWindows;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::spec::DeletionVectorDescriptor;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Emit, OrderedRows, Prefetch, ReadAheadLimits, Rows, Work};

/// The files to read, and the processing of their rows.
pub(crate) trait FileRows: Send + Sync + 'static {
    /// The result for a batch of rows.
    type Batch: Rows;

    /// Returns the number of files.
    fn len(&self) -> usize;

    /// Returns the path in the log and the size of a file; `None` if it is not read.
    fn file(&self, number: usize) -> Option<(&str, i64)>;

    /// Opens a file, whose bytes may still be arriving.
    fn open(
        &self,
        opener: &Opener,
        number: usize,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<Vec<Step<Self::Batch>>>;

    /// Calls `emit` with the result for a batch of rows, if it has one.
    fn emit(
        &self,
        number: usize,
        batch: RecordBatch,
        emit: &mut Emit<'_, Self::Batch>,
    ) -> Result<()>;

    /// Adds the file to an error.
    fn locate_error(&self, number: usize, error: Error) -> Error {
        match self.file(number) {
            Some((path, _)) => error.at_path(path),
            None => error,
        }
    }

    /// Returns `true` if reading continues with the other files after this one failed.
    fn continues_after(&self, _number: usize, _error: &Error) -> bool {
        false
    }
}

/// A step in reading a file.
pub(crate) enum Step<B> {
    /// A result to return.
    Emit(B),
    /// Rows that are in memory already.
    Rows(RecordBatch),
    /// A unit to read.
    Unit(FileUnit),
}

/// Opens data files of one table.
pub(crate) struct Opener {
    pub(crate) source: Source,
    vectors: VectorWindows,
}

impl Opener {
    /// Returns a deletion vector by its index, if there is one; each is taken once.
    pub(crate) fn vector(&self, number: usize) -> Result<Option<Arc<DeletionVector>>> {
        self.vectors.take(number)
    }

    /// Returns the units of a file.
    pub(crate) fn units(
        &self,
        plan: &ReadPlan,
        file: DataFile<'_>,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<Vec<FileUnit>> {
        let file = DataFile { bytes, ..file };
        plan.open_file(&self.source.storage, &file)
            .map(FileUnit::all)
    }
}

/// Data files to read.
pub(crate) struct DataFiles<F> {
    opener: Opener,
    files: F,
}

/// Reads files; `vectors` are the deletion vectors that [`Opener::vector`] returns.
pub(crate) fn read_files<F: FileRows>(
    source: &Source,
    vectors: Vec<Option<DeletionVectorDescriptor>>,
    files: F,
    limits: ReadAheadLimits,
) -> OrderedRows<DataFiles<F>> {
    let opener = Opener {
        source: source.clone(),
        vectors: VectorWindows::new(&source.storage, &source.resolver, vectors),
    };
    OrderedRows::new(DataFiles { opener, files }, limits)
}

/// Opens a file to read all of its rows, including deleted ones.
pub(crate) fn open_with_deleted_rows(
    plan: &ReadPlan,
    source: &Source,
    file: &ScanFile,
) -> Result<OpenFile> {
    let data_file = DataFile {
        bytes: source.file_bytes(&file.path, file.size),
        ..file.data_file(&source.resolver, None)?
    };
    plan.open_file(&source.storage, &data_file)
}

impl<F: FileRows> Work for DataFiles<F> {
    type Unit = (usize, Step<F::Batch>);
    type Batch = F::Batch;

    fn files(&self) -> usize {
        self.files.len()
    }

    fn max_requests(&self) -> Option<usize> {
        self.opener.source.storage.max_requests()
    }

    fn bytes(&self, number: usize) -> Option<Arc<FileBytes>> {
        let (path, size) = self.files.file(number)?;
        self.opener.source.file_bytes(path, size)
    }

    fn open(&self, number: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Self::Unit>> {
        let steps = self.files.open(&self.opener, number, bytes);
        let steps = steps.map_err(|error| self.files.locate_error(number, error))?;
        Ok(steps.into_iter().map(|step| (number, step)).collect())
    }

    fn prefetch(&self, (_, step): &Self::Unit) -> Option<Prefetch> {
        match step {
            Step::Unit(unit) => unit.prefetch(),
            Step::Emit(_) | Step::Rows(_) => None,
        }
    }

    fn read(
        &self,
        (number, step): Self::Unit,
        emit: &mut Emit<'_, Self::Batch>,
    ) -> Result<Option<Self::Unit>> {
        let rest = match step {
            Step::Emit(batch) => return emit(batch).map(|()| None),
            Step::Rows(batch) => self.files.emit(number, batch, emit).map(|()| None),
            Step::Unit(unit) => unit.read(&mut |batch| self.files.emit(number, batch, emit)),
        };
        let rest = rest.map_err(|error| self.files.locate_error(number, error))?;
        Ok(rest.map(|unit| (number, Step::Unit(unit))))
    }

    fn continues_after(&self, number: usize, error: &Error) -> bool {
        self.files.continues_after(number, error)
    }
}
