//! Numbers of any width, side by side, as words of 32 bits.

/// Values that are unpacked at a time.
pub(super) const BLOCK: usize = 256;

/// Values that fill whole words, of whatever width.
const STRIDE: usize = 32;

/// The values of one block; those behind the end of the bytes are anything.
pub(super) fn unpack(
    width: u8,
    bytes: &[u8],
    number: usize,
    block: &mut [u32; BLOCK],
) -> Option<()> {
    let length = usize::from(width) * (BLOCK / 8);
    let start = number.checked_mul(length)?;
    let bytes = bytes.get(start..)?;
    if let Some(bytes) = bytes.get(..length) {
        whole(width, bytes, block)
    } else {
        let mut padded = [0; 4 * BLOCK];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        whole(width, padded.get(..length)?, block)
    }
}

/// Chooses by the width, so that each is compiled for its own.
macro_rules! of_width {
    ($width:expr, $bytes:expr, $block:expr; $($n:literal)*) => {
        match $width {
            0 => $block.fill(0),
            $($n => {
                for (words, values) in $bytes.as_chunks().0.as_chunks().0.iter().zip($block.as_chunks_mut().0) {
                    unpacked::<$n>(words, values);
                }
            })*
            _ => return None,
        }
    };
}

fn whole(width: u8, bytes: &[u8], block: &mut [u32; BLOCK]) -> Option<()> {
    of_width!(width, bytes, block;
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
        17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
    Some(())
}

/// As many words as a value has bits hold so many values.
// the places are known when it is compiled: each is within
#[allow(clippy::indexing_slicing)]
#[inline]
fn unpacked<const WIDTH: usize>(words: &[[u8; 4]; WIDTH], values: &mut [u32; STRIDE]) {
    let words = words.map(u32::from_le_bytes);
    let mask = u32::MAX >> (32 - WIDTH);
    for (at, value) in values.iter_mut().enumerate() {
        let (word, shift) = (at * WIDTH / 32, at * WIDTH % 32);
        let low = words[word] >> shift;
        let high = if shift + WIDTH > 32 {
            words[word + 1] << (32 - shift)
        } else {
            0
        };
        *value = (low | high) & mask;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_unpacked() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        for width in 0..=32_u8 {
            let values: Vec<u64> = (0..600)
                .map(|_| u64::from(next()) & ((1 << width) - 1))
                .collect();
            // bit by bit, the lowest first
            let mut packed = vec![0_u8; (600 * usize::from(width)).div_ceil(8)];
            for (at, value) in values.iter().enumerate() {
                for bit in 0..usize::from(width) {
                    let place = at * usize::from(width) + bit;
                    packed[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
                }
            }
            let mut found = Vec::new();
            for number in 0..3 {
                let mut block = [7; BLOCK];
                unpack(width, &packed, number, &mut block).unwrap();
                found.extend(block.map(u64::from));
            }
            assert_eq!(found[..600], values, "{width} bits");
        }
        assert_eq!(unpack(33, &[0; 2000], 0, &mut [0; BLOCK]), None);
        assert_eq!(unpack(8, &[0; 255], 1, &mut [0; BLOCK]), None);
    }
}
