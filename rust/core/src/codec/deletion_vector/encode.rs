//! A vector as bytes: the portable layout, which every reader knows.

use std::borrow::Cow;

use super::chunk::{Chunk, Form, Rows, low, run};
use super::decode::{NO_RUNS, OFFSETS_FROM, PORTABLE_MAGIC, WITH_RUNS};
use super::{DeletionVector, base85};
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;

/// First row and how many follow it.
const RUN_BYTES: usize = 4;

impl DeletionVector {
    /// The bitmap, from its magic number to its last container: what `sizeInBytes` counts.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large`, for more bytes than a descriptor can tell.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let groups = || {
            self.chunks
                .chunk_by(|left, right| left.key >> 16 == right.key >> 16)
        };
        let mut into = Vec::with_capacity(self.bytes.len() + self.chunks.len() * 8 + 64);
        into.extend_from_slice(&PORTABLE_MAGIC.to_le_bytes());
        let count = u64::try_from(groups().count()).unwrap_or(u64::MAX);
        into.extend_from_slice(&count.to_le_bytes());
        for group in groups() {
            let key = group.first().map_or(0, |chunk| chunk.key >> 16);
            into.extend_from_slice(&word(key).to_le_bytes());
            self.encode_bitmap(group, &mut into);
        }
        if i32::try_from(into.len()).is_err() {
            return Err(too_large());
        }
        Ok(into)
    }

    /// The vector in the log itself: a descriptor of storage type `i`.
    ///
    /// # Errors
    ///
    /// As [`DeletionVector::encode`] has them.
    pub fn encode_inline(&self) -> Result<DeletionVectorDescriptor> {
        let bitmap = self.encode()?;
        let size = i32::try_from(bitmap.len()).map_err(|_| too_large())?;
        DeletionVectorDescriptor::new("i", base85::encode(&bitmap), None, size, self.len_signed())
    }

    /// The number of rows as descriptors have it.
    pub(super) fn len_signed(&self) -> i64 {
        i64::try_from(self.len).unwrap_or(i64::MAX)
    }

    fn encode_bitmap(&self, chunks: &[Chunk], into: &mut Vec<u8>) {
        let begin = into.len();
        let has_runs = chunks.iter().any(|chunk| chunk.form == Form::Runs);
        let bodies: Vec<_> = chunks
            .iter()
            .map(|chunk| body(chunk, &self.bytes))
            .collect();
        let count = word(chunks.len() as u64);
        if has_runs {
            into.extend_from_slice(&(WITH_RUNS | (count - 1) << 16).to_le_bytes());
            for eight in chunks.chunks(8) {
                let flags = eight.iter().rev().fold(0_u8, |flags, chunk| {
                    flags << 1 | u8::from(chunk.form == Form::Runs)
                });
                into.push(flags);
            }
        } else {
            into.extend_from_slice(&NO_RUNS.to_le_bytes());
            into.extend_from_slice(&count.to_le_bytes());
        }
        for chunk in chunks {
            into.extend_from_slice(&low(chunk.key).to_le_bytes());
            let less_one = low(u64::from(chunk.cardinality) - 1);
            into.extend_from_slice(&less_one.to_le_bytes());
        }
        if !has_runs || chunks.len() >= OFFSETS_FROM {
            let mut offset = into.len() - begin + chunks.len() * 4;
            for (chunk, body) in chunks.iter().zip(&bodies) {
                into.extend_from_slice(&word(offset as u64).to_le_bytes());
                offset += body.len() + if chunk.form == Form::Runs { 2 } else { 0 };
            }
        }
        for (chunk, body) in chunks.iter().zip(&bodies) {
            if chunk.form == Form::Runs {
                let runs = low((body.len() / RUN_BYTES) as u64);
                into.extend_from_slice(&runs.to_le_bytes());
            }
            into.extend_from_slice(body);
        }
    }
}

/// The bytes of a chunk. Of its runs those that touch are one: some readers refuse them, though they
/// may have been read here.
fn body<'a>(chunk: &Chunk, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let whole = chunk.bytes(bytes);
    let Rows::Runs(runs) = chunk.rows(bytes) else {
        return Cow::Borrowed(whole);
    };
    let touch = |left: [u8; 4], right: [u8; 4]| run(left).1.checked_add(1) == Some(run(right).0);
    let apart = |pair: &[[u8; 4]]| !matches!(pair, [left, right] if touch(*left, *right));
    if runs.windows(2).all(apart) {
        return Cow::Borrowed(whole);
    }
    let merged = runs.chunk_by(|left, right| touch(*left, *right));
    let merged = merged.filter_map(|together| {
        let (first, last) = (run(*together.first()?).0, run(*together.last()?).1);
        let [[a, b], [c, d]] = [first, last - first].map(u16::to_le_bytes);
        Some([a, b, c, d])
    });
    Cow::Owned(merged.flatten().collect())
}

/// What is known to fit into 32 bits, or makes a vector that is refused.
fn word(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

pub(super) fn too_large() -> Error {
    Error::invalid(
        "dv.too_large",
        "the deletion vectors take 2 GiB or more, which no descriptor can tell: \
         use more files, or rewrite the data file",
    )
}
