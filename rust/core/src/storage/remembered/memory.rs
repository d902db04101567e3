//! The cached log files of remote tables: as in their listings, with their bytes.
//!
//! Log files never change, so that bytes are valid while listings show the same tag. Tables are
//! distinguished by location, options and the credentials in the environment; nothing is shared between
//! them.

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

/// A file, or a part of one, is cached if it has at most this fraction of the budget.
const LARGEST: usize = 4;

/// The approximate size of an entry without its strings and bytes.
const ENTRY: usize = 160;

/// The maximum number of tables.
const MAX_TABLES: usize = 1_000;

/// Prefixes of environment variables from which the clients of stores take credentials. Those of Google and
/// of Hadoop read files in the home directory, too.
const ENVIRONMENT: [&str; 10] = [
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

static MEMORY: PerProcess<Mutex<Memory>> = PerProcess::new();

static BUDGET: AtomicUsize = AtomicUsize::new(DEFAULT_MIB << 20);

/// Returns the budget in bytes.
pub(super) fn budget() -> usize {
    BUDGET.load(Ordering::Relaxed)
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
            .filter(|(key, _)| tells_who(key))
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
fn tells_who(variable: &str) -> bool {
    ENVIRONMENT.iter().any(|start| variable.starts_with(start))
}

/// A file in a listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub(super) tag: u64,
    pub(super) size: u64,
    /// Not part of the identity: for a file created here, it is not known exactly.
    pub(super) modification_time: i64,
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        (self.tag, self.size) == (other.tag, other.size)
    }
}

/// Pending bytes.
#[derive(Debug, Default)]
pub(super) struct PendingBytes {
    /// `Some(None)` if the request failed.
    answer: Mutex<Option<Option<Bytes>>>,
    changed: Condvar,
}

impl PendingBytes {
    fn set(&self, answer: Option<Bytes>) {
        let mut known = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(answer);
        self.changed.notify_all();
    }

    /// Waits for the bytes; `None` if the caller has to request them.
    ///
    /// # Errors
    ///
    /// `interrupted`.
    pub(super) fn wait(&self) -> Result<Option<Bytes>> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(answer) = &*answer {
                return Ok(answer.clone());
            }
            let waited = self.changed.wait_timeout(answer, interrupt::INTERVAL);
            answer = waited.unwrap_or_else(PoisonError::into_inner).0;
            interrupt::check()?;
        }
    }
}

/// The promise of bytes: waiting readers are notified, even if this is dropped.
pub(super) struct Promise {
    coming: Arc<PendingBytes>,
    table: Arc<TableKey>,
    path: String,
    listed: Listed,
    range: Range<u64>,
}

impl Promise {
    pub(super) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Fulfils the promise with the bytes of a file with this tag.
    pub(super) fn keep(self, bytes: Bytes, tag: u64) {
        let whole = bytes.len() as u64 == self.range.end - self.range.start;
        if !whole || tag != self.listed.tag {
            return; // another file is there now: reading it reports that
        }
        if let Some(mut memory) = memory() {
            memory.keep(&self.table, &self.path, self.listed, &self.range, &bytes);
        }
        self.coming.set(Some(bytes));
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.coming.set(None);
        if let Some(mut memory) = memory() {
            memory.forget_coming(self);
        }
    }
}

/// The known part of a range.
pub(super) enum CachedRange {
    Here(Bytes),
    /// The range within pending bytes.
    PendingBytes(Arc<PendingBytes>, Range<usize>),
    Unknown,
}

/// A cached or pending part of a file.
#[derive(Clone)]
pub(super) enum Piece {
    Here(Bytes),
    PendingBytes(Arc<PendingBytes>),
}

struct KeptFile {
    listed: Listed,
    pieces: Vec<(Range<u64>, Piece)>,
    last_use: u64,
}

impl KeptFile {
    fn new(listed: Listed) -> Self {
        Self {
            listed,
            pieces: Vec::new(),
            last_use: 0,
        }
    }

    fn bytes(&self) -> usize {
        let here = |(_, piece): &(Range<u64>, Piece)| match piece {
            Piece::Here(bytes) => bytes.len() + ENTRY,
            Piece::PendingBytes(_) => ENTRY,
        };
        self.pieces.iter().map(here).sum::<usize>() + ENTRY
    }
}

#[derive(Default)]
struct TableFiles {
    listed: HashMap<String, Listed>,
    kept: HashMap<String, KeptFile>,
    begin: Option<u64>,
    last_use: u64,
}

impl TableFiles {
    fn listing_bytes(&self) -> usize {
        self.listed.keys().map(|path| path.len() + ENTRY).sum()
    }
}

/// All tables of a process.
#[derive(Default)]
pub(super) struct Memory {
    tables: HashMap<Arc<TableKey>, TableFiles>,
    /// The approximate number of bytes used.
    used: usize,
    /// The number of pending bytes.
    coming: u64,
    clock: u64,
}

/// Returns this process's cache; `None` if it is disabled.
pub(super) fn memory() -> Option<MutexGuard<'static, Memory>> {
    if budget() == 0 {
        return None;
    }
    let memory = MEMORY.get_or_try_init(|| Ok(Mutex::default())).ok()?;
    Some(memory.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Memory {
    fn table(&mut self, key: &Arc<TableKey>) -> &mut TableFiles {
        self.clock += 1;
        if self.tables.len() >= MAX_TABLES && !self.tables.contains_key(key) {
            self.forget_oldest();
        }
        let table = self.tables.entry(Arc::clone(key)).or_default();
        table.last_use = self.clock;
        table
    }

    /// Removes the least recently used table; returns `false` if there is none.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.tables.iter().min_by_key(|(_, table)| table.last_use);
        let Some(key) = oldest.map(|(key, _)| Arc::clone(key)) else {
            return false;
        };
        self.forget_table(&key);
        true
    }

    fn forget_table(&mut self, key: &Arc<TableKey>) {
        if let Some(table) = self.tables.remove(key) {
            let kept: usize = table.kept.values().map(KeptFile::bytes).sum();
            self.used = self.used.saturating_sub(kept + table.listing_bytes());
        }
    }

    /// Records a listing of a directory from a name on, and removes files that it no longer shows or that
    /// changed.
    pub(super) fn listed(
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
            let entry = Listed {
                tag: file.tag,
                size: file.size,
                modification_time: file.modification_time,
            };
            table.listed.insert(file.path.clone(), entry);
        }
        let mut freed = 0;
        let listed = &table.listed;
        table.kept.retain(|path, kept| {
            let same = !in_listing(path) || listed.get(path) == Some(&kept.listed);
            freed += if same { 0 } else { kept.bytes() };
            same
        });
        let now = table.listing_bytes();
        self.used = (self.used + now).saturating_sub(before + freed);
        if now > budget() / 2 {
            self.forget_table(key); // all else would have to go for it
        }
        self.make_room();
    }

    /// Adds a file that was just created here.
    pub(super) fn keep_created(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: Listed,
        bytes: &Bytes,
    ) {
        self.forget(key, path);
        let table = self.table(key);
        if table.listed.insert(path.to_owned(), listed).is_none() {
            self.used += path.len() + ENTRY;
        }
        self.keep(key, path, listed, &(0..listed.size), bytes);
    }

    /// Removes a file that was changed or deleted here.
    pub(super) fn forget(&mut self, key: &Arc<TableKey>, path: &str) {
        let table = self.table(key);
        let kept = table.kept.remove(path).map_or(0, |kept| kept.bytes());
        let listed = table.listed.remove(path).map_or(0, |_| path.len() + ENTRY);
        self.used = self.used.saturating_sub(kept + listed);
    }

    /// Returns a file as in the last listing.
    pub(super) fn file(&mut self, key: &Arc<TableKey>, path: &str) -> Option<Listed> {
        self.table(key).listed.get(path).copied()
    }

    /// Returns the files of a directory from a name on.
    pub(super) fn files(
        &mut self,
        key: &Arc<TableKey>,
        (directory, from): (&str, &str),
    ) -> Vec<FileMeta> {
        let listed = self.table(key).listed.iter();
        let within = listed.filter(|(path, _)| is_within(path, directory, from));
        let file = |(path, listed): (&String, &Listed)| FileMeta {
            path: path.clone(),
            size: listed.size,
            modification_time: listed.modification_time,
            tag: listed.tag,
        };
        within.map(file).collect()
    }

    /// Returns the known part of a range of a file.
    pub(super) fn find(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: Listed,
        range: &Range<u64>,
    ) -> CachedRange {
        let clock = self.clock;
        let Some(kept) = self.table(key).kept.get_mut(path) else {
            return CachedRange::Unknown;
        };
        if kept.listed != listed {
            return CachedRange::Unknown;
        }
        kept.last_use = clock + 1;
        let covers =
            |piece: &&(Range<u64>, Piece)| piece.0.start <= range.start && range.end <= piece.0.end;
        let mut known = CachedRange::Unknown;
        for (there, piece) in kept.pieces.iter().filter(covers) {
            let offset = |at: u64| usize::try_from(at - there.start).ok();
            let (Some(start), Some(end)) = (offset(range.start), offset(range.end)) else {
                continue;
            };
            match piece {
                Piece::Here(bytes) if end <= bytes.len() => {
                    return CachedRange::Here(bytes.slice(start..end));
                }
                Piece::Here(_) => {}
                Piece::PendingBytes(coming) => {
                    known = CachedRange::PendingBytes(Arc::clone(coming), start..end)
                }
            }
        }
        known
    }

    /// Caches bytes of a file, unless they are too many.
    pub(super) fn keep(
        &mut self,
        key: &Arc<TableKey>,
        path: &str,
        listed: Listed,
        range: &Range<u64>,
        bytes: &Bytes,
    ) {
        if bytes.len() > budget() / LARGEST {
            return;
        }
        let clock = self.clock + 1;
        let kept = self.kept_file(key, path, listed);
        let before = kept.bytes();
        kept.last_use = clock;
        kept.pieces
            .retain(|(there, _)| !(range.start <= there.start && there.end <= range.end));
        kept.pieces
            .push((range.clone(), Piece::Here(bytes.clone())));
        let now = kept.bytes();
        self.used = (self.used + now).saturating_sub(before);
        self.make_room();
    }

    fn kept_file(&mut self, key: &Arc<TableKey>, path: &str, listed: Listed) -> &mut KeptFile {
        self.clock += 1;
        let table = self.tables.entry(Arc::clone(key)).or_default();
        let kept = table.kept.entry(path.to_owned()).or_insert_with(|| {
            self.used += ENTRY;
            KeptFile::new(listed)
        });
        if kept.listed != listed {
            self.used = self.used.saturating_sub(kept.bytes()) + ENTRY;
            *kept = KeptFile::new(listed);
        }
        kept
    }

    fn forget_coming(&mut self, promise: &Promise) {
        let bytes = promise.range.end - promise.range.start;
        self.coming = self.coming.saturating_sub(bytes);
        let table = self.tables.get_mut(&promise.table);
        let Some(kept) = table.and_then(|table| table.kept.get_mut(&promise.path)) else {
            return;
        };
        let before = kept.pieces.len();
        kept.pieces.retain(
            |(_, piece)| !matches!(piece, Piece::PendingBytes(there) if Arc::ptr_eq(there, &promise.coming)),
        );
        let gone = before - kept.pieces.len();
        self.used = self.used.saturating_sub(gone * ENTRY);
    }

    /// Returns the version at which the last listing for the newest version began.
    pub(super) fn begin(&mut self, key: &Arc<TableKey>) -> Option<u64> {
        self.table(key).begin
    }

    pub(super) fn set_begin(&mut self, key: &Arc<TableKey>, begin: u64) {
        self.table(key).begin = Some(begin);
    }

    /// Removes the least recently used bytes, down to three quarters of the budget.
    fn make_room(&mut self) {
        let budget = budget();
        if self.used <= budget {
            return;
        }
        let target = budget - budget / 4;
        let mut oldest: Vec<(u64, Arc<TableKey>, String)> = Vec::new();
        for (key, table) in &self.tables {
            let entry =
                |(path, kept): (&String, &KeptFile)| (kept.last_use, Arc::clone(key), path.clone());
            oldest.extend(table.kept.iter().map(entry));
        }
        oldest.sort_unstable_by_key(|(last_use, ..)| *last_use);
        for (_, key, path) in oldest {
            if self.used <= target {
                return;
            }
            let Some(table) = self.tables.get_mut(&key) else {
                continue;
            };
            let Some(kept) = table.kept.get_mut(&path) else {
                continue;
            };
            let before = kept.bytes();
            // of a large file, the first bytes: the rest may not have been read yet
            let mut over = self.used - target;
            kept.pieces.retain(|(_, piece)| {
                let bytes = match piece {
                    Piece::Here(bytes) => bytes.len() + ENTRY,
                    Piece::PendingBytes(_) => 0,
                };
                let goes = over > 0 && bytes > 0;
                over = over.saturating_sub(bytes);
                !goes
            });
            let after = if kept.pieces.is_empty() {
                table.kept.remove(&path);
                0
            } else {
                kept.bytes()
            };
            self.used = (self.used + after).saturating_sub(before);
        }
        while self.used > target && self.forget_oldest() {}
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
