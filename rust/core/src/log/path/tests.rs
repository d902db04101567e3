use super::*;

#[test]
fn knows_every_grammar() {
    let v = "00000000000000000012";
    let checkpoint = |name| LogFileKind::Checkpoint(name);
    let cases = [
        (format!("{v}.json"), Some(LogFileKind::Commit)),
        (format!("{v}.crc"), Some(LogFileKind::Checksum)),
        (
            format!("00000000000000000003.{v}.compacted.json"),
            Some(LogFileKind::Compacted { start: 3 }),
        ),
        (
            format!("{v}.checkpoint.parquet"),
            Some(checkpoint(CheckpointName::Classic)),
        ),
        (
            format!("{v}.checkpoint.0000000002.0000000003.parquet"),
            Some(checkpoint(CheckpointName::Part { parts: 3, part: 2 })),
        ),
        (
            format!("{v}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"),
            Some(checkpoint(CheckpointName::Uuid { json: true })),
        ),
        (
            format!("{v}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet"),
            Some(checkpoint(CheckpointName::Uuid { json: false })),
        ),
        (
            format!("{v}.checkpoint.0000000004.0000000003.parquet"),
            None,
        ),
        (
            format!("{v}.checkpoint.0000000000.0000000003.parquet"),
            None,
        ),
        (format!("{v}.checkpoint.x.y.z.parquet"), None),
        (format!("{v}.00000000000000000003.compacted.json"), None),
        (format!(".{v}.json.crc"), None),
        (format!("{v}.json.tmp"), None),
        (format!("{v}.3a0d65cd.json"), None),
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
