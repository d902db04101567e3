use super::*;

// the example of Parquet's page "Encodings", "Delta Encoding": 7, 5, 3, 1, 2, 3, 4, 5
#[test]
fn the_delta_example_of_the_specification_is_decoded() {
    let mut bytes = vec![8, 1, 8, 14]; // a block of 8 values, one miniblock, 8 values, the first is 7
    bytes.extend([3, 2, 0b1100_0000, 0b0011_1111, 0xAB]); // minimum delta -2; two bits each: 0 0 0 3 3 3 3
    let numbers = DeltaNumbers::new(&bytes).unwrap();
    assert_eq!(numbers.rest().unwrap(), [0xAB]);
    let numbers: Vec<i64> = DeltaNumbers::new(&bytes).unwrap().collect();
    assert_eq!(numbers, [7, 5, 3, 1, 2, 3, 4, 5]);
    let none = DeltaNumbers::new(&[8, 1, 0, 0, 9]).unwrap();
    assert_eq!(none.rest().unwrap(), [9]);
    assert!(DeltaNumbers::new(&[8, 0, 1, 0]).is_none());
    assert!(DeltaNumbers::new(&[8, 1, 8]).is_none());
}

// widths have at most 64 bits; 2^59 32-bit values are 2^64 bits, whose number must not overflow to 0
#[test]
fn miniblocks_beyond_the_bytes_are_refused() {
    let block = |number: &[u8], width: u8| [number, &[1, 2, 0, 0, width], &[0; 600]].concat();
    let of_128 = [0x80, 1];
    assert!(
        DeltaNumbers::new(&block(&of_128, 32))
            .unwrap()
            .rest()
            .is_some()
    );
    assert!(
        DeltaNumbers::new(&block(&of_128, 65))
            .unwrap()
            .rest()
            .is_none()
    );
    assert_eq!(DeltaNumbers::new(&block(&of_128, 255)).unwrap().count(), 1);
    let huge = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 8]; // 2^59
    assert!(
        DeltaNumbers::new(&block(&huge, 0))
            .unwrap()
            .rest()
            .is_some()
    );
    assert!(
        DeltaNumbers::new(&block(&huge, 32))
            .unwrap()
            .rest()
            .is_none()
    );
}

// the example of "Run Length Encoding / Bit-Packing Hybrid": 0 to 7 in three bits each
#[test]
fn the_rle_example_of_the_specification_is_decoded() {
    let packed = [0b0000_0011, 0b1000_1000, 0b1100_0110, 0b1111_1010];
    let levels: Vec<_> = RleRuns::new(&packed, 7).collect();
    let expected: Vec<_> = (0..8).map(|level| (1, level)).collect();
    assert_eq!(levels, expected);
    let runs: Vec<_> = RleRuns::new(&[20, 1, 6, 0], 1).collect();
    assert_eq!(runs, [(10, 1), (3, 0)]);
    assert_eq!(RleRuns::new(&[20], 1).count(), 0);
}

#[test]
fn many_empty_runs_do_not_overflow_the_stack() {
    let empty = vec![1; 16 << 20];
    assert_eq!(RleRuns::new(&empty, 1).count(), 0);
}
