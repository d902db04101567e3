//! The cache of log files of remote tables: their entries in listings, and their bytes.
//!
//! Log files never change, so bytes are valid while listings show the same tag. Tables are
//! distinguished by location, options and the credentials in the environment, and share nothing.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::error::Result;
use crate::storage::per_process::PerProcess;
use crate::storage::{FileMeta, interrupt};

pub(super) mod ranges;

/// The size of the cache in MiB; 0 disables it.
const VARIABLE: &str = "DELTAREPLAY_LOG_CACHE";
const DEFAULT_MIB: usize = 64;

/// A file, or a part of one, is cached if it takes at most the budget divided by this number.
const CACHED_DIVISOR: usize = 4;

/// The approximate size of an entry without its strings and bytes.
const ENTRY: usize = 160;

/// The maximum number of tables.
const MAX_TABLES: usize = 1_000;

/// Prefixes of environment variables from which the clients of stores take credentials. Those of Google and
/// of Hadoop read files in the home directory, too.
const CREDENTIAL_VARIABLES: [&str; 10] = [
    "APPDATA",
    "AWS_",
    "AZURE_",
    "GCE_METADATA_",
    "GOOGLE_",
    "HADOOP_",
    "HOME",
    "IDENTITY_",
    "KRB5",
    "SERVICE_ACCOUNT",
];

static CACHE: PerProcess<Mutex<LogCache>> = PerProcess::new();

static BUDGET: AtomicUsize = AtomicUsize::new(DEFAULT_MIB << 20);

pub(super) fn budget() -> usize {
    BUDGET.load(Ordering::Relaxed)
}

/// Returns the maximum size in bytes of a file, or a part of one, that is cached.
pub(super) fn max_cached_bytes() -> usize {
    budget() / CACHED_DIVISOR
}

/// Reads the budget from the environment: whenever a table is opened, since threads of requests must not
/// read the environment while others change it.
pub(super) fn read_budget() {
    let set = std::env::var(VARIABLE).ok();
    let mib = set.and_then(|text| text.trim().parse::<usize>().ok());
    let bytes = mib.unwrap_or(DEFAULT_MIB).saturating_mul(1 << 20);
    BUDGET.store(bytes, Ordering::Relaxed);
}

/// The identity of a table and of its reader. Never printed: options are secret.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    root: String,
    options: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

impl TableKey {
    pub(super) fn new(root: &str, options: &[(String, String)]) -> Self {
        let mut options = options.to_vec();
        options.sort_unstable();
        let mut environment: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value)))
            .filter(|(key, _)| holds_credentials(key))
            .map(|(key, value)| (key, value.to_string_lossy().into_owned()))
            .collect();
        environment.sort_unstable();
        Self {
            root: root.to_owned(),
            options,
            environment,
        }
    }
}

/// Returns `true` if a client of a store may take credentials from this variable.
fn holds_credentials(variable: &str) -> bool {
    CREDENTIAL_VARIABLES
        .iter()
        .any(|start| variable.starts_with(start))
}

/// A file in a listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedFile {
    pub(super) tag: u64,
    pub(super) size: u64,
    /// Ignored by comparisons: for a file that this process created, it is not known exactly.
    pub(super) modification_time: i64,
}

impl PartialEq for ListedFile {
    fn eq(&self, other: &Self) -> bool {
        (self.tag, self.size) == (other.tag, other.size)
    }
}

/// Pending bytes.
#[derive(Debug, Default)]
pub(super) struct PendingBytes {
    /// `Some(None)` if the request failed.
    result: Mutex<Option<Option<Bytes>>>,
    changed: Condvar,
}

impl PendingBytes {
    fn set(&self, result: Option<Bytes>) {
        let mut stored = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        stored.get_or_insert(result);
        self.changed.notify_all();
    }

    /// Waits for the bytes; `None` if the caller has to request them.
    pub(super) fn wait(&self) -> Result<Option<Bytes>> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = &*result {
                return Ok(result.clone());
            }
            let waited = self.changed.wait_timeout(result, interrupt::INTERVAL);
            result = waited.unwrap_or_else(PoisonError::into_inner).0;
            interrupt::check()?;
        }
    }
}

/// The promise of bytes: waiting readers are notified, even if this is dropped.
pub(super) struct CachePromise {
    pending: Arc<PendingBytes>,
    table: Arc<TableKey>,
    path: String,
    listed: ListedFile,
    range: Range<u64>,
}

impl CachePromise {
    pub(super) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Fulfils the promise with the bytes of a file with this tag.
    pub(super) fn fulfil(self, bytes: Bytes, tag: u64) {
        let is_complete = bytes.len() as u64 == self.range.end - self.range.start;
        if !is_complete || tag != self.listed.tag {
            return; // the file was replaced: reading it reports that
        }
        if let Some(mut cache) = lock_cache() {
            cache.insert(&self.table, &self.path, self.listed, &self.range, &bytes);
        }
        self.pending.set(Some(bytes));
    }
}

impl Drop for CachePromise {
    fn drop(&mut self) {
        self.pending.set(None);
        if let Some(mut cache) = lock_cache() {
            cache.remove_pending(self);
        }
    }
}

/// The result of looking up a range.
pub(super) enum CachedRange {
    Cached(Bytes),
    /// The range within pending bytes.
    Pending(Arc<PendingBytes>, Range<usize>),
    Unknown,
}

/// A cached or pending part of a file.
#[derive(Clone)]
pub(super) enum Piece {
    Cached(Bytes),
    Pending(Arc<PendingBytes>),
}

struct CachedFile {
    listed: ListedFile,
    pieces: Vec<(Range<u64>, Piece)>,
    last_use: u64,
}

impl CachedFile {
    fn new(listed: ListedFile) -> Self {
        Self {
            listed,
            pieces: Vec::new(),
            last_use: 0,
        }
    }

    fn bytes(&self) -> usize {
        let bytes = |(_, piece): &(Range<u64>, Piece)| match piece {
            Piece::Cached(bytes) => bytes.len() + ENTRY,
            Piece::Pending(_) => ENTRY,
        };
        self.pieces.iter().map(bytes).sum::<usize>() + ENTRY
    }
}

#[derive(Default)]
struct TableFiles {
    listed: HashMap<String, ListedFile>,
    cached: HashMap<String, CachedFile>,
    /// The version at which the last listing for the newest version began.
    listing_start: Option<u64>,
    last_use: u64,
}

impl TableFiles {
    fn listing_bytes(&self) -> usize {
        self.listed.keys().map(|path| path.len() + ENTRY).sum()
    }
}

/// All tables of a process.
#[derive(Default)]
pub(super) struct LogCache {
    tables: HashMap<Arc<TableKey>, TableFiles>,
    /// The approximate number of bytes used.
    used: usize,
    /// The number of pending bytes.
    pending: u64,
    clock: u64,
}

/// Returns this process's cache; `None` if it is disabled.
pub(super) fn lock_cache() -> Option<MutexGuard<'static, LogCache>> {
    if budget() == 0 {
        return None;
    }
    let cache = CACHE.get_or_try_init(|| Ok(Mutex::default())).ok()?;
    Some(cache.lock().unwrap_or_else(PoisonError::into_inner))
}

impl LogCache {
    fn table(&mut self, key: &Arc<TableKey>) -> &mut TableFiles {
        self.clock += 1;
        if self.tables.len() >= MAX_TABLES && !self.tables.contains_key(key) {
            self.remove_oldest_table();
        }
        let table = self.tables.entry(Arc::clone(key)).or_default();
        table.last_use = self.clock;
        table
    }

    /// Removes the least recently used table; returns `false` if there is none.
    fn remove_oldest_table(&mut self) -> bool {
        let oldest = self.tables.iter().min_by_key(|(_, table)| table.last_use);
        let Some(key) = oldest.map(|(key, _)| Arc::clone(key)) else {
            return false;
        };
        self.remove_table(&key);
        true
    }

    fn remove_table(&mut self, key: &Arc<TableKey>) {
        if let Some(table) = self.tables.remove(key) {
            let cached: usize = table.cached.values().map(CachedFile::bytes).sum();
            self.used = self.used.saturating_sub(cached + table.listing_bytes());
        }
    }

    /// Records a listing of a directory from a name on, and removes files that it no longer shows or that
    /// changed.
    pub(super) fn record_listing(
        &mut self,
        key: &Arc<TableKey>,
        (directory, from): (&str, &str),
        files: &[FileMeta],
    ) {
        let table = self.table(key);
        let before = table.listing_bytes();
        let in_listing = |path: &str| is_within(path, directory, from);
        table.listed.retain(|path, _| !in_listing(path));
        for file in files.iter().filter(|file| file.tag != 0) {
            let entry = ListedFile {
                tag: file.tag,
                size: file.size,
                modification_time: file.modification_time,
            };
            table.listed.insert(file.path.clone(), entry);
        }
        let mut freed = 0;
        let listed = &table.listed;
        table.cached.retain(|path, cached| {
            let is_valid = !in_listing(path) || listed.get(path) == Some(&cached.listed);
            freed += if is_valid { 0 } else { cached.bytes() };
            is_valid
        });
        let now = table.listing_bytes();
        self.used = (self.used + now).saturating_sub(before + freed);
        if now > budget() / 2 {
            self.remove_table(key); // everything else would be evicted for it
        }
        self.evict();
    }

    /// Adds a file that this process has just created.
    pub(super) fn insert_created(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
        bytes: &Bytes,
    ) {
        self.remove(key, path);
        let table = self.table(key);
        if table.listed.insert(path.to_owned(), listed).is_none() {
            self.used += path.len() + ENTRY;
        }
        self.insert(key, path, listed, &(0..listed.size), bytes);
    }

    /// Removes a file that this process changed or deleted.
    pub(super) fn remove(&mut self, key: &Arc<TableKey>, path: &str) {
        let table = self.table(key);
        let cached = table.cached.remove(path).map_or(0, |cached| cached.bytes());
        let listed = table.listed.remove(path).map_or(0, |_| path.len() + ENTRY);
        self.used = self.used.saturating_sub(cached + listed);
    }

    /// Returns a file as in the last listing.
    pub(super) fn listed_file(&mut self, key: &Arc<TableKey>, path: &str) -> Option<ListedFile> {
        self.table(key).listed.get(path).copied()
    }

    /// Returns the files of a directory from a name on.
    pub(super) fn listed_files(
        &mut self,
        key: &Arc<TableKey>,
        (directory, from): (&str, &str),
    ) -> Vec<FileMeta> {
        let listed = self.table(key).listed.iter();
        let within = listed.filter(|(path, _)| is_within(path, directory, from));
        let file = |(path, listed): (&String, &ListedFile)| FileMeta {
            path: path.clone(),
            size: listed.size,
            modification_time: listed.modification_time,
            tag: listed.tag,
        };
        within.map(file).collect()
    }

    /// Returns the bytes of a range of a file if a single piece, cached or pending, covers it.
    pub(super) fn find(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
        range: &Range<u64>,
    ) -> CachedRange {
        let clock = self.clock;
        let Some(cached) = self.table(key).cached.get_mut(path) else {
            return CachedRange::Unknown;
        };
        if cached.listed != listed {
            return CachedRange::Unknown;
        }
        cached.last_use = clock + 1;
        let covers =
            |piece: &&(Range<u64>, Piece)| piece.0.start <= range.start && range.end <= piece.0.end;
        let mut known = CachedRange::Unknown;
        for (piece_range, piece) in cached.pieces.iter().filter(covers) {
            let offset = |at: u64| usize::try_from(at - piece_range.start).ok();
            let (Some(start), Some(end)) = (offset(range.start), offset(range.end)) else {
                continue;
            };
            match piece {
                Piece::Cached(bytes) if end <= bytes.len() => {
                    return CachedRange::Cached(bytes.slice(start..end));
                }
                Piece::Cached(_) => {}
                Piece::Pending(pending) => {
                    known = CachedRange::Pending(Arc::clone(pending), start..end)
                }
            }
        }
        known
    }

    /// Caches bytes of a file, unless they are too many.
    pub(super) fn insert(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
        range: &Range<u64>,
        bytes: &Bytes,
    ) {
        if bytes.len() > max_cached_bytes() {
            return;
        }
        let clock = self.clock + 1;
        let cached = self.cached_file(key, path, listed);
        let before = cached.bytes();
        cached.last_use = clock;
        cached
            .pieces
            .retain(|(piece, _)| !(range.start <= piece.start && piece.end <= range.end));
        cached
            .pieces
            .push((range.clone(), Piece::Cached(bytes.clone())));
        let now = cached.bytes();
        self.used = (self.used + now).saturating_sub(before);
        self.evict();
    }

    fn cached_file(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: ListedFile,
    ) -> &mut CachedFile {
        self.clock += 1;
        let table = self.tables.entry(Arc::clone(key)).or_default();
        let cached = table.cached.entry(path.to_owned()).or_insert_with(|| {
            self.used += ENTRY;
            CachedFile::new(listed)
        });
        if cached.listed != listed {
            self.used = self.used.saturating_sub(cached.bytes()) + ENTRY;
            *cached = CachedFile::new(listed);
        }
        cached
    }

    fn remove_pending(&mut self, promise: &CachePromise) {
        let bytes = promise.range.end - promise.range.start;
        self.pending = self.pending.saturating_sub(bytes);
        let table = self.tables.get_mut(&promise.table);
        let Some(cached) = table.and_then(|table| table.cached.get_mut(&promise.path)) else {
            return;
        };
        let before = cached.pieces.len();
        cached.pieces.retain(
            |(_, piece)| !matches!(piece, Piece::Pending(bytes) if Arc::ptr_eq(bytes, &promise.pending)),
        );
        let removed = before - cached.pieces.len();
        self.used = self.used.saturating_sub(removed * ENTRY);
    }

    /// Returns the version at which the last listing for the newest version began.
    pub(super) fn listing_start(&mut self, key: &Arc<TableKey>) -> Option<u64> {
        self.table(key).listing_start
    }

    pub(super) fn set_listing_start(&mut self, key: &Arc<TableKey>, version: u64) {
        self.table(key).listing_start = Some(version);
    }

    /// If the budget is exceeded, removes the least recently used bytes, down to three quarters of it.
    fn evict(&mut self) {
        let budget = budget();
        if self.used <= budget {
            return;
        }
        let target = budget - budget / 4;
        let mut by_age: Vec<(u64, Arc<TableKey>, String)> = Vec::new();
        for (key, table) in &self.tables {
            let entry = |(path, cached): (&String, &CachedFile)| {
                (cached.last_use, Arc::clone(key), path.clone())
            };
            by_age.extend(table.cached.iter().map(entry));
        }
        by_age.sort_unstable_by_key(|(last_use, ..)| *last_use);
        for (_, key, path) in by_age {
            if self.used <= target {
                return;
            }
            let Some(table) = self.tables.get_mut(&key) else {
                continue;
            };
            let Some(cached) = table.cached.get_mut(&path) else {
                continue;
            };
            let before = cached.bytes();
            // the oldest pieces of a large file go first: the others may not have been read yet
            let mut over = self.used - target;
            cached.pieces.retain(|(_, piece)| {
                let bytes = match piece {
                    Piece::Cached(bytes) => bytes.len() + ENTRY,
                    Piece::Pending(_) => 0,
                };
                let is_removed = over > 0 && bytes > 0;
                over = over.saturating_sub(bytes);
                !is_removed
            });
            let after = if cached.pieces.is_empty() {
                table.cached.remove(&path);
                0
            } else {
                cached.bytes()
            };
            self.used = (self.used + after).saturating_sub(before);
        }
        while self.used > target && self.remove_oldest_table() {}
    }
}

/// Returns `true` if a listing of a directory from a name on would contain this path.
fn is_within(path: &str, directory: &str, from: &str) -> bool {
    let rest = path.strip_prefix(directory);
    let name = rest.and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.contains('/') && name >= from)
}

#[cfg(test)]
mod tests;
