//! Rows of data files, read ahead of the work on them.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{DataFile, FileUnit, ReadPlan};
use crate::scan::vector_windows::VectorWindows;
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Ahead, Give, Look, OrderedRows, Rows, Work};
use crate::write::AddFile;

/// The rows of a file without those of its own vector.
pub(super) const OWN_VECTOR: Option<Arc<DeletionVector>> = None;

/// A read of some files, one after the other.
pub(super) enum Read {
    /// A file begins: the vector of the rows that are left out, and how many it has with them.
    File {
        file: Box<AddFile>,
        vector: Option<Arc<DeletionVector>>,
        rows: u64,
    },
    /// Some of its rows.
    Rows(RecordBatch),
}

impl Rows for Read {
    fn bytes(&self) -> usize {
        match self {
            // a vector is the only large part
            Self::File { file, .. } => {
                let vector = file.deletion_vector.as_ref();
                vector.map_or(0, |vector| vector.size_in_bytes() as usize)
            }
            Self::Rows(rows) => rows.bytes(),
        }
    }
}

/// Reads files by a plan; rows of the vectors given are left out, or of [`OWN_VECTOR`].
pub(super) fn read_ahead(
    source: &Source,
    plan: ReadPlan,
    files: Vec<(AddFile, Option<Arc<DeletionVector>>)>,
) -> OrderedRows<DataFiles> {
    let own = |(file, vector): &(AddFile, Option<_>)| match vector {
        Some(_) => None,
        None => file.deletion_vector.clone(),
    };
    let own = files.iter().map(own).collect();
    let work = DataFiles {
        source: source.clone(),
        vectors: VectorWindows::new(&source.storage, &source.resolver, own),
        plan,
        files,
    };
    OrderedRows::new(work, Look::default())
}

/// Files to be read.
pub(super) struct DataFiles {
    source: Source,
    plan: ReadPlan,
    files: Vec<(AddFile, Option<Arc<DeletionVector>>)>,
    vectors: VectorWindows,
}

/// One step of a file.
pub(super) enum Step {
    Begin(Read),
    Unit(FileUnit),
}

impl DataFiles {
    fn opened(&self, number: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Step>> {
        let Some((file, vector)) = self.files.get(number) else {
            return Ok(Vec::new());
        };
        let (storage, resolver) = (&self.source.storage, &self.source.resolver);
        let vector = match vector {
            Some(vector) => Some(Arc::clone(vector)),
            None => self.vectors.take(number)?,
        };
        let data_file = file.scan_file().data_file(resolver, vector.clone())?;
        let data_file = DataFile { bytes, ..data_file };
        let units = FileUnit::all(self.plan.open_file(storage, &data_file)?);
        let rows = units.iter().map(FileUnit::unit);
        let rows = rows.map(|unit| unit.rows.end - unit.rows.start);
        let begin = Read::File {
            file: Box::new(file.clone()),
            vector,
            rows: rows.sum(),
        };
        let units = units.into_iter().map(Step::Unit);
        Ok(std::iter::once(Step::Begin(begin)).chain(units).collect())
    }
}

impl Work for DataFiles {
    type Unit = Step;
    type Batch = Read;

    fn files(&self) -> usize {
        self.files.len()
    }

    fn max_requests(&self) -> Option<usize> {
        self.source.storage.max_requests()
    }

    fn bytes(&self, number: usize) -> Option<Arc<FileBytes>> {
        let (file, _) = self.files.get(number)?;
        self.source.file_bytes(&file.path, file.size)
    }

    fn open(&self, number: usize, bytes: Option<Arc<FileBytes>>) -> Result<Vec<Step>> {
        self.opened(number, bytes)
            .map_err(|error| match self.files.get(number) {
                Some((file, _)) => error.at_path(file.path.clone()),
                None => error,
            })
    }

    fn ahead(&self, step: &Step) -> Option<Ahead> {
        match step {
            Step::Begin(_) => None,
            Step::Unit(unit) => unit.ahead(),
        }
    }

    fn read(&self, step: Step, give: &mut Give<'_, Read>) -> Result<Option<Step>> {
        match step {
            Step::Begin(read) => give(read).map(|()| None),
            Step::Unit(unit) => {
                let rest = unit.read(&mut |rows| give(Read::Rows(rows)))?;
                Ok(rest.map(Step::Unit))
            }
        }
    }

    fn passes_over(&self, _: usize, _: &Error) -> bool {
        false
    }
}
