//! Space-filling curves: map a cell of a grid to one number, so that neighbouring cells get close numbers.

/// Returns the position of a cell on the Z-order curve; `bits` is the number of bits per coordinate.
pub(super) fn z_order(cell: &[u32], bits: u32) -> u64 {
    let mut position = 0;
    for bit in (0..bits).rev() {
        for coordinate in cell {
            position = (position << 1) | u64::from((coordinate >> bit) & 1);
        }
    }
    position
}

/// Returns the position of a cell on the Hilbert curve and overwrites the cell; after J. Skilling,
/// "Programming the Hilbert curve" (2004).
pub(super) fn hilbert(cell: &mut [u32], bits: u32) -> u64 {
    let top = 1_u32 << bits.saturating_sub(1);
    let Some((first, rest)) = cell.split_first_mut() else {
        return 0;
    };
    let mut bit = top;
    while bit > 1 {
        let lower = bit - 1;
        if *first & bit != 0 {
            *first ^= lower;
        }
        for coordinate in rest.iter_mut() {
            if *coordinate & bit != 0 {
                *first ^= lower;
            } else {
                let exchanged = (*first ^ *coordinate) & lower;
                *first ^= exchanged;
                *coordinate ^= exchanged;
            }
        }
        bit >>= 1;
    }
    let mut last = *first;
    for coordinate in rest.iter_mut() {
        *coordinate ^= last;
        last = *coordinate;
    }
    let mut turned = 0;
    let mut bit = top;
    while bit > 1 {
        if last & bit != 0 {
            turned ^= bit - 1;
        }
        bit >>= 1;
    }
    for coordinate in cell.iter_mut() {
        *coordinate ^= turned;
    }
    z_order(cell, bits)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn z_order_takes_bits_in_turn() {
        assert_eq!(z_order(&[0b10, 0b01], 2), 0b1001);
        assert_eq!(z_order(&[0b11, 0b00], 2), 0b1010);
        assert_eq!(z_order(&[7], 3), 7);
    }

    /// Each cell once, and every step leads to a cell beside the last one.
    #[test]
    fn the_hilbert_curve_goes_through_each_cell_to_a_neighbour() {
        for (axes, bits) in [(2_u32, 4_u32), (3, 3), (4, 2)] {
            let side = 1_u32 << bits;
            let cells = side.pow(axes);
            let mut places = vec![None; cells as usize];
            for number in 0..cells {
                let cell: Vec<u32> = (0..axes)
                    .map(|axis| number / side.pow(axis) % side)
                    .collect();
                let position = hilbert(&mut cell.clone(), bits);
                assert!(
                    places[position as usize].replace(cell).is_none(),
                    "{position}"
                );
            }
            let steps: Vec<Vec<u32>> = places.into_iter().flatten().collect();
            assert_eq!(steps.len(), cells as usize);
            for pair in steps.windows(2) {
                let apart: u32 = pair[0]
                    .iter()
                    .zip(&pair[1])
                    .map(|(a, b)| a.abs_diff(*b))
                    .sum();
                assert_eq!(apart, 1, "{pair:?}");
            }
        }
    }
}
