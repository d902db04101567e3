use std::os::unix::fs::symlink;
use std::sync::Arc;

use super::*;
use crate::storage::{self, Storage};

/// Creates a table, a secret directory and a shared one, and links of every kind between them.
fn links() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["t/_delta_log", "t/p=1", "secret/inner", "shared"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    for name in ["t/in", "t/p=1/in", "secret/x", "secret/inner/x", "shared/x"] {
        fs::write(at(name), name).unwrap();
    }
    symlink(at("secret/x"), at("t/out")).unwrap();
    symlink("../secret/x", at("t/relative")).unwrap();
    symlink("out", at("t/twice")).unwrap();
    symlink(at("secret"), at("t/p=2")).unwrap();
    symlink(at("shared/x"), at("t/shared")).unwrap();
    symlink("p=1/in", at("t/inside")).unwrap();
    symlink(at("nowhere"), at("t/dangling")).unwrap();
    symlink("loop", at("t/loop")).unwrap();
    symlink(at("t"), at("link-to-t")).unwrap();
    directory
}

fn open(directory: &Path, root: &str, allowed_roots: Option<&[&str]>) -> Arc<dyn Storage> {
    let parse = |name: &str| Location::parse(directory.join(name).to_str().unwrap()).unwrap();
    let allowed: Option<Vec<_>> =
        allowed_roots.map(|roots| roots.iter().map(|root| parse(root)).collect());
    storage::open_location(&parse(root), &[], allowed.as_deref()).unwrap()
}

#[test]
fn targets_of_links_are_checked() {
    let directory = links();
    for root in ["t", "link-to-t", "t/p=1/.."] {
        let confined = open(directory.path(), root, Some(&["shared", "not-there"]));
        for path in ["in", "p=1/in", "inside", "shared"] {
            assert!(confined.read(path).is_ok(), "{root} {path}");
            assert!(confined.head(path).is_ok(), "{root} {path}");
            confined.check_readable(path).unwrap();
        }
        let below = directory.path().join("shared/x");
        assert_eq!(confined.read(below.to_str().unwrap()).unwrap(), "shared/x");
        let outside = directory.path().join("secret/x").display().to_string();
        for path in ["out", "relative", "twice", "p=2/x", "p=2/inner/x", &outside] {
            for error in [
                confined.read(path).unwrap_err(),
                confined.read_ranges(path, &[]).unwrap_err(),
                confined.read_many(&[path]).remove(0).unwrap_err(),
                confined.head(path).unwrap_err(),
                confined.check_readable(path).unwrap_err(),
            ] {
                assert_eq!(error.code(), "path.escapes_root", "{root} {path}");
                assert_eq!(error.path(), Some(path));
                let message = error.message();
                assert!(message.contains("/secret/") && message.contains("allowed_roots"));
            }
        }
        for (path, code) in [
            ("dangling", "storage.not_found"),
            ("missing", "storage.not_found"),
            ("loop", "storage.name"),
            ("p=1", "storage.not_a_file"),
        ] {
            assert_eq!(confined.read(path).unwrap_err().code(), code, "{path}");
        }
    }
}

#[test]
fn links_are_not_checked_without_allowed_roots() {
    let directory = links();
    let unconfined = open(directory.path(), "t", None);
    for path in ["out", "relative", "twice", "p=2/x", "in"] {
        assert!(unconfined.read(path).is_ok(), "{path}");
        unconfined.check_readable(path).unwrap();
    }
    for (path, is_outside) in [
        ("out", true),
        ("p=2/x", true),
        ("inside", false),
        ("missing", false),
    ] {
        let result = unconfined.outside_target(path);
        assert_eq!(
            result.is_some_and(|to| to.contains("/secret/")),
            is_outside,
            "{path}"
        );
    }
}

#[test]
fn allowed_roots_may_be_empty_or_the_whole_file_system() {
    let directory = links();
    let confined = open(directory.path(), "t", Some(&[]));
    for path in ["out", "shared"] {
        assert_eq!(confined.read(path).unwrap_err().code(), "path.escapes_root");
    }
    let unconfined = open(directory.path(), "t", Some(&["/"]));
    assert!(unconfined.read("out").is_ok());
}

#[test]
fn refuses_to_list_create_or_delete_through_a_link() {
    let directory = links();
    let confined = open(directory.path(), "t", Some(&["shared"]));
    let refusals = [
        confined.list("p=2", "").map(drop),
        confined.put("p=2/new", b"").map(drop),
        confined.put_if_absent("p=2/new", b"").map(drop),
        confined.put_if_absent("p=2/deep/er/new", b"").map(drop),
        confined.put_if_absent_unsynced("p=2/new", b"").map(drop),
        confined.delete(&["p=2/x"]).remove(0),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err().code(), "path.escapes_root");
    }
    assert_eq!(confined.list("missing", "").unwrap(), []);
    confined.delete(&["loop"]).remove(0).unwrap();
    let all = confined.list_below("", &|_| true).unwrap();
    assert!(all.iter().all(|file| !file.path.starts_with("p=2/")));
    assert!(confined.put_if_absent("q=1/r=2/new", b"").unwrap());
    confined.put("out", b"mine").unwrap(); // replaces the link
    assert_eq!(confined.read("out").unwrap(), "mine");
    confined.delete(&["twice"]).remove(0).unwrap();
    assert!(directory.path().join("secret/x").exists());
    let new = open(directory.path(), "shared/not/yet", Some(&[]));
    assert_eq!(new.list("", "").unwrap(), []);
    assert!(new.put_if_absent("_delta_log/0", b"").unwrap());
}

#[test]
fn a_replaced_file_or_directory_is_detected() {
    let directory = links();
    let real = fs::canonicalize(directory.path().join("t/p=1/in")).unwrap();
    let open = |path: &Path| {
        let file = File::open(path).unwrap();
        let metadata = file.metadata().unwrap();
        (file, metadata)
    };
    let (file, opened) = open(&real);
    assert!(is_same(&real, &file, &opened));
    let (other, other_opened) = open(&directory.path().join("secret/x"));
    assert!(!is_same(&real, &other, &other_opened));
    fs::rename(real.parent().unwrap(), directory.path().join("t/moved")).unwrap();
    symlink("moved", directory.path().join("t/p=1")).unwrap();
    assert!(!is_same(&real, &file, &opened));
}
