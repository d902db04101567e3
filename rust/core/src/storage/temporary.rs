//! A temporary file for what does not fit into memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;
use uuid::Uuid;

use super::failures::failed;
use super::platform;
use crate::error::Result;

/// A file in the system's directory for temporary files (`TMPDIR`), without a name, unlike those of a
/// [`Scratch`](super::Scratch). It is deleted with its owner or
/// its bytes, even if the process is killed.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    directory: String,
}

impl TemporaryFile {
    /// A new one.
    ///
    /// # Errors
    ///
    /// Storage.
    pub fn new() -> Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    fn below(directory: &Path) -> Result<Self> {
        let path = directory.join(format!("deltareplay-{}", Uuid::new_v4()));
        let file = fs::create_dir_all(directory).and_then(|()| platform::create_temporary(&path));
        let directory = directory.to_string_lossy().into_owned();
        match file {
            Ok(file) => Ok(Self { file, directory }),
            Err(cause) => Err(failed("write", &directory, cause)),
        }
    }

    /// Writes bytes after those that are there.
    ///
    /// # Errors
    ///
    /// Storage: `storage.full` without space for them.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|cause| failed("write", &self.directory, cause))
    }

    /// All bytes. The system reads them from the file when they are looked at, and takes the memory back
    /// when it needs it.
    ///
    /// # Errors
    ///
    /// Storage.
    pub fn map(self) -> Result<Bytes> {
        // SAFETY: the file under the map is not changed: it has no name that another process could open it
        // by, or is opened for this process alone, and the only handle is not written to any more.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&self.file) };
        let map = map.map_err(|cause| failed("map", &self.directory, cause))?;
        Ok(Bytes::from_owner(map)) // on Windows it holds the file open until it goes
    }
}

#[cfg(test)]
mod tests;
