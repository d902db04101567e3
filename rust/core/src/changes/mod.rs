//! The changes to the rows of a table between two versions, as rows.
//!
//! [`range`] determines the commits, [`range::commits`] reads them, [`range::derive`] finds which rows of which files each
//! of them removed and added, [`rows::read`] returns those rows. If files were rewritten, [`net::compare`] separates
//! rows that changed from rows that were copied; [`net`] follows rows through all of the
//! commits, on one machine or by a [`net::shuffle`]; [`net::endpoints`] compares the bounds of a range where that is
//! enough. Full changes stream: commits and rows are read as they are pulled. Everything is planned in
//! plain values, so that other processes may read.
//!
//! Protocol: "Add CDC File", "Change Data Files", "Row Tracking", "Deletion Vectors".

use std::sync::Arc;

use arrow_schema::SchemaRef;

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
pub use net::shuffle::{OutcomeBatches, RowEvents, ShownRows, Shuffle, Shuffled};
pub use range::Edge;
pub use range::derive::Way;
pub use rows::explain::Explained;
pub use rows::piece::ChangeType;
pub use rows::split::{Split, WholeFile};
pub use rows::stream::ChangeRows;

use plan::IdentityOptions;
use range::Range;
use rows::row_schema::{ChangesDefinition, Reading};

/// A kind of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Every change of every commit.
    #[default]
    Full,
    /// The net outcome of the range.
    Net(Net),
}

/// The changes that are requested, and their form.
#[derive(Clone, Debug, Default)]
pub struct ChangeOptions {
    /// The kind of changes.
    pub kind: Kind,
    /// Logical names of the table's columns in the order wanted; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter of the changed rows; `None` for all.
    pub filter: Option<Predicate>,
    /// Columns that identify rows, where the table itself does not.
    pub key: Vec<String>,
    /// The number of rows that may be held to be compared; `None` for four million.
    pub most_rows: Option<usize>,
    /// Refuse versions at which the change data feed was off, as the reference does.
    pub require_feed: bool,
    /// A range that is after the newest version is empty rather than an error.
    pub allow_out_of_range: bool,
}

/// The changes of a range of versions; the log of the range is not read yet. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Changes {
    source: Source,
    range: Range,
    definition: ChangesDefinition,
    reading: Arc<Reading>,
    identity_options: IdentityOptions,
    options: ChangeOptions,
}

impl Changes {
    /// The changes from `start` to `end`, both included; `None` is the newest version.
    ///
    /// # Errors
    ///
    /// The errors of the range (`changes.range`, `changes.start`, `version.timestamp`,
    /// `version.not_found`), of the columns and of the filter.
    pub fn new(
        source: &Source,
        start: Edge,
        end: Option<Edge>,
        strict: bool,
        options: ChangeOptions,
    ) -> Result<Self> {
        let range = range::resolve(source, start, end, strict, options.allow_out_of_range)?;
        let definition = ChangesDefinition::new(
            &range.end,
            range.start.as_ref(),
            options.columns.clone(),
            options.filter.as_ref(),
        );
        let reading = Arc::new(definition.reading()?);
        reading.check_key(&options.key)?;
        Ok(Self {
            source: source.clone(),
            identity_options: IdentityOptions::new(&options.key, options.most_rows),
            reading,
            definition,
            range,
            options,
        })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.reading.schema()
    }

    /// First and last version; `None` where the range has no commit.
    pub fn versions(&self) -> Option<(u64, u64)> {
        self.range.versions
    }

    /// The rows: commits in their order, in each the removed rows before the added ones. Net
    /// changes come in the order of the files that hold them.
    pub fn rows(&self) -> Result<ChangeRows> {
        ChangeRows::of_changes(self)
    }

    fn net(&self) -> Option<Net> {
        match self.options.kind {
            Kind::Full => None,
            Kind::Net(net) => Some(net),
        }
    }
}
