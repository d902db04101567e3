use super::{MAX_PIECES, group_by_size, parse_file_size, split_files};

#[test]
fn groups_have_at_most_the_maximum_size() {
    let groups = |sizes: &[u64], max_bytes| group_by_size(sizes.to_vec(), max_bytes, |size| *size);
    assert_eq!(
        groups(&[4, 6, 1, 20, 0, 3], 10),
        [vec![4, 6], vec![1], vec![20], vec![0, 3]]
    );
    assert_eq!(
        groups(&[0, u64::MAX, u64::MAX], 1),
        [vec![0], vec![u64::MAX], vec![u64::MAX]]
    );
    assert!(groups(&[], 1).is_empty());
}

#[test]
fn parses_sizes_with_units() {
    for (text, expected) in [
        ("134217728", Some(128 << 20)),
        ("128mb", Some(128 << 20)),
        (" 1 GB ", Some(1 << 30)),
        ("104857600b", Some(100 << 20)),
        ("2t", Some(2 << 40)),
        ("0", None),
        ("", None),
        ("mb", None),
        ("-1", None),
        ("1.5gb", None),
        ("99999999999t", None),
    ] {
        assert_eq!(parse_file_size(text), expected, "{text}");
    }
}

#[test]
fn a_file_is_split_into_a_bounded_number_of_pieces() {
    for size in [2 * MAX_PIECES - 1, 2 * MAX_PIECES, u64::MAX] {
        let groups = split_files([((), size)], 1, 1, |(), range| range.unwrap());
        assert!(groups.len() as u64 <= MAX_PIECES, "{size}");
        let pieces = groups.concat();
        assert!(
            pieces.windows(2).all(|pair| pair[0].end == pair[1].start),
            "{size}"
        );
        assert_eq!(
            (pieces[0].start, pieces[pieces.len() - 1].end),
            (0, u64::MAX)
        );
    }
}
