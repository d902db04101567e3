//! A cache of remote files that are read several times within one call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{FileBytes, Meter, Storage};

/// The maximum number of cached bytes.
const MAX_BYTES: usize = 32 << 20;

/// The cached bytes of files, up to a limit.
#[derive(Debug, Default)]
pub struct FileCache {
    meter: Arc<Meter>,
    files: Mutex<HashMap<String, Arc<FileBytes>>>,
}

impl FileCache {
    /// Returns the bytes of a file, which are cached if there is room.
    pub fn file(&self, storage: &Arc<dyn Storage>, path: String, length: u64) -> Arc<FileBytes> {
        self.get_or_insert(FileBytes::new(storage, path.clone(), length), path)
    }

    /// Returns the bytes of a file of which only the footer is read.
    pub fn footer(&self, storage: &Arc<dyn Storage>, path: String, length: u64) -> Arc<FileBytes> {
        self.get_or_insert(FileBytes::footer_only(storage, path.clone(), length), path)
    }

    fn get_or_insert(&self, new: FileBytes, path: String) -> Arc<FileBytes> {
        let mut files = self.lock();
        if let Some(file) = files.get(&path)
            && file.length() == new.length()
        {
            return Arc::clone(file);
        }
        let file = Arc::new(new);
        if file.keep(&self.meter, MAX_BYTES) {
            files.insert(path, Arc::clone(&file));
        }
        file
    }

    /// Removes a file that is not read again.
    pub fn remove(&self, path: &str) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<FileBytes>>> {
        // no operation under this lock can leave it inconsistent
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
