//! Deletion vectors of files that are read in order, loaded ahead of the reads.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::deletion_vectors::{Loaded, load};
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::spec::DeletionVectorDescriptor;
use crate::storage::{PathResolver, Storage};

/// The maximum number of vectors that are loaded together.
const WINDOW_VECTORS: usize = 1024;
/// A window gets no more vectors once they have this many bytes.
const WINDOW_BYTES: u64 = 32 << 20;

/// Files whose vectors are loaded together, by the first thread that needs one of them.
struct Window {
    files: Range<usize>,
    loaded: OnceLock<Mutex<Vec<Option<Loaded>>>>,
}

/// The vectors of files, each of which is taken once.
pub struct VectorWindows {
    storage: Arc<dyn Storage>,
    resolver: Arc<PathResolver>,
    descriptors: Vec<Option<DeletionVectorDescriptor>>,
    windows: Vec<Window>,
}

impl fmt::Debug for VectorWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorWindows")
            .field("windows", &self.windows.len())
            .finish_non_exhaustive()
    }
}

impl VectorWindows {
    /// Creates windows for the descriptors of files in reading order; nothing is loaded yet.
    pub fn new(
        storage: &Arc<dyn Storage>,
        resolver: &Arc<PathResolver>,
        descriptors: Vec<Option<DeletionVectorDescriptor>>,
    ) -> Self {
        Self {
            storage: Arc::clone(storage),
            resolver: Arc::clone(resolver),
            windows: windows(&descriptors),
            descriptors,
        }
    }

    /// Returns the vector of a file, if it has one.
    pub fn take(&self, number: usize) -> Result<Option<Arc<DeletionVector>>> {
        let after = self
            .windows
            .partition_point(|window| window.files.start <= number);
        let window = after.checked_sub(1).and_then(|at| self.windows.get(at));
        let Some(window) = window else {
            return Ok(None);
        };
        let loaded = window.loaded.get_or_init(|| Mutex::new(self.load(window)));
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = loaded.get_mut(number - window.files.start);
        vector.and_then(Option::take).transpose()
    }

    fn load(&self, window: &Window) -> Vec<Option<Loaded>> {
        let descriptors = self.descriptors.get(window.files.clone());
        let descriptors = descriptors.unwrap_or_default();
        let present: Vec<DeletionVectorDescriptor> =
            descriptors.iter().flatten().cloned().collect();
        let mut loaded = load(&self.storage, &self.resolver, &present).into_iter();
        let vector = |descriptor: &Option<_>| descriptor.as_ref().and_then(|_| loaded.next());
        descriptors.iter().map(vector).collect()
    }
}

fn windows(descriptors: &[Option<DeletionVectorDescriptor>]) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let (mut vectors, mut bytes) = (WINDOW_VECTORS, 0);
    for (number, descriptor) in descriptors.iter().enumerate() {
        let Some(descriptor) = descriptor else {
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
