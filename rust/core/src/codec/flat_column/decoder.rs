//! Columns whose pages hold values one behind the other, or their numbers in a dictionary.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;

use super::Read;
use super::hybrid::{Indices, Piece};
use super::pages::{Content, Encoding, Pages, Rows, short};
use super::validity::Validity;

/// What a column holds.
pub(super) trait Kind {
    /// Decoded values.
    type Values;

    /// None, with room for so many.
    fn values(&self, count: usize) -> Self::Values;

    /// Adds the next so many that the bytes hold; gives where those behind them begin. `None` where
    /// the bytes hold fewer, or these are more than an array can hold.
    fn append(
        &self,
        bytes: &[u8],
        start: usize,
        count: usize,
        values: &mut Self::Values,
    ) -> Option<usize>;

    /// Prepares a dictionary, which has all its entries.
    fn complete(_dictionary: &mut Self::Values) {}

    /// Adds entries of a dictionary; `None` where it lacks one, or the array cannot hold them.
    fn look_up(dictionary: &Self::Values, indices: &[u32], values: &mut Self::Values)
    -> Option<()>;

    /// Adds an entry of a dictionary so many times.
    fn repeat(
        dictionary: &Self::Values,
        index: u32,
        count: usize,
        values: &mut Self::Values,
    ) -> Option<()>;

    /// Moves the values from `start` on to the rows that are valid.
    fn spread(values: &mut Self::Values, start: usize, valid: &NullBuffer);

    /// The array of the values.
    fn finish(
        &self,
        values: Self::Values,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError>;
}

/// Decodes one column chunk.
pub(super) struct Decoder<K: Kind> {
    kind: K,
    pages: Pages,
    dictionary: K::Values,
    page: Option<(Rows, Place)>,
}

/// The values of a page that were not given.
enum Place {
    /// From this byte on.
    Plain(usize),
    Indices(Indices),
}

impl<K: Kind> Decoder<K> {
    pub(super) fn new(kind: K, pages: Pages) -> Self {
        Self {
            dictionary: kind.values(0),
            kind,
            pages,
            page: None,
        }
    }

    /// Opens the page that the next row is in; whether there is one.
    fn open(&mut self) -> Result<bool, ArrowError> {
        while self.page.as_ref().is_none_or(|(rows, _)| rows.left == 0) {
            match self.pages.open()? {
                None => return Ok(false),
                Some(Content::Dictionary(count)) => {
                    let bytes = self.pages.values();
                    let mut dictionary = self.kind.values(count.min(bytes.len()));
                    let end = self.kind.append(bytes, 0, count, &mut dictionary);
                    end.ok_or_else(short)?;
                    K::complete(&mut dictionary);
                    self.dictionary = dictionary;
                }
                Some(Content::Data(rows, encoding)) => {
                    let place = match encoding {
                        _ if rows.values() == 0 => Some(Place::Plain(0)),
                        Encoding::Plain => Some(Place::Plain(0)),
                        Encoding::Indices => Indices::new(self.pages.values()).map(Place::Indices),
                        Encoding::Runs => None,
                    };
                    self.page = Some((rows, place.ok_or_else(short)?));
                }
            }
        }
        Ok(true)
    }

    /// Adds the next so many values of the page.
    fn values(&mut self, count: usize, values: &mut K::Values) -> Result<(), ArrowError> {
        let bytes = self.pages.values();
        let given = match self.page.as_mut().map(|(_, place)| place) {
            None => None,
            Some(Place::Plain(at)) => {
                let end = self.kind.append(bytes, *at, count, values);
                end.map(|end| *at = end)
            }
            Some(Place::Indices(indices)) => {
                let dictionary = &self.dictionary;
                indices.take(bytes, count, |piece| match piece {
                    Piece::Repeated(index, many) => K::repeat(dictionary, index, many, values),
                    Piece::Each(indices) => K::look_up(dictionary, indices, values),
                })
            }
        };
        given.ok_or_else(|| {
            let message = "a page ends too early, or holds a value that is none";
            ArrowError::ParquetError(message.to_owned())
        })
    }
}

impl<K: Kind> Read for Decoder<K> {
    fn read(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let mut values = self.kind.values(rows);
        let mut validity = Validity::new(rows);
        while validity.rows() < rows && self.open()? {
            let Some((page, _)) = &mut self.page else {
                break;
            };
            let start = validity.rows();
            let count = page.left.min(rows - start);
            let valid = page.take(count);
            let nulls = valid.as_ref().map_or(0, NullBuffer::null_count);
            self.values(count - nulls, &mut values)?;
            if let Some(valid) = &valid {
                K::spread(&mut values, start, valid);
            }
            validity.append(count, valid);
        }
        self.kind.finish(values, validity.finish())
    }
}
