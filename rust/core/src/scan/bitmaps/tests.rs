use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use proptest::prelude::*;

use super::*;

/// Returns the rows that the chunks of one vector contain.
fn rows_of(bits: u32, rows: &[u64]) -> Vec<u64> {
    let vector = DeletionVector::from_rows(rows.iter().copied()).unwrap();
    let mut chunks = Chunks::new(bits);
    chunks.add(7, &vector);
    let batch = chunks.finish().unwrap();
    let mut result = Vec::new();
    for row in 0..batch.num_rows() {
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(row), 7);
        let chunk = batch.column(1).as_primitive::<Int64Type>().value(row);
        let words = batch.column(2).as_list::<i32>().value(row);
        let words = words.as_primitive::<Int64Type>();
        assert!(words.len() <= 1 << (bits - 6));
        assert_ne!(words.values().last(), Some(&0), "the last word is empty");
        for (number, word) in words.values().iter().enumerate() {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    result.push(((chunk as u64) << bits) + number as u64 * 64 + bit);
                }
            }
        }
    }
    result
}

#[test]
fn keeps_rows_at_the_edges_of_words_and_chunks() {
    for rows in [
        vec![],
        vec![0],
        vec![63],
        vec![64],
        vec![0, 63, 64, 127, 128],
        (60..70).collect(),
        (0..64).collect(),
        (0..200_000).collect(),
        (65_530..65_540).collect(),
        vec![1 << 40, (1 << 40) + 1],
    ] {
        for bits in [6, 9, 16] {
            assert_eq!(rows_of(bits, &rows), rows, "{bits}");
        }
    }
}

proptest! {
    #[test]
    fn chunks_contain_exactly_the_rows(rows in proptest::collection::btree_set(0_u64..300_000, 0..300), bits in 6_u32..18) {
        let rows: Vec<u64> = rows.into_iter().collect();
        prop_assert_eq!(rows_of(bits, &rows), rows);
    }
}
