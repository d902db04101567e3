//! Rows of one file, and the changes to them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use crate::changes::range::commits::Stamp;
use crate::codec::deletion_vector::DeletionVector;
use crate::error::Result;
use crate::scan::ScanFile;
use crate::scan::data_file::DataFile;
use crate::spec::DeletionVectorDescriptor;
use crate::storage::PathResolver;

/// The change to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// Deleted.
    Delete,
    /// The row before an update.
    UpdatePreimage,
    /// The row after an update.
    UpdatePostimage,
    /// Inserted.
    Insert,
}

impl ChangeType {
    /// Returns its name in `_change_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::UpdatePreimage => "update_preimage",
            Self::UpdatePostimage => "update_postimage",
            Self::Insert => "insert",
        }
    }

    /// Returns its number in a column; see [`ChangeType::from_number`].
    pub(in crate::changes) fn number(self) -> u8 {
        self as u8
    }

    /// Converts a number of [`ChangeType::number`] back.
    pub(in crate::changes) fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Delete,
            1 => Self::UpdatePreimage,
            2 => Self::UpdatePostimage,
            _ => Self::Insert,
        }
    }
}

/// The selection of rows to read from a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) enum PieceRows {
    /// The rows that the file's deletion vector keeps.
    Live,
    /// The rows that are in one deletion vector but not in the other.
    Between {
        #[serde(rename = "of")]
        included: DeletionVectorDescriptor,
        #[serde(rename = "but")]
        excluded: Option<DeletionVectorDescriptor>,
    },
    /// These rows; never in a split.
    #[serde(skip)]
    Only(Arc<DeletionVector>),
    /// All rows to return and possibly others, already read for comparison, with their codes; never in a
    /// split.
    #[serde(skip)]
    Read(Arc<Vec<RecordBatch>>),
}

/// The change to a row as one number: its type, and the index of its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::changes) struct ChangeCode(u32);

impl ChangeCode {
    /// The row is not reported.
    pub(in crate::changes) const NONE: Self = Self(u32::MAX);

    /// Combines a type and an index; `None` if the index is too large.
    pub(in crate::changes) fn new(change: ChangeType, stamp: usize) -> Option<Self> {
        let stamp = u32::try_from(stamp).ok().filter(|stamp| *stamp < 1 << 29)?;
        Some(Self(stamp << 2 | u32::from(change.number())))
    }

    /// Converts a number of [`ChangeCode::number`] back.
    pub(in crate::changes) fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(in crate::changes) fn number(self) -> u32 {
        self.0
    }

    pub(in crate::changes) fn change(self) -> ChangeType {
        ChangeType::from_number((self.0 & 3) as u8)
    }

    /// Returns the index of the commit.
    pub(in crate::changes) fn stamp(self) -> usize {
        (self.0 >> 2) as usize
    }
}

/// The change to consecutive rows, with its commit.
#[derive(Clone, Copy, Debug)]
pub(in crate::changes) struct RowLabel {
    /// The position of the first row in its file.
    pub row: u64,
    /// The number of rows.
    pub rows: u32,
    pub change: ChangeType,
    pub stamp: Stamp,
}

/// The changes to the rows of a piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) enum Labels {
    /// The same change for all rows.
    All(ChangeType, Stamp),
    /// The file has a column with the change of each row.
    InFile(Stamp),
    /// A change for each run of rows, ascending; never in a split.
    #[serde(skip)]
    Each(Arc<Vec<RowLabel>>),
    /// The last column has the [`ChangeCode`] of each row, with an index into these commits; never in a
    /// split.
    #[serde(skip)]
    Coded(Arc<Vec<Stamp>>),
}

/// Changed rows of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::changes) struct Piece {
    pub file: ScanFile,
    pub rows: PieceRows,
    pub labels: Labels,
}

impl Piece {
    /// Creates a piece of the rows that a file's own vector keeps.
    pub(in crate::changes) fn live(file: ScanFile, change: ChangeType, stamp: Stamp) -> Self {
        Self {
            file,
            rows: PieceRows::Live,
            labels: Labels::All(change, stamp),
        }
    }

    /// Returns the version of the changes, for error messages.
    pub(in crate::changes) fn version(&self) -> Option<u64> {
        match &self.labels {
            Labels::All(_, stamp) | Labels::InFile(stamp) => Some(stamp.version),
            Labels::Each(labels) => labels.first().map(|label| label.stamp.version),
            Labels::Coded(stamps) => stamps.first().map(|stamp| stamp.version),
        }
    }

    /// Returns the size of the file in bytes.
    pub(in crate::changes) fn bytes(&self) -> u64 {
        u64::try_from(self.file.size).unwrap_or_default()
    }

    /// Returns the deletion vectors that determine the rows to read.
    pub(super) fn vectors(&self) -> [Option<DeletionVectorDescriptor>; 2] {
        match &self.rows {
            PieceRows::Live => [self.file.deletion_vector.clone(), None],
            PieceRows::Between { included, excluded } => [Some(included.clone()), excluded.clone()],
            PieceRows::Only(_) | PieceRows::Read(_) => [None, None],
        }
    }

    /// Returns the file with the rows to read, from its loaded deletion vectors; `None` if there are no rows.
    pub(super) fn data_file(
        &self,
        resolver: &PathResolver,
        vectors: [Option<Arc<DeletionVector>>; 2],
    ) -> Result<Option<DataFile<'_>>> {
        let [first, second] = vectors;
        let only = match &self.rows {
            PieceRows::Live => return self.file.data_file(resolver, first).map(Some),
            PieceRows::Between { .. } => match (first, second) {
                (Some(included), Some(excluded)) => Some(Arc::new(included.difference(&excluded)?)),
                (included, _) => included,
            },
            PieceRows::Only(rows) => Some(Arc::clone(rows)),
            PieceRows::Read(_) => None,
        };
        let Some(only) = only.filter(|only| !only.is_empty()) else {
            return Ok(None);
        };
        let file = self.file.data_file(resolver, None)?;
        Ok(Some(DataFile {
            only: Some(only),
            ..file
        }))
    }
}

#[cfg(test)]
mod tests;
