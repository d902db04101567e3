//! Files of the log: commits, hints, checksums; and the paths that they name.

use deltareplay_core::codec::commit::{ActionDecoder, Wanted};
use deltareplay_core::codec::file_actions::{ADD_FIELDS, CDC_FIELDS, REMOVE_FIELDS};
use deltareplay_core::codec::last_checkpoint::LastCheckpoint;
use deltareplay_core::codec::version_checksum::VersionChecksum;
use deltareplay_core::storage::{Location, PathResolver};

use super::{TAKEN, feature, fuzz};

const COMMIT: &str = concat!(
    r#"{"commitInfo":{"timestamp":1,"operation":"WRITE","inCommitTimestamp":5}}"#,
    "\n",
    r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}"#,
    "\n",
    r#"{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":["a"],"configuration":{"k":"v"},"createdTime":1}}"#,
    "\n",
    r#"{"add":{"path":"a%20b","partitionValues":{"a":null,"b":"\u00e4"},"size":1,"modificationTime":2,"dataChange":true,"stats":"{\"numRecords\":1}","tags":{"t":"u"},"deletionVector":{"storageType":"i","pathOrInlineDv":"x","sizeInBytes":4,"cardinality":1},"baseRowId":3,"defaultRowCommitVersion":4,"clusteringProvider":"c"}}"#,
    "\n",
    r#"{"remove":{"path":"b","deletionTimestamp":7,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{},"size":9}}"#,
    "\n",
    r#"{"cdc":{"path":"c","partitionValues":{},"size":1,"dataChange":false}}"#,
    "\n",
    r#"{"txn":{"appId":"app","version":1,"lastUpdated":2}}"#,
    "\n",
    r#"{"domainMetadata":{"domain":"d","configuration":"{}","removed":false}}"#,
    "\n",
    r#"{"sidecar":{"path":"s.parquet","sizeInBytes":1,"modificationTime":2}}"#,
    "\n",
    r#"{"checkpointMetadata":{"version":1}}"#,
    "\n",
);

/// Commits, compacted files and JSON manifests: the same lines. A file in pieces is the same file.
#[test]
fn commits() {
    let lines: Vec<Vec<u8>> = COMMIT
        .split_inclusive('\n')
        .map(|line| line.as_bytes().to_vec())
        .collect();
    let seeds: Vec<Vec<u8>> = lines
        .iter()
        .cloned()
        .chain([COMMIT.as_bytes().to_vec(), lines[3..5].concat()])
        .collect();
    let words: [&[u8]; 16] = [
        b"\n",
        b"\r\n",
        b"{\"add\":{\"path\":\"",
        b"{\"remove\":{\"path\":\"",
        b"\"partitionValues\":{",
        b"\"deletionVector\":{",
        b"null",
        b"}}\n",
        b"\\ud800",
        b"\\u0061",
        b"[[[[[[[[",
        b"{\"a\":{\"a\":",
        b"-9223372036854775809",
        b"1e5",
        b"true",
        b"\x00",
    ];
    fuzz(
        &seeds,
        &words,
        |bytes| (4 << 20) + bytes * 400,
        |input| {
            let wanted = Wanted {
                adds: Some(ADD_FIELDS.to_vec()),
                removes: Some(REMOVE_FIELDS.to_vec()),
                cdcs: Some(CDC_FIELDS.to_vec()),
                control: true,
                commit_infos: true,
            };
            let mut decoder = ActionDecoder::new(wanted.clone());
            let decoded = decoder.decode(input).and_then(|()| decoder.finish());
            if let Err(error) = &decoded {
                assert!(
                    error.line().is_some() || error.offset().is_some(),
                    "{error}"
                );
            }
            // what is left out changes nothing about what is there
            let mut fewer = ActionDecoder::new(Wanted {
                control: true,
                ..Wanted::default()
            });
            let partly = fewer.decode(input).and_then(|()| fewer.finish());
            if let (Ok(all), Ok(part)) = (&decoded, &partly) {
                assert_eq!(all.protocols, part.protocols);
                assert_eq!(all.metadatas, part.metadatas);
                assert_eq!(all.transactions, part.transactions);
            }
            feature(&decoded.map(|batch| {
                let rows = |side: &Option<deltareplay_core::codec::commit::FileActions>| {
                    side.as_ref()
                        .map_or(0, |side| side.rows.num_rows() as u64)
                        .min(7)
                };
                let control = batch.protocols.len()
                    + batch.metadatas.len() * 2
                    + batch.transactions.len() * 4
                    + batch.domains.len() * 8;
                rows(&batch.adds)
                    | rows(&batch.removes) << 3
                    | rows(&batch.cdcs) << 6
                    | (control as u64 & 0xFF) << 9
            }))
        },
    );
}

#[test]
fn hints() {
    let texts = [
        r#"{"version":4,"size":8}"#,
        r#"{"version":4,"size":8,"parts":2,"sizeInBytes":100,"numOfAddFiles":3,"checkpointSchema":{"type":"struct","fields":[]},"tags":{"a":"b"}}"#,
        r#"{"k0":"'v 0'","checksum":"adsaskfljadfkjadfkj","k1":{"k2":2,"k3":["v3",[1,2],{"k4":"v4"}]},"version":1,"size":1}"#,
        r#"{"version":1,"size":1,"checksum":"d41d8cd98f00b204e9800998ecf8427e","v2Checkpoint":{"path":"x","sizeInBytes":1,"nonFileActions":[],"sidecarFiles":[{"path":"s"}]}}"#,
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let words: [&[u8]; 8] = [
        b"\"version\":",
        b"\"checksum\":\"",
        b"-1",
        b"1e400",
        b"{\"a\":",
        b"[",
        b"\\u0000",
        b"null",
    ];
    fuzz(
        &seeds,
        &words,
        |bytes| (1 << 20) + bytes * 400,
        |input| feature(&LastCheckpoint::parse(input).map(|hint| hint.version & !TAKEN)),
    );
}

#[test]
fn checksums() {
    let texts = [
        r#"{"numFiles":1,"tableSizeBytes":2,"numMetadata":1,"numProtocol":1}"#,
        r#"{"txnId":"9d5f","tableSizeBytes":733,"numFiles":1,"numMetadata":1,"numProtocol":1,"inCommitTimestampOpt":3,"setTransactions":[{"appId":"s","version":42,"lastUpdated":1}],"domainMetadata":[{"domain":"d","configuration":"{}","removed":false}],"metadata":{"id":"t","configuration":{"a":"b"}},"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]},"fileSizeHistogram":{"sortedBinBoundaries":[0,8192],"fileCounts":[1,0],"totalBytes":[733,0]},"allFiles":[{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}],"numDeletedRecordsOpt":5,"numDeletionVectorsOpt":1,"deletedRecordCountsHistogramOpt":{"deletedRecordCounts":[0,1]}}"#,
        "{\"allFiles\":[ {\"path\":\"a\",\n\"size\":1} , {\"path\":\"b\"}]}",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let words: [&[u8]; 8] = [
        b"\"allFiles\":[",
        b"\"numFiles\":",
        b"{\"path\":\"",
        b"-1",
        b"1e400",
        b"[[",
        b"\n",
        b"null",
    ];
    fuzz(
        &seeds,
        &words,
        |bytes| (2 << 20) + bytes * 600,
        |input| {
            let parsed = VersionChecksum::parse(input);
            feature(&parsed.map(|checksum| {
                let files = checksum.all_files.as_ref().map(|all| {
                    // as rows there are as many
                    all.rows()
                        .map(|rows| assert_eq!(rows.num_rows() as u64, all.count))
                        .is_ok()
                });
                let known = [
                    checksum.num_files.is_some(),
                    checksum.protocol.is_some(),
                    checksum.metadata.is_some(),
                    checksum.set_transactions.is_some(),
                    checksum.file_size_histogram.is_some(),
                    files.is_some(),
                    files == Some(true),
                ];
                known
                    .iter()
                    .fold(0, |bits, bit| bits << 1 | u64::from(*bit))
            }))
        },
    );
}

/// What resolves lies inside, however often it is decoded.
#[test]
fn paths() {
    let texts = [
        "a/b.parquet",
        "p=a%20b/x",
        "file:/t/a",
        "s3://b/t/a",
        "../x",
        "%2e%2e/x",
        "a/%252e%252e/b",
        "//host/x",
        "/t/a",
        "abfss://c@x.dfs.core.windows.net/t/a",
        "https://h/c/t/x?y#z",
        "a:b",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let words: [&[u8]; 14] = [
        b"../",
        b"%2e",
        b"%2F",
        b"%00",
        b"%25",
        b"//",
        b"file:",
        b"s3://b/t/",
        b"/t/",
        b"..",
        b"\\",
        b"\xC3\xA4",
        b"@",
        b":",
    ];
    let roots = [
        "/t",
        "s3://b/t",
        "abfss://c@x.dfs.core.windows.net/t",
        "https://h/c/t",
    ];
    let resolvers =
        roots.map(|root| PathResolver::new(&Location::parse(root).unwrap(), &[]));
    fuzz(
        &seeds,
        &words,
        |bytes| (1 << 20) + bytes * 200,
        |input| {
            let text = String::from_utf8_lossy(input);
            let mut outcome = 0;
            for resolver in &resolvers {
                for directory in ["", "_delta_log/_sidecars"] {
                    let resolved = resolver.resolve(directory, &text);
                    if let Ok(path) = &resolved {
                        assert!(
                            !path.starts_with('/') && !path.contains('\0'),
                            "{text:?}: {path:?}"
                        );
                        let odd = |part: &str| matches!(part, "" | "." | "..");
                        assert!(!path.split('/').any(odd), "{text:?}: {path:?}");
                        outcome |= TAKEN;
                    }
                    outcome = (outcome & TAKEN)
                        | ((outcome << 7 ^ feature(&resolved.map(|_| 1))) & !TAKEN);
                }
            }
            outcome
        },
    );
}
