use super::*;

fn file(name: &str, size: u64) -> FileMeta {
    FileMeta {
        path: format!("{LOG_DIRECTORY}/{name}"),
        size,
        modification_time: 0,
        tag: 0,
    }
}

fn log_file(version: u64, suffix: &str) -> FileMeta {
    file(&format!("{version:020}.{suffix}"), 1)
}

#[test]
fn prefers_v2_then_parts_then_classic_at_one_version() {
    let listing = LogListing::of(
        vec![
            log_file(4, "checkpoint.b.json"),
            log_file(4, "checkpoint.a.parquet"),
            log_file(4, "checkpoint.parquet"),
            log_file(4, "checkpoint.0000000001.0000000002.parquet"),
            log_file(4, "checkpoint.0000000002.0000000002.parquet"),
            log_file(3, "checkpoint.z.json"),
        ],
        0,
    );
    let names: Vec<_> = listing
        .checkpoints
        .iter()
        .map(|c| c.path().rsplit('/').next().unwrap())
        .collect();
    let expected = [
        "3.checkpoint.z.json",
        "checkpoint.parquet",
        "0001.0000000002.parquet",
        "a.parquet",
        "b.json",
    ];
    assert_eq!(names.len(), expected.len());
    for (name, expected) in names.iter().zip(expected) {
        assert!(name.ends_with(expected), "{name} {expected}");
    }
}

#[test]
fn drops_incomplete_and_empty_checkpoints_with_a_warning() {
    let listing = LogListing::of(
        vec![
            log_file(4, "checkpoint.0000000001.0000000003.parquet"),
            log_file(4, "checkpoint.0000000003.0000000003.parquet"),
            log_file(4, "checkpoint.0000000002.0000000002.parquet"),
            file(&format!("{:020}.checkpoint.parquet", 5), 0),
        ],
        0,
    );
    assert!(listing.checkpoints.is_empty());
    let codes: Vec<_> = listing
        .warnings
        .iter()
        .map(|warning| warning.code)
        .collect();
    assert_eq!(
        codes,
        [
            "log.empty_file",
            "checkpoint.incomplete",
            "checkpoint.incomplete"
        ]
    );
}

#[test]
fn the_earliest_recreatable_version_is_0_or_a_checkpoint_that_commits_follow() {
    let earliest = |files: Vec<FileMeta>| LogListing::of(files, 0).earliest_recreatable();
    assert_eq!(
        earliest(vec![log_file(0, "json"), log_file(1, "json")]),
        Some(0)
    );
    assert_eq!(
        earliest(vec![
            log_file(3, "checkpoint.parquet"),
            log_file(6, "checkpoint.parquet"),
            log_file(6, "json")
        ]),
        Some(6)
    );
    assert_eq!(
        earliest(vec![log_file(5, "checkpoint.parquet"), log_file(6, "json")]),
        Some(5)
    );
    assert_eq!(earliest(vec![log_file(6, "json")]), None);
}
