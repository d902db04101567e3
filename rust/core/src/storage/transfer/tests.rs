use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::storage::Location;
use crate::storage::tests::open;

/// A location and its storage.
type Store = (Location, Arc<dyn Storage>);

/// Creates a local directory and one in memory, with the same files.
fn stores(name: &str) -> (TempDir, Vec<Store>) {
    let directory = TempDir::new().unwrap();
    let uris = [
        directory.path().to_str().unwrap().to_owned(),
        format!("memory://{name}/a table"),
    ];
    let open = |uri: &String| {
        let storage = open(uri, &[]).unwrap();
        for path in ["a.bin", "p=1/b c%.bin", "p=1/q/c.bin", "p=10/d.bin"] {
            storage.put(path, path.as_bytes()).unwrap();
        }
        (Location::parse(uri).unwrap(), storage)
    };
    let stores = uris.iter().map(open).collect();
    (directory, stores)
}

fn copy(from: &str, within_store: Option<String>, to: &str, size: Option<u64>) -> FileCopy {
    FileCopy {
        from: from.to_owned(),
        within_store,
        to: to.to_owned(),
        size,
    }
}

#[test]
fn copies_files_within_and_between_stores() {
    let (_directory, stores) = stores("transfer-each");
    for (from, source) in &stores {
        for (to, target) in &stores {
            let path = "p=1/b c%.bin";
            let within = from.same_store(to).then(|| from.within_store(path));
            let size = path.len() as u64;
            let file_copy = copy(path, within, "new/e.bin", Some(size));
            for _again in 0..2 {
                assert_eq!(transfer(&**source, &**target, &file_copy).unwrap(), size);
            }
            assert_eq!(target.read("new/e.bin").unwrap(), path.as_bytes());
        }
    }
}

#[test]
fn refuses_missing_files_and_files_of_another_size() {
    let (_directory, stores) = stores("transfer-none");
    let (location, storage) = stores.first().unwrap();
    for (path, size, code) in [
        ("a.bin", 4, "clone.size"),
        ("nothing", 4, "storage.not_found"),
    ] {
        let file_copy = copy(
            path,
            Some(location.within_store(path)),
            "new.bin",
            Some(size),
        );
        let error = transfer(&**storage, &**storage, &file_copy).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, Some(path)));
        assert_eq!(
            storage.read("new.bin").unwrap_err().code(),
            "storage.not_found"
        );
    }
}

#[test]
fn an_existing_file_of_another_size_is_kept() {
    let (_directory, stores) = stores("transfer-there");
    for (location, storage) in &stores {
        for within in [None, Some(location.within_store("p=10/d.bin"))] {
            let file_copy = copy("p=10/d.bin", within, "a.bin", None);
            let error = transfer(&**storage, &**storage, &file_copy).unwrap_err();
            assert_eq!(error.code(), "clone.file_exists");
            assert_eq!(storage.read("a.bin").unwrap(), "a.bin");
        }
    }
}

#[test]
fn put_pieces_creates_a_whole_file_or_none() {
    let (_directory, stores) = stores("transfer-pieces");
    for (_, storage) in &stores {
        let mut pieces = vec![Bytes::from_static(b"second"), Bytes::from_static(b"first ")];
        storage
            .put_pieces("whole.bin", &mut || Ok(pieces.pop()))
            .unwrap();
        assert_eq!(storage.read("whole.bin").unwrap(), "first second");

        let mut pieces = vec![
            Err(Error::storage("storage.io", "the source is gone")),
            Ok(Some(Bytes::from_static(b"third"))),
        ];
        let broken = storage.put_pieces("broken.bin", &mut || pieces.pop().unwrap());
        assert_eq!(broken.unwrap_err().code(), "storage.io");
        let absent = storage.read("broken.bin").unwrap_err();
        assert_eq!(absent.code(), "storage.not_found");
        let mut pieces = vec![Bytes::from_static(b"other")];
        let created = storage.put_pieces("whole.bin", &mut || Ok(pieces.pop()));
        assert!(!created.unwrap());
        assert_eq!(storage.read("whole.bin").unwrap(), "first second");
        storage.put_pieces("empty.bin", &mut || Ok(None)).unwrap();
        assert_eq!(storage.read("empty.bin").unwrap(), "");
    }
}

#[test]
fn list_below_begins_at_a_directory() {
    let (_directory, stores) = stores("transfer-listings");
    for (_, storage) in &stores {
        let below = |directory: &str| -> Vec<String> {
            let files = storage
                .list_below(directory, &|path| path != "p=1/q")
                .unwrap();
            files.into_iter().map(|file| file.path).collect()
        };
        assert_eq!(below("p=1"), ["p=1/b c%.bin"]);
        assert_eq!(below(""), ["a.bin", "p=1/b c%.bin", "p=10/d.bin"]);
        assert_eq!(below("nothing"), [""; 0]);
    }
}
