use super::*;
use crate::table::{CloneOptions, Cloning};

/// Creates a directory for tables: paths of other tables cannot be resolved in a store in memory.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn table_in(directory: &tempfile::TempDir, name: &str) -> Table {
    let uri = directory.path().join(name);
    let options = TableOptions {
        allowed_roots: Some(vec![directory.path().to_str().unwrap().to_owned()]),
        ..TableOptions::default()
    };
    Table::new(uri.to_str().unwrap(), options).unwrap()
}

/// Creates a table of two files.
fn source(directory: &tempfile::TempDir) -> Table {
    let source = table_in(directory, "source");
    let options = TransactionOptions::default();
    source
        .create(definition(), CreateMode::New, options)
        .unwrap();
    filled(source, &[&[(1, "a")], &[(2, "b")]])
}

#[test]
fn a_deep_clone_has_copies_of_the_files() {
    let directory = directory();
    let (source, target) = (source(&directory), table_in(&directory, "target"));

    let cloning =
        Cloning::new(&source, &newest(&source), &target, CloneOptions::default()).unwrap();
    assert_eq!(cloning.copies().len(), 2);
    let size = newest(&source).size_in_bytes(source.source()).unwrap();
    assert_eq!(cloning.copy().unwrap(), size);
    assert_eq!(
        cloning.commit(TransactionOptions::default()).unwrap(),
        Some(0)
    );

    std::fs::remove_dir_all(directory.path().join("source")).unwrap();
    assert_rows(&target, &[(1, "a"), (2, "b")]);
}

#[test]
fn a_shallow_clone_reads_the_files_of_the_version_that_it_is_made_of() {
    let directory = directory();
    let (source, target) = (source(&directory), table_in(&directory, "target"));
    let first = source.snapshot(At::Version(1), None).unwrap();
    let options = CloneOptions {
        shallow: true,
        ..CloneOptions::default()
    };

    let cloning = Cloning::new(&source, &first, &target, options).unwrap();
    assert_eq!(cloning.copies().len(), 0);
    cloning.commit(TransactionOptions::default()).unwrap();
    append(&target, &[(3, "c")]);

    assert_rows(&target, &[(1, "a"), (3, "c")]);
    assert_rows(&source, &[(1, "a"), (2, "b")]);
}

#[test]
fn a_table_that_is_there_is_replaced_only_on_request() {
    let directory = directory();
    let (source, target) = (source(&directory), table_in(&directory, "target"));
    let options = TransactionOptions::default();
    target
        .create(definition(), CreateMode::New, options)
        .unwrap();
    append(&target, &[(9, "z")]);
    let clone = |replace| {
        let options = CloneOptions {
            replace,
            ..CloneOptions::default()
        };
        Cloning::new(&source, &newest(&source), &target, options)
    };

    assert_eq!(clone(false).unwrap_err().code(), "table.exists");
    let cloning = clone(true).unwrap();
    cloning.copy().unwrap();
    assert_eq!(
        cloning.commit(TransactionOptions::default()).unwrap(),
        Some(2)
    );

    assert_rows(&target, &[(1, "a"), (2, "b")]);
}

#[test]
fn manifests_name_the_files_of_each_partition() {
    let table = created(TableDefinition {
        partition_columns: vec!["name".to_owned()],
        ..definition()
    });
    append(&table, &[(1, "a"), (2, "b"), (3, "b")]);

    assert_eq!(table.generate_symlinks().unwrap(), 2);

    for partition in ["a", "b"] {
        let path = format!("_symlink_format_manifest/name={partition}/manifest");
        let manifest = table.source().storage.read(&path).unwrap();
        let lines: Vec<&str> = std::str::from_utf8(&manifest).unwrap().lines().collect();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains(&format!("/name={partition}/")),
            "{lines:?}"
        );
    }
}
