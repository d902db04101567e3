use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A file with exactly the fields whose schema is in the "Deep Dive: Delta Log" document, and the values of
/// that document's table: one file of 892610 bytes, protocol (1, 2).
#[test]
fn checksum_of_the_deep_dive() {
    let checksum = VersionChecksum::parse(
        br#"{"tableSizeBytes":892610,"numFiles":1,"numMetadata":1,"numProtocol":1,
            "protocol":{"minReaderVersion":1,"minWriterVersion":2},
            "metadata":{"id":"6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b","format":{"provider":"parquet"},
            "schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],
            "configuration":{"delta.autoOptimize.autoCompact":"true","delta.autoOptimize.optimizeWrite":"true"},
            "createdTime":1662199084374},
            "histogramOpt":{"sortedBinBoundaries":[0,8192,1048576],"fileCounts":[0,1,0],"totalBytes":[0,892610,0]}}"#,
    )
    .unwrap();
    let pairs = [
        "delta.autoOptimize.autoCompact",
        "delta.autoOptimize.optimizeWrite",
    ];
    let expected = VersionChecksum {
        table_size_bytes: Some(892_610),
        num_files: Some(1),
        num_metadata: Some(1),
        num_protocol: Some(1),
        protocol: Some(Protocol {
            min_reader_version: 1,
            min_writer_version: 2,
            ..Protocol::default()
        }),
        metadata: Some(Metadata {
            id: "6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b".to_owned(),
            schema_string: r#"{"type":"struct","fields":[]}"#.to_owned(),
            configuration: pairs.map(|key| (key.to_owned(), "true".to_owned())).into(),
            created_time: Some(1_662_199_084_374),
            ..Metadata::default()
        }),
        file_size_histogram: Some(FileSizeHistogram {
            sorted_bin_boundaries: vec![0, 8192, 1_048_576],
            file_counts: vec![0, 1, 0],
            total_bytes: vec![0, 892_610, 0],
        }),
        ..VersionChecksum::default()
    };
    assert_eq!(checksum, expected);
}

/// The example of the protocol, with all other fields.
#[test]
fn every_field() {
    let checksum = VersionChecksum::parse(
        br#"{"txnId":"9d5f","tableSizeBytes":733,"numFiles":1,"numMetadata":1,"numProtocol":1,
            "inCommitTimestampOpt":1718000003000,
            "setTransactions":[{"appId":"stream-7f","version":42,"lastUpdated":1718000000000},{"appId":"b","version":-1}],
            "domainMetadata":[{"domain":"d","configuration":"{}","removed":false}],
            "metadata":{"id":"t","configuration":{"a":"b"}},
            "protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]},
            "fileSizeHistogram":{"sortedBinBoundaries":[0,8192],"fileCounts":[1,0],"totalBytes":[733,0]},
            "allFiles":[ {"path":"a"}, {"path":"b"} ],
            "numDeletedRecordsOpt":5,"numDeletionVectorsOpt":1,
            "deletedRecordCountsHistogramOpt":{"deletedRecordCounts":[0,1,0,0,0,0,0,0,0,0]},
            "numTransactions":7,"later":{"x":[null]}}"#,
    )
    .unwrap();
    assert_eq!(checksum.transaction_id.as_deref(), Some("9d5f"));
    assert_eq!(checksum.in_commit_timestamp, Some(1_718_000_003_000));
    let transactions = checksum.set_transactions.unwrap();
    assert_eq!(
        (transactions[0].app_id.as_str(), transactions[0].version),
        ("stream-7f", 42)
    );
    assert_eq!(
        (transactions[0].last_updated, transactions[1].last_updated),
        (Some(1_718_000_000_000), None)
    );
    assert_eq!(checksum.domain_metadata.unwrap()[0].domain, "d");
    let configuration = checksum.metadata.unwrap().configuration;
    assert_eq!(
        configuration,
        BTreeMap::from([("a".to_owned(), "b".to_owned())])
    );
    assert_eq!(checksum.protocol.unwrap().reader_features, Some(vec![]));
    let files = AllFiles {
        count: 2,
        json: r#"[ {"path":"a"}, {"path":"b"} ]"#.to_owned(),
    };
    assert_eq!(checksum.all_files, Some(files));
    assert_eq!(
        (checksum.num_deleted_records, checksum.num_deletion_vectors),
        (Some(5), Some(1))
    );
    assert_eq!(
        checksum.deleted_record_counts.unwrap(),
        [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn absent_lists_differ_from_empty_lists() {
    let empty =
        VersionChecksum::parse(br#"{"setTransactions":[],"domainMetadata":[],"allFiles":[]}"#)
            .unwrap();
    assert_eq!(empty.set_transactions, Some(vec![]));
    assert_eq!(empty.domain_metadata, Some(vec![]));
    assert_eq!(empty.all_files.unwrap().count, 0);
    let absent = VersionChecksum::parse(br#"{"setTransactions":null,"numFiles":null}"#).unwrap();
    assert_eq!(absent, VersionChecksum::default());
}

#[test]
fn the_last_histogram_under_either_name_counts() {
    let bins =
        |count| format!(r#"{{"sortedBinBoundaries":[0],"fileCounts":[{count}],"totalBytes":[0]}}"#);
    for (first, second) in [
        ("histogramOpt", "fileSizeHistogram"),
        ("fileSizeHistogram", "histogramOpt"),
    ] {
        let text = format!(r#"{{"{first}":{},"{second}":{}}}"#, bins(1), bins(2));
        let histogram = VersionChecksum::parse(text.as_bytes())
            .unwrap()
            .file_size_histogram
            .unwrap();
        assert_eq!(histogram.file_counts, [2]);
    }
}

#[test]
fn errors_name_the_field() {
    for (text, needle) in [
        ("", "byte 0"),
        ("[]", "object"),
        (r#"{"numFiles":1"#, "byte 13"),
        (r#"{"numFiles":1} x"#, "byte 15"),
        (r#"{"numFiles":-1}"#, "numFiles"),
        (r#"{"tableSizeBytes":"1"}"#, "tableSizeBytes"),
        (r#"{"numMetadata":2}"#, "numMetadata"),
        (r#"{"numProtocol":0}"#, "numProtocol"),
        (r#"{"metadata":{"name":"x"}}"#, "metaData.id"),
        (r#"{"protocol":[]}"#, "protocol"),
        (r#"{"setTransactions":{}}"#, "setTransactions"),
        (r#"{"setTransactions":[{"appId":"a"}]}"#, "txn.version"),
        (r#"{"allFiles":3}"#, "allFiles"),
        (r#"{"allFiles":[ {"path":"a"}, 3]}"#, "allFiles"),
        (r#"{"allFiles":["a"]}"#, "allFiles"),
        (r#"{"allFiles":[[{"path":"a"}]]}"#, "allFiles"),
        (r#"{"allFiles":[null]}"#, "allFiles"),
        (
            r#"{"histogramOpt":{"sortedBinBoundaries":[0],"fileCounts":[],"totalBytes":[0]}}"#,
            "lengths",
        ),
        (
            r#"{"histogramOpt":{"sortedBinBoundaries":[1],"fileCounts":[0],"totalBytes":[0]}}"#,
            "rise",
        ),
        (
            r#"{"histogramOpt":{"sortedBinBoundaries":[0,0],"fileCounts":[0,0],"totalBytes":[0,0]}}"#,
            "rise",
        ),
    ] {
        let error = VersionChecksum::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.code(), CODE, "{text}");
        assert!(error.to_string().contains(needle), "{error}");
    }
    assert_eq!(
        VersionChecksum::parse(b"{\"a\":\"\xff\"}")
            .unwrap_err()
            .offset(),
        Some(6)
    );
}

#[test]
fn every_proper_prefix_and_deep_nesting_are_errors() {
    let whole = br#"{"numFiles":1,"setTransactions":[{"appId":"a","version":1}],"allFiles":[{"path":"p"}]}"#;
    assert!(VersionChecksum::parse(whole).is_ok());
    for end in 0..whole.len() {
        assert!(VersionChecksum::parse(&whole[..end]).is_err(), "{end}");
    }
    let deep = format!(r#"{{"allFiles":{}"#, "[".repeat(1_000_000));
    assert!(VersionChecksum::parse(deep.as_bytes()).is_err());
}

proptest! {
    /// Changes of a few bytes cause an error or a value, never a panic.
    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = br#"{"numFiles":1,"setTransactions":[{"appId":"a\n","version":1}],"metadata":{"id":"t","format":{"options":{}}},"protocol":{"minReaderVersion":1,"minWriterVersion":2},"histogramOpt":{"sortedBinBoundaries":[0],"fileCounts":[1],"totalBytes":[2]},"allFiles":[{"path":"p"}]}"#.to_vec();
        for (position, byte) in changes {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        if let Err(error) = VersionChecksum::parse(&bytes) {
            prop_assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt);
        }
    }
}
