//! A hash for each row: equal for equal rows, and practically unique for different ones.
//!
//! 128 bits, seeded, so that collisions cannot be crafted.

use arrow_array::ArrayRef;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::codec::row_bytes::each_row;
use crate::error::{Error, Result};

/// Hashes the rows of these columns, which have equal lengths.
pub(in crate::changes) fn hash_rows<'a>(
    columns: impl IntoIterator<Item = &'a ArrayRef>,
    rows: usize,
    seed: u64,
) -> Result<Vec<u128>> {
    let mut hashes = Vec::with_capacity(rows);
    let hash = |_, row: &[u8]| hashes.push(xxh3_128_with_seed(row, seed));
    each_row(columns, rows, hash).map_err(|cause| {
        let message = "a column has a type that rows cannot be compared by";
        Error::corrupt("log.columns", message).because(cause)
    })?;
    Ok(hashes)
}

#[cfg(test)]
mod tests;
