use super::*;

/// delta-spark has 95 boundaries, from 0 to 256 GiB.
#[test]
fn boundaries_of_the_reference() {
    let all = size_boundaries();
    assert_eq!(all.len(), 95);
    assert!(all.is_sorted_by(|current, next| current < next));
    assert_eq!(all.get(1..3), Some(&[8192, 16384][..]));
    assert_eq!(all.last(), Some(&(256 * GIB)));
    assert!(
        [4 * MIB, 8 * MIB, 124 * MIB, 4096 * MIB]
            .iter()
            .all(|size| all.contains(size))
    );
}
