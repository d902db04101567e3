//! A part of the changes: a plain value, so that another process can read its rows without the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::piece::{ChangeType, Labels, Piece, PieceRows};
use super::row_schema::ChangesDefinition;
use super::stream::rows_of_tasks;
use crate::changes::Changes;
use crate::changes::net::identify::Share;
use crate::changes::plan::{IdentityOptions, Task, tasks_of_commits};
use crate::codec::batches::Batches;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::plain_value::PlainValue;
use crate::spec::file_size::group_by_size;

/// The maximum number of shares of one task: each share reads the identities of all rows.
const MAX_SHARES: u64 = 64;

/// Some commits of a range, or a share of the net changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Split {
    definition: ChangesDefinition,
    identity_options: IdentityOptions,
    tasks: Vec<Task>,
    bytes: u64,
}

/// A file that any Parquet reader can read as it is: all of its rows were changed by one commit, and it has a
/// size, but no deletion vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeFile {
    /// The path as in the log.
    pub path: String,
    /// The size in bytes.
    pub size: i64,
    /// Partition values by their names in the log.
    pub partition_values: Vec<(String, Option<String>)>,
    /// The change to the rows; `None` if the file has a column with the change of each.
    pub change: Option<ChangeType>,
    /// The version of the change.
    pub version: u64,
    /// The commit timestamp in milliseconds since the epoch.
    pub timestamp: i64,
}

impl WholeFile {
    fn of(piece: &Piece) -> Option<Self> {
        let (change, stamp) = match &piece.labels {
            Labels::All(change, stamp) => (Some(*change), stamp),
            Labels::InFile(stamp) => (None, stamp),
            Labels::Each(_) | Labels::Coded(_) => return None,
        };
        let file = &piece.file;
        let is_live = matches!(piece.rows, PieceRows::Live) && file.deletion_vector.is_none();
        // a `remove` may have no size; Spark takes such a file for empty
        let is_whole = is_live && file.size > 0;
        is_whole.then(|| Self {
            path: file.path.clone(),
            size: file.size,
            partition_values: file.partition_values.clone(),
            change,
            version: stamp.version,
            timestamp: stamp.timestamp,
        })
    }
}

impl Changes {
    /// Splits the changes into parts of about `target_size` bytes of files. Together they are all changes;
    /// parts of full changes are in the order of commits. If rows of a commit must be compared, each part
    /// has a share of them. Reads the commits of the range.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0. As [`Changes::explain`].
    pub fn splits(&self, target_size: u64) -> Result<Vec<Split>> {
        check_size(target_size)?;
        if let Some(shuffle) = self.shuffle()? {
            return shuffle.splits(target_size);
        }
        let tasks = tasks_of_commits(self)?.collect::<Result<_>>()?;
        let (definition, options) = (&self.definition, &self.identity_options);
        Ok(Split::of_tasks(definition, options, tasks, target_size))
    }
}

pub(in crate::changes) fn check_size(target_size: u64) -> Result<()> {
    if target_size > 0 {
        return Ok(());
    }
    Err(Error::invalid(
        "split.size",
        "splits need a target size of at least 1 byte",
    ))
}

/// Splits a task into independent steps, with the approximate bytes that each reads.
fn steps_of(task: Task, target_size: u64) -> Vec<(Task, u64)> {
    if task.pieces().next().is_none() {
        return Vec::new();
    }
    let bytes = task.pieces().map(Piece::bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    let shares = |task: &dyn Fn(Share) -> Task| {
        let count = bytes
            .div_ceil(target_size)
            .clamp(1, MAX_SHARES)
            .next_power_of_two();
        (0..count)
            .map(|index| (task(Share { index, count }), bytes.div_ceil(count)))
            .collect()
    };
    match task {
        Task::Pieces(pieces) => pieces
            .into_iter()
            .map(|piece| {
                let bytes = piece.bytes();
                (Task::Pieces(vec![piece]), bytes)
            })
            .collect(),
        // already a share
        Task::Compare(_, share) | Task::Net(_, share) if share != Share::ALL => {
            vec![(task, bytes.div_ceil(share.count.max(1)))]
        }
        Task::Compare(commit_rows, _) => {
            shares(&|share| Task::Compare(Arc::clone(&commit_rows), share))
        }
        Task::Net(plan, _) => shares(&|share| Task::Net(Arc::clone(&plan), share)),
    }
}

impl PlainValue for Split {
    const CODE: &'static str = "split.json";
    const NAME: &'static str = "a split";
}

impl Split {
    pub(in crate::changes) fn new(
        definition: ChangesDefinition,
        identity_options: IdentityOptions,
        tasks: Vec<Task>,
        bytes: u64,
    ) -> Self {
        Self {
            definition,
            identity_options,
            tasks,
            bytes,
        }
    }

    /// Distributes tasks, and shares of them, over splits of about `target_size` bytes of files.
    pub(in crate::changes) fn of_tasks(
        definition: &ChangesDefinition,
        identity_options: &IdentityOptions,
        tasks: Vec<Task>,
        target_size: u64,
    ) -> Vec<Self> {
        let tasks = tasks.into_iter();
        let steps = tasks.flat_map(|task| steps_of(task, target_size));
        let split = |steps: Vec<(Task, u64)>| {
            let bytes = steps.iter().map(|(_, size)| *size);
            let bytes = bytes.fold(0, u64::saturating_add);
            let mut tasks: Vec<Task> = Vec::new();
            for (task, _) in steps {
                task.append(&mut tasks);
            }
            Self::new(definition.clone(), identity_options.clone(), tasks, bytes)
        };
        let groups = group_by_size(steps, target_size, |(_, size)| *size);
        groups.into_iter().map(split).collect()
    }

    /// Splits the same rows into parts of about `target_size` bytes of files.
    ///
    /// # Errors
    ///
    /// Invalid argument: `split.size` when the size is 0.
    pub fn cut(&self, target_size: u64) -> Result<Vec<Self>> {
        check_size(target_size)?;
        let (definition, options) = (&self.definition, &self.identity_options);
        let tasks = self.tasks.clone();
        Ok(Self::of_tasks(definition, options, tasks, target_size))
    }

    /// Separates the files that any Parquet reader can read as they are from the rest.
    pub fn without_whole_files(mut self) -> (Vec<WholeFile>, Option<Self>) {
        let mut whole = Vec::new();
        for task in &mut self.tasks {
            if let Task::Pieces(pieces) = task {
                pieces.retain(|piece| {
                    let Some(file) = WholeFile::of(piece) else {
                        return true;
                    };
                    self.bytes = self.bytes.saturating_sub(piece.bytes());
                    whole.push(file);
                    false
                });
            }
        }
        self.tasks
            .retain(|task| !matches!(task, Task::Pieces(pieces) if pieces.is_empty()));
        let rest = Some(self).filter(|rest| !rest.tasks.is_empty());
        (whole, rest)
    }

    /// Returns the distinct paths of the files as in the log, sorted.
    pub fn paths(&self) -> Vec<String> {
        let pieces = self.tasks.iter().flat_map(Task::pieces);
        let paths: BTreeSet<_> = pieces.map(|piece| piece.file.path.clone()).collect();
        paths.into_iter().collect()
    }

    /// Returns the approximate size of its files in bytes.
    pub fn size_in_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the schema of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.definition.resolve().map(|resolved| resolved.schema())
    }

    /// Returns its rows, with the `source` of the table; files are read as rows are pulled.
    pub fn rows(&self, source: &Source) -> Result<Batches> {
        let resolved = Arc::new(self.definition.resolve()?);
        let tasks = Box::new(self.tasks.clone().into_iter().map(Ok));
        Ok(rows_of_tasks(
            source,
            &resolved,
            self.identity_options.clone(),
            tasks,
        ))
    }
}
