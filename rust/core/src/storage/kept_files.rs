//! Remote files that are read several times within one call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{FileBytes, Meter, Storage};

/// The maximum number of bytes kept.
const KEPT_BYTES: usize = 32 << 20;

/// Kept bytes of files, up to a limit.
#[derive(Debug, Default)]
pub struct KeptFiles {
    meter: Arc<Meter>,
    files: Mutex<HashMap<String, Arc<FileBytes>>>,
}

impl KeptFiles {
    /// Returns the bytes of a file, which are kept if there is room.
    pub fn file(&self, storage: &Arc<dyn Storage>, path: String, length: u64) -> Arc<FileBytes> {
        self.kept(FileBytes::new(storage, path.clone(), length), path)
    }

    /// Returns the bytes of a file of which only the footer is read.
    pub fn footer(&self, storage: &Arc<dyn Storage>, path: String, length: u64) -> Arc<FileBytes> {
        self.kept(FileBytes::footer_only(storage, path.clone(), length), path)
    }

    fn kept(&self, new: FileBytes, path: String) -> Arc<FileBytes> {
        let mut files = self.lock();
        if let Some(file) = files.get(&path)
            && file.length() == new.length()
        {
            return Arc::clone(file);
        }
        let file = Arc::new(new);
        if file.keep(&self.meter, KEPT_BYTES) {
            files.insert(path, Arc::clone(&file));
        }
        file
    }

    /// Releases a file that is not read again.
    pub fn forget(&self, path: &str) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<FileBytes>>> {
        // no operation under this lock can leave it inconsistent
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
