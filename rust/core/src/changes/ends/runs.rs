//! Rows of pieces as runs: ids that follow each other, in rows that follow each other.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::changes::definition::{Purpose, Reading};
use crate::changes::identify::{Share, long, odd, tracked};
use crate::changes::piece::Piece;
use crate::changes::read::{blame, units};
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::data_file::{OpenFile, Unit};
use crate::scan::rows::{Give, Look, OrderedRows, Work};

/// Rows of one file. 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The id of the first one.
    pub id: i64,
    /// The position of the first one in the file.
    pub row: u64,
    /// The commit that gave all of them their values.
    pub version: i64,
    /// Its piece.
    pub piece: u32,
    /// How many rows.
    pub rows: u32,
}

impl Run {
    /// The id behind the last one.
    pub(super) fn end(&self) -> i64 {
        self.id.saturating_add(i64::from(self.rows))
    }

    /// The rows with ids in `from..to`, which it has.
    pub(super) fn cut(&self, from: i64, to: i64) -> Self {
        let skipped = from.saturating_sub(self.id);
        Self {
            id: from,
            row: self.row.saturating_add(u64::try_from(skipped).unwrap_or(0)),
            rows: u32::try_from(to.saturating_sub(from)).unwrap_or(0),
            ..*self
        }
    }

    fn is_followed_by(&self, piece: u32, row: u64, id: i64, version: i64) -> bool {
        piece == self.piece
            && version == self.version
            && self.row.checked_add(u64::from(self.rows)) == Some(row)
            && self.id.checked_add(i64::from(self.rows)) == Some(id)
            && self.rows < u32::MAX
    }
}

/// Reads the ids of these pieces' rows that are in the share, and gives their runs in the pieces'
/// order, as long as `take` wants more.
pub(super) fn read(
    source: &Source,
    reading: &Arc<Reading>,
    share: Share,
    pieces: Vec<Piece>,
    take: &mut dyn FnMut(Run) -> bool,
) -> Result<()> {
    let work = Ids {
        source: source.clone(),
        reading: Arc::clone(reading),
        share,
        pieces,
    };
    for batch in OrderedRows::new(work, Look::default()) {
        for run in runs_of(&batch?)? {
            if !take(run) {
                return Ok(());
            }
        }
    }
    Ok(())
}

struct Ids {
    source: Source,
    reading: Arc<Reading>,
    share: Share,
    pieces: Vec<Piece>,
}

impl Work for Ids {
    type Unit = (usize, Arc<OpenFile>, Unit);

    fn files(&self) -> usize {
        self.pieces.len()
    }

    fn open(&self, number: usize) -> Result<Vec<Self::Unit>> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(Vec::new());
        };
        let units = units(&self.source, &self.reading, piece, Purpose::RowIds)?.into_iter();
        Ok(units.map(|(open, unit)| (number, open, unit)).collect())
    }

    fn read(&self, (number, open, unit): Self::Unit, give: &mut Give<'_>) -> Result<()> {
        let Some(piece) = self.pieces.get(number) else {
            return Ok(());
        };
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let at = |error| blame(error, piece);
        let mut runs: Vec<Run> = Vec::new();
        for batch in open.read(&*self.source.storage, &unit).map_err(at)? {
            self.runs(number, &batch.map_err(at)?, &mut runs)
                .map_err(at)?;
        }
        if runs.is_empty() {
            return Ok(());
        }
        give(batch_of(&runs)?)
    }

    fn passes_over(&self, _: usize, _: &Error) -> bool {
        false
    }
}

impl Ids {
    fn runs(&self, piece: u32, batch: &RecordBatch, runs: &mut Vec<Run>) -> Result<()> {
        let rows = long(batch.columns().first())?.values().iter();
        let ids = tracked(batch.columns().get(1))?.values().iter();
        let versions = tracked(batch.columns().get(2))?;
        for ((row, id), version) in rows.zip(ids).zip(versions.values()) {
            if !self.share.has_id(*id) {
                continue;
            }
            let row = row.cast_unsigned();
            match runs.last_mut() {
                Some(last) if last.is_followed_by(piece, row, *id, *version) => last.rows += 1,
                _ => runs.push(Run {
                    id: *id,
                    row,
                    version: *version,
                    piece,
                    rows: 1,
                }),
            }
        }
        Ok(())
    }
}

fn batch_of(runs: &[Run]) -> Result<RecordBatch> {
    let longs = |value: &dyn Fn(&Run) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(runs.iter().map(value)))
    };
    let numbers = |value: &dyn Fn(&Run) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(runs.iter().map(value)))
    };
    let columns = vec![
        longs(&|run| run.id),
        longs(&|run| run.row.cast_signed()),
        longs(&|run| run.version),
        numbers(&|run| run.piece),
        numbers(&|run| run.rows),
    ];
    let types = [DataType::Int64, DataType::Int64, DataType::Int64];
    let types = types
        .into_iter()
        .chain([DataType::UInt32, DataType::UInt32]);
    let fields: Vec<Field> = ["id", "row", "version", "piece", "rows"]
        .into_iter()
        .zip(types)
        .map(|(name, data_type)| Field::new(name, data_type, false))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|cause: ArrowError| odd().because(cause))
}

fn runs_of(batch: &RecordBatch) -> Result<impl Iterator<Item = Run>> {
    let [id, row, version, piece, rows] = batch.columns() else {
        return Err(odd());
    };
    let longs = |column: &ArrayRef| {
        let column = column.as_primitive_opt::<Int64Type>().ok_or_else(odd)?;
        Ok::<_, Error>(column.values().clone())
    };
    let numbers = |column: &ArrayRef| {
        let column = column.as_primitive_opt::<UInt32Type>().ok_or_else(odd)?;
        Ok::<_, Error>(column.values().clone())
    };
    let (id, row, version) = (longs(id)?, longs(row)?, longs(version)?);
    let (piece, rows) = (numbers(piece)?, numbers(rows)?);
    Ok((0..batch.num_rows()).filter_map(move |at| {
        Some(Run {
            id: *id.get(at)?,
            row: row.get(at)?.cast_unsigned(),
            version: *version.get(at)?,
            piece: *piece.get(at)?,
            rows: *rows.get(at)?,
        })
    }))
}
