use super::*;

#[test]
fn parts_keep_the_order_and_cover_each_byte_once() {
    let sizes = [
        Some(0),
        Some(900),
        None,
        Some(10_000),
        Some(1),
        Some(u64::MAX),
    ];
    let files: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| (number.to_string(), *size))
        .collect();
    for target in [0, 1, 1000, 9_999, 1 << 40] {
        let parts: Vec<_> = split_into_runs(files.clone(), target)
            .into_iter()
            .flatten()
            .collect();
        assert!(parts.len() < 40_000, "{}", parts.len());
        let mut expected = files.iter();
        let mut end = u64::MAX;
        for part in &parts {
            let bytes = part.bytes.clone().unwrap_or(0..u64::MAX);
            if bytes.start == 0 {
                assert_eq!(end, u64::MAX, "the file before it is covered to its end");
                assert_eq!(part.path, expected.next().unwrap().0);
            } else {
                assert_eq!(bytes.start, end);
            }
            end = bytes.end;
            assert!(bytes.start < bytes.end);
        }
        assert_eq!((end, expected.next()), (u64::MAX, None));
    }
}
