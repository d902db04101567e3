//! The only module that does I/O: list, read, read ranges, create, delete.
//!
//! A [`Storage`] is bound to one table root; every path it takes is relative to that root, with `/`
//! between its parts and no encoding; [`PathResolver`] makes them from what the log says. The surface
//! is synchronous; async and its runtime stay inside this module and belong to one process id, because
//! PySpark forks its workers.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod beside;
mod clock;
mod confined;
mod failures;
mod file_bytes;
pub mod interrupt;
mod kept_files;
mod local;
mod location;
mod object;
mod parquet;
mod per_process;
mod platform;
pub mod pool;
pub mod progress;
mod remembered;
mod request;
mod resolve;
mod runtime;
mod scratch;
mod temporary;
pub mod transfer;
mod vended;

pub(crate) use beside::{Beside, beside};
pub(crate) use clock::now;
use confined::Confinement;
pub(crate) use failures::{check_size, check_whole};
pub use file_bytes::{FileBytes, Meter};
pub use kept_files::KeptFiles;
pub use local::LocalStorage;
pub(crate) use location::URI_PATH;
pub use location::{Location, StoreKind};
pub use object::ObjectStorage;
pub use object::ahead::Early;
#[cfg(test)]
pub(crate) use object::tests::far;
pub(crate) use parquet::{Footer, fetch, footer_of, read_footer};
pub use remembered::Remembered;
pub use request::{Ended, Request};
pub use resolve::PathResolver;
pub use scratch::Scratch;
pub use temporary::TemporaryFile;
pub use vended::{Access, Credentials, VendedStorage, Vending};

/// Ranges of a file with less between them are fetched as one: a request costs more than these bytes.
const NEAR: u64 = 1 << 20;

/// A file as a listing shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileMeta {
    /// Path relative to the table root, e.g. `_delta_log/00000000000000000000.json`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in milliseconds since the Unix epoch.
    pub modification_time: i64,
    /// Another number for other content, by its ETag; 0 if the store has none.
    #[serde(skip)]
    pub tag: u64,
}

/// A tag that is not known is no difference.
impl PartialEq for FileMeta {
    fn eq(&self, other: &Self) -> bool {
        let known = self.tag != 0 && other.tag != 0;
        self.path == other.path
            && self.size == other.size
            && self.modification_time == other.modification_time
            && (self.tag == other.tag || !known)
    }
}

impl Eq for FileMeta {}

/// Storage below one table root.
///
/// A path that begins with `/` is absolute within the same store: the [`PathResolver`] gives one for a
/// file below an allowed root that is outside the table.
pub trait Storage: Debug + Send + Sync {
    /// The table root as a URI, for messages.
    fn root(&self) -> &str;

    /// The files directly in `directory` whose base name is `>= from`, sorted by name. A directory
    /// that does not exist is an empty list. Sub-directories are left out.
    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>>;

    /// The whole file. A missing file is an error with the code `storage.not_found`.
    fn read(&self, path: &str) -> Result<Bytes>;

    /// As [`Storage::read`], of a file that has at most this many bytes; a larger one is not read.
    ///
    /// # Errors
    ///
    /// Corrupt: `storage.file_too_large`.
    fn read_at_most(&self, path: &str, most: u64) -> Result<Bytes> {
        check_size(path, self.head(path)?.size, most)?;
        self.read(path)
    }

    /// Several byte ranges of one file, in the order asked; near ranges are fetched together.
    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Returns the number of requests that may be in flight at a time; `None` if a read waits for
    /// no network, and bytes are read when they are needed.
    fn max_requests(&self) -> Option<usize> {
        None
    }

    /// Begins to read byte ranges of one file, each by requests of its own; `ended` is called once all bytes
    /// are there, or an error. The call itself waits for no network where [`Storage::max_requests`] is some.
    fn begin_read(&self, path: &str, ranges: &[Range<u64>], ended: Ended) -> Request {
        let request = Request::ended(self.read_ranges(path, ranges));
        ended();
        request
    }

    /// Many whole files, fetched side by side; results in the order asked.
    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>>;

    /// Returns the memory of this process for the log, if it is far away and something may be kept.
    fn memory(&self) -> Option<&Remembered> {
        None
    }

    /// Size and modification time of one file.
    fn head(&self, path: &str) -> Result<FileMeta>;

    /// Refuses a file that [`Storage::read`] would refuse for its place: for those who have it read by
    /// somebody else. Object stores have no links, so a resolved path says it all.
    fn check_readable(&self, path: &str) -> Result<()> {
        let _resolved = path;
        Ok(())
    }

    /// Creates the file with these bytes unless it exists: true when this call made it, false when
    /// there was one. It becomes visible whole, and is durable when this returns.
    ///
    /// After any error but a refusal it is unknown whether the file was made: read it back.
    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let _unwritten = bytes;
        Err(
            Error::unsupported("storage.read_only", "this store cannot be written to")
                .at_path(path),
        )
    }

    /// As [`Storage::put_if_absent`], but a power cut soon after may undo it. The same thing where the
    /// store gives no choice.
    fn put_if_absent_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.put_if_absent(path, bytes)
    }

    /// Writes the file, whether or not there is one; readers see the old bytes or the new ones.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let _unwritten = bytes;
        Err(
            Error::unsupported("storage.read_only", "this store cannot be written to")
                .at_path(path),
        )
    }

    /// Every file below a directory, which is the table root if it has no name, sorted by path; paths
    /// count from the root. What is in a directory whose path `enter` refuses is left out; a local one
    /// is not even looked into.
    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        let _unlisted = enter;
        Err(
            Error::unsupported("storage.read_only", "this store cannot list directories")
                .at_path(directory),
        )
    }

    /// The directories directly in `directory`, sorted; also where directories are names of files only.
    fn directories_in(&self, directory: &str) -> Result<Vec<String>> {
        let files = self.list_below(directory, &|_| true)?;
        let skipped = if directory.is_empty() {
            0
        } else {
            directory.len() + 1
        };
        let mut names: Vec<String> = files
            .iter()
            .filter_map(|file| {
                let (name, _) = file.path.get(skipped..)?.split_once('/')?;
                file.path.get(..skipped + name.len()).map(str::to_owned)
            })
            .collect();
        names.dedup();
        Ok(names)
    }

    /// Copies a file within the store, where it is if the store can; both paths may be absolute. It
    /// becomes visible whole: true when this call made it, false when there was one.
    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        let bytes = self.read(from)?;
        self.put_if_absent(to, &bytes)
    }

    /// As [`Storage::put_if_absent`], of pieces that come one after the other: memory holds one or two of
    /// them. If the store cannot check that, a file that appears meanwhile is overwritten.
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

    /// Every directory below the table root, each before what is in it; those that `enter` refuses
    /// are left out with all below. None where directories are names of files only.
    fn list_directories(&self, enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>> {
        let _none = enter;
        Ok(Vec::new())
    }

    /// Removes a directory if it is empty; returns `true` if it did.
    fn delete_empty(&self, directory: &str) -> Result<bool> {
        let _none = directory;
        Ok(false)
    }

    /// Returns `true` if this path itself is a link. Object stores have
    /// none.
    fn is_link(&self, path: &str) -> bool {
        let _no_links = path;
        false
    }

    /// Returns the location of a file of the table that links put elsewhere; None for a file
    /// inside.
    fn leads_out(&self, path: &str) -> Option<String> {
        let _no_links = path;
        None
    }

    /// Deletes files, in the order given as far as the store keeps one; results likewise. A file that
    /// is not there counts as deleted.
    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        let refuse = |path: &&str| {
            Err(
                Error::unsupported("storage.read_only", "this store cannot be written to")
                    .at_path(*path),
            )
        };
        paths.iter().map(refuse).collect()
    }
}

/// Opens the storage below a table root. No I/O yet. `options` are those of `object_store`, and mean nothing for a
/// local table. With `allowed_roots` a local table is confined to its own root and to them: what is elsewhere once
/// links are followed is not opened.
///
/// # Errors
///
/// Invalid argument: an option that the store does not know.
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
                Some(named) => local.confined(Confinement::new(location, named)),
            })
        }
        _ => Arc::new(Remembered::new(location, options)?),
    })
}

/// Returns `true` if a path is below a directory; everything is below the root, which has no
/// name.
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// A local directory without a slash at the end, but the root (of a drive) has one again.
fn with_root(directory: &str) -> Cow<'_, str> {
    if directory.contains('/') {
        directory.into()
    } else {
        format!("{directory}/").into()
    }
}

/// The last line of defence for what a [`PathResolver`] has checked already.
fn refuse_climbing(path: &str) -> Result<()> {
    if path.split('/').any(|part| part == "..") {
        let error = Error::invalid("path.escapes_root", "a storage path may not contain `..`");
        return Err(error.at_path(path));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
