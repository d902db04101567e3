//! Directories: creating them durably, listing them, and removing empty ones.

use std::fs;
use std::io::{self, ErrorKind as IoKind};
use std::path::Path;

use super::{LocalStorage, failed, meta};
use crate::error::Result;
use crate::storage::{FileMeta, UnlistedEntry, interrupt, path_in, platform, with_root};

impl LocalStorage {
    /// Returns all directories below one, parents first, except those that `enter` refuses.
    pub(super) fn directories(
        &self,
        below: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        let mut directories: Vec<FileMeta> = Vec::new();
        let mut left = vec![below.trim_end_matches('/').to_owned()];
        while let Some(directory) = left.pop() {
            interrupt::check()?;
            let entries = self.readable(&directory, "list").map(fs::read_dir);
            for entry in entries.into_iter().flatten().flatten() {
                let entry = entry.map_err(|cause| failed("list", &directory, cause))?;
                let kind = entry.file_type();
                // links to directories lead elsewhere, possibly in a cycle
                let name = entry.file_name();
                let (Ok(true), Some(name)) = (kind.map(|kind| kind.is_dir()), name.to_str()) else {
                    continue;
                };
                let path = path_in(&directory, name);
                // an entry without metadata was removed in the meantime
                if enter(&path)
                    && let Ok(metadata) = entry.metadata()
                {
                    directories.push(meta(&path, &metadata));
                    left.push(path);
                }
            }
        }
        Ok(directories)
    }

    /// Reads a directory; `None` if there is none.
    pub(super) fn entries(&self, directory: &str) -> Result<Option<fs::ReadDir>> {
        let entries = self
            .readable(directory, "list")
            .and_then(|full| fs::read_dir(full).map_err(|cause| failed("list", directory, cause)));
        match entries {
            Err(absent) if absent.code() == "storage.not_found" => Ok(None),
            entries => entries.map(Some),
        }
    }

    pub(super) fn unlisted(
        &self,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Option<UnlistedEntry>> {
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            for entry in self.entries(&directory)?.into_iter().flatten() {
                interrupt::check()?;
                let entry = entry.map_err(|cause| failed("list", &directory, cause))?;
                let name = entry.file_name();
                let path = path_in(&directory, &name.to_string_lossy());
                if !enter(&path) {
                    continue;
                }
                let kind = entry
                    .file_type()
                    .map_err(|cause| failed("look at", &path, cause))?;
                let reason = if name.to_str().is_none() {
                    "its name is not UTF-8"
                } else if kind.is_symlink() && !entry.path().is_file() {
                    "it is a link, but not to a file"
                } else if kind.is_dir() {
                    directories.push(path);
                    continue;
                } else if kind.is_file() || kind.is_symlink() {
                    continue;
                } else {
                    "it is neither a file nor a directory"
                };
                return Ok(Some(UnlistedEntry { path, reason }));
            }
        }
        Ok(None)
    }

    pub(super) fn remove_empty(&self, directory: &str) -> Result<bool> {
        match fs::remove_dir(self.writable(directory)?) {
            Ok(()) => Ok(true),
            Err(occupied) if occupied.kind() == IoKind::DirectoryNotEmpty => Ok(false),
            Err(gone) if gone.kind() == IoKind::NotFound => Ok(false),
            Err(cause) => Err(failed("remove", directory, cause)),
        }
    }
}

/// Creates a directory and its parents; with `sync`, syncs the parent of each new one, so that a power
/// failure does not lose it.
pub(super) fn make_directory(directory: &str, sync: bool) -> io::Result<()> {
    let above = directory.rsplit_once('/').map_or("", |(above, _)| above);
    let created = match fs::create_dir(&*with_root(directory)) {
        Err(absent) if absent.kind() == IoKind::NotFound && !directory.is_empty() => {
            make_directory(above, sync)?;
            fs::create_dir(directory)
        }
        created => created,
    };
    match created {
        Err(_) if Path::new(&*with_root(directory)).is_dir() => Ok(()), // it exists already
        Err(other) => Err(other),
        Ok(()) if sync => sync_directory(above).inspect_err(|_| {
            let _next_attempt_syncs_it = fs::remove_dir(directory);
        }),
        Ok(()) => Ok(()),
    }
}

pub(super) fn sync_directory(directory: &str) -> io::Result<()> {
    platform::sync_directory(&with_root(directory))
}
