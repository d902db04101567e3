//! A unit of an open file, and the bytes that it needs next.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::open::{OpenFile, UnitRows};
use super::unit_decoder::request;
use crate::codec::parquet_file::FetchedBytes;
use crate::error::Result;
use crate::storage::pool::rows::Prefetch;

/// Up to this size, the other columns of a unit are fetched together with those of the filter, before the
/// matching rows are known.
const MAX_BYTES_AT_ONCE: u64 = 1 << 20;

/// Some rows of an open file, and the bytes that were fetched for them.
pub struct FileUnit {
    file: Arc<OpenFile>,
    unit: UnitRows,
    /// The rows to read, and the bytes that were fetched to find them.
    rows_to_read: Option<(Vec<Range<u64>>, FetchedBytes)>,
}

impl FileUnit {
    /// Returns the units of a file, in order.
    pub fn all(file: OpenFile) -> Vec<Self> {
        let file = Arc::new(file);
        let units = file.units().into_iter();
        units
            .map(|unit| Self {
                file: Arc::clone(&file),
                unit,
                rows_to_read: None,
            })
            .collect()
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<OpenFile> {
        &self.file
    }

    /// Returns the unit.
    pub fn unit(&self) -> &UnitRows {
        &self.unit
    }

    /// Returns the ranges to fetch next, if the file is remote.
    pub fn prefetch(&self) -> Option<Prefetch> {
        if !self.file.bytes.is_remote() {
            return None;
        }
        let taken = |(_, fetched): &(_, FetchedBytes)| fetched.ranges();
        Some(Prefetch {
            bytes: Arc::clone(&self.file.bytes),
            // an error is reported again when the unit is read
            ranges: self.file.guarded(|| self.ranges()).ok()?,
            taken: self.rows_to_read.as_ref().map(taken).unwrap_or_default(),
        })
    }

    fn ranges(&self) -> Result<Vec<Range<u64>>> {
        let file = &self.file;
        let nothing_fetched = FetchedBytes::new(file.bytes.length());
        let missing = |file: &OpenFile, rows: &[Range<u64>], fetched: &FetchedBytes| {
            if rows.is_empty() {
                return Vec::new();
            }
            request(file, &self.unit, rows).missing(fetched)
        };
        Ok(match (&self.rows_to_read, &file.filter_pass) {
            (Some((rows, fetched)), _) => missing(file, rows, fetched),
            (None, None) => missing(file, &file.candidates(&self.unit)?, &nothing_fetched),
            (None, Some(filter_pass)) => {
                let rows = filter_pass.candidates(&self.unit)?;
                let mut ranges = missing(filter_pass, &rows, &nothing_fetched);
                if self.unit.bytes <= MAX_BYTES_AT_ONCE {
                    ranges.extend(missing(file, &rows, &nothing_fetched));
                }
                ranges
            }
        })
    }

    /// Passes the rows of the unit to `emit`. Returns the unit if other bytes must be fetched first, now
    /// that its rows are known.
    pub fn read(mut self, emit: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<Option<Self>> {
        let file = Arc::clone(&self.file);
        let Some((rows, mut fetched)) = self.rows_to_read.take() else {
            let mut fetched = FetchedBytes::new(file.bytes.length());
            let rows = file.rows_to_read(&self.unit, &mut fetched)?;
            self.rows_to_read = Some((rows, fetched));
            if file.filter_pass.is_some()
                && let Some(prefetch) = self.prefetch()
                && !prefetch.bytes.has(&prefetch.ranges)
            {
                return Ok(Some(self));
            }
            return self.read(emit);
        };
        for batch in file.read_rows(&self.unit, rows, &mut fetched)? {
            emit(batch?)?;
        }
        Ok(None)
    }
}
