use parquet::arrow::arrow_reader::RowSelector;

use super::*;

fn shares(pages: &[(u64, u64)]) -> Vec<Share> {
    let pages = pages.iter();
    pages.map(|&(rows, bytes)| Share { rows, bytes }).collect()
}

#[test]
fn heaviest_rows_across_shares() {
    let shares = Shares::new(shares(&[(10, 100), (1, 1_000), (10, 10)]));
    assert_eq!(shares.max_bytes_of_rows(1), 1_000);
    assert_eq!(shares.max_bytes_of_rows(2), 1_010);
    assert_eq!(shares.max_bytes_of_rows(11), 1_100);
    assert_eq!(shares.max_bytes_of_rows(21), 1_110);
    assert_eq!(shares.max_bytes_of_rows(100), 1_110);
}

#[test]
fn only_selected_rows_of_a_share_count() {
    let selection = RowSelection::from(vec![
        RowSelector::skip(5),
        RowSelector::select(10),
        RowSelector::skip(5),
    ]);
    let pages = shares(&[(10, 100), (10, 1_000)]);
    let part = shares(&[(5, 50), (5, 500)]);
    assert_eq!(selected(pages.clone(), Some(&selection)), part);
    assert_eq!(selected(pages.clone(), None), pages);
}

#[test]
fn long_and_short_rows_are_in_different_shares() {
    let mut measured = SharesBuilder::default();
    // a row of 1 + 2^20 values, then 1,000 rows of one
    let levels = [2, 0, 0x80, 0x80, 0x80, 1, 1, 0xD0, 0x0F, 0];
    measured.levels(RleRuns::new(&levels, 1), 1 + (1 << 20) + 1_000, 8);
    let actual = measured.finish();
    assert_eq!(actual, shares(&[(1, 8 + (8 << 20)), (1_000, 8_000)]));
}

#[test]
fn padding_of_levels_is_no_rows() {
    let mut measured = SharesBuilder::default();
    // a group of eight bits, of which three are levels: a row of two values, and one of one
    measured.levels(RleRuns::new(&[3, 0b0000_0010], 1), 3, 8);
    assert_eq!(measured.finish(), shares(&[(2, 24)]));
}

#[test]
fn many_long_rows_have_few_shares() {
    let mut measured = SharesBuilder::default();
    for _ in 0..1_000_000 {
        measured.add(1, 2 << 20);
    }
    let actual = measured.finish();
    assert!(actual.len() < 10_000, "{}", actual.len());
    let sum = actual.iter().fold((0, 0), |sum, share| {
        (sum.0 + share.rows, sum.1 + share.bytes)
    });
    assert_eq!(sum, (1_000_000, 1_000_000 * (2 << 20)));
}
