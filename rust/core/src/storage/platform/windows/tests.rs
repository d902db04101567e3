use super::*;
use crate::storage::{self, Location};

#[test]
fn paths_and_uris_of_a_drive_have_one_form() {
    for (written, path, root) in [
        (r"C:\data\t", "/C:/data/t", "file:///C:/data/t"),
        ("c:/data//t/", "/C:/data/t", "file:///C:/data/t"),
        (r"C:\data\.\x\..\t\", "/C:/data/t", "file:///C:/data/t"),
        ("file:///c:/data/t", "/C:/data/t", "file:///C:/data/t"),
        ("file:/C:/a%20b", "/C:/a b", "file:///C:/a%20b"),
        (r"C:\a b%", "/C:/a b%", "file:///C:/a%20b%25"),
        (r"C:\", "/C:", "file:///C:"),
    ] {
        let location = Location::parse(written).unwrap();
        assert_eq!(
            (location.path(), location.root()),
            (path, root),
            "{written}"
        );
        assert_eq!(
            Location::parse(location.root()).unwrap(),
            location,
            "{written}"
        );
    }
}

#[test]
fn relative_paths_get_the_drive_of_the_working_directory() {
    let relative = Location::parse(r"some\table").unwrap();
    assert!(relative.path().ends_with("/some/table"), "{relative}");
    assert!(begins_with_drive(to_system(relative.path())));
}

#[test]
fn refuses_network_shares() {
    let error = Location::parse(r"\\server\share\t").unwrap_err();
    assert_eq!(error.code(), "uri.form");
}

#[test]
fn converts_paths_from_the_system_and_back() {
    for (system, path) in [("C:/a/b", "/C:/a/b"), ("z:/", "/z:/"), ("C:", "/C:")] {
        assert_eq!(from_system(system).unwrap(), path);
        assert_eq!(to_system(path), system);
    }
}

#[test]
fn only_a_leading_drive_becomes_uppercase() {
    assert_eq!(with_uppercase_drive("/c:/c:/x"), "/C:/c:/x");
}

#[test]
fn paths_without_a_drive_stay_unchanged() {
    for path in ["", "/", "/a/b", "/ä:/b", "/ab:/c"] {
        assert_eq!(to_system(path), path);
        assert_eq!(with_uppercase_drive(path), path);
    }
}

#[test]
fn refuses_names_that_windows_treats_specially() {
    for path in [
        r"a\..\..\x",
        r"..\x",
        "a/.. /x",
        "a/.../x",
        "x.",
        "x ",
        "x:stream",
        "C:x",
        "C:/x",
        "/C:/a/D:/x",
        "NUL",
        "a/nul.json",
        "Com1 .txt",
        "LPT²",
        "CONOUT$",
    ] {
        assert_eq!(
            check_names(path).unwrap_err().code(),
            "storage.name",
            "{path}"
        );
    }
    for path in [
        "",
        "_delta_log/00000000000000000000.json",
        "/C:/t/p=a b/x.parquet",
        ".hidden/x",
        "null",
        "com",
        "com10",
        "console",
    ] {
        check_names(path).unwrap();
    }
}

#[test]
fn a_confined_table_opens_only_its_own_files_and_those_of_allowed_roots() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["t/a", "shared/b", "secret/c"] {
        let file = directory.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, name).unwrap();
    }
    let location =
        |name: &str| Location::parse(directory.path().join(name).to_str().unwrap()).unwrap();
    let (table, shared) = (location("t"), location("shared"));
    let storage = storage::open_location(&table, &[], Some(std::slice::from_ref(&shared))).unwrap();
    assert_eq!(storage.read("a").unwrap(), "t/a");
    assert_eq!(storage.read(&shared.within_store("b")).unwrap(), "shared/b");
    assert!(storage.put_if_absent("new/d", b"d").unwrap());
    let outside = location("secret").within_store("c");
    let error = storage.read(&outside).unwrap_err();
    assert_eq!(error.code(), "path.escapes_root");
    assert!(
        !error.message().contains(r"\\?\"),
        "the prefix of real paths: {error}"
    );
    assert!(storage.outside_target(&outside).is_some());
}

#[test]
fn files_of_equal_content_are_not_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    std::fs::write(&one, "x").unwrap();
    std::fs::write(&other, "x").unwrap();
    let file = File::open(&one).unwrap();
    let metadata = file.metadata().unwrap();
    assert!(is_same_file(&one, &file, &metadata));
    assert!(!is_same_file(&other, &file, &metadata));
}
