//! Decoders for Parquet's integer encodings: runs of levels or dictionary indexes, and delta-encoded lengths.
//!
//! Protocol: Apache Parquet, "Run Length Encoding / Bit-Packing Hybrid", "Delta Encoding".

/// Iterates over the runs of the RLE/bit-packing hybrid: the number of repetitions, and the value.
pub(super) struct RleRuns<'a> {
    bytes: &'a [u8],
    width: u32,
    /// A bit-packed run: its bytes, the index of the next value, the number of values.
    packed: (&'a [u8], u64, u64),
}

impl<'a> RleRuns<'a> {
    /// Reads levels up to the maximum level `max`.
    pub(super) fn new(bytes: &'a [u8], max: i16) -> Self {
        Self::with_width(bytes, i16::BITS - max.leading_zeros())
    }

    /// Reads numbers of `width` bits, at most 64.
    pub(super) fn with_width(bytes: &'a [u8], width: u32) -> Self {
        Self {
            bytes,
            width,
            packed: (&[], 0, 0),
        }
    }
}

impl Iterator for RleRuns<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let width = u64::from(self.width);
        loop {
            let (bytes, at, count) = self.packed;
            if at < count {
                self.packed.1 += 1;
                return Some((1, bits(bytes, at * width, width)?));
            }
            let header = varint(&mut self.bytes)?;
            let number = header >> 1;
            if header & 1 == 0 {
                let (value, rest) = self.bytes.split_at_checked(width.div_ceil(8) as usize)?;
                self.bytes = rest;
                return Some((number, bits(value, 0, width)?));
            }
            // a bit-packed run consists of groups of eight values; the last may be truncated
            let length = usize::try_from(number.checked_mul(width)?).ok()?;
            let (group, rest) = self.bytes.split_at(length.min(self.bytes.len()));
            self.bytes = rest;
            self.packed = (group, 0, number.checked_mul(8)?);
        }
    }
}

/// Iterates over delta-encoded integers in blocks.
pub(super) struct DeltaNumbers<'a> {
    bytes: &'a [u8],
    miniblocks: u64,
    values_per_miniblock: u64,
    left: u64,
    value: i64,
    first: bool,
    /// The minimum delta of the block, the bit widths of its remaining miniblocks, and the rest of the
    /// current miniblock: its bits, its width, the index of the next value.
    min_delta: i64,
    widths: &'a [u8],
    current: (&'a [u8], u64, u64),
}

impl<'a> DeltaNumbers<'a> {
    pub(super) fn new(mut bytes: &'a [u8]) -> Option<Self> {
        let block = varint(&mut bytes)?;
        let miniblocks = varint(&mut bytes)?;
        let left = varint(&mut bytes)?;
        let value = zigzag(varint(&mut bytes)?);
        let values_per_miniblock = block.checked_div(miniblocks)?;
        if values_per_miniblock == 0 || values_per_miniblock % 8 != 0 {
            return None;
        }
        Some(Self {
            bytes,
            miniblocks,
            values_per_miniblock,
            left,
            value,
            first: true,
            min_delta: 0,
            widths: &[],
            current: (&[], 0, values_per_miniblock),
        })
    }

    /// Returns the number of integers that are left, as claimed.
    pub(super) fn len(&self) -> u64 {
        self.left
    }

    /// Begins the next miniblock.
    fn advance(&mut self) -> Option<()> {
        if self.widths.is_empty() {
            self.min_delta = zigzag(varint(&mut self.bytes)?);
            let miniblocks = usize::try_from(self.miniblocks).ok()?;
            (self.widths, self.bytes) = self.bytes.split_at_checked(miniblocks)?;
        }
        let (width, widths) = self.widths.split_first()?;
        self.widths = widths;
        let width = u64::from(*width);
        if width > u64::from(u64::BITS) {
            return None;
        }
        let length = usize::try_from(width.checked_mul(self.values_per_miniblock)? / 8).ok()?;
        let (bits, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        self.current = (bits, width, 0);
        Some(())
    }

    /// Returns the bytes after the last value.
    pub(super) fn rest(mut self) -> Option<&'a [u8]> {
        let mut left = self.left.saturating_sub(1);
        while left > 0 {
            self.advance()?;
            left = left.saturating_sub(self.values_per_miniblock);
        }
        Some(self.bytes)
    }
}

impl Iterator for DeltaNumbers<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        if std::mem::take(&mut self.first) {
            return Some(self.value);
        }
        if self.current.2 == self.values_per_miniblock {
            self.advance()?;
        }
        let (packed, width, at) = self.current;
        self.current.2 += 1;
        let more = bits(packed, at * width, width)?.cast_signed();
        self.value = self.value.wrapping_add(self.min_delta).wrapping_add(more);
        Some(self.value)
    }
}

/// Returns the integer of `width` bits, at most 64, at a bit offset.
fn bits(bytes: &[u8], from: u64, width: u64) -> Option<u64> {
    let mut number = 0_u128;
    let first = from / 8;
    let last = (from + width).div_ceil(8);
    for (shift, at) in (first..last).enumerate() {
        let byte = bytes.get(usize::try_from(at).ok()?)?;
        number |= u128::from(*byte) << (8 * shift);
    }
    let mask = (1_u128 << width.min(64)) - 1;
    u64::try_from((number >> (from % 8)) & mask).ok()
}

pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Decodes a zigzag-encoded integer.
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests;
