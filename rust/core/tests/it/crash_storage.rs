//! A storage whose process crashes at a write, to test what other processes read afterwards.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use deltareplay_core::error::{Error, Result};
use deltareplay_core::storage::{FileMeta, Storage};

/// The effect of the crash on the chosen write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// The process crashes before it: neither it nor any later write happens.
    Before,
    /// The process crashes in the middle: half of the file exists. Half a commit is never visible, since
    /// stores create it as a whole; the half has a temporary name.
    Torn,
    /// The process crashes after it: it happens, but no later write does.
    After,
    /// There is no space for it, nor for any later one; the process continues.
    Full,
}

/// Passes calls on up to the write with the chosen index, counting all files that are created, overwritten
/// or deleted.
#[derive(Clone, Debug)]
pub(crate) struct CrashStorage {
    inner: Arc<dyn Storage>,
    how: Crash,
    /// The index of the write at which the process crashes.
    at: usize,
    writes: Arc<AtomicUsize>,
}

impl CrashStorage {
    /// Crashes at the write with the index `at`.
    pub(crate) fn new(inner: Arc<dyn Storage>, at: usize, how: Crash) -> Self {
        Self {
            inner,
            how,
            at,
            writes: Arc::default(),
        }
    }

    /// Returns the number of writes that were begun.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    fn check_alive(&self, path: &str) -> Result<()> {
        if self.how != Crash::Full && self.writes() > self.at {
            return Err(crashed(path));
        }
        Ok(())
    }

    /// Executes a write: `whole` does it, `half` does half of it.
    fn write<T>(
        &self,
        path: &str,
        whole: impl FnOnce() -> Result<T>,
        half: impl FnOnce() -> Result<()>,
    ) -> Result<T> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        match (number.cmp(&self.at), self.how) {
            (std::cmp::Ordering::Less, _) => whole(),
            (_, Crash::Full) => {
                let message = "there is no space for this file: free some, then try again";
                Err(Error::storage("storage.full", message).at_path(path))
            }
            (std::cmp::Ordering::Equal, Crash::After) => {
                whole()?;
                Err(crashed(path))
            }
            (std::cmp::Ordering::Equal, Crash::Torn) => {
                half()?;
                Err(crashed(path))
            }
            _ => Err(crashed(path)),
        }
    }

    /// Writes half of a file; that of a commit under a temporary name.
    fn tear(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
        let commit = path.ends_with(".json") && !path.contains(".checkpoint.");
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if commit {
            self.inner
                .put(&format!("{directory}/.{name}.1.0.tmp"), half)
        } else {
            self.inner.put(path, half)
        }
    }
}

fn crashed(path: &str) -> Error {
    Error::storage("storage.fault", "the process has crashed").at_path(path)
}

impl Storage for CrashStorage {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        self.check_alive(directory)?;
        self.inner.list(directory, from)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.check_alive(path)?;
        self.inner.read(path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check_alive(path)?;
        self.inner.read_ranges(path, ranges)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        self.check_alive(path)?;
        self.inner.head(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let whole = || self.inner.put_if_absent(path, bytes);
        self.write(path, whole, || self.tear(path, bytes))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let whole = || self.inner.put(path, bytes);
        self.write(path, whole, || self.tear(path, bytes))
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.check_alive("")?;
        self.inner.list_below(directory, enter)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        if self.how == Crash::Full {
            return self.inner.delete(paths); // that takes no space
        }
        let whole = |path: &&str| {
            self.inner
                .delete(&[*path])
                .into_iter()
                .next()
                .unwrap_or(Ok(()))
        };
        let delete = |path: &&str| self.write(path, || whole(path), || Ok(()));
        paths.iter().map(delete).collect()
    }
}
