use super::*;

#[test]
fn parses_every_kind_of_file_name() {
    let version = "00000000000000000012";
    let checkpoint = |name| LogFileKind::Checkpoint(name);
    let cases = [
        (format!("{version}.json"), Some(LogFileKind::Commit)),
        (format!("{version}.crc"), Some(LogFileKind::Checksum)),
        (
            format!("00000000000000000003.{version}.compacted.json"),
            Some(LogFileKind::Compacted { start: 3 }),
        ),
        (
            format!("{version}.checkpoint.parquet"),
            Some(checkpoint(CheckpointName::Classic)),
        ),
        (
            format!("{version}.checkpoint.0000000002.0000000003.parquet"),
            Some(checkpoint(CheckpointName::Part { parts: 3, part: 2 })),
        ),
        (
            format!("{version}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"),
            Some(checkpoint(CheckpointName::Uuid { json: true })),
        ),
        (
            format!("{version}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet"),
            Some(checkpoint(CheckpointName::Uuid { json: false })),
        ),
        (
            format!("{version}.checkpoint.0000000004.0000000003.parquet"),
            None,
        ),
        (
            format!("{version}.checkpoint.0000000000.0000000003.parquet"),
            None,
        ),
        (format!("{version}.checkpoint.x.y.z.parquet"), None),
        (
            format!("{version}.00000000000000000003.compacted.json"),
            None,
        ),
        (format!(".{version}.json.crc"), None),
        (format!("{version}.json.tmp"), None),
        (format!("{version}.3a0d65cd.json"), None),
        ("12.json".to_owned(), None),
        ("99999999999999999999.json".to_owned(), None),
        ("_last_checkpoint".to_owned(), None),
        ("_staged_commits".to_owned(), None),
    ];
    for (name, expected) in cases {
        assert_eq!(parse(&name).map(|(_, kind)| kind), expected, "{name}");
        if expected.is_some() {
            assert_eq!(parse(&name).unwrap().0, 12, "{name}");
        }
    }
}
