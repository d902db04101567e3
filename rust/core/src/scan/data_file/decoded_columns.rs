//! The columns of one unit, each by its decoder.

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelectionPolicy,
};

use super::open::{OpenFile, Unit};
use crate::codec::flat_column::FlatColumn;
use crate::codec::parquet_file::{Chunks, Page, Selected};
use crate::codec::squeeze::Runs;

/// Decodes the columns of one unit, batch by batch.
pub(super) struct DecodedColumns {
    /// In the order of the file: the flat ones, and `None` for each of the others.
    order: Vec<Option<FlatColumn>>,
    /// All columns that are not flat, if any are.
    others: Option<ParquetRecordBatchReader>,
    /// Rows to come, where there is no other column.
    left: usize,
    batch_rows: usize,
}

impl DecodedColumns {
    /// From what was fetched of the wanted ranges, and the pages in each; `selection` where not all rows
    /// are decoded.
    pub(super) fn new(
        file: &OpenFile,
        unit: &Unit,
        wanted: &Selected,
        fetched: Vec<Bytes>,
        mut pages: Vec<Vec<Page>>,
        selection: Option<(RowSelection, RowSelectionPolicy)>,
    ) -> Result<Self, ArrowError> {
        let metadata = file.arrow.metadata();
        let parquet = metadata.file_metadata().schema_descr();
        let group = metadata.row_group(unit.row_group);
        let mut order = Vec::new();
        let mut others = Vec::new();
        let mut last = None;
        for leaf in file.leaves.iter().copied() {
            let root = parquet.get_column_root_idx(leaf);
            let mut flat = None;
            if let (None, Some(number)) = (&selection, wanted.whole(leaf))
                && let (Some(chunk), Some(pages)) = (fetched.get(number), pages.get_mut(number))
            {
                let data_type = file.arrow.schema().field(root).data_type();
                let pages = std::mem::take(pages);
                flat = FlatColumn::new(chunk, pages, group.column(leaf), data_type)?;
            }
            if flat.is_none() {
                others.push(leaf);
            }
            if last.replace(root) != Some(root) {
                order.push(flat);
            }
        }
        let rows = usize::try_from(group.num_rows()).unwrap_or_default();
        Ok(Self {
            order,
            others: if others.is_empty() {
                None
            } else {
                let mut reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
                    Chunks::new(&wanted.ranges, fetched, file.length),
                    file.arrow.clone(),
                )
                .with_projection(ProjectionMask::leaves(parquet, others))
                .with_batch_size(file.batch_rows)
                .with_row_groups(vec![unit.row_group]);
                if let Some((rows, policy)) = selection {
                    reader = reader
                        .with_row_selection_policy(policy)
                        .with_row_selection(rows);
                }
                Some(reader.build()?)
            },
            left: rows,
            batch_rows: file.batch_rows,
        })
    }

    /// The next rows: how many, and their columns; `kept` says what stays of so many, if not all do.
    pub(super) fn advance(
        &mut self,
        mut kept: impl FnMut(usize) -> Result<Option<Runs>, ArrowError>,
    ) -> Result<Option<(usize, Vec<ArrayRef>)>, ArrowError> {
        let (rows, mut others) = match &mut self.others {
            None => (self.left.min(self.batch_rows), Vec::new().into_iter()),
            Some(reader) => match reader.next().transpose()? {
                None => return Ok(None),
                Some(batch) => {
                    let (_, columns, rows) = batch.into_parts();
                    (rows, columns.into_iter())
                }
            },
        };
        self.left = self.left.saturating_sub(rows);
        if rows == 0 {
            return Ok(None);
        }
        let runs = kept(rows)?;
        let mut columns = Vec::with_capacity(self.order.len());
        for flat in &mut self.order {
            let column = match flat {
                Some(flat) => Some(flat.read(rows)?),
                None => others.next(),
            };
            let column = column
                .filter(|column| column.len() == rows)
                .ok_or_else(|| {
                    let message = "a column has fewer rows than its row group";
                    ArrowError::ParquetError(message.to_owned())
                })?;
            columns.push(match &runs {
                None => column,
                // while it is in the processor's caches
                Some(runs) => runs.squeeze(column)?,
            });
        }
        Ok(Some((runs.map_or(rows, |runs| runs.rows()), columns)))
    }
}
