use super::*;
use crate::maintenance::verify::{Severity, verify};

/// Version 1 has two files, `a` of one byte and `b` of two.
fn log() -> WrittenLog {
    let log = WrittenLog::new();
    log.put("a", "1");
    log.put("b", "12");
    log.commit(1, &[add("a", 1), add("b", 2)]);
    log
}

/// Returns severity, code and version of all findings, the most severe first.
fn findings(log: &WrittenLog) -> Vec<(Severity, &'static str, Option<u64>)> {
    let report = verify(&log.0, true, false).unwrap();
    let findings = report.findings.into_iter();
    findings
        .map(|finding| (finding.severity, finding.code, finding.version))
        .collect()
}

#[test]
fn a_sound_table_has_no_findings() {
    let report = verify(&log().0, true, false).unwrap();

    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(
        (report.version, report.num_commits, report.num_files),
        (1, 2, Some(2))
    );
}

#[test]
fn reports_missing_files_and_wrong_sizes() {
    let log = log();
    log.delete("a");
    log.put("b", "123");

    let mut result = findings(&log);

    result.sort_unstable_by_key(|(_, code, _)| *code);
    let error = |code| (Severity::Error, code, Some(1));
    assert_eq!(result, [error("file.missing"), error("file.size")]);
}

#[test]
fn reports_a_missing_commit() {
    let log = log();
    log.commit(3, &[add("c", 1)]);

    let result = findings(&log);

    assert!(
        result.contains(&(Severity::Error, "log.gap", Some(2))),
        "{result:?}"
    );
}

#[test]
fn compares_checksums_with_the_commits() {
    let log = log();
    let checksum = |files| {
        let metadata = format!(
            r#"{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{SCHEMA}","partitionColumns":[],"configuration":{{}}}}"#
        );
        let text = format!(
            r#"{{"tableSizeBytes":3,"numFiles":{files},"numMetadata":1,"numProtocol":1,"protocol":{{"minReaderVersion":1,"minWriterVersion":2}},"metadata":{metadata}}}"#
        );
        log.put("_delta_log/00000000000000000001.crc", &text);
    };

    checksum(2);
    assert_eq!(findings(&log), []);
    checksum(3);
    assert_eq!(
        findings(&log),
        [(Severity::Error, "checksum.mismatch", Some(1))]
    );
}

#[test]
fn reports_a_file_that_a_commit_adds_and_removes() {
    let log = log();
    log.put("c", "1");
    log.commit(2, &[add("c", 1), remove("c", 1)]);

    let result = findings(&log);

    assert_eq!(
        result,
        [(Severity::Error, "commit.duplicate_action", Some(2))]
    );
}
