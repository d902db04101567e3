//! Columns of booleans, which stay packed.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_schema::ArrowError;

use super::Read;
use super::hybrid::bits;
use super::pages::{Content, Encoding, Pages, Rows, short};
use super::validity::Validity;

pub(super) struct Booleans {
    pages: Pages,
    /// The rows of the page, and the values that are left in it.
    page: Option<(Rows, BooleanBuffer)>,
}

impl Booleans {
    pub(super) fn new(pages: Pages) -> Self {
        Self { pages, page: None }
    }

    /// Opens the page that the next row is in; whether there is one.
    fn open(&mut self) -> Result<bool, ArrowError> {
        while self.page.as_ref().is_none_or(|(rows, _)| rows.left == 0) {
            match self.pages.open()? {
                None => return Ok(false),
                Some(Content::Dictionary(_)) => {}
                Some(Content::Data(rows, encoding)) => {
                    let values = values(self.pages.values(), encoding, rows.values());
                    self.page = Some((rows, values.ok_or_else(short)?));
                }
            }
        }
        Ok(true)
    }
}

impl Read for Booleans {
    fn read(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let mut values = BooleanBufferBuilder::new(rows);
        let mut validity = Validity::new(rows);
        while values.len() < rows && self.open()? {
            let Some((page, left)) = &mut self.page else {
                break;
            };
            let count = page.left.min(rows - values.len());
            let valid = page.take(count);
            let nulls = valid.as_ref().map_or(0, NullBuffer::null_count);
            let taken = left.slice(0, count - nulls);
            *left = left.slice(count - nulls, left.len() - taken.len());
            match &valid {
                None => values.append_buffer(&taken),
                Some(valid) => {
                    let mut taken = taken.iter();
                    for valid in valid {
                        values.append(valid && taken.next().unwrap_or_default());
                    }
                }
            }
            validity.append(count, valid);
        }
        let array = BooleanArray::new(values.finish(), validity.finish());
        Ok(Arc::new(array))
    }
}

/// The booleans of a page.
fn values(bytes: &[u8], encoding: Encoding, count: usize) -> Option<BooleanBuffer> {
    match encoding {
        _ if count == 0 => Some(BooleanBuffer::new_unset(0)),
        Encoding::Plain => {
            let bytes = bytes.get(..count.div_ceil(8))?;
            Some(BooleanBuffer::new(Buffer::from(bytes), 0, count))
        }
        // their length comes first
        Encoding::Runs => bits(bytes.get(4..)?, count),
        Encoding::Indices => None,
    }
}
