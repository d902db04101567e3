//! One container of a Roaring bitmap: the deleted rows among 65,536 consecutive rows, stored as an array, a
//! bitmap or runs.

/// Rows in a container.
pub(super) const ROWS: usize = 1 << 16;
/// Words of a bitmap container.
pub(super) const WORDS: usize = ROWS / 64;
/// Bytes of a bitmap container.
pub(super) const WORDS_BYTES: usize = ROWS / 8;
/// The maximum number of values of an array container.
pub(super) const ARRAY_MAX: usize = 4096;

/// A bitmap container in memory.
pub(super) type Words = [u64; WORDS];

/// The layout of the rows of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerKind {
    /// Values of two bytes, ascending.
    Array,
    /// A bitmap of 65,536 bits.
    Bitmap,
    /// Pairs of two-byte values: the first row, and the number of rows after it.
    Runs,
}

/// A container, as located in the encoded bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    /// The rows' numbers without their low 16 bits.
    pub(super) key: u64,
    /// The offset of its first byte.
    pub(super) start: usize,
    /// The number of values or runs; 0 for a bitmap, whose size is fixed.
    pub(super) count: u32,
    /// The number of rows in it; never 0.
    pub(super) cardinality: u32,
    pub(super) kind: ContainerKind,
}

impl Container {
    /// Returns the first row of its range.
    pub(super) fn base(&self) -> u64 {
        self.key << 16
    }

    /// Returns the number of bytes of its rows.
    pub(super) fn size(&self) -> usize {
        let count = self.count as usize;
        match self.kind {
            ContainerKind::Array => count * 2,
            ContainerKind::Bitmap => WORDS_BYTES,
            ContainerKind::Runs => count * 4,
        }
    }

    /// Returns its encoded bytes.
    pub(super) fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let end = self.start.saturating_add(self.size());
        bytes.get(self.start..end).unwrap_or_default()
    }

    /// Returns its rows.
    pub(super) fn rows<'a>(&self, bytes: &'a [u8]) -> ContainerRows<'a> {
        let bytes = self.bytes(bytes);
        match self.kind {
            ContainerKind::Array => ContainerRows::Array(bytes.as_chunks().0),
            ContainerKind::Bitmap => ContainerRows::Bitmap(bytes.as_chunks().0),
            ContainerKind::Runs => ContainerRows::Runs(bytes.as_chunks().0),
        }
    }
}

/// The rows of a container, as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContainerRows<'a> {
    Array(&'a [[u8; 2]]),
    Bitmap(&'a [[u8; 8]]),
    Runs(&'a [[u8; 4]]),
}

/// Returns the first and the last row of a run.
pub(super) fn run(bytes: [u8; 4]) -> (u16, u16) {
    let [a, b, c, d] = bytes;
    let (first, more) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    (first, first.saturating_add(more))
}

/// Returns the low 16 bits of a row.
#[allow(clippy::cast_possible_truncation, reason = "keeps the low bits")]
pub(super) fn low(row: u64) -> u16 {
    row as u16
}

impl ContainerRows<'_> {
    pub(super) fn contains(&self, row: u16) -> bool {
        match self {
            Self::Array(values) => values
                .binary_search_by_key(&row, |value| u16::from_le_bytes(*value))
                .is_ok(),
            Self::Bitmap(words) => words
                .get(usize::from(row >> 6))
                .is_some_and(|word| u64::from_le_bytes(*word) >> (row & 63) & 1 == 1),
            Self::Runs(runs) => {
                let after = runs.partition_point(|bytes| run(*bytes).0 <= row);
                let before = after.checked_sub(1).and_then(|index| runs.get(index));
                before.is_some_and(|bytes| row <= run(*bytes).1)
            }
        }
    }

    pub(super) fn min(&self) -> Option<u16> {
        match self {
            Self::Array(values) => values.first().map(|value| u16::from_le_bytes(*value)),
            Self::Bitmap(words) => {
                let index = words.iter().position(|word| *word != [0; 8])?;
                let word = u64::from_le_bytes(*words.get(index)?);
                u16::try_from(index * 64 + word.trailing_zeros() as usize).ok()
            }
            Self::Runs(runs) => runs.first().map(|bytes| run(*bytes).0),
        }
    }

    pub(super) fn max(&self) -> Option<u16> {
        match self {
            Self::Array(values) => values.last().map(|value| u16::from_le_bytes(*value)),
            Self::Bitmap(words) => {
                let index = words.iter().rposition(|word| *word != [0; 8])?;
                let word = u64::from_le_bytes(*words.get(index)?);
                u16::try_from(index * 64 + 63 - word.leading_zeros() as usize).ok()
            }
            Self::Runs(runs) => runs.last().map(|bytes| run(*bytes).1),
        }
    }

    /// Flips the bit of every row: sets it in a bitmap of zeros, clears it in a bitmap of ones.
    pub(super) fn flip(&self, into: &mut Words) {
        match self {
            Self::Array(values) => {
                for value in *values {
                    let row = u16::from_le_bytes(*value);
                    if let Some(word) = into.get_mut(usize::from(row >> 6)) {
                        *word ^= 1 << (row & 63);
                    }
                }
            }
            Self::Bitmap(words) => {
                for (to, word) in into.iter_mut().zip(*words) {
                    *to ^= u64::from_le_bytes(*word);
                }
            }
            Self::Runs(runs) => {
                for bytes in *runs {
                    let (first, last) = run(*bytes);
                    flip_run(into, first, last);
                }
            }
        }
    }

    /// Converts the rows to a bitmap.
    pub(super) fn words(&self) -> Box<Words> {
        let mut words = Box::new([0; WORDS]);
        self.flip(&mut words);
        words
    }
}

fn flip_run(words: &mut Words, first: u16, last: u16) {
    let (from, to) = (usize::from(first >> 6), usize::from(last >> 6));
    let head = u64::MAX << (first & 63);
    let tail = u64::MAX >> (63 - (last & 63));
    let Some(span) = words.get_mut(from..=to) else {
        return;
    };
    match span {
        [] => {}
        [word] => *word ^= head & tail,
        [begin, middle @ .., end] => {
            *begin ^= head;
            middle.iter_mut().for_each(|word| *word = !*word);
            *end ^= tail;
        }
    }
}
