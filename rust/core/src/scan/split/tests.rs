use super::*;

fn file(path: &str, size: i64) -> ScanFile {
    ScanFile {
        path: path.to_owned(),
        partition_values: Vec::new(),
        size,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
    }
}

#[test]
fn pieces_keep_the_order_and_cover_each_byte_once() {
    let sizes = [0, 10_000, 50_000, 0, 1, 123_456_789, 3];
    let files: Vec<ScanFile> = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| file(&number.to_string(), *size))
        .collect();
    for target in [1, 5000, 60_000, 1 << 40] {
        let parts: Vec<FilePart> = group_into_splits(files.clone(), target)
            .into_iter()
            .flatten()
            .collect();
        let mut expected = files.iter();
        let mut end = u64::MAX;
        for part in &parts {
            let bytes = part.bytes.clone().unwrap_or(0..u64::MAX);
            if bytes.start == 0 {
                assert_eq!(end, u64::MAX, "the last piece of a file has no end");
                assert_eq!(part.file.path, expected.next().unwrap().path);
            } else {
                assert_eq!(bytes.start, end);
            }
            assert!(bytes.start < bytes.end);
            end = bytes.end;
        }
        assert_eq!(end, u64::MAX, "the last piece of a file has no end");
        assert!(expected.next().is_none());
    }
}

#[test]
fn a_file_of_any_claimed_size_has_a_limited_number_of_pieces() {
    let groups = group_into_splits(vec![file("huge", i64::MAX), file("negative", -1)], 1);
    assert!(groups.len() <= 10_100, "{}", groups.len());
}
