//! A storage with injected faults.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::counting::Operation;
use crate::error::{Error, Result};
use crate::storage::{FileMeta, Storage, slices};

/// The effect of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A storage error with the code `storage.fault`.
    Error,
    /// A missing file: `storage.not_found`, and no entry in a listing.
    NotFound,
    /// Access is denied: `storage.permission`.
    Permission,
    /// The file system does not accept writes: `storage.read_only`.
    ReadOnly,
    /// The file ends after this many bytes. A listing still shows its whole size, as a stale listing does.
    Truncated(usize),
    /// The file has these bytes instead.
    Replaced(Vec<u8>),
    /// The bits of one byte are flipped, if the file has it.
    Flipped(usize),
    /// The call is executed, then fails: a lost response. `storage.fault`.
    ResponseLost,
}

/// An injected fault.
#[derive(Clone, Debug)]
struct Rule {
    operation: Option<Operation>,
    path: String,
    times: usize,
    fault: Fault,
}

/// Passes calls on, except those that a rule selects. Clones share the rules.
#[derive(Clone, Debug)]
pub(crate) struct FaultStorage {
    inner: Arc<dyn Storage>,
    rules: Arc<Mutex<Vec<Rule>>>,
}

impl FaultStorage {
    /// Creates a storage without faults; see [`FaultStorage::fail`].
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        Self {
            inner,
            rules: Arc::default(),
        }
    }

    /// Injects a fault into the next `times` calls on paths that end in `path`. For a listing the path is
    /// that of the directory, or, with [`Fault::NotFound`], that of the file to omit. `None` selects every
    /// operation except put, delete and listings of subdirectories, which never fail; a read of many files
    /// counts as [`Operation::ReadMany`] for each of them.
    pub(crate) fn fail(
        &self,
        operation: Option<Operation>,
        path: &str,
        times: usize,
        fault: Fault,
    ) {
        let rule = Rule {
            operation,
            path: path.to_owned(),
            times,
            fault,
        };
        self.rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(rule);
    }

    /// Removes all faults.
    pub(crate) fn heal(&self) {
        self.rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Returns the first rule with a remaining use for this call, and counts the use.
    fn fault(&self, operation: Operation, path: &str) -> Option<Fault> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.iter_mut().find(|rule| {
            rule.times > 0
                && rule.operation.is_none_or(|only| only == operation)
                && path.ends_with(&rule.path)
        })?;
        rule.times -= 1;
        Some(rule.fault.clone())
    }

    fn read_as(&self, operation: Operation, path: &str) -> Result<Bytes> {
        match self.fault(operation, path) {
            Some(fault) => self.faulty(&fault, path),
            None => self.inner.read(path),
        }
    }

    /// Returns the file's bytes with the fault applied.
    fn faulty(&self, fault: &Fault, path: &str) -> Result<Bytes> {
        refuse(fault, path)?;
        let bytes = self.inner.read(path)?;
        Ok(match fault {
            Fault::Truncated(length) => bytes.slice(..bytes.len().min(*length)),
            Fault::Replaced(other) => Bytes::from(other.clone()),
            Fault::Flipped(index) => {
                let mut bytes = bytes.to_vec();
                if let Some(byte) = bytes.get_mut(*index) {
                    *byte = !*byte;
                }
                bytes.into()
            }
            _ => return Err(broken(path)),
        })
    }
}

impl Storage for FaultStorage {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        match self.fault(Operation::List, directory) {
            Some(Fault::NotFound) => return Ok(Vec::new()),
            Some(fault) => {
                refuse(&fault, directory)?;
                return Err(broken(directory));
            }
            None => {}
        }
        let mut files = self.inner.list(directory, from)?;
        files.retain(|file| self.fault(Operation::List, &file.path) != Some(Fault::NotFound));
        Ok(files)
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.read_as(Operation::Read, path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Some(fault) = self.fault(Operation::ReadRanges, path) else {
            return self.inner.read_ranges(path, ranges);
        };
        let bytes = self.faulty(&fault, path)?;
        slices(&bytes, ranges, path)
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        paths
            .iter()
            .map(|path| self.read_as(Operation::ReadMany, path))
            .collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        match self.fault(Operation::Head, path) {
            Some(fault) => {
                let bytes = self.faulty(&fault, path)?;
                Ok(FileMeta {
                    size: bytes.len() as u64,
                    ..self.inner.head(path)?
                })
            }
            None => self.inner.head(path),
        }
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        match self.fault(Operation::PutIfAbsent, path) {
            None => self.inner.put_if_absent(path, bytes),
            Some(Fault::ResponseLost) => {
                self.inner.put_if_absent(path, bytes)?;
                Err(broken(path))
            }
            Some(Fault::Truncated(length)) => self
                .inner
                .put_if_absent(path, bytes.get(..length).unwrap_or(bytes)),
            Some(fault) => {
                refuse(&fault, path)?;
                Err(broken(path))
            }
        }
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.inner.put(path, bytes)
    }

    fn list_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        self.inner.list_below(directory, enter)
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        self.inner.delete(paths)
    }
}

/// Fails with the error that a fault stands for; faults that change bytes pass.
fn refuse(fault: &Fault, path: &str) -> Result<()> {
    Err(match fault {
        Fault::Error => broken(path),
        Fault::NotFound => {
            Error::storage("storage.not_found", "there is no such file").at_path(path)
        }
        Fault::Permission => {
            Error::storage("storage.permission", "not allowed to read this file").at_path(path)
        }
        Fault::ReadOnly => {
            Error::storage("storage.read_only", "this file system can only be read").at_path(path)
        }
        _ => return Ok(()),
    })
}

fn broken(path: &str) -> Error {
    Error::storage("storage.fault", "a fault was injected here").at_path(path)
}

#[cfg(test)]
mod tests;
