//! Changes of rows between two versions of a table, as rows.
//!
//! [`range`] determines the commits, [`range::commits`] reads them, [`range::derive`] determines which rows
//! of which files each commit removed and added, and [`rows::read`] reads these rows. If files were
//! rewritten, [`net::compare`] separates changed rows from copied rows. [`net`] follows rows through all
//! commits, in one process or by a [`net::shuffle`]; [`net::endpoints`] compares the first and the last
//! version if that suffices. Commits and rows of full changes are read on demand. Plans are plain values, so
//! that other processes can read the rows.
//!
//! Protocol: "Add CDC File", "Change Data Files", "Row Tracking", "Deletion Vectors".

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::codec::batches::Batches;
use crate::error::Result;
use crate::expr::Predicate;
use crate::replay::Source;

pub mod diff;
pub mod follow;
mod net;
mod plan;
mod range;
mod rows;

pub use net::Net;
pub use net::shuffle::{Shuffle, Shuffled};
pub use range::Edge;
pub use range::derive::MatchBy;
pub use rows::explain::Explained;
pub use rows::piece::ChangeType;
pub use rows::split::{Split, WholeFile};

use plan::IdentityOptions;
use range::Range;
use rows::row_schema::{ChangesDefinition, ResolvedDefinition};
use rows::stream;

/// A kind of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Every change of every commit.
    #[default]
    Full,
    /// The net outcome of the range.
    Net(Net),
}

impl Kind {
    fn net(self) -> Option<Net> {
        match self {
            Self::Full => None,
            Self::Net(net) => Some(net),
        }
    }
}

/// The requested changes and their form.
#[derive(Clone, Debug, Default)]
pub struct ChangeOptions {
    /// The kind of changes.
    pub kind: Kind,
    /// Logical names of the requested columns, in order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter of the changed rows; `None` for all.
    pub filter: Option<Predicate>,
    /// Columns that identify rows, for tables without row tracking.
    pub key: Vec<String>,
    /// The maximum number of rows held for comparison; `None` for four million.
    pub most_rows: Option<usize>,
    /// Fail at versions at which the change data feed was disabled, as delta-spark does.
    pub require_feed: bool,
    /// Return no rows for a range after the newest version, instead of an error.
    pub allow_out_of_range: bool,
    /// The version that counts as the newest; `None` for the newest of the table.
    pub newest: Option<u64>,
}

/// The changes of a range of versions. The log of the range is read on demand. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Changes {
    source: Source,
    range: Range,
    definition: ChangesDefinition,
    resolved: Arc<ResolvedDefinition>,
    identity_options: IdentityOptions,
    options: ChangeOptions,
}

impl Changes {
    /// Creates the changes from `start` to `end`, both inclusive; `end` defaults to the newest version.
    ///
    /// # Errors
    ///
    /// As [`load`](crate::snapshot::load::load). Invalid argument: `changes.range`, and those of
    /// the columns, of the filter and of the key. Version not found: `changes.start`, `version.timestamp`.
    pub fn new(
        source: &Source,
        start: Edge,
        end: Option<Edge>,
        strict: bool,
        options: ChangeOptions,
    ) -> Result<Self> {
        let range = range::resolve(source, start, end, strict, &options)?;
        let definition = ChangesDefinition::new(
            &range.end,
            range.start.as_ref(),
            options.columns.clone(),
            options.filter.as_ref(),
        );
        let resolved = Arc::new(definition.resolve()?);
        resolved.check_key(&options.key)?;
        Ok(Self {
            source: source.clone(),
            identity_options: IdentityOptions::new(&options.key, options.most_rows),
            resolved,
            definition,
            range,
            options,
        })
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.resolved.schema()
    }

    /// Returns the first and the last version; `None` if the range has no commit.
    pub fn versions(&self) -> Option<(u64, u64)> {
        self.range.versions
    }

    /// Returns the version whose columns the rows have.
    pub fn end_version(&self) -> u64 {
        self.range.end.version()
    }

    /// Returns the rows: commits in order. Within a commit, the rows of change data files are in the order of the
    /// files; otherwise removed rows come before added rows, in each share if rows are compared in shares. Net
    /// changes are in the order of the files that contain them.
    ///
    /// # Errors
    ///
    /// As [`Changes::explain`]. The batches also have the errors of the data files, `changes.key` (Invalid
    /// argument) if several changed rows of a commit have the same key, and `changes.row_id` (Corrupt).
    pub fn rows(&self) -> Result<Batches> {
        stream::changed_rows_of(self)
    }
}
