//! Commits and rows, read as they are pulled.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::commits::Commits;
use super::definition::Reading;
use super::derive::{Derived, Item, derive};
use super::epoch::Epochs;
use super::piece::Piece;
use super::read::{ChangedRows, changed_rows};
use super::{ChangeOptions, Changes};
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::rows::OrderedRows;

/// So many pieces are read as one stream.
const PIECES: usize = 1024;

/// What each commit of a range did, oldest first.
pub(super) struct DerivedCommits {
    source: Source,
    reading: Arc<Reading>,
    options: ChangeOptions,
    /// `None` for an empty range.
    log: Option<(Commits, Epochs)>,
}

impl DerivedCommits {
    pub(super) fn new(changes: &Changes) -> Result<Self> {
        let log = match (changes.range.versions, &changes.range.start) {
            (Some((first, last)), Some(start)) => Some((
                Commits::new(&changes.source.storage, first, last)?,
                Epochs::new(start, &changes.reading)?,
            )),
            _ => None,
        };
        Ok(Self {
            source: changes.source.clone(),
            reading: Arc::clone(&changes.reading),
            options: changes.options.clone(),
            log,
        })
    }

    /// Gives no more.
    pub(super) fn stop(&mut self) {
        self.log = None;
    }

    fn advance(&mut self) -> Option<Result<Derived>> {
        let (commits, epochs) = self.log.as_mut()?;
        let commit = commits.next()?;
        let derived = commit.and_then(|commit| {
            let facts = epochs.step(&commit, &self.reading)?;
            if self.options.require_feed && !facts.feed {
                return Err(feed_disabled(commit.stamp.version));
            }
            let has_key = !self.options.key.is_empty();
            derive(&commit, facts, &self.source.keys, has_key)
        });
        Some(derived)
    }
}

impl Iterator for DerivedCommits {
    type Item = Result<Derived>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if !matches!(next, Some(Ok(_))) {
            self.log = None;
        }
        next
    }
}

fn feed_disabled(version: u64) -> Error {
    let message = "the change data feed was off at this version, so that its writers recorded no \
                   changes: ask for versions at which `delta.enableChangeDataFeed` was true, or let \
                   the changes be derived from the files";
    Error::unsupported("changes.feed_disabled", message).at_version(version)
}

/// Changed rows, batch by batch.
pub struct ChangeRows {
    source: Source,
    reading: Arc<Reading>,
    commits: DerivedCommits,
    /// Work that was met while pieces were gathered.
    waiting: Option<Item>,
    current: Option<OrderedRows<ChangedRows>>,
    failed: Option<Error>,
}

impl ChangeRows {
    pub(super) fn new(changes: &Changes) -> Result<Self> {
        Ok(Self {
            source: changes.source.clone(),
            reading: Arc::clone(&changes.reading),
            commits: DerivedCommits::new(changes)?,
            waiting: None,
            current: None,
            failed: None,
        })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.reading.schema()
    }

    /// Pieces that can be read side by side; none at the end.
    fn gather(&mut self) -> Result<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        while pieces.len() < PIECES {
            let item = match self.waiting.take() {
                Some(item) => item,
                None => match self.commits.next() {
                    Some(Ok(derived)) => derived.work,
                    Some(Err(error)) => {
                        // what is known of earlier commits comes first
                        self.failed = Some(error);
                        break;
                    }
                    None => break,
                },
            };
            match item {
                Item::Pieces(more) => pieces.extend(more),
                Item::Compare { gone, new, .. } => {
                    pieces.extend(gone);
                    pieces.extend(new);
                }
            }
        }
        Ok(pieces)
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(batch) = current.next() {
                    return batch.map(Some);
                }
                self.current = None;
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let pieces = self.gather()?;
            if pieces.is_empty() {
                return match self.failed.take() {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            }
            self.current = Some(changed_rows(&self.source, &self.reading, pieces));
        }
    }
}

impl Iterator for ChangeRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.pull().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.current = None;
            self.waiting = None;
            self.commits.stop();
        }
        next
    }
}
