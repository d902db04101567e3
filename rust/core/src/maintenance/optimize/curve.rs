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
mod tests;
