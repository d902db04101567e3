//! Managed logs in memory: their requests to storage and catalog, and their results.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::ManagedLog;
use crate::error::{Error, ErrorKind, Result};
use crate::log::LogListing;
use crate::log::catalog::{
    Catalog, Content, LogTail, Permission, Ratification, RatifiedCommit, StagedCommit,
};
use crate::log::path::{LOG_DIRECTORY, STAGED_DIRECTORY, commit_path, staged_path};
use crate::storage::tests::counting::{CountingStorage, Operation};
use crate::storage::tests::open;
use crate::storage::{Access, Credentials, Storage, Vending};

/// Ratifies every commit that follows the last one.
#[derive(Debug, Default)]
struct MemoryCatalog(Mutex<LogTail>);

impl Vending for MemoryCatalog {
    fn credentials(&self, _: Access) -> Result<Option<Credentials>> {
        Ok(None)
    }
}

impl Catalog for MemoryCatalog {
    fn load(&self) -> Result<LogTail> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn commit(&self, staged: &StagedCommit) -> Result<Ratification> {
        let mut tail = self.0.lock().unwrap();
        if tail.max_version.unwrap() + 1 != staged.version {
            return Ok(Ratification::Taken);
        }
        tail.max_version = Some(staged.version);
        tail.commits.push(RatifiedCommit {
            version: staged.version,
            content: Content::File {
                name: staged.file_name.clone(),
                size: Some(staged.size),
                modification_time: Some(staged.modification_time),
            },
        });
        Ok(Ratification::Ratified)
    }

    fn published(&self, version: u64) -> Result<()> {
        let mut tail = self.0.lock().unwrap();
        tail.commits.retain(|commit| commit.version > version);
        Ok(())
    }
}

fn commit_text(version: u64) -> String {
    format!(r#"{{"commitInfo":{{"txnId":"id-{version}","inCommitTimestamp":{version}}}}}"#)
}

/// Creates a log with these published commits, all of which the catalog knows.
fn log(name: &str, newest: u64) -> (ManagedLog, Arc<CountingStorage>, Arc<MemoryCatalog>) {
    let files = open(&format!("memory://managed-{name}"), &[]).unwrap();
    for version in 0..=newest {
        let put = files.put_if_absent(&commit_path(version), commit_text(version).as_bytes());
        assert!(put.unwrap());
    }
    let catalog = Arc::new(MemoryCatalog(Mutex::new(LogTail {
        max_version: Some(newest),
        ..LogTail::default()
    })));
    let counting = Arc::new(CountingStorage::new(files));
    let managed = ManagedLog::new(Arc::clone(&counting) as _, Arc::clone(&catalog) as _);
    (managed, counting, catalog)
}

#[test]
fn committing_and_publishing_put_one_file_each() {
    let (log, files, catalog) = log("one-put", 2);
    LogListing::read(&log, 0).unwrap();
    files.take();

    assert!(
        log.put_if_absent(&commit_path(3), commit_text(3).as_bytes())
            .unwrap()
    );
    let staged = staged_path(3, "id-3");
    assert_eq!(files.pairs(), [(Operation::PutIfAbsent, staged.clone())]);
    files.take();

    log.publish(3).unwrap();
    log.publish(3).unwrap();
    assert_eq!(files.pairs(), [(Operation::PutIfAbsent, commit_path(3))]);
    assert_eq!(log.read(&staged).unwrap(), commit_text(3).as_bytes());
    assert_eq!(files.count(Operation::Read), 1);
    assert!(catalog.0.lock().unwrap().commits.is_empty());
}

#[test]
fn a_taken_version_is_not_overwritten() {
    let (log, files, _) = log("taken", 2);
    LogListing::read(&log, 0).unwrap();

    assert!(
        !log.put_if_absent(&commit_path(2), commit_text(7).as_bytes())
            .unwrap()
    );
    log.publish(2).unwrap();
    let before = files.read(&commit_path(2)).unwrap();
    assert_eq!(before, commit_text(2).as_bytes());
}

/// Responds after the files are listed.
#[derive(Debug)]
struct WaitingCatalog(Arc<CountingStorage>);

impl Vending for WaitingCatalog {
    fn credentials(&self, _: Access) -> Result<Option<Credentials>> {
        Ok(None)
    }
}

impl Catalog for WaitingCatalog {
    fn load(&self) -> Result<LogTail> {
        let begun = Instant::now();
        while self.0.count(Operation::List) == 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the files are not listed"
            );
            std::thread::yield_now();
        }
        Ok(LogTail {
            max_version: Some(1),
            ..LogTail::default()
        })
    }

    fn commit(&self, _: &StagedCommit) -> Result<Ratification> {
        Ok(Ratification::Taken)
    }

    fn published(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

#[test]
fn files_are_listed_while_the_catalog_responds() {
    let (_, files, _) = log("meanwhile", 2);
    let waiting = Arc::new(WaitingCatalog(Arc::clone(&files)));
    let log = ManagedLog::new(Arc::clone(&files) as _, waiting);

    assert_eq!(LogListing::read(&log, 0).unwrap().latest(), Some(1));
    assert_eq!(files.count(Operation::List), 1);
}

#[test]
fn a_gap_is_listed_again_before_it_is_an_error() {
    let (log, files, catalog) = log("again", 2);
    LogListing::read(&log, 0).unwrap();
    files.take();
    catalog.0.lock().unwrap().max_version = Some(3);
    let error = LogListing::read(&log, 0).unwrap_err();
    assert_eq!(error.code(), "catalog.gap");
    assert_eq!(files.count(Operation::List), 2);
}

#[test]
fn the_listing_begins_at_the_requested_version() {
    let (log, _, _) = log("from", 4);
    for version in 5..=7 {
        assert!(
            log.put_if_absent(&commit_path(version), commit_text(version).as_bytes())
                .unwrap()
        );
    }
    for from in 0..=9 {
        let listing = LogListing::read(&log, from).unwrap();
        let result: Vec<u64> = listing
            .commits
            .iter()
            .map(|commit| commit.version)
            .collect();
        assert_eq!(result, (from..=7).collect::<Vec<_>>());
    }
    // other directories, and names after all versions, are listed as they are
    assert_eq!(log.list(STAGED_DIRECTORY, "").unwrap().len(), 3);
    assert!(log.list(LOG_DIRECTORY, "_").unwrap().is_empty());
}

#[test]
fn a_commit_without_id_or_timestamp_is_refused_before_it_is_staged() {
    let (log, files, _) = log("info", 0);
    for line in [
        "",
        r#"{"commitInfo":{"txnId":"a"}}"#,
        r#"{"commitInfo":{"inCommitTimestamp":1}}"#,
        r#"{"add":{"path":"f","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#,
    ] {
        files.take();
        let error = log
            .put_if_absent(&commit_path(1), line.as_bytes())
            .unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            ("catalog.commit_info", ErrorKind::InvalidArgument)
        );
        assert_eq!(files.count(Operation::PutIfAbsent), 0);
    }
}

#[test]
fn commits_are_read_from_every_location() {
    let (log, files, catalog) = log("places", 1);
    assert!(
        log.put_if_absent(&commit_path(2), commit_text(2).as_bytes())
            .unwrap()
    );
    let inline = RatifiedCommit {
        version: 3,
        content: Content::Inline(commit_text(3).into_bytes().into()),
    };
    {
        let mut tail = catalog.0.lock().unwrap();
        tail.max_version = Some(3);
        tail.commits.push(inline);
    }
    let listing = LogListing::read(&log, 0).unwrap();
    let paths: Vec<&str> = listing
        .commits
        .iter()
        .map(|commit| commit.file.path.as_str())
        .collect();
    let all = log.read_many(&paths);
    for (version, bytes) in (0..).zip(all) {
        assert_eq!(bytes.unwrap(), commit_text(version).as_bytes());
    }
    for path in &paths {
        assert_eq!(
            log.read_ranges(path, &[0..4, 2..14]).unwrap()[0].as_ref(),
            br#"{"co"#
        );
    }
    let short = log.read_ranges(paths[3], &[0..4, 4..1 << 20]).unwrap_err();
    assert_eq!(short.code(), "storage.truncated");
    // not published, and stored by the catalog
    let path = commit_path(3);
    let bytes = log.read_at_most(&path, 1 << 10).unwrap();
    assert_eq!(bytes, commit_text(3).as_bytes());
    let ranges = log
        .read_ranges(&path, std::slice::from_ref(&(0..4)))
        .unwrap();
    assert_eq!(ranges[0].as_ref(), br#"{"co"#);
    // published, and the staged file was deleted
    log.publish(3).unwrap();
    let staged = staged_path(2, "id-2");
    files.delete(&[&staged]).pop().unwrap().unwrap();
    assert_eq!(log.read(&staged).unwrap(), commit_text(2).as_bytes());
    assert_eq!(log.head(&staged).unwrap().path, commit_path(2));
    assert_eq!(
        log.read_many(&[&staged])[0].as_ref().unwrap(),
        commit_text(2).as_bytes()
    );
}

/// Fails on the first request.
#[derive(Debug)]
struct FlakyCatalog {
    catalog: Arc<MemoryCatalog>,
    loads: AtomicUsize,
}

impl Vending for FlakyCatalog {
    fn credentials(&self, access: Access) -> Result<Option<Credentials>> {
        self.catalog.credentials(access)
    }
}

impl Catalog for FlakyCatalog {
    fn load(&self) -> Result<LogTail> {
        match self.loads.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::storage("catalog.unavailable", "try again")),
            _ => self.catalog.load(),
        }
    }

    fn commit(&self, staged: &StagedCommit) -> Result<Ratification> {
        self.catalog.commit(staged)
    }

    fn published(&self, version: u64) -> Result<()> {
        self.catalog.published(version)
    }
}

#[test]
fn files_keep_their_order_if_the_first_request_fails() {
    let (_, files, catalog) = log("late", 1);
    {
        let mut tail = catalog.0.lock().unwrap();
        tail.max_version = Some(2);
        tail.commits.push(RatifiedCommit {
            version: 2,
            content: Content::Inline(commit_text(2).into_bytes().into()),
        });
    }
    let flaky = FlakyCatalog {
        catalog,
        loads: AtomicUsize::new(0),
    };
    let log = ManagedLog::new(files, Arc::new(flaky));
    let inline = staged_path(2, "inline");
    let paths = [inline.as_str(), &commit_path(0), &commit_path(1)];
    let all = log.read_many(&paths);
    for (version, bytes) in [2, 0, 1].into_iter().zip(all) {
        assert_eq!(bytes.unwrap(), commit_text(version).as_bytes());
    }
}

#[test]
fn a_log_without_catalog_version_is_plain_storage() {
    let (log, files, catalog) = log("plain", 2);
    catalog.0.lock().unwrap().max_version = None;

    assert!(log.put_if_absent(&commit_path(3), b"{}").unwrap());
    assert!(
        files
            .pairs()
            .contains(&(Operation::PutIfAbsent, commit_path(3)))
    );
    assert_eq!(LogListing::read(&log, 0).unwrap().latest(), Some(3));
    assert!(!log.is_managed().unwrap());
    assert!(log.allows(Permission::Vacuum).unwrap());
}
