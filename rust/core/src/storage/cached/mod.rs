//! An object store with a cache of the table's log: commits, checksums and checkpoints that this process
//! read or wrote are not requested again while listings show the same files, and can be fetched ahead.
//!
//! Neither data files nor the hint, which changes, are cached.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::failures::{check_size, slices};
use super::file_bytes::{MAX_SINGLE_REQUEST, bytes_of_range};
use super::object::ahead::{PendingRange, RangeAhead};
use super::{FileMeta, Location, ObjectStorage, OnEnd, Request, Storage, forward, now};
use crate::error::Result;

mod log_cache;

use log_cache::ranges::Ranges;
use log_cache::{CachePromise, CachedRange, ListedFile, Piece, TableKey, lock_cache};

const LOG: &str = "_delta_log";
const SIDECARS: &str = "_delta_log/_sidecars";

/// The number of known files per page of a listing: stores return a thousand, some of which may be new.
const PAGE: usize = 950;

/// An object store with a cache.
pub struct CachedStorage {
    files: Arc<ObjectStorage>,
    table: Arc<TableKey>,
}

impl fmt::Debug for CachedStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(formatter)
    }
}

impl CachedStorage {
    /// Creates the store at `location`.
    pub(super) fn new(location: &Location, options: &[(String, String)]) -> Result<Self> {
        log_cache::read_budget();
        Ok(Self {
            files: Arc::new(ObjectStorage::new(location, options)?),
            table: Arc::new(TableKey::new(location.root(), options)),
        })
    }

    /// Starts to fetch log files that will be read, or ranges of them: readers share the response. Skips
    /// files that no listing has shown, and bytes beyond the limit of pending ones.
    pub fn prefetch(&self, ranges: &[(String, Option<Range<u64>>)]) {
        self.prefetch_after(ranges, None);
    }

    /// Starts to fetch files or ranges as [`CachedStorage::prefetch`] does, except those that
    /// [`CachedStorage::fetch_early`] requested.
    pub fn prefetch_after(
        &self,
        ranges: &[(String, Option<Range<u64>>)],
        early: Option<&PendingRange>,
    ) {
        let immutable = ranges.iter().filter(|(path, _)| is_immutable(path));
        let mut immutable: Vec<_> = immutable.cloned().collect();
        immutable.sort_by(|(left, _), (right, _)| left.cmp(right)); // groups the ranges of a file
        let promises = match lock_cache() {
            Some(mut cache) if !immutable.is_empty() => cache.promise(&self.table, &immutable),
            _ => return,
        };
        if promises.is_empty() {
            return;
        }
        let requests = promises.into_iter().map(|promise| {
            let (path, range) = (promise.path().to_owned(), promise.range());
            let early = early.and_then(|early| early.bytes(&path));
            RangeAhead {
                promise,
                path,
                range,
                early,
            }
        });
        // if the requests cannot be started, the bytes are requested when they are read
        let _not_started = self
            .files
            .fetch_ahead(requests.collect(), CachePromise::fulfil);
    }

    /// Starts to fetch a range of a log file that no listing has shown yet, and that may not exist.
    /// Dropping the result cancels the request, unless [`CachedStorage::prefetch_after`] took it.
    pub fn fetch_early(&self, path: &str, range: Range<u64>) -> Option<PendingRange> {
        if !is_immutable(path) || !self.files.has_tags() || self.listed_file(path).is_some() {
            return None;
        }
        self.files.fetch_early(path, range).ok()
    }

    /// Returns the version at which the last listing for the newest version began, if this process has read
    /// the table.
    pub fn listing_start(&self) -> Option<u64> {
        lock_cache()?.listing_start(&self.table)
    }

    /// Sets the version at which the last listing for the newest version began.
    pub fn set_listing_start(&self, version: u64) {
        if let Some(mut cache) = lock_cache() {
            cache.set_listing_start(&self.table, version);
        }
    }

    /// Returns the files of `_delta_log` from a name on that are known from listings and writes.
    pub fn files(&self, from: &str) -> Vec<FileMeta> {
        lock_cache().map_or_else(Vec::new, |mut cache| {
            cache.listed_files(&self.table, (LOG, from))
        })
    }

    /// Returns `true` if a whole file is cached.
    pub fn has(&self, path: &str) -> bool {
        let listed = self.listed_file(path);
        let cached = listed.map(|listed| self.find(path, listed));
        matches!(cached, Some(CachedRange::Cached(_)))
    }

    /// Returns an immutable file as in the last listing.
    fn listed_file(&self, path: &str) -> Option<ListedFile> {
        if !is_immutable(path) {
            return None;
        }
        lock_cache()?.listed_file(&self.table, path)
    }

    /// Returns the bytes of a whole file, cached or pending.
    fn find(&self, path: &str, listed: ListedFile) -> CachedRange {
        match lock_cache() {
            Some(mut cache) => cache.find(&self.table, path, listed, &(0..listed.size)),
            None => CachedRange::Unknown,
        }
    }

    /// Reads whole files, and caches those that a listing has shown; other threads share the response.
    fn read_and_insert(&self, files: &[(&str, Option<ListedFile>)]) -> Vec<Result<Bytes>> {
        if files.is_empty() {
            return Vec::new();
        }
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let listed = files.iter().filter(|(_, listed)| listed.is_some());
        let mut promises = self.promise(listed.map(|(path, _)| *path));
        let read = self.files.read_many(&paths);
        for ((path, listed), bytes) in files.iter().zip(&read) {
            if let (Some(listed), Ok(bytes)) = (listed, bytes) {
                self.insert(path, *listed, promises.remove(*path), bytes);
            }
        }
        read
    }

    /// Creates promises for whole files, by path.
    fn promise<'a>(&self, paths: impl Iterator<Item = &'a str>) -> HashMap<String, CachePromise> {
        let files: Vec<_> = paths.map(|path| (path.to_owned(), None)).collect();
        let promises = lock_cache().map(|mut cache| cache.promise(&self.table, &files));
        let promises = promises.into_iter().flatten();
        promises
            .map(|promise| (promise.path().to_owned(), promise))
            .collect()
    }

    /// Caches a whole file.
    fn insert(&self, path: &str, listed: ListedFile, promise: Option<CachePromise>, bytes: &Bytes) {
        match promise {
            Some(promise) => promise.fulfil(bytes.clone(), listed.tag),
            None if bytes.len() as u64 == listed.size => {
                if let Some(mut cache) = lock_cache() {
                    cache.insert(&self.table, path, listed, &(0..listed.size), bytes);
                }
            }
            None => {}
        }
    }

    /// Reads ranges of a file, fetching and caching the missing parts; `None` if a pending request failed.
    fn read_known(
        &self,
        path: &str,
        listed: ListedFile,
        ranges: &[Range<u64>],
    ) -> Result<Option<Vec<Bytes>>> {
        let Some(mut cache) = lock_cache() else {
            return Ok(None);
        };
        let Ranges { pieces, missing } = cache.ranges(&self.table, path, listed, ranges);
        let promise =
            |range: &Range<u64>| cache.promise_range(&self.table, path, listed, range.clone());
        let promises: Vec<CachePromise> = missing.iter().map(promise).collect();
        drop(cache);
        let fetched = match missing.is_empty() {
            true => Vec::new(),
            false => self.files.read_separately(path, &missing)?,
        };
        let mut parts: Vec<(u64, Bytes)> = Vec::with_capacity(pieces.len() + fetched.len());
        for ((range, bytes), promise) in missing.iter().zip(fetched).zip(promises) {
            promise.fulfil(bytes.clone(), listed.tag);
            parts.push((range.start, bytes));
        }
        for (range, piece) in pieces {
            let bytes = match piece {
                Piece::Cached(bytes) => Some(bytes),
                Piece::Pending(pending) => pending.wait()?,
            };
            match bytes {
                Some(bytes) => parts.push((range.start, bytes)),
                None => return Ok(None),
            }
        }
        parts.sort_by_key(|(start, _)| *start);
        let parts = ranges
            .iter()
            .map(|range| bytes_of_range(&parts, range, path));
        Ok(parts.collect::<Result<_>>().ok())
    }

    fn remove(&self, path: &str) {
        if let Some(mut cache) = lock_cache() {
            cache.remove(&self.table, path);
        }
    }

    /// Returns file names at which to divide a listing, so that each part is about one page.
    fn page_ends(&self, directory: &str, from: &str) -> Vec<String> {
        if directory != LOG {
            return Vec::new();
        }
        let known = self.files(from);
        if known.len() <= PAGE {
            return Vec::new();
        }
        let names = known.iter().filter_map(|file| file.path.strip_prefix(LOG));
        let mut names: Vec<&str> = names.map(|name| name.trim_start_matches('/')).collect();
        names.sort_unstable();
        let ends = names.chunks_exact(PAGE).filter_map(<[&str]>::last);
        ends.map(|name| (*name).to_owned()).collect()
    }
}

/// Waits for the bytes; `None` if the caller has to request them.
fn wait_for(range: CachedRange) -> Result<Option<Bytes>> {
    match range {
        CachedRange::Cached(bytes) => Ok(Some(bytes)),
        CachedRange::Pending(pending, part) => {
            let bytes = pending.wait()?;
            Ok(bytes
                .filter(|bytes| part.end <= bytes.len())
                .map(|bytes| bytes.slice(part)))
        }
        CachedRange::Unknown => Ok(None),
    }
}

/// Returns `true` for the path of an immutable file: a versioned file of the log, or a sidecar.
fn is_immutable(path: &str) -> bool {
    let Some(name) = path
        .strip_prefix(LOG)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return false;
    };
    name.starts_with(|first: char| first.is_ascii_digit()) || path.starts_with(SIDECARS)
}

impl Storage for CachedStorage {
    forward! {
        self => self.files;
        root() -> &str;
        max_requests() -> Option<usize>;
        head(path: &str) -> Result<FileMeta>;
        list_below(directory: &str, enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>>;
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let directory = directory.trim_end_matches('/');
        let ends = self.page_ends(directory, from);
        let files = self.files.list_divided(directory, from, &ends)?;
        if (directory == LOG || directory == SIDECARS)
            && let Some(mut cache) = lock_cache()
        {
            cache.record_listing(&self.table, (directory, from), &files);
        }
        Ok(files)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_at_most(path, u64::MAX)
    }

    fn read_at_most(&self, path: &str, max_bytes: u64) -> Result<Bytes> {
        let listed = self.listed_file(path);
        if let Some(listed) = listed
            && let Some(bytes) = wait_for(self.find(path, listed))?
        {
            check_size(path, listed.size, max_bytes)?;
            return Ok(bytes);
        }
        let mut promises = self.promise(listed.map(|_| path).into_iter());
        let bytes = self.files.read_at_most(path, max_bytes)?;
        if let Some(listed) = listed {
            self.insert(path, listed, promises.remove(path), &bytes);
        }
        Ok(bytes)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Some(listed) = self.listed_file(path) else {
            return self.files.read_ranges(path, ranges);
        };
        if ranges
            .iter()
            .any(|range| range.start > range.end || range.end > listed.size)
        {
            return self.files.read_ranges(path, ranges);
        }
        if listed.size <= MAX_SINGLE_REQUEST.min(log_cache::max_cached_bytes() as u64) {
            let bytes = self.read(path)?;
            return slices(&bytes, ranges, path).or_else(|_| self.files.read_ranges(path, ranges));
        }
        match self.read_known(path, listed, ranges)? {
            Some(parts) => Ok(parts),
            None => self.files.read_ranges(path, ranges),
        }
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        if is_immutable(path) {
            // a part may be cached
            return Request::ended(self.read_ranges(path, ranges), on_end);
        }
        self.files.begin_read(path, ranges, on_end)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        let mut unknown = Vec::new();
        let lookups: Vec<CachedRange> = paths
            .iter()
            .map(|path| {
                let listed = self.listed_file(path);
                let known = match listed {
                    Some(listed) => self.find(path, listed),
                    None => CachedRange::Unknown,
                };
                if matches!(known, CachedRange::Unknown) {
                    unknown.push((*path, listed));
                }
                known
            })
            .collect();
        // pending requests of other readers proceed meanwhile
        let mut read = self.read_and_insert(&unknown).into_iter();
        let mut failed = Vec::new();
        let reads: Vec<Option<Result<Bytes>>> = lookups
            .into_iter()
            .zip(paths)
            .map(|(known, path)| {
                if matches!(known, CachedRange::Unknown) {
                    return read.next();
                }
                let bytes = wait_for(known).transpose();
                if bytes.is_none() {
                    failed.push((*path, self.listed_file(path)));
                }
                bytes
            })
            .collect();
        let mut read = self.read_and_insert(&failed).into_iter();
        let results = reads.into_iter();
        results
            .filter_map(|result| result.or_else(|| read.next()))
            .collect()
    }

    fn log_cache(&self) -> Option<&CachedStorage> {
        (log_cache::budget() > 0).then_some(self)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let bytes = Bytes::copy_from_slice(bytes);
        let created = self.files.create(path, bytes.clone())?;
        let Some(tag) = created else {
            return Ok(false);
        };
        if tag != 0
            && is_immutable(path)
            && let Some(mut cache) = lock_cache()
        {
            let size = bytes.len() as u64;
            let modification_time = now();
            let listed = ListedFile {
                tag,
                size,
                modification_time,
            };
            cache.insert_created(&self.table, path, listed, &bytes);
        }
        Ok(true)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.remove(path);
        self.files.put(path, bytes)
    }

    fn copy(&self, from: &str, to: &str) -> Result<bool> {
        self.remove(to);
        self.files.copy(from, to)
    }

    fn put_pieces(
        &self,
        path: &str,
        pieces: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<bool> {
        self.remove(path);
        self.files.put_pieces(path, pieces)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        paths.iter().for_each(|path| self.remove(path));
        self.files.delete(paths)
    }
}
