//! Unshredding of variants: merges typed columns back into the binary value.
//!
//! Takes a struct of `metadata` and of `value`, `typed_value` or both; returns a struct of `metadata` and
//! `value`. Values that were not shredded are copied unchanged, since the dictionary stays the same.
//!
//! `parquet-variant-compute` is not used: it converts timestamps with chrono, whose range of years is smaller
//! than that of 64-bit timestamps.
//!
//! Parquet: "Variant Binary Encoding", "Variant Shredding".

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Error, Result};

mod dictionary;
mod encoding;
mod shredded;

use dictionary::Dictionary;
use shredded::Shredded;

/// A variant null: the value of a row without `value` and `typed_value`, which the specification forbids.
const NULL: u8 = 0;

/// Returns the variants as `metadata` and `value`.
///
/// # Errors
///
/// Corrupt: `variant.columns` (not the columns of a variant), `variant.metadata`, `variant.value`,
/// `variant.conflict` (a value or a field both typed and untyped), `variant.size` (more than 2 GiB in total).
pub fn unshred(rows: &StructArray) -> Result<StructArray> {
    let metadata = rows
        .column_by_name("metadata")
        .and_then(|column| column.as_binary_opt::<i32>())
        .ok_or_else(|| columns("a variant has no binary column `metadata`"))?;
    let shredded = Shredded::new(rows)?;
    let values = values(rows, metadata, &shredded)?;
    let fields = Fields::from(vec![
        Field::new("metadata", DataType::Binary, false),
        Field::new("value", DataType::Binary, false),
    ]);
    let parts: Vec<ArrayRef> = vec![Arc::new(metadata.clone()), Arc::new(values)];
    StructArray::try_new_with_length(fields, parts, rows.nulls().cloned(), rows.len())
        .map_err(|cause| columns("a variant has no metadata in some rows").because(cause))
}

fn values(
    rows: &StructArray,
    metadata: &BinaryArray,
    shredded: &Shredded<'_>,
) -> Result<BinaryArray> {
    let mut values = BinaryBuilder::with_capacity(rows.len(), rows.len().saturating_mul(16));
    let mut known: Option<Dictionary> = None;
    let mut bytes = Vec::new();
    let mut total = 0_usize;
    for row in 0..rows.len() {
        if rows.is_null(row) || metadata.is_null(row) {
            values.append_null();
            continue;
        }
        // rows of one file usually share their dictionary
        let same = known
            .take()
            .filter(|known| known.has_metadata(metadata.value(row)));
        let dictionary = match same {
            Some(dictionary) => dictionary,
            None => Dictionary::new(metadata.value(row))?,
        };
        let dictionary = known.insert(dictionary);
        bytes.clear();
        if !shredded.write(row, dictionary, &mut bytes)? {
            bytes.push(NULL);
        }
        total = total.saturating_add(bytes.len());
        if i32::try_from(total).is_err() {
            let message = "the variants of one batch take more than 2 GiB: read fewer rows at once";
            return Err(Error::corrupt("variant.size", message));
        }
        values.append_value(&bytes);
    }
    Ok(values.finish())
}

fn columns(message: &str) -> Error {
    Error::corrupt("variant.columns", message)
}

#[cfg(test)]
mod tests;
