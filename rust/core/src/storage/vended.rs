//! A store with temporary credentials of a catalog: opened on first use, and again before they expire.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::failures::repeat;
use super::{
    FileMeta, Location, OnEnd, Request, Storage, UnlistedEntry, forward, now, open_location,
};
use crate::error::Result;

/// New credentials are requested this many milliseconds before the old ones expire, or after half of their
/// lifetime, whichever is later.
const REFRESH_BEFORE_EXPIRY: i64 = 60_000;

/// The requested access to a table's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// List and read.
    Read,
    /// Create and delete, too.
    ReadWrite,
}

/// Temporary credentials of a store. Never printed.
#[derive(Clone)]
pub struct Credentials {
    /// Options of the store, with `object_store`'s keys; they take precedence over those of the table.
    pub storage_options: Vec<(String, String)>,
    /// Milliseconds since the epoch; `None` if they do not expire.
    pub expires_at: Option<i64>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials")
    }
}

/// A source of credentials.
pub trait Vending: fmt::Debug + Send + Sync {
    /// Returns credentials for a kind of access; `None` to use those of the table.
    fn credentials(&self, access: Access) -> Result<Option<Credentials>>;
}

/// A store that is opened with vended credentials.
pub struct VendedStorage {
    location: Location,
    options: Vec<(String, String)>,
    allowed_roots: Option<Vec<Location>>,
    vending: Arc<dyn Vending>,
    /// The store without vended credentials, used if the catalog returns none.
    plain: Arc<dyn Storage>,
    /// The stores for reading, and for reading and writing.
    opened: Mutex<[Option<Opened>; 2]>,
}

#[derive(Clone)]
struct Opened {
    storage: Arc<dyn Storage>,
    renew_at: Option<i64>,
}

impl fmt::Debug for VendedStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VendedStorage")
            .field("root", &self.plain.root())
            .finish_non_exhaustive()
    }
}

impl VendedStorage {
    /// Creates the store at `location`; nothing is requested yet.
    pub fn new(
        location: Location,
        options: &[(String, String)],
        allowed_roots: Option<Vec<Location>>,
        vending: Arc<dyn Vending>,
    ) -> Result<Self> {
        Ok(Self {
            plain: open_location(&location, options, allowed_roots.as_deref())?,
            options: options.to_vec(),
            opened: Mutex::default(),
            location,
            allowed_roots,
            vending,
        })
    }

    /// Returns the store with valid credentials. No lock is held during the request to the catalog.
    fn open(&self, access: Access) -> Result<Arc<dyn Storage>> {
        let now = now();
        let opened = |slots: &[Option<Opened>; 2]| {
            let is_valid = |slot: &&Opened| slot.renew_at.is_none_or(|at| now < at);
            // write access includes read access
            let allowed = match access {
                Access::Read => slots.as_slice(),
                Access::ReadWrite => slots.get(1..).unwrap_or_default(),
            };
            let valid = allowed.iter().flatten().find(is_valid);
            valid.map(|slot| Arc::clone(&slot.storage))
        };
        if let Some(storage) = opened(&self.opened.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(storage);
        }
        let fresh = match self.vending.credentials(access)? {
            None => Opened {
                storage: Arc::clone(&self.plain),
                renew_at: None,
            },
            Some(credentials) => self.open_with(credentials, now)?,
        };
        let storage = Arc::clone(&fresh.storage);
        let mut slots = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let [read, write] = &mut *slots;
        *match access {
            Access::Read => read,
            Access::ReadWrite => write,
        } = Some(fresh);
        Ok(storage)
    }

    fn open_with(&self, credentials: Credentials, now: i64) -> Result<Opened> {
        let from_credentials = &credentials.storage_options;
        let named = |key: &str| {
            from_credentials
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(key))
        };
        let own = self.options.iter().filter(|(key, _)| !named(key));
        let options: Vec<_> = own.chain(from_credentials).cloned().collect();
        Ok(Opened {
            storage: open_location(&self.location, &options, self.allowed_roots.as_deref())?,
            renew_at: credentials.expires_at.map(|at| {
                let lifetime = at.saturating_sub(now);
                at.saturating_sub(REFRESH_BEFORE_EXPIRY.min(lifetime / 2))
            }),
        })
    }
}

impl Storage for VendedStorage {
    forward! {
        self => self.plain;
        root() -> &str;
        max_requests() -> Option<usize>;
        check_readable(path: &str) -> Result<()>;
        is_link(path: &str) -> bool;
        outside_target(path: &str) -> Option<String>;
    }

    forward! {
        self => self.open(Access::Read)?;
        list(directory: &str, from: &str) -> Result<Vec<FileMeta>>;
        read(path: &str) -> Result<Bytes>;
        read_at_most(path: &str, max_bytes: u64) -> Result<Bytes>;
        read_ranges(path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;
        head(path: &str) -> Result<FileMeta>;
        list_below(directory: &str, enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>>;
        find_unlisted(enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Option<UnlistedEntry>>;
        list_directories(enter: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<FileMeta>>;
    }

    forward! {
        self => self.open(Access::ReadWrite)?;
        put_if_absent(path: &str, bytes: &[u8]) -> Result<bool>;
        put_if_absent_unsynced(path: &str, bytes: &[u8]) -> Result<bool>;
        put(path: &str, bytes: &[u8]) -> Result<()>;
        copy(from: &str, to: &str) -> Result<bool>;
        put_pieces(path: &str, pieces: &mut dyn FnMut() -> Result<Option<Bytes>>) -> Result<bool>;
        delete_empty(directory: &str) -> Result<bool>;
    }

    fn begin_read(&self, path: &str, ranges: &[Range<u64>], on_end: OnEnd) -> Request {
        match self.open(Access::Read) {
            Ok(storage) => storage.begin_read(path, ranges, on_end),
            Err(error) => Request::ended(Err(error), on_end),
        }
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        match self.open(Access::Read) {
            Ok(storage) => storage.read_many(paths),
            Err(error) => repeat(&error, paths),
        }
    }

    fn delete(&self, paths: &[&str]) -> Vec<Result<()>> {
        match self.open(Access::ReadWrite) {
            Ok(storage) => storage.delete(paths),
            Err(error) => repeat(&error, paths),
        }
    }
}

#[cfg(test)]
mod tests;
