//! A temporary file for data that does not fit into memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;
use uuid::Uuid;

use super::failures::failed;
use super::platform;
use crate::error::Result;

/// A file in the system's temporary directory (`TMPDIR`) that no other process can open. It is deleted when
/// this value, or the last of its mapped bytes, is dropped; unlike the files of a [`Scratch`](super::Scratch),
/// also if the process is killed.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    directory: String,
}

impl TemporaryFile {
    /// Creates a file.
    ///
    /// # Errors
    ///
    /// Storage: the file, or a missing directory for it, cannot be created.
    pub fn new() -> Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(directory: &Path) -> Result<Self> {
        let path = directory.join(format!("deltareplay-{}", Uuid::new_v4()));
        let file = fs::create_dir_all(directory).and_then(|()| platform::create_temporary(&path));
        let directory = directory.to_string_lossy().into_owned();
        match file {
            Ok(file) => Ok(Self { file, directory }),
            Err(cause) => Err(failed("write", &directory, cause)),
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// Storage: `storage.full` if there is no space, or another failed write.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|cause| failed("write", &self.directory, cause))
    }

    /// Maps all bytes. The system reads them from the file on access, and reclaims the memory when needed.
    ///
    /// # Errors
    ///
    /// Storage: the file cannot be mapped.
    pub fn map(self) -> Result<Bytes> {
        // SAFETY: the mapped file does not change: no other process can open it, since it has no name or is
        // opened exclusively, and the only handle is not written to any more.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&self.file) };
        let map = map.map_err(|cause| failed("map", &self.directory, cause))?;
        Ok(Bytes::from_owner(map)) // on Windows the map keeps the file open until it is dropped
    }
}

#[cfg(test)]
mod tests;
