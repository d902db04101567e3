//! Decodes the bitmap of a deletion vector: four magic bytes, then a 64-bit Roaring bitmap in one of two
//! layouts.
//!
//! All numbers are little-endian. Portable layout: an `i64` count, then per bitmap an `i32` key and a 32-bit
//! Roaring bitmap. Native layout, of older writers: an `i32` count, then per bitmap an `i32` length and a
//! 32-bit Roaring bitmap whose key is its index. Nothing is copied, and allocations are bounded by the number
//! of bytes.
//!
//! Protocol: "Roaring Bitmap Array (portable)"; the Roaring format specification.

use bytes::Bytes;

use super::container::{ARRAY_MAX, Container, ContainerKind, WORDS_BYTES};
use super::{DeletionVector, base85};
use crate::error::{Error, Result};

/// The magic number of the portable layout.
pub(super) const PORTABLE_MAGIC: u32 = 1_681_511_377;
/// The magic number of the native layout of older writers.
const NATIVE_MAGIC: u32 = 1_681_511_376;

/// The cookie of a bitmap without runs.
const NO_RUNS: u32 = 12_346;
/// The low half of the cookie of a bitmap with runs.
const WITH_RUNS: u32 = 12_347;
/// Bitmaps with runs have container offsets only if they have at least this number of containers.
const MIN_OFFSET_CONTAINERS: usize = 4;

/// The minimum number of bytes of a bitmap with its key or length.
const MIN_BITMAP: usize = 12;
/// The greatest key: delta-spark requires keys below `i32::MAX`.
const LAST_KEY: u32 = 0x7FFF_FFFE;

impl DeletionVector {
    /// Decodes a bitmap: the bytes between the size and the checksum of a vector.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.truncated`, `dv.magic` and `dv.bitmap`, with the offset in `bitmap`; `dv.cardinality` if the
    /// descriptor states another number of rows.
    pub fn decode(bitmap: &[u8], cardinality: Option<u64>) -> Result<Self> {
        Self::decode_shared(Bytes::copy_from_slice(bitmap), cardinality)
    }

    /// Decodes a bitmap like [`DeletionVector::decode`], without a copy: the vector keeps `bitmap` alive.
    pub fn decode_shared(bitmap: Bytes, cardinality: Option<u64>) -> Result<Self> {
        let mut cursor = Cursor {
            bytes: &bitmap,
            at: 0,
        };
        let mut containers = Vec::new();
        match cursor.u32("the magic number")? {
            PORTABLE_MAGIC => portable(&mut cursor, &mut containers)?,
            NATIVE_MAGIC => native(&mut cursor, &mut containers)?,
            other => {
                return Err(Error::corrupt(
                    "dv.magic",
                    format!(
                        "a deletion vector starts with the number {PORTABLE_MAGIC} or {NATIVE_MAGIC}, but \
                         this starts with {other}: it is not a deletion vector, \
                         or the offset is wrong"
                    ),
                )
                .at_offset(0));
            }
        }
        if cursor.at != bitmap.len() {
            return Err(cursor.damaged("there are bytes after its end"));
        }
        let len = containers
            .iter()
            .map(|container: &Container| u64::from(container.cardinality))
            .sum();
        containers.shrink_to_fit();
        let vector = Self {
            containers,
            bytes: bitmap,
            len,
        };
        if let Some(cardinality) = cardinality {
            vector.check_cardinality(cardinality)?;
        }
        Ok(vector)
    }

    /// Decodes an inline vector: the base 85 text of a bitmap of `size_in_bytes` bytes.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.base85`, `dv.size` if the text has another length, and the errors of
    /// [`DeletionVector::decode`].
    pub fn decode_inline(text: &str, size_in_bytes: u32, cardinality: Option<u64>) -> Result<Self> {
        if text.is_empty() && size_in_bytes == 0 {
            let empty = Self::empty();
            empty.check_cardinality(cardinality.unwrap_or_default())?;
            return Ok(empty);
        }
        let mut bytes = base85::decode(text)?;
        let size = usize::try_from(size_in_bytes).unwrap_or(usize::MAX);
        if size != bytes.len() && size.checked_next_multiple_of(4) != Some(bytes.len()) {
            return Err(Error::corrupt(
                "dv.size",
                format!(
                    "the descriptor states {size_in_bytes} bytes, but the inline deletion vector has {}",
                    bytes.len()
                ),
            ));
        }
        bytes.truncate(size);
        Self::decode_shared(bytes.into(), cardinality)
    }
}

fn portable(cursor: &mut Cursor<'_>, containers: &mut Vec<Container>) -> Result<()> {
    let count = u64::from_le_bytes(cursor.array("the number of bitmaps")?);
    cursor.check_count(count, MIN_BITMAP)?;
    let mut before = None;
    for _ in 0..count {
        let key = cursor.u32("the key of a bitmap")?;
        if key > LAST_KEY || before >= Some(key) {
            return Err(cursor.damaged(&format!(
                "the key {key} of a bitmap is out of order or out of range"
            )));
        }
        before = Some(key);
        bitmap(cursor, key, containers)?;
    }
    Ok(())
}

fn native(cursor: &mut Cursor<'_>, containers: &mut Vec<Container>) -> Result<()> {
    let count = cursor.u32("the number of bitmaps")?;
    cursor.check_count(u64::from(count), MIN_BITMAP)?;
    for key in 0..count {
        let size = cursor.u32("the length of a bitmap")?;
        let begin = cursor.at;
        bitmap(cursor, key, containers)?;
        if usize::try_from(size) != Ok(cursor.at - begin) {
            return Err(cursor.damaged("the length of a bitmap is not the stated one"));
        }
    }
    Ok(())
}

/// Decodes one 32-bit bitmap.
fn bitmap(cursor: &mut Cursor<'_>, high: u32, containers: &mut Vec<Container>) -> Result<()> {
    let cookie = cursor.u32("the head of a bitmap")?;
    let (count, flags): (usize, &[u8]) = if cookie & 0xFFFF == WITH_RUNS {
        let count = (cookie >> 16) as usize + 1;
        (count, cursor.take(count.div_ceil(8), "the flags of runs")?)
    } else if cookie == NO_RUNS {
        let count = cursor.u32("the number of containers")?;
        if count > 1 << 16 {
            return Err(cursor.damaged(&format!("a bitmap has {count} containers")));
        }
        (count as usize, &[])
    } else {
        return Err(cursor.damaged(&format!("a bitmap begins with {cookie}")));
    };
    let heads = cursor.take(count * 4, "the heads of containers")?;
    if flags.is_empty() || count >= MIN_OFFSET_CONTAINERS {
        // The offsets are not needed: containers follow each other.
        cursor.take(count * 4, "the offsets of containers")?;
    }
    containers.reserve(count);
    let mut before = None;
    for (index, head) in heads.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = *head;
        let key = u16::from_le_bytes([a, b]);
        if before >= Some(key) {
            return Err(cursor.damaged("the keys of containers do not ascend"));
        }
        before = Some(key);
        let cardinality = u32::from(u16::from_le_bytes([c, d])) + 1;
        let is_run = flags
            .get(index / 8)
            .is_some_and(|flags| flags >> (index % 8) & 1 == 1);
        let mut container = if is_run {
            runs(cursor)?
        } else {
            values(cursor, cardinality)?
        };
        container.key = u64::from(high) << 16 | u64::from(key);
        containers.push(container);
    }
    Ok(())
}

fn values(cursor: &mut Cursor<'_>, cardinality: u32) -> Result<Container> {
    let count = cardinality as usize;
    let mut container = Container {
        key: 0,
        start: cursor.at,
        count: cardinality,
        cardinality,
        kind: ContainerKind::Array,
    };
    if count <= ARRAY_MAX {
        let values = cursor.take(count * 2, "an array")?.as_chunks::<2>().0;
        // Compare every pair, without an early exit, so that the loop is vectorized.
        let next = values.iter().skip(1);
        let ascend = values.iter().zip(next).fold(true, |ascend, (left, right)| {
            ascend & (u16::from_le_bytes(*left) < u16::from_le_bytes(*right))
        });
        if !ascend {
            return Err(cursor.damaged("the values of an array do not ascend"));
        }
    } else {
        let words = cursor
            .take(WORDS_BYTES, "a bitmap container")?
            .as_chunks::<8>()
            .0;
        let ones: u32 = words
            .iter()
            .map(|word| u64::from_le_bytes(*word).count_ones())
            .sum();
        if ones != cardinality {
            return Err(cursor.damaged(&format!(
                "a bitmap states {cardinality} bits set and has {ones}"
            )));
        }
        container.kind = ContainerKind::Bitmap;
        container.count = 0;
    }
    Ok(container)
}

fn runs(cursor: &mut Cursor<'_>) -> Result<Container> {
    let count = u16::from_le_bytes(cursor.array("the number of runs")?);
    let start = cursor.at;
    let runs = cursor.take(usize::from(count) * 4, "runs")?;
    let (mut cardinality, mut free) = (0_u32, 0_u32);
    for bytes in runs.as_chunks::<4>().0 {
        let [a, b, c, d] = *bytes;
        let first = u32::from(u16::from_le_bytes([a, b]));
        let more = u32::from(u16::from_le_bytes([c, d]));
        // Adjacent runs are accepted by every reader; overlapping runs are corrupt.
        if first < free || first + more > u32::from(u16::MAX) {
            return Err(cursor.damaged("runs overlap, do not ascend, or leave their container"));
        }
        cardinality += more + 1;
        free = first + more + 1;
    }
    if cardinality == 0 {
        return Err(cursor.damaged("a container has no run"));
    }
    Ok(Container {
        key: 0,
        start,
        count: u32::from(count),
        cardinality,
        kind: ContainerKind::Runs,
    })
}

/// The position of the decoder.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, size: usize, part: &str) -> Result<&'a [u8]> {
        let taken = self
            .at
            .checked_add(size)
            .and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| {
            Error::corrupt(
                "dv.truncated",
                format!(
                    "the deletion vector ends at byte {} of its bitmap, within {part}: \
                     its file is truncated, or its size is wrong",
                    self.bytes.len()
                ),
            )
            .at_offset(offset(self.at))
        })?;
        self.at += size;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, part: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, part)?);
        Ok(array)
    }

    fn u32(&mut self, part: &str) -> Result<u32> {
        self.array(part).map(u32::from_le_bytes)
    }

    /// Refuses a count that the remaining bytes cannot hold.
    fn check_count(&self, count: u64, each: usize) -> Result<()> {
        let left = (self.bytes.len() - self.at) / each;
        if count > offset(left) {
            return Err(self.damaged(&format!("its {count} bitmaps would not fit into its bytes")));
        }
        Ok(())
    }

    fn damaged(&self, problem: &str) -> Error {
        Error::corrupt(
            "dv.bitmap",
            format!("the deletion vector is damaged: {problem}; restore its file from a copy"),
        )
        .at_offset(offset(self.at))
    }
}

fn offset(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}
