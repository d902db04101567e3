//! Files far away that are read more than once within one call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{FileBytes, Meter, Storage};

/// Bytes of files that stay, altogether.
const KEPT_BYTES: usize = 32 << 20;

/// Bytes of files, as far as memory allows.
#[derive(Debug, Default)]
pub struct KeptFiles {
    meter: Arc<Meter>,
    files: Mutex<HashMap<String, Arc<FileBytes>>>,
}

impl KeptFiles {
    /// The bytes of a file, which stay if there is room.
    pub fn file(&self, storage: &Arc<dyn Storage>, path: String, length: u64) -> Arc<FileBytes> {
        self.kept(FileBytes::new(storage, path.clone(), length), path)
    }

    /// The same for a file of which only the footer is read.
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

    /// Lets a file go that is not read again.
    pub fn forget(&self, path: &str) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<FileBytes>>> {
        // no step under this lock leaves it half done
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
