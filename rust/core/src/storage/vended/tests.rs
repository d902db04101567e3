//! The times at which credentials are requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Access, Credentials, VendedStorage, Vending, now};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Storage};

/// The response of a catalog.
#[derive(Clone, Copy, Debug)]
enum Response {
    Nothing,
    Failure,
    /// Credentials that expire after this many milliseconds.
    Credentials(i64),
}

#[derive(Debug)]
struct Catalog {
    requests: AtomicUsize,
    response: Response,
}

impl Vending for Catalog {
    fn credentials(&self, _: Access) -> Result<Option<Credentials>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self.response {
            Response::Nothing => Ok(None),
            Response::Failure => Err(Error::storage("storage.io", "closed")),
            Response::Credentials(lifetime) => Ok(Some(Credentials {
                storage_options: Vec::new(),
                expires_at: Some(now() + lifetime),
            })),
        }
    }
}

fn vended(name: &str, response: Response) -> (VendedStorage, Arc<Catalog>) {
    let catalog = Arc::new(Catalog {
        requests: AtomicUsize::new(0),
        response,
    });
    let location = Location::parse(&format!("memory://vended-{name}")).unwrap();
    let storage = VendedStorage::new(location, &[], None, Arc::clone(&catalog) as _).unwrap();
    (storage, catalog)
}

fn requests(catalog: &Catalog) -> usize {
    catalog.requests.load(Ordering::Relaxed)
}

#[test]
fn credentials_are_requested_at_the_first_access_of_each_kind() {
    for (name, response) in [
        ("once-none", Response::Nothing),
        ("once", Response::Credentials(3_600_000)),
    ] {
        let (storage, catalog) = vended(name, response);
        assert_eq!(requests(&catalog), 0);
        for _ in 0..3 {
            storage.list("", "").unwrap();
        }
        assert_eq!(requests(&catalog), 1);
        assert!(storage.put_if_absent("a", b"1").unwrap());
        assert_eq!(storage.read("a").unwrap(), b"1".as_slice());
        assert_eq!(requests(&catalog), 2);
    }
}

#[test]
fn credentials_for_writing_are_used_for_reading() {
    let (storage, catalog) = vended("write", Response::Credentials(3_600_000));
    storage.put("a", b"1").unwrap();
    storage.read("a").unwrap();
    assert_eq!(requests(&catalog), 1);
}

#[test]
fn credentials_are_renewed_before_they_expire() {
    let (storage, catalog) = vended("renewed", Response::Credentials(400));
    storage.list("", "").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(250)); // more than half of their lifetime
    storage.list("", "").unwrap();
    assert_eq!(requests(&catalog), 2);
}

#[test]
fn every_file_of_a_refused_call_has_the_error() {
    let (storage, catalog) = vended("refused", Response::Failure);
    let read = storage.read_many(&["a", "b"]);
    let deleted = storage.delete(&["a", "b"]);
    let of_read = read.into_iter().map(Result::unwrap_err);
    let of_deleted = deleted.into_iter().map(Result::unwrap_err);
    for errors in [of_read.collect::<Vec<_>>(), of_deleted.collect()] {
        let errors: Vec<_> = errors
            .iter()
            .map(|error| (error.kind(), error.path()))
            .collect();
        assert_eq!(
            errors,
            ["a", "b"].map(|path| (ErrorKind::Storage, Some(path)))
        );
    }
    assert_eq!(requests(&catalog), 2);
}

#[test]
fn credentials_are_never_printed() {
    let (storage, _) = vended("printed", Response::Nothing);
    let secret = Credentials {
        storage_options: vec![("key".to_owned(), "secret".to_owned())],
        expires_at: None,
    };
    assert_eq!(format!("{secret:?}"), "Credentials");
    assert!(!format!("{storage:?}").contains("options"));
}
