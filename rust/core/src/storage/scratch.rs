//! A local directory for temporary files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use uuid::Uuid;

use super::failures::failed;
use super::{LocalStorage, Storage, platform};
use crate::error::Result;

/// A directory in the system's temporary directory (`TMPDIR`) that other users cannot read; it is deleted with
/// this value.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
    storage: Arc<dyn Storage>,
}

impl Scratch {
    /// Creates a directory.
    ///
    /// # Errors
    ///
    /// Storage: the directory cannot be created.
    pub fn new() -> Result<Self> {
        let directory = std::env::temp_dir().join(format!("deltareplay-{}", Uuid::new_v4()));
        let name = directory.to_string_lossy().into_owned();
        platform::create_private_directory(&directory)
            .map_err(|cause| failed("create", &name, cause))?;
        let path = platform::from_system(&name).unwrap_or_else(|| name.as_str().into());
        Ok(Self {
            directory,
            storage: Arc::new(LocalStorage::new(&name, &path)),
        })
    }

    /// Returns the storage of its files.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _system_cleans_up = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests;
