//! The order of rows: the position of each row on the curve, and the file for that position.
//!
//! The cell of a row consists of the ranks of its values within a sample, so that every axis is filled evenly
//! whatever the distribution of values. Nulls sort first. The low bits of a position are random, so that the
//! rows of one cell, or with a very frequent value, can still be split across files.

use std::cmp::Ordering;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort;
use arrow_schema::{ArrowError, Field, Schema, SortOptions};
use arrow_select::take::take;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::curve::{hilbert, z_order};
use crate::error::{Error, Result};

/// The number of random low-order bits of a position.
const RANDOM_BITS: u32 = 16;
/// The maximum number of bits of all coordinates of a cell together, and of a single coordinate.
const POSITION_BITS: u32 = 48;
const COORDINATE_BITS: u32 = 10;
/// The maximum number of sampled values for the ranks of a single column.
const SAMPLED_VALUES: usize = 1 << 15;

/// The curve that maps a cell to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Curve {
    /// Interleaves the bits of the coordinates.
    ZOrder,
    /// Each cell is adjacent to the one before it.
    Hilbert,
}

/// The order of the rows of a bin, derived from a sample. The cuts divide it into parts, which are sorted one
/// at a time; a file has consecutive parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampledOrder {
    columns: Vec<Vec<String>>,
    curve: Curve,
    /// Per column, the sorted sample values without nulls.
    #[serde(serialize_with = "to_ipc", deserialize_with = "from_ipc")]
    values: Vec<ArrayRef>,
    /// The first position of each part except the first part.
    cuts: Vec<u64>,
    parts_of_file: usize,
}

impl SampledOrder {
    /// Creates the order from sampled rows, one array per column, for this number of files with
    /// `parts_of_file` parts each.
    pub(super) fn new(
        columns: Vec<Vec<String>>,
        curve: Curve,
        sample: &[ArrayRef],
        files: usize,
        parts_of_file: usize,
    ) -> Result<Self> {
        let max = match columns.len() {
            1 => SAMPLED_VALUES,
            several => (1 << bits(several)) - 2,
        };
        let values = sample.iter().map(|column| evenly_spaced(column, max));
        let values = values.collect::<Result<Vec<_>>>()?;
        let mut order = Self {
            columns,
            curve,
            values,
            cuts: Vec::new(),
            parts_of_file,
        };
        let rows = sample.first().map_or(0, |column| column.len());
        let mut positions = order.positions(sample, rows, 0)?;
        positions.sort_unstable();
        order.cuts = match order.only_column() {
            // the ranks of a single column form no cells
            Some(_) => even_cuts(&positions, files.saturating_mul(parts_of_file), 0),
            None => {
                let mut cuts = Vec::new();
                divide(&positions, files, parts_of_file, &mut cuts);
                cuts
            }
        };
        Ok(order)
    }

    pub(super) fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Returns the maximum number of files.
    pub fn files(&self) -> usize {
        self.parts().div_ceil(self.parts_of_file.max(1))
    }

    /// Returns the parts of a file.
    pub(super) fn parts_of(&self, file: usize) -> std::ops::Range<usize> {
        let from = file.saturating_mul(self.parts_of_file);
        from..from.saturating_add(self.parts_of_file).min(self.parts())
    }

    pub(super) fn part(&self, position: u64) -> usize {
        self.cuts.partition_point(|cut| *cut <= position)
    }

    pub(super) fn without_random_bits(position: u64) -> u64 {
        position >> RANDOM_BITS
    }

    /// Returns the single column that rows are ordered by, if there is only one.
    pub(super) fn only_column(&self) -> Option<&[String]> {
        match self.columns.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the position of each row; `seed` initializes the random bits.
    pub(super) fn positions_of(&self, rows: &RecordBatch, seed: u64) -> Result<Vec<u64>> {
        let columns = self.columns.iter().map(|path| column(rows, path));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.positions(&columns, rows.num_rows(), seed)
    }

    fn positions(&self, columns: &[ArrayRef], rows: usize, seed: u64) -> Result<Vec<u64>> {
        let mut noise = seed;
        if let ([values], [column]) = (self.values.as_slice(), columns) {
            let mut positions = Vec::with_capacity(rows);
            ranks(values, column, &mut |rank| {
                let (rank, is_shared) = match rank {
                    None => (0, true),
                    Some((min, max)) if min == max => (2 * max + 1, false),
                    Some((min, _)) => (2 * min + 2, true),
                };
                let random = if is_shared { random(&mut noise) } else { 0 };
                positions.push(((rank as u64) << RANDOM_BITS) | random);
            })?;
            return Ok(positions);
        }
        let bits = bits(columns.len());
        let mut cells = vec![0_u32; rows.saturating_mul(columns.len())];
        for (axis, (values, column)) in self.values.iter().zip(columns).enumerate() {
            let mut positions = cells.iter_mut().skip(axis).step_by(columns.len());
            ranks(values, column, &mut |rank| {
                if let Some(slot) = positions.next() {
                    let rank = rank.map_or(0, |(_, max)| max + 1);
                    *slot = u32::try_from(rank).unwrap_or(u32::MAX);
                }
            })?;
        }
        let position_of = |cell: &mut [u32]| match self.curve {
            Curve::ZOrder => z_order(cell, bits),
            Curve::Hilbert => hilbert(cell, bits),
        };
        let positions = cells.chunks_exact_mut(columns.len().max(1));
        Ok(positions
            .map(|cell| (position_of(cell) << RANDOM_BITS) | random(&mut noise))
            .collect())
    }
}

/// Returns the start of each part except the first, so that all parts have equally many rows of the sample;
/// with an empty sample, all begin at `from`.
pub(super) fn even_cuts(positions: &[u64], parts: usize, from: u64) -> Vec<u64> {
    (1..parts)
        .map(|part| positions.get(part * positions.len() / parts).copied())
        .map(|cut| cut.unwrap_or(from))
        .collect()
}

/// Divides the positions into files of `parts` parts each. Files begin at positions with many trailing zeros:
/// rows up to such a position fill whole cells of the grid, and a few rows of another cell would double the
/// bounds of a file. So some files are larger than others; the largest has less than three times the average.
fn divide(positions: &[u64], files: usize, parts: usize, cuts: &mut Vec<u64>) {
    if files < 2 {
        let from = cuts.last().copied().unwrap_or(0);
        cuts.extend(even_cuts(positions, parts, from));
        return;
    }
    let left = files / 2;
    let at = |halves: usize| {
        let middle = halves * positions.len() / (files * 2);
        positions
            .get(middle.min(positions.len().saturating_sub(1)))
            .copied()
    };
    let cut = match (at(left * 2 - 1), at(left * 2 + 1)) {
        (Some(min), Some(max)) => most_trailing_zeros(min, max),
        _ => cuts.last().copied().unwrap_or(0),
    };
    let (before, after) = positions.split_at(positions.partition_point(|position| *position < cut));
    divide(before, left, parts, cuts);
    cuts.push(cut);
    divide(after, files - left, parts, cuts);
}

/// Returns the number in `min + 1..=max` with the most trailing zeros.
fn most_trailing_zeros(min: u64, max: u64) -> u64 {
    match min ^ max {
        0 => max,
        difference => (max >> difference.ilog2()) << difference.ilog2(),
    }
}

/// Returns the number of bits per coordinate.
fn bits(columns: usize) -> u32 {
    let columns = u32::try_from(columns.max(1)).unwrap_or(POSITION_BITS);
    (POSITION_BITS / columns).clamp(1, COORDINATE_BITS)
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)) & ((1 << RANDOM_BITS) - 1)
}

pub(super) const NULLS_FIRST: SortOptions = SortOptions {
    descending: false,
    nulls_first: true,
};

/// Returns at most `max` values of a column, evenly spaced, sorted, without nulls.
fn evenly_spaced(column: &ArrayRef, max: usize) -> Result<ArrayRef> {
    let sorted = sort(column, Some(NULLS_FIRST)).map_err(unordered)?;
    let nulls = sorted.logical_null_count();
    let values = sorted.slice(nulls, sorted.len() - nulls);
    if values.len() <= max {
        return Ok(values);
    }
    let positions = (1..=max).map(|number| (number * values.len() / (max + 1)) as u64);
    let positions = arrow_array::UInt64Array::from_iter_values(positions);
    take(&values, &positions, None).map_err(unordered)
}

/// Emits for each value of `column` how many of `values` are less than it, and how many are less than or equal
/// to it; `None` for null.
fn ranks(
    values: &ArrayRef,
    column: &ArrayRef,
    emit: &mut dyn FnMut(Option<(usize, usize)>),
) -> Result<()> {
    let compare = make_comparator(values, column, NULLS_FIRST).map_err(unordered)?;
    let nulls = column.logical_nulls();
    let mut before: Option<(usize, usize)> = None;
    let all = values.len();
    let search = |row: usize, from: usize, to: usize, min: Ordering| {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low.midpoint(high);
            if compare(middle, row) < min {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    for row in 0..column.len() {
        if let Some(nulls) = &nulls
            && nulls.is_null(row)
        {
            emit(None);
            continue;
        }
        // consecutive rows often have equal or close values
        let same = before.filter(|(min, max)| {
            (*min == 0 || compare(*min - 1, row) == Ordering::Less)
                && (*min == *max || compare(*min, row) == Ordering::Equal)
                && (*max == all || compare(*max, row) == Ordering::Greater)
        });
        let rank_of_value = same.unwrap_or_else(|| {
            let min = search(row, 0, all, Ordering::Equal);
            let max = if min < all && compare(min, row) == Ordering::Equal {
                search(row, min + 1, all, Ordering::Greater)
            } else {
                min
            };
            (min, max)
        });
        before = Some(rank_of_value);
        emit(Some(rank_of_value));
    }
    Ok(())
}

/// Returns the column at a path; null where a struct on the path is null.
pub(super) fn column(rows: &RecordBatch, path: &[String]) -> Result<ArrayRef> {
    let missing = || {
        Error::corrupt(
            "log.columns",
            "the rows lack a column that they are ordered by",
        )
    };
    let (first, rest) = path.split_first().ok_or_else(missing)?;
    let mut values = Arc::clone(rows.column_by_name(first).ok_or_else(missing)?);
    for name in rest {
        let parts = values.as_struct_opt().ok_or_else(missing)?;
        let part = parts.column_by_name(name).ok_or_else(missing)?;
        let nulls = NullBuffer::union(parts.nulls(), part.nulls());
        let data = part.to_data().into_builder().nulls(nulls);
        values = make_array(data.build().map_err(unordered)?);
    }
    Ok(values)
}

fn unordered(cause: ArrowError) -> Error {
    Error::invalid("optimize.z_order", "the rows cannot be ordered").because(cause)
}

fn to_ipc<S: Serializer>(values: &[ArrayRef], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = |values: &ArrayRef| -> Result<Vec<u8>, ArrowError> {
        let field = Field::new("values", values.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&RecordBatch::try_new(schema, vec![Arc::clone(values)])?)?;
        writer.into_inner()
    };
    let all = values.iter().map(bytes).collect::<Result<Vec<_>, _>>();
    all.map_err(serde::ser::Error::custom)?
        .serialize(serializer)
}

fn from_ipc<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ArrayRef>, D::Error> {
    let values = |bytes: Vec<u8>| -> Result<ArrayRef, ArrowError> {
        let mut reader = StreamReader::try_new(Cursor::new(bytes), None)?;
        let batch = reader.next().transpose()?;
        let column = batch.and_then(|batch| batch.columns().first().cloned());
        column.ok_or_else(|| ArrowError::IpcError("there are no values".to_owned()))
    };
    let all = Vec::<Vec<u8>>::deserialize(deserializer)?.into_iter();
    let all = all.map(values).collect::<Result<Vec<_>, _>>();
    all.map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
