//! Scans many bytes at a time for those that end a token or a container.

/// A one in each byte of a word.
const ONES: u64 = u64::MAX / 255;

/// Returns the number of leading bytes that are neither quote, backslash nor control character; may be too
/// low.
#[inline]
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    const HIGH: u64 = ONES << 7;
    let mut length = 0;
    for chunk in bytes.chunks_exact(8) {
        let Some(word) = chunk.first_chunk::<8>() else {
            return length;
        };
        let word = u64::from_le_bytes(*word);
        // Each term raises the high bit of the bytes it looks for. A borrow can only raise bits above such
        // a byte, so the lowest raised bit is always correct.
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5C);
        let matches = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let matches = matches & HIGH;
        if matches != 0 {
            return length + (matches.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    length
}

/// Returns the end of the container that contains the first byte: the position after its closing bracket. The
/// first byte must not be inside a string; brackets in strings do not count. `None` if the container does not
/// end.
pub(super) fn end_of_container(bytes: &[u8]) -> Option<usize> {
    let mut depth = 1usize;
    // All ones if the next byte is in a string.
    let mut in_string = 0u64;
    let mut escaped = false;
    let mut done = 0;
    loop {
        let rest = bytes.get(done..).filter(|rest| !rest.is_empty())?;
        let mut padded = [0u8; 64];
        let chunk = match rest.first_chunk::<64>() {
            Some(chunk) => chunk,
            None => {
                for (target, byte) in padded.iter_mut().zip(rest) {
                    *target = *byte;
                }
                &padded
            }
        };
        let masks = Masks::of(chunk);
        let mut quotes = masks.quotes;
        if masks.backslashes != 0 || escaped {
            quotes &= !escaped_bytes(masks.backslashes, &mut escaped);
        }
        let strings = prefix_xor(quotes) ^ in_string;
        in_string = 0u64.wrapping_sub(strings >> 63);
        let opens = masks.opens & !strings;
        let mut closes = masks.closes & !strings;
        let closing = closes.count_ones() as usize;
        if closing < depth {
            // the container does not end in this chunk
            depth = depth - closing + opens.count_ones() as usize;
        } else {
            let mut opened = 0; // by the brackets before the last closing one
            while closes != 0 {
                let at = closes.trailing_zeros();
                let before = (opens & ((1 << at) - 1)).count_ones() as usize;
                depth = depth + (before - opened) - 1;
                opened = before;
                if depth == 0 {
                    return Some(done + at as usize + 1);
                }
                closes &= closes - 1;
            }
            depth += opens.count_ones() as usize - opened;
        }
        done += 64;
    }
}

/// Marks the escaped bytes: those after a backslash that is not itself escaped. Before the call,
/// `escaped` tells whether the first byte of this chunk is escaped; after it, whether that of the next chunk
/// is. Backslashes are rare, so one at a time is fast enough.
fn escaped_bytes(backslashes: u64, escaped: &mut bool) -> u64 {
    let mut result = u64::from(std::mem::take(escaped));
    let mut rest = backslashes & !result;
    while rest != 0 {
        let at = rest.trailing_zeros();
        let Some(next) = 1u64.checked_shl(at + 1) else {
            *escaped = true;
            break;
        };
        result |= next;
        rest &= !(next | (1 << at));
    }
    result
}

/// Replaces each bit by the parity of itself and all lower bits.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// The positions of special bytes among 64 bytes; the lowest bit stands for the first byte.
struct Masks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

impl Masks {
    #[inline]
    fn of(chunk: &[u8; 64]) -> Self {
        let mut masks = Self {
            quotes: 0,
            backslashes: 0,
            opens: 0,
            closes: 0,
        };
        let (words, _) = chunk.as_chunks::<8>();
        for (at, word) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            // `[` and `{` differ in one bit, and so do `]` and `}`.
            let folded = word | (ONES * 0x20);
            masks.quotes |= equal(word, b'"') << (8 * at);
            masks.backslashes |= equal(word, b'\\') << (8 * at);
            masks.opens |= equal(folded, b'{') << (8 * at);
            masks.closes |= equal(folded, b'}') << (8 * at);
        }
        masks
    }
}

/// Marks the bytes of a word that equal `byte`, in the eight lowest bits.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = ONES * 0x7F;
    let difference = word ^ (ONES * u64::from(byte));
    // per byte: the high bit is clear only if no bit differs
    let zeros = !(((difference & LOW) + LOW) | difference | LOW);
    // collect the eight high bits in the highest byte
    (zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
