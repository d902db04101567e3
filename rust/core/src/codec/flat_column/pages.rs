//! The pages of one flat column: decompressed into the same room one after the other, with the levels
//! that say which rows are null.

use std::ops::Range;

use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use super::hybrid::bits;
use crate::codec::parquet_file::{Page, PageHeader};
use crate::codec::room::Room;

/// Pages, one of which is open.
pub(super) struct Pages {
    chunk: Bytes,
    /// Those to come.
    pages: std::vec::IntoIter<Page>,
    codec: Codec,
    nullable: bool,
    /// What was decompressed last.
    room: Room,
    /// Where the values of the open page begin, and whether they lie in the room or in the chunk.
    values: Place,
}

enum Place {
    Chunk(Range<usize>),
    Room(Range<usize>),
}

enum Codec {
    Stored,
    Snappy(snap::raw::Decoder),
    Zstd(Box<zstd::bulk::Decompressor<'static>>),
}

/// What the page holds that was opened.
pub(super) enum Content {
    /// So many values.
    Dictionary(usize),
    Data(Rows, Encoding),
}

/// How the values of a page are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    /// Numbers in the dictionary.
    Indices,
    Runs,
}

impl Encoding {
    /// That of a page of data; `None` where it is another, or its levels are, if it has any.
    pub(super) fn of(header: &PageHeader, nullable: bool) -> Option<Self> {
        const RLE: Option<i64> = Some(3);
        if nullable && header.kind == PageHeader::DATA && header.level_encoding != RLE {
            return None;
        }
        match header.encoding? {
            0 => Some(Self::Plain),
            2 | 8 => Some(Self::Indices),
            3 => Some(Self::Runs),
            _ => None,
        }
    }
}

/// The rows of a page, those that are null among them.
pub(super) struct Rows {
    /// Those that were not given.
    pub(super) left: usize,
    /// `None` when none is null.
    valid: Option<NullBuffer>,
}

impl Rows {
    /// Those that hold a value.
    pub(super) fn values(&self) -> usize {
        let nulls = self.valid.as_ref().map_or(0, NullBuffer::null_count);
        self.left - nulls
    }

    /// Gives the next so many: which of them are valid, `None` for all.
    pub(super) fn take(&mut self, count: usize) -> Option<NullBuffer> {
        self.left -= count;
        let valid = self.valid.as_mut()?;
        let taken = valid.slice(0, count);
        *valid = valid.slice(count, self.left);
        (taken.null_count() > 0).then_some(taken)
    }
}

impl Pages {
    /// `None` where the codec is another.
    pub(super) fn new(
        chunk: &Bytes,
        pages: Vec<Page>,
        column: &ColumnChunkMetaData,
    ) -> Result<Option<Self>, ArrowError> {
        let codec = match column.compression() {
            Compression::UNCOMPRESSED => Codec::Stored,
            Compression::SNAPPY => Codec::Snappy(snap::raw::Decoder::new()),
            Compression::ZSTD(_) => Codec::Zstd(Box::new(zstd::bulk::Decompressor::new()?)),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            chunk: chunk.clone(),
            pages: pages.into_iter(),
            codec,
            nullable: column.column_descr().max_def_level() > 0,
            room: Room::default(),
            values: Place::Chunk(0..0),
        }))
    }

    /// The values of the open page.
    pub(super) fn values(&self) -> &[u8] {
        let values = match &self.values {
            Place::Chunk(range) => self.chunk.get(range.clone()),
            Place::Room(range) => self.room.as_ref().get(range.clone()),
        };
        values.unwrap_or_default()
    }

    /// Opens the next page.
    pub(super) fn open(&mut self) -> Result<Option<Content>, ArrowError> {
        let Some(Page { header, body }) = self.pages.next() else {
            return Ok(None);
        };
        let count = usize::try_from(header.values).map_err(|_| short())?;
        match header.kind {
            PageHeader::DICTIONARY => {
                self.unfold(&header, body)?;
                Ok(Some(Content::Dictionary(count)))
            }
            PageHeader::DATA => {
                self.unfold(&header, body)?;
                let mut levels = 0..0;
                if self.nullable {
                    let length = self.values().first_chunk().copied().ok_or_else(short)?;
                    levels = 4..(u32::from_le_bytes(length) as usize).saturating_add(4);
                }
                let rows = self.rows(self.values().get(levels.clone()), count)?;
                let (Place::Chunk(values) | Place::Room(values)) = &mut self.values;
                values.start += levels.end; // they lie within
                self.data(rows, &header)
            }
            PageHeader::DATA_V2 => {
                let [repetition, definition] = header.level_bytes;
                let lengths = (usize::try_from(repetition), usize::try_from(definition));
                let (Ok(repetition), Ok(definition)) = lengths else {
                    return Err(short());
                };
                let levels = body.start.checked_add(repetition);
                let levels = levels.and_then(|start| Some(start..start.checked_add(definition)?));
                let levels = levels
                    .filter(|levels| levels.end <= body.end)
                    .ok_or_else(short)?;
                let rows = self.rows(self.chunk.get(levels.clone()), count)?;
                self.unfold_behind(&header, levels.end - body.start, levels.end..body.end)?;
                self.data(rows, &header)
            }
            _ => Err(short()),
        }
    }

    fn data(&self, rows: Rows, header: &PageHeader) -> Result<Option<Content>, ArrowError> {
        let encoding = Encoding::of(header, self.nullable).ok_or_else(short)?;
        Ok(Some(Content::Data(rows, encoding)))
    }

    fn rows(&self, levels: Option<&[u8]>, count: usize) -> Result<Rows, ArrowError> {
        let mut valid = None;
        if self.nullable {
            let levels = bits(levels.ok_or_else(short)?, count).ok_or_else(short)?;
            valid = Some(NullBuffer::new(levels)).filter(|valid| valid.null_count() > 0);
        }
        Ok(Rows { left: count, valid })
    }

    fn unfold(&mut self, header: &PageHeader, body: Range<usize>) -> Result<(), ArrowError> {
        self.unfold_behind(header, 0, body)
    }

    /// Makes what the bytes unfold to the values; so many bytes that stood before are not among them.
    fn unfold_behind(
        &mut self,
        header: &PageHeader,
        before: usize,
        bytes: Range<usize>,
    ) -> Result<(), ArrowError> {
        if header.stored || matches!(self.codec, Codec::Stored) || bytes.is_empty() {
            self.values = Place::Chunk(bytes);
            return Ok(());
        }
        let length = usize::try_from(header.uncompressed).ok();
        let length = length
            .and_then(|length| length.checked_sub(before))
            .ok_or_else(short)?;
        if self.room.as_ref().len() < length {
            drop(std::mem::take(&mut self.room));
            self.room = Room::filled(length);
        }
        let from = self.chunk.get(bytes).unwrap_or_default();
        let to = self.room.bytes_mut().get_mut(..length).unwrap_or_default();
        let unfolded = match &mut self.codec {
            Codec::Stored => None,
            Codec::Snappy(snappy) => snappy.decompress(from, to).ok(),
            Codec::Zstd(zstd) => zstd.decompress_to_buffer(from, to).ok(),
        };
        if unfolded != Some(length) {
            let message = "a page does not unfold to the length that its header says";
            return Err(ArrowError::ParquetError(message.to_owned()));
        }
        self.values = Place::Room(0..length);
        Ok(())
    }
}

pub(super) fn short() -> ArrowError {
    ArrowError::ParquetError("a page holds fewer values than its header says".to_owned())
}
