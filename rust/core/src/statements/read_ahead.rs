//! Reads rows of data files ahead of the caller.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::replay::Source;
use crate::scan::data_file::ReadPlan;
use crate::scan::data_files::{FileRows, Opener, Step, read_files};
use crate::storage::FileBytes;
use crate::storage::pool::rows::{Emit, ReadAheadLimits, Rows};
use crate::write::AddFile;

/// Stands for the file's own vector.
pub(super) const OWN_VECTOR: Option<Arc<DeletionVector>> = None;

/// A step in reading several files in order.
pub(super) enum FileRead {
    /// A file begins: the vector of the rows to skip, and the number of rows in the file, including rows
    /// that are not read.
    Begin {
        file: Box<AddFile>,
        vector: Option<Arc<DeletionVector>>,
        rows: u64,
    },
    /// Some rows of the file that began last.
    Rows(RecordBatch),
}

impl Rows for FileRead {
    fn bytes(&self) -> usize {
        match self {
            // the vector is the only large part
            Self::Begin { file, .. } => {
                let vector = file.deletion_vector.as_ref();
                vector.map_or(0, |vector| vector.size_in_bytes() as usize)
            }
            Self::Rows(rows) => rows.bytes(),
        }
    }
}

/// Files, each with the vector of the rows to skip, or [`OWN_VECTOR`].
type VectoredFiles = Vec<(AddFile, Option<Arc<DeletionVector>>)>;

/// Reads files by a plan.
pub(super) fn read_ahead(
    source: &Source,
    plan: ReadPlan,
    files: VectoredFiles,
) -> impl Iterator<Item = Result<FileRead>> + use<> {
    let own = |(file, vector): &(AddFile, Option<_>)| match vector {
        Some(_) => None,
        None => file.deletion_vector.clone(),
    };
    let own = files.iter().map(own).collect();
    let files = FilesToRead { plan, files };
    read_files(source, own, files, ReadAheadLimits::default())
}

/// Files, and the plan to read them.
struct FilesToRead {
    plan: ReadPlan,
    files: VectoredFiles,
}

impl FileRows for FilesToRead {
    type Batch = FileRead;

    fn len(&self) -> usize {
        self.files.len()
    }

    fn file(&self, number: usize) -> Option<(&str, i64)> {
        let (file, _) = self.files.get(number)?;
        Some((&file.path, file.size))
    }

    fn open(
        &self,
        opener: &Opener,
        number: usize,
        bytes: Option<Arc<FileBytes>>,
    ) -> Result<Vec<Step<FileRead>>> {
        let Some((file, vector)) = self.files.get(number) else {
            return Ok(Vec::new());
        };
        let vector = match vector {
            Some(vector) => Some(Arc::clone(vector)),
            None => opener.vector(number)?,
        };
        let scan_file = file.scan_file();
        let data_file = scan_file.data_file(&opener.source.resolver, vector.clone())?;
        let units = opener.units(&self.plan, data_file, bytes)?;
        // including row groups that the filter excludes: their rows stay in the file
        let rows = units.first().map_or(0, |unit| unit.file().num_rows());
        let begin = FileRead::Begin {
            file: Box::new(file.clone()),
            vector,
            rows,
        };
        let units = units.into_iter().map(Step::Unit);
        Ok(std::iter::once(Step::Emit(begin)).chain(units).collect())
    }

    fn emit(&self, _: usize, rows: RecordBatch, emit: &mut Emit<'_, FileRead>) -> Result<()> {
        emit(FileRead::Rows(rows))
    }
}
