//! Commits on a storage that fails or does not respond.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::error::ErrorKind;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;
use crate::spec::Metadata;
use crate::storage::tests::counting::Operation;
use crate::storage::tests::fault::{Fault, FaultStorage};
use crate::transaction::{CommitDescription, TransactionOptions};

struct Fixture {
    _directory: tempfile::TempDir,
    faults: FaultStorage,
    source: Source,
}

fn begin(fixture: &Fixture, timeout: Duration) -> Transaction {
    let snapshot: Snapshot = load(&fixture.source, None, false).unwrap();
    let options = TransactionOptions {
        timeout,
        ..TransactionOptions::default()
    };
    let mut transaction = Transaction::begin(
        &fixture.source,
        &snapshot,
        CommitDescription::default(),
        options,
    )
    .unwrap();
    transaction.add(vec![AddFile {
        path: "x".into(),
        data_change: true,
        ..AddFile::default()
    }]);
    transaction
}

/// Creates a table of one version.
fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let mut source = Source::new(directory.path().to_str().unwrap(), &[], None, None).unwrap();
    let faults = FaultStorage::new(Arc::clone(&source.storage));
    source.storage = Arc::new(faults.clone());
    let metadata = Metadata {
        id: "t".into(),
        ..Metadata::default()
    };
    let options = TransactionOptions::default();
    Transaction::create(&source, metadata, CommitDescription::default(), options)
        .unwrap()
        .commit()
        .unwrap();
    Fixture {
        _directory: directory,
        faults,
        source,
    }
}

fn versions(fixture: &Fixture) -> usize {
    fixture.source.storage.list("_delta_log", "").unwrap().len()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_lost_response_is_resolved_by_reading_the_commit() {
    let fixture = fixture();
    let put = Some(Operation::PutIfAbsent);
    fixture.faults.fail(put, "01.json", 1, Fault::ResponseLost);
    let commit = begin(&fixture, LONG).commit().unwrap();
    assert_eq!((commit.version, commit.attempts), (Some(1), 1));
    assert_eq!(versions(&fixture), 2);
}

#[test]
fn retries_until_an_existing_commit_can_be_read() {
    let fixture = fixture();
    let (put, read) = (Some(Operation::PutIfAbsent), Some(Operation::ReadMany));
    fixture.faults.fail(put, "01.json", 1, Fault::ResponseLost);
    fixture.faults.fail(read, "01.json", 2, Fault::Error);
    let commit = begin(&fixture, LONG).commit().unwrap();
    assert_eq!((commit.version, commit.attempts), (Some(1), 1));
    assert_eq!(versions(&fixture), 2);
}

#[test]
fn retries_a_failed_put() {
    let fixture = fixture();
    let put = Some(Operation::PutIfAbsent);
    fixture.faults.fail(put, "01.json", 3, Fault::Error);
    let commit = begin(&fixture, LONG).commit().unwrap();
    assert_eq!((commit.version, commit.attempts), (Some(1), 1));
    assert_eq!(versions(&fixture), 2);
}

#[test]
fn commits_the_next_version_after_a_race_is_lost_without_a_response() {
    let fixture = fixture();
    let (mine, theirs) = (begin(&fixture, LONG), begin(&fixture, LONG));
    assert_eq!(theirs.commit().unwrap().version, Some(1));
    let put = Some(Operation::PutIfAbsent);
    fixture.faults.fail(put, "01.json", 1, Fault::ResponseLost);
    let commit = mine.commit().unwrap();
    assert_eq!((commit.version, commit.attempts), (Some(2), 2));
    assert_eq!(versions(&fixture), 3);
}

#[test]
fn a_put_that_fails_until_the_timeout_is_an_unknown_commit() {
    let fixture = fixture();
    fixture
        .faults
        .fail(Some(Operation::PutIfAbsent), "01.json", 99, Fault::Error);
    let error = begin(&fixture, Duration::ZERO).commit().unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Storage, "commit.unknown")
    );
    assert!(error.message().contains("txnId"), "{error}");
}

#[test]
fn a_refused_first_put_is_final() {
    for (fault, code) in [
        (Fault::Permission, "storage.permission"),
        (Fault::ReadOnly, "storage.read_only"),
    ] {
        let fixture = fixture();
        let put = Some(Operation::PutIfAbsent);
        fixture.faults.fail(put, "01.json", 1, fault);
        let error = begin(&fixture, LONG).commit().unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(versions(&fixture), 1);
    }
}

#[test]
fn a_refused_retry_after_a_lost_response_is_not_final() {
    let fixture = fixture();
    let put = Some(Operation::PutIfAbsent);
    fixture.faults.fail(put, "01.json", 1, Fault::ResponseLost);
    fixture.faults.fail(put, "01.json", 9, Fault::Permission);
    let read = Some(Operation::ReadMany);
    fixture.faults.fail(read, "01.json", 1, Fault::Error);
    let commit = begin(&fixture, LONG).commit().unwrap();
    assert_eq!(commit.version, Some(1), "read after the second attempt");
    assert_eq!(versions(&fixture), 2);

    fixture.faults.fail(put, "02.json", 1, Fault::ResponseLost);
    fixture.faults.fail(put, "02.json", 9, Fault::Permission);
    fixture.faults.fail(read, "02.json", 99, Fault::Error);
    let soon = Duration::from_millis(50);
    let error = begin(&fixture, soon).commit().unwrap_err();
    assert_eq!(error.code(), "commit.unknown");
    fixture.faults.heal();
    assert_eq!(
        versions(&fixture),
        3,
        "the commit exists although its writer got no response"
    );
}

#[test]
fn a_refused_retry_after_a_failed_put_is_an_unknown_commit() {
    let fixture = fixture();
    let put = Some(Operation::PutIfAbsent);
    fixture.faults.fail(put, "01.json", 1, Fault::Error);
    fixture.faults.fail(put, "01.json", 99, Fault::Permission);
    let error = begin(&fixture, Duration::from_millis(20))
        .commit()
        .unwrap_err();
    assert_eq!(
        error.code(),
        "commit.unknown",
        "the first put may still arrive"
    );
}

#[test]
fn rejects_metadata_that_requires_a_missing_feature() {
    let fixture = fixture();
    let mut transaction = begin(&fixture, LONG);
    let mut metadata = transaction.new_metadata().unwrap().clone();
    metadata
        .configuration
        .insert("delta.enableDeletionVectors".into(), "true".into());
    transaction.metadata = Some(metadata);
    assert_eq!(
        transaction.commit().unwrap_err().code(),
        "transaction.feature_missing"
    );
}

#[test]
fn rejects_a_first_version_without_metadata() {
    let fixture = fixture();
    let nothing = Transaction::of(
        &fixture.source,
        None,
        CommitDescription::default(),
        TransactionOptions::default(),
    );
    assert_eq!(nothing.commit().unwrap_err().code(), "transaction.nothing");
}

#[test]
fn ids_are_random_and_well_formed() {
    let ids: std::collections::HashSet<_> =
        (0..1_000).map(|_| crate::write::random::new_id()).collect();
    assert_eq!(ids.len(), 1_000);
    for id in ids {
        let parts: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
}
