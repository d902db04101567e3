//! The work of a scan: data files opened with their deletion vectors, and read unit by unit.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::data_file::{OpenFile, ReadPlan, Unit};
use super::deletion_vectors::{Loaded, load};
use super::scan_file::ScanFile;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::DeletionVectorDescriptor;
use crate::storage::pool::rows::{Give, Look, OrderedRows, Work};
use crate::storage::{PathResolver, Storage};

/// Vectors that are loaded together: at most this many, and at most this many bytes.
const WINDOW_VECTORS: usize = 1024;
const WINDOW_BYTES: u64 = 32 << 20;

/// A file, or the row groups of it whose middle lies in a range of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The file.
    pub file: ScanFile,
    /// Which of its row groups; `None` for all.
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

/// Where files that are passed over are listed.
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

    /// Whether a file with this error may be passed over; if so, it is listed.
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

/// Files whose vectors are loaded together, by the first thread that needs one of them.
struct Window {
    files: Range<usize>,
    loaded: OnceLock<Mutex<Vec<Option<Loaded>>>>,
}

/// Data files to be read by one plan.
pub(super) struct Files {
    plan: ReadPlan,
    storage: Arc<dyn Storage>,
    resolver: Arc<PathResolver>,
    parts: Vec<Part>,
    windows: Vec<Window>,
    skipped: Option<Skipped>,
}

impl Files {
    /// These parts in this order.
    pub(super) fn new(
        plan: ReadPlan,
        storage: &Arc<dyn Storage>,
        resolver: &Arc<PathResolver>,
        parts: Vec<Part>,
        skipped: Option<Skipped>,
    ) -> Self {
        Self {
            plan,
            storage: Arc::clone(storage),
            resolver: Arc::clone(resolver),
            windows: windows(&parts),
            parts,
            skipped,
        }
    }

    fn vector(&self, number: usize) -> Result<Option<Arc<DeletionVector>>> {
        let after = self
            .windows
            .partition_point(|window| window.files.start <= number);
        let window = after.checked_sub(1).and_then(|at| self.windows.get(at));
        let Some(window) = window else {
            return Ok(None);
        };
        let loaded = window.loaded.get_or_init(|| Mutex::new(self.load(window)));
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let place = loaded.get_mut(number - window.files.start);
        place.and_then(Option::take).transpose()
    }

    fn load(&self, window: &Window) -> Vec<Option<Loaded>> {
        let parts = self.parts.get(window.files.clone()).unwrap_or_default();
        let descriptors: Vec<DeletionVectorDescriptor> = parts
            .iter()
            .filter_map(|part| part.file.deletion_vector.clone())
            .collect();
        let mut loaded = load(&self.storage, &self.resolver, &descriptors).into_iter();
        let has = |part: &Part| part.file.deletion_vector.is_some();
        parts
            .iter()
            .map(|part| has(part).then(|| loaded.next()).flatten())
            .collect()
    }

    fn open_file(&self, number: usize, part: &Part) -> Result<OpenFile> {
        let vector = self.vector(number)?;
        let file = part.file.data_file(&self.resolver, vector)?;
        self.plan.open_file(&*self.storage, &file)
    }
}

fn windows(parts: &[Part]) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let (mut vectors, mut bytes) = (WINDOW_VECTORS, 0);
    for (number, part) in parts.iter().enumerate() {
        let Some(descriptor) = &part.file.deletion_vector else {
            continue;
        };
        if vectors >= WINDOW_VECTORS || bytes >= WINDOW_BYTES {
            windows.push(Window {
                files: number..number,
                loaded: OnceLock::new(),
            });
            (vectors, bytes) = (0, 0);
        }
        vectors += 1;
        bytes += u64::from(descriptor.size_in_bytes());
        if let Some(window) = windows.last_mut() {
            window.files.end = number + 1;
        }
    }
    windows
}

impl Work for Files {
    type Unit = (Arc<OpenFile>, Unit);
    type Batch = RecordBatch;

    fn files(&self) -> usize {
        self.parts.len()
    }

    fn open(&self, number: usize) -> Result<Vec<Self::Unit>> {
        let Some(part) = self.parts.get(number) else {
            return Ok(Vec::new());
        };
        let open = Arc::new(
            self.open_file(number, part)
                .map_err(|error| error.at_path(part.file.path.clone()))?,
        );
        let mut units = open.units();
        if let Some(bytes) = &part.bytes {
            units.retain(|unit| {
                open.middle(unit.row_group)
                    .is_some_and(|middle| bytes.contains(&middle))
            });
        }
        Ok(units
            .into_iter()
            .map(|unit| (Arc::clone(&open), unit))
            .collect())
    }

    fn read(&self, (open, unit): Self::Unit, give: &mut Give<'_>) -> Result<()> {
        for batch in open.read(&*self.storage, &unit)? {
            let batch = batch?;
            if batch.num_rows() > 0 {
                give(batch)?;
            }
        }
        Ok(())
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
