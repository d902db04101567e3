//! Rows of data files, read ahead of the work on them.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{OpenFile, ReadPlan, Unit};
use crate::scan::deletion_vectors::load_one;
use crate::storage::pool::rows::{Give, Look, OrderedRows, Rows, Work};
use crate::write::AddFile;

/// The rows of a file without those of its own vector.
pub(super) const OWN_VECTOR: Option<Arc<DeletionVector>> = None;

/// What is read of some files, one after the other.
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
    let source = source.clone();
    let work = DataFiles {
        source,
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
}

/// One step of a file.
pub(super) enum Step {
    Begin(Read),
    Unit(Arc<OpenFile>, Unit),
}

impl DataFiles {
    fn opened(&self, file: &AddFile, vector: Option<&Arc<DeletionVector>>) -> Result<Vec<Step>> {
        let (storage, resolver) = (&*self.source.storage, &self.source.resolver);
        let vector = match (vector, &file.deletion_vector) {
            (Some(vector), _) => Some(Arc::clone(vector)),
            (None, Some(own)) => Some(load_one(storage, resolver, own)?),
            (None, None) => None,
        };
        let data_file = file.scan_file().data_file(resolver, vector.clone())?;
        let open = Arc::new(self.plan.open_file(storage, &data_file)?);
        let units = open.units();
        let rows = units.iter().map(|unit| unit.rows.end - unit.rows.start);
        let begin = Read::File {
            file: Box::new(file.clone()),
            vector,
            rows: rows.sum(),
        };
        let units = units.into_iter();
        let units = units.map(|unit| Step::Unit(Arc::clone(&open), unit));
        Ok(std::iter::once(Step::Begin(begin)).chain(units).collect())
    }
}

impl Work for DataFiles {
    type Unit = Step;
    type Batch = Read;

    fn files(&self) -> usize {
        self.files.len()
    }

    fn open(&self, number: usize) -> Result<Vec<Step>> {
        let Some((file, vector)) = self.files.get(number) else {
            return Ok(Vec::new());
        };
        let steps = self.opened(file, vector.as_ref());
        steps.map_err(|error| error.at_path(file.path.clone()))
    }

    fn read(&self, step: Step, give: &mut Give<'_, Read>) -> Result<()> {
        match step {
            Step::Begin(read) => give(read),
            Step::Unit(open, unit) => {
                let mut batches = open.read(&*self.source.storage, &unit)?;
                batches.try_for_each(|rows| give(Read::Rows(rows?)))
            }
        }
    }

    fn passes_over(&self, _: usize, _: &Error) -> bool {
        false
    }
}
