//! Decodes a row group whose dictionaries were already read for the batch plan, without decompressing them a
//! second time.

use std::cell::RefCell;
use std::iter;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::fetched::FetchedBytes;

/// A page reader of a column chunk whose dictionary page is in memory.
pub(super) struct CachedDictionaryReader {
    dictionary: Option<Page>,
    rest: SerializedPageReader<FetchedBytes>,
}

impl CachedDictionaryReader {
    /// Combines a dictionary with the pages after it, `rest`.
    pub(super) fn new(dictionary: Page, rest: SerializedPageReader<FetchedBytes>) -> Self {
        Self {
            dictionary: Some(dictionary),
            rest,
        }
    }
}

impl Iterator for CachedDictionaryReader {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CachedDictionaryReader {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        match self.dictionary.take() {
            Some(dictionary) => Ok(Some(dictionary)),
            None => self.rest.get_next_page(),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.dictionary.is_none() {
            return self.rest.peek_next_page();
        }
        Ok(Some(PageMetadata {
            num_rows: None,
            num_levels: None,
            is_dict: true,
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        match self.dictionary.take() {
            Some(_) => Ok(()),
            None => self.rest.skip_next_page(),
        }
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.rest.at_record_boundary()
    }
}

/// A row group with the column chunks whose dictionaries were read, by leaf.
struct RowGroup<'a> {
    metadata: &'a ParquetMetaData,
    index: usize,
    group: &'a RowGroupMetaData,
    fetched: Arc<FetchedBytes>,
    known: RefCell<Vec<(usize, CachedDictionaryReader)>>,
}

impl RowGroups for RowGroup<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group.num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let mut known = self.known.borrow_mut();
        let position = known.iter().position(|(known, _)| *known == leaf);
        let reader: Box<dyn PageReader> = match position {
            Some(position) => Box::new(known.swap_remove(position).1),
            None => {
                let column = self.group.column(leaf);
                let index = self.metadata.page_index();
                let pages = index.and_then(|index| index.page_locations(self.index, leaf).cloned());
                let fetched = Arc::clone(&self.fetched);
                Box::new(SerializedPageReader::new(
                    fetched,
                    column,
                    self.num_rows(),
                    pages,
                )?)
            }
        };
        Ok(Box::new(Chunk(Some(reader))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(iter::once(self.group))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// The single chunk of a column in a row group.
struct Chunk(Option<Box<dyn PageReader>>);

impl Iterator for Chunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for Chunk {}

/// Begins to decode all rows of some leaves of a row group.
pub(super) fn reader(
    file: &ArrowReaderMetadata,
    (index, group): (usize, &RowGroupMetaData),
    leaves: Vec<usize>,
    fetched: &FetchedBytes,
    batch_rows: usize,
    known: Vec<(usize, CachedDictionaryReader)>,
) -> Result<ParquetRecordBatchReader> {
    let metadata = file.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let mask = ProjectionMask::leaves(schema, leaves);
    let levels = parquet_to_arrow_field_levels(schema, mask, Some(file.schema().fields()))?;
    let row_group = RowGroup {
        metadata,
        index,
        group,
        fetched: Arc::new(fetched.clone()),
        known: RefCell::new(known),
    };
    let batch_rows = batch_rows.min(row_group.num_rows());
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &row_group, batch_rows, None)
}
