//! Requests to a remote store: their number, the rounds of requests that depend on each other, and changes by
//! other processes to a log that is cached.
//!
//! See "Remote tables" in docs/concepts/performance.md.

use super::*;
use crate::codec::file_columns::FileColumns;
use crate::maintenance::vacuum::VacuumOptions;
use crate::storage::far::{Request, rounds, taken};

/// Returns a remote location, and the name of its store.
fn far_location() -> (String, String) {
    let name = format!("far-{}", Uuid::new_v4());
    (format!("memory://{name}/t"), name)
}

fn at(uri: &str) -> Table {
    Table::new(uri, TableOptions::default()).unwrap()
}

/// Creates a remote table with a commit for each of these; this process has cached its log.
fn far_table(commits: &[&[Row<'_>]]) -> (Table, String) {
    let (uri, name) = far_location();
    let table = at(&uri);
    let options = TransactionOptions::default();
    table
        .create(definition(), CreateMode::New, options)
        .unwrap();
    let table = filled(table, commits);
    taken(&name);
    (table, name)
}

fn names(requests: &[Request]) -> Vec<&str> {
    let mut names: Vec<&str> = requests
        .iter()
        .map(|request| request.line.as_str())
        .collect();
    names.sort_unstable();
    names
}

#[track_caller]
fn assert_rounds(name: &str, max_rounds: usize, max_requests: usize) {
    let requests = taken(name);
    let waited = rounds(&requests);
    assert!(
        waited <= max_rounds && requests.len() <= max_requests,
        "{waited} rounds, {} requests: {requests:#?}",
        requests.len()
    );
    let mut reads = names(&requests);
    reads.retain(|what| what.starts_with("GET"));
    let all = reads.len();
    reads.dedup();
    assert_eq!(reads.len(), all, "a file is read twice: {requests:#?}");
}

#[test]
fn creating_a_table_takes_three_requests() {
    let (uri, name) = far_location();
    let options = TransactionOptions::default();
    at(&uri)
        .create(definition(), CreateMode::New, options)
        .unwrap();
    assert_rounds(&name, 3, 3);
}

#[test]
fn an_append_takes_three_rounds() {
    let (table, name) = far_table(&[&[(1, "a")]]);
    append(&table, &[(2, "b")]);
    // hint and listing in parallel with the data file
    assert_rounds(&name, 3, 5);

    append(&at(table.uri()), &[(3, "c")]);
    assert_rounds(&name, 3, 5);
    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);
}

#[test]
fn does_not_read_its_own_commits() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    assert_eq!(num_files(&at(table.uri())), 2);
    let snapshot = newest(&table);
    let files = snapshot.files(table.source(), &FileColumns::all(), None);
    files.unwrap();
    let requests = taken(&name);
    let requested = ["GET t/_delta_log/_last_checkpoint", "LIST t/_delta_log"];
    assert_eq!(
        names(&requests),
        [requested[0], requested[0], requested[1], requested[1]]
    );
    assert_eq!(rounds(&requests), 2);
}

#[test]
fn opening_an_unknown_table_takes_three_rounds() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    table.checkpoint(&snapshot, None).unwrap();
    append(&table, &[(3, "c")]);
    append(&table, &[(4, "d")]);
    taken(&name);
    let cold = Table::new(table.uri(), another_process()).unwrap();
    let snapshot = cold.snapshot_to_read(At::Latest, None).unwrap();
    let all = FileColumns::all();
    let files = snapshot.files(cold.source(), &all, None).unwrap();
    assert_eq!(
        files
            .batches
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>(),
        4
    );
    // hint; listing and checkpoint; two commits and the checksum
    assert_rounds(&name, 3, 6);
}

#[test]
fn reads_the_checkpoint_despite_a_wrong_hint() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    table.checkpoint(&snapshot, None).unwrap();
    append(&table, &[(3, "c")]);
    let other = Table::new(table.uri(), another_process()).unwrap();
    for hint in [
        r#"{"version":2,"size":1,"sizeInBytes":7}"#,
        r#"{"version":2,"size":1,"sizeInBytes":9999999999}"#,
        r#"{"version":1,"size":1,"sizeInBytes":700}"#,
        r#"{"version":2,"size":1,"v2Checkpoint":{"path":"../x","sizeInBytes":7,"modificationTime":1}}"#,
        r#"{"version":2,"size":1,"v2Checkpoint":{"path":"00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json","sizeInBytes":9999999999,"modificationTime":1}}"#,
    ] {
        let storage = &other.source().storage;
        storage
            .put("_delta_log/_last_checkpoint", hint.as_bytes())
            .unwrap();
        let retries = format!("{}", 20 + hint.len());
        let options = TableOptions {
            storage_options: vec![("max_retries".to_owned(), retries)],
            ..TableOptions::default()
        };
        taken(&name);
        let cold = Table::new(table.uri(), options).unwrap();
        assert_rows(&cold, &[(1, "a"), (2, "b"), (3, "c")]);
        let requests = taken(&name);
        let is_fetched = names(&requests)
            .iter()
            .any(|request| request.ends_with("43a11.json"));
        assert!(!is_fetched, "{requests:?}");
    }
}

#[test]
fn history_takes_two_rounds() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    table.history(Some(2)).unwrap();
    assert_rounds(&name, 2, 3);
}

#[test]
fn a_checkpoint_takes_two_rounds() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    taken(&name);
    table.checkpoint(&snapshot, None).unwrap();
    assert_rounds(&name, 2, 3);
}

#[test]
fn vacuum_takes_four_rounds() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    table.checkpoint(&snapshot, None).unwrap();
    taken(&name);
    let options = VacuumOptions {
        retention: None,
        lite: false,
        dry_run: true,
        force: false,
    };
    table.vacuum(options, false).unwrap();
    assert_rounds(&name, 4, 6);
}

#[test]
fn verify_takes_four_rounds() {
    let (table, name) = far_table(&[&[(1, "a")], &[(2, "b")], &[(3, "c")]]);
    let result = table.verify(true, false).unwrap();
    assert!(result.findings.is_empty(), "{result:?}");
    assert_rounds(&name, 4, 8);
}

/// Replaces the log of `table` by that of `other`, as another process would.
fn replace_log(table: &Table, other: &Table) {
    let (old, new) = (&table.source().storage, &other.source().storage);
    let paths = old.list("_delta_log", "").unwrap();
    let paths: Vec<&str> = paths.iter().map(|file| file.path.as_str()).collect();
    let writer = Table::new(table.uri(), another_process()).unwrap();
    for deleted in writer.source().storage.delete(&paths) {
        deleted.unwrap();
    }
    for file in new.list("_delta_log", "").unwrap() {
        let bytes = new.read(&file.path).unwrap();
        writer.source().storage.put(&file.path, &bytes).unwrap();
    }
}

/// Returns options with other credentials, so that a table shares no cache with this process.
fn another_process() -> TableOptions {
    let retries = ("max_retries".to_owned(), "7".to_owned());
    TableOptions {
        storage_options: vec![retries],
        ..TableOptions::default()
    }
}

#[test]
fn notices_a_recreated_table() {
    let (table, _) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let before = newest(&table);
    assert_eq!(num_files(&table), 2);
    // as many versions, of the same sizes
    let (other, _) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    replace_log(&table, &other);

    let after = newest(&at(table.uri()));

    assert_eq!(after.version(), before.version());
    assert_eq!(after.metadata().id, newest(&other).metadata().id);
    assert_ne!(after.metadata().id, before.metadata().id);
    let advanced = table.update(&before).unwrap();
    assert_eq!(advanced.metadata().id, after.metadata().id);
}

#[test]
fn notices_a_restored_older_log() {
    let (table, _) = far_table(&[&[(1, "a")], &[(2, "b")], &[(3, "c")]]);
    assert_eq!(newest(&table).version(), 3);
    let (other, _) = far_table(&[&[(1, "a")]]);
    replace_log(&table, &other);

    assert_eq!(newest(&at(table.uri())).version(), 1);
    assert_eq!(newest(&table).version(), 1);
}

#[test]
fn notices_a_deleted_table() {
    let (table, _) = far_table(&[&[(1, "a")]]);
    newest(&table);
    let other = Table::new(table.uri(), another_process()).unwrap();
    let files = other.source().storage.list("_delta_log", "").unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    other.source().storage.delete(&paths);
    let error = at(table.uri()).snapshot(At::Latest, None).unwrap_err();
    assert_eq!(error.code(), "table.not_found");
    let rows = stream(batch(&[(2, "b")]));
    let error = table.append(rows, RowsOptions::default()).unwrap_err();
    assert_eq!(error.code(), "table.not_found");
    let left = other.source().storage.list_below("", &|_| true).unwrap();
    let data = left
        .iter()
        .filter(|file| !file.path.starts_with("_delta_log"));
    assert_eq!(
        data.count(),
        1,
        "the failed append deletes its file: {left:?}"
    );
}

#[test]
fn writes_rows_again_after_a_schema_change_by_another_process() {
    let (table, _) = far_table(&[&[(1, "a")]]);
    newest(&table);
    let other = Table::new(table.uri(), another_process()).unwrap();
    let number = |number: i64| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
    let rows = RecordBatch::try_from_iter([("id", number(2)), ("size", number(20))]);
    let options = RowsOptions {
        schema_mode: crate::table::SchemaMode::Merge,
        ..RowsOptions::default()
    };
    other.append(stream(rows.unwrap()), options).unwrap();

    let done = append(&table, &[(3, "c")]);

    assert_eq!((done.version, num_files(&table)), (Some(3), 3));
    let files = table
        .source()
        .storage
        .list_below("", &|path| path != "_delta_log");
    assert_eq!(
        files.unwrap().len(),
        3,
        "the file without the new column is deleted"
    );
}

#[test]
fn notices_a_damaged_commit() {
    let (table, _) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    num_files(&table);
    let other = Table::new(table.uri(), another_process()).unwrap();
    let path = format!("_delta_log/{:020}.json", 1);
    let mut bytes = other.source().storage.read(&path).unwrap().to_vec();
    bytes[0] = b'!';
    other.source().storage.put(&path, &bytes).unwrap();
    let checksums = [1, 2].map(|version| format!("_delta_log/{version:020}.crc"));
    other
        .source()
        .storage
        .delete(&checksums.each_ref().map(String::as_str));

    let cold = Table::new(table.uri(), another_process()).unwrap();
    let cold = cold.snapshot(At::Latest, None).unwrap_err();
    let warm = table.snapshot(At::Latest, None).unwrap_err();
    assert_eq!((warm.code(), warm.path()), (cold.code(), cold.path()));
    assert_eq!(warm.path(), Some(&*path));
}

#[test]
fn reads_a_changed_hint() {
    let (table, _) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    table.checkpoint(&snapshot, None).unwrap();
    newest(&table);
    let other = Table::new(table.uri(), another_process()).unwrap();
    for (text, code) in [
        ("{", "hint.corrupt"),
        (r#"{"version":9,"size":1}"#, "hint.wrong"),
        (r#"{"version":1,"size":1}"#, "hint.stale"),
    ] {
        let storage = &other.source().storage;
        storage
            .put("_delta_log/_last_checkpoint", text.as_bytes())
            .unwrap();
        let result = newest(&at(table.uri()));
        assert_eq!(result.version(), 2);
        let codes: Vec<&str> = result
            .warnings()
            .iter()
            .map(|warning| warning.code)
            .collect();
        assert_eq!(codes, [code]);
    }
}

#[test]
fn notices_deleted_commits() {
    let (table, _) = far_table(&[&[(1, "a")], &[(2, "b")]]);
    let snapshot = newest(&table);
    table.checkpoint(&snapshot, None).unwrap();
    append(&table, &[(3, "c")]);
    let other = Table::new(table.uri(), another_process()).unwrap();
    let old = [0, 1].map(|version| format!("_delta_log/{version:020}.json"));
    other
        .source()
        .storage
        .delete(&old.each_ref().map(String::as_str));

    assert_rows(&at(table.uri()), &[(1, "a"), (2, "b"), (3, "c")]);
    let error = table.snapshot(At::Version(1), None).unwrap_err();
    assert_eq!(error.code(), "version.not_found");
    assert_eq!(table.history(None).unwrap().num_rows(), 2);
}

#[test]
fn does_not_share_the_cache_between_credentials() {
    let (table, name) = far_table(&[&[(1, "a")]]);
    newest(&table);
    taken(&name);
    let other = Table::new(table.uri(), another_process()).unwrap();
    newest(&other);
    let requested = taken(&name);
    let commit = "GET t/_delta_log/00000000000000000001.json";
    assert!(names(&requested).contains(&commit), "{requested:?}");
}
