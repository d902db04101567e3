//! A table on a local file system, accessed by system calls: no async, no runtime.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as IoKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::confined::{Confinement, is_same, outside_target};
use super::failures::{beyond_the_end, check_complete, check_size, failed, not_a_file, repeat};
use super::pool::{self, ordered};
use super::{
    FileMeta, MAX_PARALLEL_FILE_BYTES, Storage, UnlistedEntry, interrupt, path_in, platform,
    progress, refuse_parents,
};
use crate::error::{Error, Result};

mod directories;

use directories::{make_directory, sync_directory};

/// The maximum number of files read sequentially: starting a thread's work costs more than a small read.
const FEW_FILES: usize = 8;
/// The maximum number of small files per unit of work.
const FILES_PER_UNIT: usize = 64;

/// Storage below one directory.
#[derive(Clone, Debug)]
pub struct LocalStorage {
    root: Arc<str>,
    /// Absolute, in the form of the operating system, without a trailing slash.
    directory: Arc<str>,
    /// The directories that links may lead to; `None` if links are not checked.
    confinement: Option<Arc<Confinement>>,
}

impl LocalStorage {
    /// Creates the storage below `directory`, a [`Location::path`](super::Location::path); `root` is its URI,
    /// for messages. No I/O.
    pub fn new(root: &str, directory: &str) -> Self {
        Self {
            root: root.into(),
            directory: platform::to_system(directory.trim_end_matches('/')).into(),
            confinement: None,
        }
    }

    pub(super) fn confined(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(Arc::new(confinement));
        self
    }

    fn full_path(&self, path: &str) -> Result<String> {
        refuse_parents(path)?;
        platform::check_names(path)?;
        if path.starts_with('/') {
            return Ok(platform::to_system(path).to_owned());
        }
        let mut full = String::with_capacity(self.directory.len() + 1 + path.len());
        full.push_str(&self.directory);
        full.push('/');
        full.push_str(path);
        Ok(full)
    }

    /// Returns the path for reading a file.
    fn readable(&self, path: &str, verb: &str) -> Result<PathBuf> {
        let full = self.full_path(path)?;
        match &self.confinement {
            None => Ok(full.into()),
            Some(confinement) => confinement.resolve(&full, path, verb),
        }
    }

    /// Returns the path for creating or deleting a file.
    fn writable(&self, path: &str) -> Result<String> {
        let full = self.full_path(path)?;
        if let Some(confinement) = &self.confinement {
            confinement.check_writable(&full, path)?;
        }
        Ok(full)
    }

    fn open(&self, path: &str) -> Result<(File, fs::Metadata)> {
        let full = self.readable(path, "read")?;
        let file = platform::open(&full).map_err(|cause| failed("read", path, cause))?;
        let metadata = file
            .metadata()
            .map_err(|cause| failed("read", path, cause))?;
        if self.confinement.is_some() && !is_same(&full, &file, &metadata) {
            let message = "this file was replaced while it was opened: try again";
            return Err(Error::storage("storage.exchanged", message).at_path(path));
        }
        if !metadata.is_file() {
            return Err(not_a_file(path));
        }
        Ok((file, metadata))
    }

    /// Returns the metadata of a directory entry; `None` if it is not a file or no longer exists.
    fn entry(entry: &fs::DirEntry, path: &str) -> io::Result<Option<FileMeta>> {
        let metadata = match entry.file_type() {
            Ok(kind) if kind.is_dir() => return Ok(None),
            Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()),
            Ok(_) => entry.metadata(),
            Err(cause) => Err(cause),
        };
        match metadata {
            Ok(metadata) => Ok(metadata.is_file().then(|| meta(path, &metadata))),
            Err(gone) if gone.kind() == IoKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    /// Writes a temporary file in the directory of `full` and returns its path.
    fn write_beside(
        full: &str,
        sync: bool,
        write: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> io::Result<String> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let (directory, name) = full.rsplit_once('/').unwrap_or(("", full));
        make_directory(directory, sync)?;
        let mut tries = 0;
        loop {
            let temporary = format!(
                "{directory}/.{name}.{}.{}.tmp",
                std::process::id(),
                COUNTER.fetch_add(1, Ordering::Relaxed)
            );
            let mut file = match OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&temporary)
            {
                Ok(file) => file,
                Err(left_over) if left_over.kind() == IoKind::AlreadyExists => continue,
                // a vacuum removed the empty directory
                Err(gone) if gone.kind() == IoKind::NotFound && tries < 3 => {
                    make_directory(directory, sync)?;
                    tries += 1;
                    continue;
                }
                Err(other) => return Err(other),
            };
            let written =
                write(&mut file).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
            return match written {
                Ok(()) => Ok(temporary),
                Err(cause) => {
                    let _first_error_counts = fs::remove_file(&temporary);
                    Err(cause)
                }
            };
        }
    }
}

impl Storage for LocalStorage {
    fn root(&self) -> &str {
        &self.root
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let mut files = Vec::new();
        let entries = self.entries(directory)?;
        let directory = directory.trim_end_matches('/');
        for entry in entries.into_iter().flatten() {
            interrupt::check()?;
            progress::listed(1);
            let entry = entry.map_err(|cause| failed("list", directory, cause))?;
            let name = entry.file_name();
            // no Delta file has a name that is not UTF-8
            let Some(name) = name.to_str().filter(|name| *name >= from) else {
                continue;
            };
            let path = path_in(directory, name);
            let file =
                Self::entry(&entry, &path).map_err(|cause| failed("look at", &path, cause))?;
            files.extend(file);
        }
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(files)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_at_most(path, u64::MAX)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        let (file, metadata) = self.open(path)?;
        check_size(path, metadata.len(), max_bytes)?;
        let size = usize::try_from(metadata.len()).map_err(|_| too_large(path, metadata.len()))?;
        let mut bytes = reserve(size, path)?;
        // not beyond the size seen: a file that grows meanwhile is read as it was
        (&file)
            .take(metadata.len())
            .read_to_end(&mut bytes)
            .map_err(|cause| failed("read", path, cause))?;
        check_complete(path, bytes.len(), metadata.len())?;
        progress::read(bytes.len());
        Ok(bytes.into())
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (file, metadata) = self.open(path)?;
        let size = metadata.len();
        if let Some(bad) = ranges
            .iter()
            .find(|range| range.start > range.end || range.end > size)
        {
            return Err(beyond_the_end(path, bad, size));
        }
        let mut results = Vec::with_capacity(ranges.len());
        for range in ranges {
            interrupt::check()?;
            let length = range.end - range.start;
            let length = usize::try_from(length).map_err(|_| too_large(path, length))?;
            let mut bytes = reserve(length, path)?;
            (&file)
                .seek(SeekFrom::Start(range.start))
                .and_then(|_| {
                    (&file)
                        .take(range.end - range.start)
                        .read_to_end(&mut bytes)
                })
                .map_err(|cause| failed("read", path, cause).at_offset(range.start))?;
            check_complete(path, bytes.len(), range.end - range.start)
                .map_err(|error| error.at_offset(range.start))?;
            progress::read(bytes.len());
            results.push(bytes.into());
        }
        Ok(results)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        if paths.len() <= FEW_FILES || pool::threads() < 2 {
            return paths
                .iter()
                .map(|path| {
                    interrupt::check()
                        .and_then(|()| self.read_at_most(path, MAX_PARALLEL_FILE_BYTES))
                })
                .collect();
        }
        let per_unit = paths
            .len()
            .div_ceil(8 * pool::threads())
            .clamp(1, FILES_PER_UNIT);
        let units: Vec<Vec<String>> = paths
            .chunks(per_unit)
            .map(|unit| unit.iter().map(|path| (*path).to_owned()).collect())
            .collect();
        let storage = self.clone();
        let mut results = Vec::with_capacity(paths.len());
        let all = units.len();
        for (unit, paths_of_unit) in ordered(units, all, move |unit: Vec<String>| {
            Ok(unit
                .iter()
                .map(|path| storage.read_at_most(path, MAX_PARALLEL_FILE_BYTES))
                .collect::<Vec<_>>())
        })
        .zip(paths.chunks(per_unit))
        {
            match unit {
                Ok(unit) => results.extend(unit),
                Err(error) => results.extend(repeat(&error, paths_of_unit)), // an interrupt or a bug
            }
        }
        // after an interrupt, the iterator ends early; every path still gets a result
        results.resize_with(paths.len(), || Err(Error::interrupted()));
        results
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        let metadata = fs::metadata(self.readable(path, "look at")?)
            .map_err(|cause| failed("look at", path, cause))?;
        if metadata.is_file() {
            Ok(meta(path, &metadata))
        } else {
            Err(not_a_file(path))
        }
    }

    fn check_readable(&self, path: &str) -> Result<()> {
        self.readable(path, "look at").map(drop)
    }

    /// Writes the bytes to a temporary file in the same directory, syncs it, links it to the name, and
    /// syncs the directory. Readers see the complete file or none, even after a power failure.
    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.create(path, true, &mut |file| file.write_all(bytes))
    }

    fn put_if_absent_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.create(path, false, &mut |file| file.write_all(bytes))
    }

    /// Writes the bytes to a temporary file in the same directory, syncs it, renames it, and syncs the
    /// directory.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let full = self.writable(path)?;
        let write_failed = |cause| failed("write", path, cause);
        let temporary = Self::write_beside(&full, true, &mut |file| file.write_all(bytes))
            .map_err(write_failed)?;
        if let Err(cause) = fs::rename(&temporary, &full) {
            let _leftover_is_harmless = fs::remove_file(&temporary);
            return Err(write_failed(cause));
        }
        sync_directory_of(&full, path)
    }

    /// Lets the system copy the bytes, as a reflink if the file system supports it.
    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        let (mut source, metadata) = self.open(from)?;
        let mut incomplete = None;
        let copied = self.create(to, true, &mut |file| {
            let bytes = io::copy(&mut source, file)?;
            match check_complete(
                from,
                usize::try_from(bytes).unwrap_or(usize::MAX),
                metadata.len(),
            ) {
                Ok(()) => Ok(()),
                Err(error) => {
                    incomplete = Some(error);
                    Err(io::Error::from(IoKind::UnexpectedEof))
                }
            }
        });
        incomplete.map_or(copied, Err)
    }

    fn put_pieces(
        &self,
        path: &str,
        pieces: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        let mut broken = None;
        let written = self.create(path, true, &mut |file| loop {
            match pieces() {
                Ok(Some(piece)) => file.write_all(&piece)?,
                Ok(None) => return Ok(()),
                Err(error) => {
                    broken = Some(error);
                    return Err(io::Error::other("some bytes could not be read"));
                }
            }
        });
        broken.map_or(written, Err)
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        let mut files = self.list(directory, "")?;
        for directory in self.directories(directory, enter)? {
            files.extend(self.list(&directory.path, "")?);
        }
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(files)
    }

    fn find_unlisted(
        &self,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Option<UnlistedEntry>> {
        self.unlisted(enter)
    }

    fn list_directories(&self, enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>> {
        self.directories("", enter)
    }

    fn delete_empty(&self, directory: &str) -> Result<bool> {
        self.remove_empty(directory)
    }

    fn is_link(&self, path: &str) -> bool {
        let entry = self.full_path(path).map(fs::symlink_metadata);
        matches!(entry, Ok(Ok(entry)) if entry.is_symlink())
    }

    fn outside_target(&self, path: &str) -> Option<String> {
        let full = self.full_path(path).ok()?;
        outside_target(&self.directory, &full).map(|real| platform::display(&real))
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        let delete = |path: &&str| {
            interrupt::check()?;
            match fs::remove_file(self.writable(path)?) {
                Err(cause) if cause.kind() != IoKind::NotFound => {
                    Err(failed("delete", path, cause))
                }
                _ => Ok(()),
            }
        };
        paths.iter().map(delete).collect()
    }
}

impl LocalStorage {
    /// Writes a file unless it exists.
    fn create(
        &self,
        path: &str,
        sync: bool,
        write: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> Result<bool> {
        let full = self.writable(path)?;
        let temporary =
            Self::write_beside(&full, sync, write).map_err(|cause| failed("write", path, cause))?;
        let linked = fs::hard_link(&temporary, &full);
        let _leftover_is_harmless = fs::remove_file(&temporary);
        match linked {
            Ok(()) if sync => sync_directory_of(&full, path).map(|()| true),
            Ok(()) => Ok(true),
            Err(taken) if taken.kind() == IoKind::AlreadyExists => Ok(false),
            Err(cause) => Err(failed("write", path, cause)),
        }
    }
}

/// Syncs the directory of a file, the last step of a write. If it fails, the file exists nevertheless.
fn sync_directory_of(full: &str, path: &str) -> Result<()> {
    let directory = full.rsplit_once('/').map_or("", |(directory, _)| directory);
    sync_directory(directory).map_err(|cause| {
        let message =
            "this file is written, but the disk does not confirm that it survives a power cut";
        Error::storage("storage.unsynced", message)
            .at_path(path)
            .because(cause)
    })
}

fn meta(path: &str, metadata: &fs::Metadata) -> FileMeta {
    FileMeta {
        path: path.to_owned(),
        size: metadata.len(),
        modification_time: platform::modification_time(metadata),
        tag: 0,
    }
}

/// Allocates an empty buffer of exactly this capacity; an error if there is not enough memory.
fn reserve(length: usize, path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| too_large(path, length as u64))?;
    Ok(bytes)
}

fn too_large(path: &str, length: u64) -> Error {
    Error::storage(
        "storage.too_large",
        format!("no memory for {length} bytes of this file"),
    )
    .at_path(path)
}

#[cfg(test)]
mod tests;
