//! Columns without levels but that of null, decoded from whole pages straight into arrays: numbers, dates,
//! timestamps, decimals, booleans, strings.
//!
//! A column's pages are unfolded into the same room, one after the other; a page's values are copied
//! once, to where they stay; booleans stay packed; nothing is filled with zeros first. What is written
//! in another way (other encodings and codecs, timestamps of 96 bits, lists) is left to the Parquet
//! library, which decodes everything.
//!
//! Protocol: Apache Parquet, "Data Pages", "Encodings", "Decimal".

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType as ArrowType};
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescriptor;

use self::booleans::Booleans;
use self::decoder::Decoder;
use self::fixed::{Append, Fixed, decimals, decimals_of_longs, decimals_of_words, longs, words};
use self::pages::{Encoding, Pages};
use self::strings::Strings;
use super::parquet_file::{Page, PageHeader};

mod booleans;
mod decoder;
mod fixed;
mod hybrid;
mod pages;
mod strings;
mod unpack;
mod validity;

/// One column chunk, decoded rows by rows.
pub(crate) struct FlatColumn(Box<dyn Read + Send>);

/// Gives the next rows, at most so many.
trait Read {
    fn read(&mut self, rows: usize) -> Result<ArrayRef, ArrowError>;
}

impl FlatColumn {
    /// Begins with the first of the pages, which lie in the chunk; `None` where the column is of another
    /// kind, or written in another way.
    ///
    /// # Errors
    ///
    /// A codec does not start.
    pub(crate) fn new(
        chunk: &Bytes,
        pages: Vec<Page>,
        column: &ColumnChunkMetaData,
        data_type: &ArrowType,
    ) -> Result<Option<Self>, ArrowError> {
        let described = column.column_descr();
        let flat = described.path().parts().len() == 1
            && described.max_rep_level() == 0
            && described.max_def_level() <= 1;
        if !flat || !pages.iter().all(|page| is_known(page, described)) {
            return Ok(None);
        }
        let pages = Pages::new(chunk, pages, column)?;
        Ok(pages.and_then(|pages| reader(described, data_type, pages).map(Self)))
    }

    /// The next rows, at most so many.
    ///
    /// # Errors
    ///
    /// The pages do not decode.
    pub(crate) fn read(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        self.0.read(rows)
    }
}

/// Whether the page of a flat column is written in a way that is known here.
fn is_known(page: &Page, column: &ColumnDescriptor) -> bool {
    let booleans = column.physical_type() == PhysicalType::BOOLEAN;
    match Encoding::of(&page.header, column.max_def_level() > 0) {
        _ if page.header.kind == PageHeader::DICTIONARY => {
            matches!(page.header.encoding, Some(0 | 2))
        }
        Some(Encoding::Plain) => true,
        Some(Encoding::Indices) => !booleans,
        Some(Encoding::Runs) => booleans,
        None => false,
    }
}

/// By what is written, and what it becomes.
fn reader(
    column: &ColumnDescriptor,
    data_type: &ArrowType,
    pages: Pages,
) -> Option<Box<dyn Read + Send>> {
    use ArrowType::{
        Binary, Boolean, Date32, Decimal128, Float32, Float64, Int32, Int64, Timestamp, Utf8,
    };
    use PhysicalType::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64};
    let decimals = |width, append| Fixed::new(data_type, width, append);
    Some(match (column.physical_type(), data_type) {
        (BOOLEAN, Boolean) => Box::new(Booleans::new(pages)),
        (INT32, Int32 | Date32) | (FLOAT, Float32) => {
            Box::new(Decoder::new(Fixed::new(data_type, 4, words), pages))
        }
        (INT64, Int64 | Timestamp(..)) | (DOUBLE, Float64) => {
            Box::new(Decoder::new(Fixed::new(data_type, 8, longs), pages))
        }
        (INT32, Decimal128(..)) => Box::new(Decoder::new(decimals(4, decimals_of_words), pages)),
        (INT64, Decimal128(..)) => Box::new(Decoder::new(decimals(8, decimals_of_longs), pages)),
        (FIXED_LEN_BYTE_ARRAY, Decimal128(..)) => {
            let (width, append) = decimals_of(column.type_length())?;
            Box::new(Decoder::new(decimals(width, append), pages))
        }
        (BYTE_ARRAY, Utf8) => Box::new(Decoder::new(Strings { text: true }, pages)),
        (BYTE_ARRAY, Binary) => Box::new(Decoder::new(Strings { text: false }, pages)),
        _ => return None,
    })
}

/// The width, and the decoder, of decimals of so many bytes each.
fn decimals_of(length: i32) -> Option<(usize, Append<i128>)> {
    macro_rules! choose {
        ($($width:literal)*) => {
            match length {
                $($width => Some(($width, decimals::<$width>)),)*
                _ => None,
            }
        };
    }
    choose!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
