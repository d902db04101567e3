use super::*;
use proptest::prelude::*;

fn plain(version: u64, size: i64) -> LastCheckpoint {
    LastCheckpoint {
        version,
        size,
        parts: None,
        size_in_bytes: None,
        checksum: None,
        v2_checkpoint: None,
    }
}

/// The file in the "Deep Dive: Delta Log" document.
#[test]
fn example_of_the_deep_dive() {
    assert_eq!(
        LastCheckpoint::parse(br#"{"version":10,"size":12}"#).unwrap(),
        plain(10, 12)
    );
}

#[test]
fn files_of_other_writers() {
    // early delta-rs
    let early = LastCheckpoint::parse(br#"{"size":6,"size_in_bytes":23521,"version":1}"#).unwrap();
    assert_eq!(
        early,
        LastCheckpoint {
            size_in_bytes: Some(23_521),
            ..plain(1, 6)
        }
    );
    // later delta-rs
    let nulls = LastCheckpoint::parse(b"{\"parts\":null,\"size\":20622,\"version\":1}\n").unwrap();
    assert_eq!(nulls, plain(1, 20_622));
    // an unknown size, and an unknown field
    assert_eq!(
        LastCheckpoint::parse(br#"{"version":3,"size":-1,"unknown":[{}]}"#).unwrap(),
        plain(3, -1)
    );
}

#[test]
fn every_field() {
    let result = LastCheckpoint::parse(
        br#"{"version":8,"size":11,"parts":2,"sizeInBytes":20432,"numOfAddFiles":7,
            "checkpointSchema":{"type":"struct", "fields":[]},"tags":{"a":"b","c":null},
            "v2Checkpoint":{"path":"00000000000000000008.checkpoint.e5ac4dc4-be27-4106-8a55-609707487f83.json",
            "sizeInBytes":5460,"modificationTime":1754751134000,
            "nonFileActions":[{"protocol":{"minReaderVersion":3}},{"txn":{"appId":"x"}}],
            "sidecarFiles":[{"path":"s.parquet","sizeInBytes":9341,"modificationTime":1718000004000,"tags":{}}]}}"#,
    )
    .unwrap();
    let v2 = LastV2Checkpoint {
        path: "00000000000000000008.checkpoint.e5ac4dc4-be27-4106-8a55-609707487f83.json"
            .to_owned(),
        size_in_bytes: 5460,
    };
    let expected = LastCheckpoint {
        parts: Some(2),
        size_in_bytes: Some(20_432),
        v2_checkpoint: Some(v2),
        ..plain(8, 11)
    };
    assert_eq!(result, expected);
}

/// md5sum of `"size"=12,"version"=10`.
const VALID_CHECKSUM: &str = "46671811fb8cea93a9b308d15dad9338";

#[test]
fn checksums_are_verified() {
    let with = |checksum: &str| format!(r#"{{"version":10,"size":12,"checksum":"{checksum}"}}"#);
    let good = LastCheckpoint::parse(with(VALID_CHECKSUM).as_bytes()).unwrap();
    assert_eq!(
        good,
        LastCheckpoint {
            checksum: Some(VALID_CHECKSUM.to_owned()),
            ..plain(10, 12)
        }
    );
    let error =
        LastCheckpoint::parse(with(&VALID_CHECKSUM.replace('e', "f")).as_bytes()).unwrap_err();
    assert_eq!(error.code(), "last_checkpoint.checksum");
    let changed = with(VALID_CHECKSUM).replace("\"size\":12", "\"size\":13");
    assert_eq!(
        LastCheckpoint::parse(changed.as_bytes())
            .unwrap_err()
            .code(),
        "last_checkpoint.checksum"
    );
}

#[test]
fn invalid_hints_are_refused() {
    for bytes in [
        &b""[..],
        b"{}",
        b"null",
        br#"{"size":10}"#,
        br#"{"version":10}"#,
        br#"{"version":-1,"size":1}"#,
        br#"{"version":"10","size":1}"#,
        br#"{"version":1,"size":1,"version":2}"#,
        br#"{"version":1,"size":1,"tags":{"a":"b","a":"b"}}"#,
        br#"{"version":{"version":9,"size":11}}"#,
        br#"{"version":10,"size":12}{}"#,
        b"{\"version\":10,\"size\":12,\"tags\":{\"a\":\"\xff\"}}",
    ] {
        assert_eq!(LastCheckpoint::parse(bytes).unwrap_err().code(), CODE);
    }
    let whole = br#"{"version":10,"size":12}"#;
    for end in 0..whole.len() {
        assert!(LastCheckpoint::parse(&whole[..end]).is_err());
    }
    let deep = format!(
        r#"{{"version":1,"size":1,"checkpointSchema":{}"#,
        "[".repeat(1_000_000)
    );
    assert!(LastCheckpoint::parse(deep.as_bytes()).is_err());
}

proptest! {
    /// Changes of a few bytes cause an error or a value, never a panic.
    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = br#"{"version":8,"size":11,"tags":{"a":"b\u00e9"},"checkpointSchema":{"type":"struct","fields":[]},"v2Checkpoint":{"path":"p","sizeInBytes":1,"modificationTime":2,"nonFileActions":[{}],"sidecarFiles":[]}}"#.to_vec();
        for (position, byte) in changes {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        if let Err(error) = LastCheckpoint::parse(&bytes) {
            prop_assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt);
        }
    }
}
