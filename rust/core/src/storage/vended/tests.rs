//! The times at which credentials are requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::{Access, Credentials, VendedStorage, Vending, now};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Storage};

#[derive(Debug)]
struct Clerk {
    requests: AtomicUsize,
    /// The lifetime of credentials in milliseconds; -1 returns none, -2 fails.
    life: AtomicI64,
}

impl Vending for Clerk {
    fn credentials(&self, _: Access) -> Result<Option<Credentials>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self.life.load(Ordering::Relaxed) {
            -2 => Err(Error::storage("storage.io", "closed")),
            -1 => Ok(None),
            life => Ok(Some(Credentials {
                storage_options: Vec::new(),
                expires_at: Some(now() + life),
            })),
        }
    }
}

fn vended(name: &str, life: i64) -> (VendedStorage, Arc<Clerk>) {
    let clerk = Arc::new(Clerk {
        requests: AtomicUsize::new(0),
        life: AtomicI64::new(life),
    });
    let location = Location::parse(&format!("memory://vended-{name}")).unwrap();
    let storage = VendedStorage::new(location, &[], None, Arc::clone(&clerk) as _).unwrap();
    (storage, clerk)
}

fn requests(clerk: &Clerk) -> usize {
    clerk.requests.load(Ordering::Relaxed)
}

#[test]
fn credentials_are_requested_once_at_the_first_access() {
    for life in [-1, 3_600_000] {
        let (storage, clerk) = vended(&format!("once{life}"), life);
        assert_eq!(requests(&clerk), 0);
        for _ in 0..3 {
            storage.list("", "").unwrap();
        }
        assert_eq!(requests(&clerk), 1);
        assert!(storage.put_if_absent("a", b"1").unwrap());
        assert_eq!(storage.read("a").unwrap(), b"1".as_slice());
        assert_eq!(requests(&clerk), 2);
    }
}

#[test]
fn who_may_write_may_read() {
    let (storage, clerk) = vended("write", 3_600_000);
    storage.put("a", b"1").unwrap();
    storage.read("a").unwrap();
    assert_eq!(requests(&clerk), 1);
}

#[test]
fn credentials_are_renewed_before_they_expire() {
    let (storage, clerk) = vended("renewed", 0);
    storage.list("", "").unwrap();
    storage.list("", "").unwrap();
    assert_eq!(requests(&clerk), 2);
}

#[test]
fn every_file_of_a_refused_call_has_the_error() {
    let (storage, clerk) = vended("refused", -2);
    let read = storage.read_many(&["a", "b"]);
    let deleted = storage.delete(&["a", "b"]);
    for (path, error) in ["a", "b"]
        .iter()
        .zip(read.into_iter().map(Result::unwrap_err))
    {
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Storage, Some(*path))
        );
    }
    assert_eq!(deleted.len(), 2);
    assert!(deleted.iter().all(Result::is_err));
    assert_eq!(requests(&clerk), 2);
}

#[test]
fn credentials_are_never_printed() {
    let (storage, _) = vended("printed", 0);
    let secret = Credentials {
        storage_options: vec![("key".to_owned(), "secret".to_owned())],
        expires_at: None,
    };
    assert_eq!(format!("{secret:?}"), "Credentials");
    assert!(!format!("{storage:?}").contains("options"));
}
