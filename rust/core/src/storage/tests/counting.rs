//! A storage that records its calls, for tests of the cost of reads.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::error::Result;
use crate::storage::{FileMeta, Storage};

/// The recorded operations of a [`Storage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// [`Storage::list`]
    List,
    /// [`Storage::read`]
    Read,
    /// [`Storage::read_ranges`]
    ReadRanges,
    /// [`Storage::read_many`]
    ReadMany,
    /// [`Storage::head`]
    Head,
    /// [`Storage::put_if_absent`]
    PutIfAbsent,
    /// [`Storage::put`]
    Put,
    /// [`Storage::delete`]
    Delete,
    /// [`Storage::list_below`]
    ListBelow,
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The operation.
    pub(crate) operation: Operation,
    /// The file or files; for a listing one text: the directory, a slash and the first name.
    pub(crate) paths: Vec<String>,
    /// The ranges of [`Operation::ReadRanges`]; otherwise empty.
    pub(crate) ranges: Vec<Range<u64>>,
}

/// Records the calls of each [`Operation`] and passes them on. Clones share the record.
#[derive(Clone, Debug)]
pub(crate) struct CountingStorage {
    inner: Arc<dyn Storage>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl CountingStorage {
    /// Records the calls of `inner`.
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        Self {
            inner,
            calls: Arc::default(),
        }
    }

    /// Returns the calls so far, in the order in which they began.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.locked().clone()
    }

    /// Returns the calls since the beginning or the last `take`, and clears them.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.locked())
    }

    /// Returns the number of calls of one kind so far.
    pub(crate) fn count(&self, operation: Operation) -> usize {
        self.locked()
            .iter()
            .filter(|call| call.operation == operation)
            .count()
    }

    /// Returns operation and path of all calls so far; a call for many files is one pair for each.
    pub(crate) fn pairs(&self) -> Vec<(Operation, String)> {
        let calls = self.locked();
        calls
            .iter()
            .flat_map(|call| {
                let operation = call.operation;
                call.paths.iter().map(move |path| (operation, path.clone()))
            })
            .collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, operation: Operation, paths: Vec<String>, ranges: &[Range<u64>]) {
        self.locked().push(Call {
            operation,
            paths,
            ranges: ranges.to_vec(),
        });
    }
}

impl Storage for CountingStorage {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        self.record(Operation::List, vec![format!("{directory}/{from}")], &[]);
        self.inner.list(directory, from)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.record(Operation::Read, vec![path.to_owned()], &[]);
        self.inner.read(path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.record(Operation::ReadRanges, vec![path.to_owned()], ranges);
        self.inner.read_ranges(path, ranges)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        let all = paths.iter().map(|path| (*path).to_owned()).collect();
        self.record(Operation::ReadMany, all, &[]);
        self.inner.read_many(paths)
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.record(Operation::Head, vec![path.to_owned()], &[]);
        self.inner.head(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.record(Operation::PutIfAbsent, vec![path.to_owned()], &[]);
        self.inner.put_if_absent(path, bytes)
    }

    fn put_if_absent_unsynced(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        self.record(Operation::PutIfAbsent, vec![path.to_owned()], &[]);
        self.inner.put_if_absent_unsynced(path, bytes)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.record(Operation::Put, vec![path.to_owned()], &[]);
        self.inner.put(path, bytes)
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.record(Operation::ListBelow, vec![directory.to_owned()], &[]);
        self.inner.list_below(directory, enter)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        let all = paths.iter().map(|path| (*path).to_owned()).collect();
        self.record(Operation::Delete, all, &[]);
        self.inner.delete(paths)
    }
}

#[cfg(test)]
mod tests;
