//! Streams changed rows: commits and files are read on demand.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::piece::Piece;
use super::read::{PieceBatches, changed_rows};
use super::row_schema::ResolvedDefinition;
use crate::changes::net::compare::{Compared, compare};
use crate::changes::net::endpoints;
use crate::changes::net::identify::{RowIdentity, Share, ShareReader};
use crate::changes::net::net;
use crate::changes::plan::{IdentityOptions, NetPlan, Task, tasks_of_commits};
use crate::changes::range::derive::CommitRows;
use crate::changes::{Changes, Kind};
use crate::codec::batches::Batches;
use crate::error::{Error, Result};
use crate::replay::Source;

/// A stream with this many pieces reads them before it gets more tasks.
const MAX_PIECES: usize = 1024;

type Tasks = Box<dyn Iterator<Item = Result<Task>> + Send>;

/// Changed rows, batch by batch.
struct ChangeRows {
    source: Source,
    resolved: Arc<ResolvedDefinition>,
    identity_options: IdentityOptions,
    tasks: Tasks,
    /// Tasks that come before the next one of `tasks`.
    pending: VecDeque<Task>,
    current: Option<PieceBatches<RecordBatch>>,
    /// An error to return after the rows of earlier commits.
    deferred_error: Option<Error>,
}

/// Returns the rows of all changes; commits and files are read on demand.
pub(in crate::changes) fn changed_rows_of(changes: &Changes) -> Result<Batches> {
    let tasks: Tasks = if changes.options.kind == Kind::Full {
        Box::new(tasks_of_commits(changes)?)
    } else {
        let changes = changes.clone();
        Box::new(std::iter::once_with(move || {
            NetPlan::new(&changes).map(|plan| Task::Net(Arc::new(plan), Share::ALL))
        }))
    };
    Ok(rows_of_tasks(
        &changes.source,
        &changes.resolved,
        changes.identity_options.clone(),
        tasks,
    ))
}

/// Returns the rows of these tasks; files are read on demand.
pub(in crate::changes) fn rows_of_tasks(
    source: &Source,
    resolved: &Arc<ResolvedDefinition>,
    identity_options: IdentityOptions,
    tasks: Tasks,
) -> Batches {
    let mut rows = ChangeRows {
        // files are read twice: to compare rows, and to return them
        source: source.with_file_cache(),
        resolved: Arc::clone(resolved),
        identity_options,
        tasks,
        pending: VecDeque::new(),
        current: None,
        deferred_error: None,
    };
    Batches::from_fn(resolved.schema(), move || rows.next_rows())
}

impl ChangeRows {
    /// Returns pieces that can be read in parallel; none at the end.
    fn next_pieces(&mut self) -> Result<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        while pieces.len() < MAX_PIECES {
            let task = match self.pending.pop_front() {
                Some(task) => task,
                None => match self.tasks.next() {
                    Some(Ok(task)) => task,
                    Some(Err(error)) if pieces.is_empty() => return Err(error),
                    Some(Err(error)) => {
                        self.deferred_error = Some(error);
                        break;
                    }
                    None => break,
                },
            };
            match task {
                Task::Pieces(more) => pieces.extend(more),
                task if !pieces.is_empty() => {
                    // return the rows so far before rows are compared
                    self.pending.push_front(task);
                    break;
                }
                task => pieces.extend(self.compare(task)?),
            }
        }
        Ok(pieces)
    }

    /// Compares the rows of a task, and returns its pieces. If there are too many rows, the halves of the
    /// task become pending, and the result is empty.
    fn compare(&mut self, task: Task) -> Result<Vec<Piece>> {
        let (outcome, halves): (Compared, Option<[Task; 2]>) = match task {
            Task::Pieces(pieces) => return Ok(pieces),
            Task::Compare(commit_rows, share) => {
                let CommitRows::Compare {
                    stamp,
                    removed,
                    new,
                    way,
                } = &*commit_rows
                else {
                    return Ok(Vec::new());
                };
                let identity = self.identity_options.row_identity(*way);
                let sides = (removed.clone(), new.clone());
                let outcome = compare(self.reader(&identity, share), *stamp, sides)?;
                let halves = share.halves();
                let task = |share| Task::Compare(Arc::clone(&commit_rows), share);
                (outcome, halves.map(|halves| halves.map(task)))
            }
            Task::Net(plan, share) => {
                let outcome = self.net(&plan, share)?;
                let halves = share.halves();
                let task = |share| Task::Net(Arc::clone(&plan), share);
                (outcome, halves.map(|halves| halves.map(task)))
            }
        };
        match outcome {
            Compared::Pieces(pieces) => Ok(pieces),
            Compared::TooMany => {
                for half in halves.into_iter().flatten().rev() {
                    self.pending.push_front(half);
                }
                Ok(Vec::new())
            }
        }
    }

    /// Computes the net outcome from the endpoints of the range if they suffice, otherwise through all
    /// commits.
    fn net(&self, plan: &NetPlan, share: Share) -> Result<Compared> {
        let identity = self.identity_options.row_identity(plan.way);
        let rows = self.reader(&identity, share);
        if let Ok(files) = plan.endpoint_files(&self.source.keys)
            && let Some(outcome) = endpoints::net(rows, plan.kind, &files)?
        {
            return Ok(outcome);
        }
        net(rows, plan.kind, &plan.commits)
    }

    fn reader<'a>(&'a self, identity: &'a RowIdentity, share: Share) -> ShareReader<'a> {
        ShareReader {
            source: &self.source,
            resolved: &self.resolved,
            identity,
            share,
        }
    }

    fn next_rows(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(batch) = current.next() {
                    return batch.map(Some);
                }
                self.current = None;
            }
            if let Some(error) = self.deferred_error.take() {
                return Err(error);
            }
            let pieces = self.next_pieces()?;
            if pieces.is_empty() && self.deferred_error.is_none() && self.pending.is_empty() {
                return Ok(None);
            }
            if !pieces.is_empty() {
                self.current = Some(changed_rows(&self.source, &self.resolved, pieces));
            }
        }
    }
}
