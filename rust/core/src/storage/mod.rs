//! The only module that does I/O: list, read, read ranges, create, delete.
//!
//! A [`Storage`] is bound to one table root; its paths are relative to that root, except those of files below
//! another allowed root, and are separated by `/` and not encoded. [`PathResolver`] converts paths of the log
//! to them. The interface is synchronous; async and its runtime are internal to this module and belong to one
//! process id, because PySpark forks its workers.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod background;
mod clock;
mod confined;
mod failures;
mod file_bytes;
pub mod interrupt;
mod file_cache;
mod forward;
mod local;
mod location;
mod object;
mod parquet;
mod per_process;
mod platform;
pub mod pool;
pub mod progress;
mod cached;
mod request;
mod resolve;
mod runtime;
mod scratch;
mod temporary;
pub mod transfer;
mod vended;

pub(crate) use background::{BackgroundWork, in_background};
pub use cached::CachedStorage;
pub(crate) use clock::now;
use confined::Confinement;
pub(crate) use failures::{check_complete, check_size, is_full, is_unreachable, slices};
pub use file_bytes::{FileBytes, Meter};
pub use file_cache::FileCache;
pub(crate) use forward::forward;
pub use local::LocalStorage;
pub use location::{Location, StoreKind};
pub(crate) use location::{URI_PATH, split_scheme};
pub use object::ObjectStorage;
pub use object::ahead::PendingRange;
#[cfg(test)]
pub(crate) use object::tests::far;
pub(crate) use parquet::{Footer, fetch, footer_of, read_footer};
pub use request::{OnEnd, Request};
pub use resolve::PathResolver;
pub use scratch::Scratch;
pub use temporary::TemporaryFile;
pub use vended::{Access, Credentials, VendedStorage, Vending};

/// Ranges of a file with at most this many bytes between them are fetched together: a request costs more than
/// these bytes.
const MAX_GAP_BYTES: u64 = 1 << 20;

/// The maximum number of files that are deleted in one call of the storage.
const DELETE_BATCH: usize = 500;

/// A file in a listing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileMeta {
    /// Path relative to the table root, e.g. `_delta_log/00000000000000000000.json`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in milliseconds since the Unix epoch.
    pub modification_time: i64,
    /// Differs for different content, derived from the ETag; 0 if the store has none.
    #[serde(skip)]
    pub tag: u64,
}

/// An unknown tag equals every tag, so this is not an equivalence, and there is no `Eq`.
impl PartialEq for FileMeta {
    fn eq(&self, other: &Self) -> bool {
        let known = self.tag != 0 && other.tag != 0;
        self.path == other.path
            && self.size == other.size
            && self.modification_time == other.modification_time
            && (self.tag == other.tag || !known)
    }
}

/// An entry of a directory that listings leave out.
#[derive(Clone, Debug)]
pub struct UnlistedEntry {
    /// Path relative to the table root.
    pub path: String,
    /// Why it is left out, as a clause: `it is a link, but not to a file`.
    pub reason: &'static str,
}

/// The maximum size of a file that is read in parallel with others: it may have grown since it was listed.
const MAX_PARALLEL_FILE_BYTES: u64 = 512 << 20;

/// Storage below one table root.
///
/// A path that begins with `/` is absolute within the same store: [`PathResolver`] returns such paths for
/// files below an allowed root outside of the table.
pub trait Storage: Debug + Send + Sync {
    /// Returns the table root as a URI, for messages.
    fn root(&self) -> &str;

    /// Lists the files directly in `directory` whose base name is `>= from`, sorted by name, without
    /// subdirectories. A directory that does not exist is empty.
    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>>;

    /// Reads the whole file. A missing file is an error with the code `storage.not_found`.
    fn read(&self, path: &str) -> Result<Bytes>;

    /// Reads a file of at most this many bytes, as [`Storage::read`]; a larger one is an error, and not
    /// read.
    ///
    /// # Errors
    ///
    /// Corrupt: `storage.file_too_large`.
    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        check_size(path, self.head(path)?.size, max_bytes)?;
        self.read(path)
    }

    /// Reads several byte ranges of one file, returned in the requested order; ranges that are close are
    /// fetched together.
    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Returns the maximum number of pending requests; `None` if reads do not wait for a network, and bytes
    /// are read on demand.
    fn max_requests(&self) -> Option<usize> {
        None
    }

    /// Returns `true` if reads wait for a network.
    fn is_remote(&self) -> bool {
        self.max_requests().is_some()
    }

    /// Starts to read byte ranges of one file, which are sorted and do not overlap, each by its own requests;
    /// calls `on_end` once all bytes or an error have arrived. Does not block if [`Storage::max_requests`] is
    /// some, except for files of the log and to request credentials.
    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        Request::ended(self.read_ranges(path, ranges), on_end)
    }

    /// Reads many whole files of at most [`MAX_PARALLEL_FILE_BYTES`] in parallel; results are in the requested
    /// order.
    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>>;

    /// Returns this process's cache of the log, for a [`CachedStorage`] with caching enabled.
    fn log_cache(&self) -> Option<&CachedStorage> {
        None
    }

    /// Returns size and modification time of one file.
    fn head(&self, path: &str) -> Result<FileMeta>;

    /// Checks that [`Storage::read`] would not refuse the path, for files that another component reads.
    /// Object stores have no links, so a resolved path suffices.
    fn check_readable(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    /// Creates the file with these bytes unless it exists: returns `true` if this call created it, `false`
    /// if it existed. It becomes visible as a whole, and is durable when this returns.
    ///
    /// After any error except a refusal, it is unknown whether the file was created: read it to find out.
    fn put_if_absent(&self, path: &str, _bytes: &[u8]) -> Result<bool> {
        Err(read_only(path))
    }

    /// Creates a file as [`Storage::put_if_absent`], but a power failure soon afterwards may undo it.
    /// Identical for stores without that choice.
    fn put_if_absent_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.put_if_absent(path, bytes)
    }

    /// Writes the file, whether it exists or not; readers see either the old bytes or the new ones.
    fn put(&self, path: &str, _bytes: &[u8]) -> Result<()> {
        Err(read_only(path))
    }

    /// Lists all files below a directory, or below the table root if its name is empty, sorted by path;
    /// paths are relative to the root. Directories whose path `enter` refuses are left out; local ones are
    /// not even read.
    fn list_below(
        &self,
        directory: &str,
        _enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        let message = "this store cannot list directories";
        Err(Error::unsupported("storage.read_only", message).at_path(directory))
    }

    /// Returns the first entry below the table root that listings leave out although `enter` admits its path.
    /// Object stores have none.
    fn find_unlisted(
        &self,
        _enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Option<UnlistedEntry>> {
        Ok(None)
    }

    /// Copies a file within the store, server-side if supported; both paths may be absolute. It becomes
    /// visible as a whole: returns `true` if this call created it, `false` if it existed. If the store cannot
    /// check the condition, an existing file is overwritten.
    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        let bytes = self.read(from)?;
        self.put_if_absent(to, &bytes)
    }

    /// Creates a file from consecutive pieces as [`Storage::put_if_absent`]. Stores hold at most two of them
    /// in memory; this default holds all. If the store cannot check the condition, a file created in the
    /// meantime is overwritten.
    fn put_pieces(
        &self,
        path: &str,
        pieces: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        let mut whole = Vec::new();
        while let Some(piece) = pieces()? {
            whole.extend_from_slice(&piece);
        }
        self.put_if_absent(path, &whole)
    }

    /// Lists all directories below the table root, parents first, without those that `enter` refuses. Empty
    /// for remote stores: most have directories only as prefixes of file names.
    fn list_directories(&self, _enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>> {
        Ok(Vec::new())
    }

    /// Removes a directory if it is empty; returns `true` if this call removed it.
    fn delete_empty(&self, _directory: &str) -> Result<bool> {
        Ok(false)
    }

    /// Returns `true` if the path itself is a link. Object stores have none.
    fn is_link(&self, _path: &str) -> bool {
        false
    }

    /// Returns the location of a file outside of the table to which the path leads by links; `None` for a
    /// file inside.
    fn outside_target(&self, _path: &str) -> Option<String> {
        None
    }

    /// Deletes files and returns a result for each; local files are deleted in the given order. A file that
    /// does not exist counts as deleted.
    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        paths.iter().map(|path| Err(read_only(path))).collect()
    }
}

fn read_only(path: &str) -> Error {
    Error::unsupported("storage.read_only", "this store cannot be written to").at_path(path)
}

/// Opens the storage of a table root, without I/O. `options` are those of [`ObjectStorage::new`], and have no
/// effect on a local table. With `allowed_roots`, a local table is confined to its own root and to them:
/// files that are elsewhere once links are followed are not opened.
pub fn open_location(
    location: &Location,
    options: &[(String, String)],
    allowed_roots: Option<&[Location]>,
) -> Result<Arc<dyn Storage>> {
    Ok(match location.kind() {
        StoreKind::Local => {
            let local = LocalStorage::new(location.root(), location.path());
            Arc::new(match allowed_roots {
                None => local,
                Some(roots) => local.confined(Confinement::new(location, roots)),
            })
        }
        _ => Arc::new(CachedStorage::new(location, options)?),
    })
}

/// Deletes files in this order and stops at the first that cannot be deleted.
pub(crate) fn delete_all(storage: &dyn Storage, paths: &[&str]) -> Result<()> {
    for chunk in paths.chunks(DELETE_BATCH) {
        interrupt::check()?;
        storage.delete(chunk).into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}

/// Returns `true` if a path is below a directory; every path is below the root, whose name is empty.
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
}

/// Returns the path of a file in a directory; the name of the table root is empty.
fn path_in(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        _ => format!("{directory}/{name}"),
    }
}

/// Adds the slash that a root directory (`/`, or `C:/` on Windows) lacks in [`LocalStorage`].
fn with_root(directory: &str) -> Cow<'_, str> {
    if directory.contains('/') {
        directory.into()
    } else {
        format!("{directory}/").into()
    }
}

/// Refuses `..` in a path, although [`PathResolver`] has resolved it already.
fn refuse_parents(path: &str) -> Result<()> {
    if path.split('/').any(|part| part == "..") {
        let error = Error::invalid("path.escapes_root", "a storage path may not contain `..`");
        return Err(error.at_path(path));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
