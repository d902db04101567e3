//! A managed log as a [`Storage`]: its commits are listed, read and created through the catalog; all other
//! operations go directly to the files.

use std::ops::Range;

use bytes::Bytes;

use super::{LOG_DIRECTORY, ManagedLog, committed_version};
use crate::error::Result;
use crate::storage::{FileMeta, OnEnd, Request, Storage, UnlistedEntry, forward, is_below, slices};

impl Storage for ManagedLog {
    forward! {
        self => self.files;
        root() -> &str;
        max_requests() -> Option<usize>;
        check_readable(path: &str) -> Result<()>;
        put(path: &str, bytes: &[u8]) -> Result<()>;
        list_below(directory: &str, enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>>;
        find_unlisted(enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Option<UnlistedEntry>>;
        copy(from: &str, to: &str) -> Result<bool>;
        put_pieces(path: &str, pieces: &mut dyn FnMut() -> Result<Option<Bytes>>) -> Result<bool>;
        list_directories(enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>>;
        delete_empty(directory: &str) -> Result<bool>;
        is_link(path: &str) -> bool;
        outside_target(path: &str) -> Option<String>;
        delete(paths: &[&str]) -> Vec<Result<()>>;
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        if directory == LOG_DIRECTORY {
            return self.list_log(from);
        }
        self.files.list(directory, from)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        Self::read(self, path)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        self.at_either(path, |path| match self.inline(path) {
            Some(bytes) => Ok(bytes),
            None => self.files.read_at_most(path, max_bytes),
        })
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.at_either(path, |path| match self.inline(path) {
            Some(bytes) => slices(&bytes, ranges, path),
            None => self.files.read_ranges(path, ranges),
        })
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        if is_below(path, LOG_DIRECTORY) {
            // the catalog has some of these files
            return Request::ended(self.read_ranges(path, ranges), on_end);
        }
        self.files.begin_read(path, ranges, on_end)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        // looked up once: the catalog's content may change meanwhile
        let contents: Vec<Option<Bytes>> = paths.iter().map(|path| self.inline(path)).collect();
        let all = || paths.iter().zip(&contents);
        let in_files = all().filter(|(_, inline)| inline.is_none());
        let in_files: Vec<&str> = in_files.map(|(path, _)| *path).collect();
        let mut read = self.files.read_many(&in_files).into_iter();
        let read_file = |(path, inline): (&&str, &Option<Bytes>)| match inline {
            Some(bytes) => Ok(bytes.clone()),
            None => match read.next() {
                Some(Err(error)) if error.code() == "storage.not_found" => Self::read(self, path),
                Some(done) => done,
                None => Self::read(self, path),
            },
        };
        all().map(read_file).collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.head_of(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        match self.version_to_ratify(path)? {
            Some(version) => self.commit(version, bytes, true),
            None => self.files.put_if_absent(path, bytes),
        }
    }

    fn put_if_absent_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        match self.version_to_ratify(path)? {
            Some(version) => self.commit(version, bytes, false),
            None => self.files.put_if_absent_unsynced(path, bytes),
        }
    }
}

impl ManagedLog {
    /// Returns the version of this path if the catalog must ratify it. The first version is published at once:
    /// a table that does not exist cannot be managed.
    fn version_to_ratify(&self, path: &str) -> Result<Option<u64>> {
        match committed_version(path).filter(|version| *version > 0) {
            Some(version) if self.is_managed()? => Ok(Some(version)),
            _ => Ok(None),
        }
    }
}
