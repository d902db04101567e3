//! The live files of a snapshot in pieces, which other processes replay in parallel.
//!
//! The tail is replayed here: its own live files, and the keys of all files that it hides. A checkpoint is
//! reconciled, so its pieces need only those keys: its rows are not read here, and memory is bounded
//! by the tail. If even the tail is too long, its commits become pieces, too; rows then come with their
//! keys, and the newest row of each key counts.
//!
//! Protocol: "Action Reconciliation", "Checkpoints", "Sidecar Files".

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Snapshot;
use super::files::{FileTable, unexpired};
use super::plain_value::PlainValue;
use super::segment_replay::{LiveRequest, Replay};
use crate::codec::batches::Batches;
use crate::codec::file_actions::{FileField, REMOVE_FIELDS, schema_of};
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::log::{LogSegment, TailFile};
use crate::replay::{Checkpoint, CheckpointPart, KeySet, Source};
use crate::spec::file_size::group_by_size;

mod rows;
mod tail;

pub use tail::ReplayTail;

use tail::PieceSpec;

/// The part of the live files to replay elsewhere.
#[derive(Clone, Debug)]
pub struct PieceOptions {
    /// Columns of the files; `None` for all fields of `add`.
    pub columns: Option<Vec<String>>,
    /// A filter that may skip files.
    pub filter: Option<Predicate>,
    /// The approximate size of a piece in bytes of the log.
    pub target_size: u64,
    /// True if commits become pieces, too, and rows come with their keys.
    pub keyed: bool,
    /// Also return tombstones with a later timestamp than this, in milliseconds since the epoch. Not with
    /// `keyed`.
    pub tombstones_since: Option<i64>,
}

/// A plan to replay a snapshot's live files.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// The pieces to read elsewhere.
    pub pieces: Vec<ReplayPiece>,
    /// The values needed to read each piece.
    pub tail: ReplayTail,
    /// The live files that the tail adds; empty if rows come with their keys.
    pub files: FileTable,
    /// The tombstones of the tail, if requested.
    pub tombstones: FileTable,
}

/// Some files of the log, or a range of one: a plain value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayPiece {
    /// Distinguishes the pieces and the tail of one plan from those of another.
    plan: u64,
    work: Work,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Work {
    /// Parts of the checkpoint of a version.
    Checkpoint(u64, Vec<CheckpointPart>),
    /// Consecutive commits and compacted files, oldest first.
    Commits(Vec<TailFile>),
}

impl Snapshot {
    /// Splits the replay of the live files into pieces.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::filter_of`] and [`FileColumns::of_names`]. The errors of reading the tail and the
    /// control actions of the checkpoint.
    pub fn replay_plan(&self, source: &Source, options: &PieceOptions) -> Result<ReplayPlan> {
        let filter = options.filter.as_ref();
        let filter = filter.map(|filter| self.filter_of(filter)).transpose()?;
        let columns = FileColumns::of_names(options.columns.as_deref(), self)?;
        let schema = columns.schema();
        let plan = RandomState::new().hash_one(self.version());
        let request = LiveRequest { columns, filter };
        let removes: &[FileField] = match options.tombstones_since {
            Some(_) => &REMOVE_FIELDS,
            None => &[],
        };
        let (work, tail_keys, batches, removed) = self.with_fallback(source, |segment| {
            let mut work = checkpoint_work(source, segment, options.target_size)?;
            if options.keyed {
                work.extend(commit_work(segment, options.target_size));
                return Ok((work, Arc::<KeySet>::default(), Vec::new(), Vec::new()));
            }
            // others read the rows of the checkpoint
            let replay = Replay::over_checkpoint(None, self, source, segment, &request, removes)?;
            let live = replay.adds.iter().rev();
            let live = live.map(|keyed| keyed.rows.clone()).collect();
            let removed = replay.removes.iter().rev();
            let removed = options.tombstones_since.map(|since| {
                let unexpired = removed.map(|rows| unexpired(rows, since));
                unexpired.collect::<Result<Vec<_>>>()
            });
            let removed = removed.transpose()?.unwrap_or_default();
            Ok((work, replay.into_tail_keys(), live, removed))
        })?;
        let spec = PieceSpec::new(self, source, plan, options);
        Ok(ReplayPlan {
            pieces: work
                .into_iter()
                .map(|work| ReplayPiece { plan, work })
                .collect(),
            tail: ReplayTail::new(spec, tail_keys)?,
            files: FileTable { schema, batches },
            tombstones: FileTable {
                schema: schema_of(&REMOVE_FIELDS),
                batches: removed,
            },
        })
    }
}

impl PlainValue for ReplayPiece {
    const CODE: &'static str = "replay.json";
    const NAME: &'static str = "part of a plan";
}

impl ReplayPiece {
    /// Returns the log files that it reads, relative to the table root.
    pub fn paths(&self) -> Vec<&str> {
        match &self.work {
            Work::Checkpoint(_, parts) => parts.iter().map(|part| part.path.as_str()).collect(),
            Work::Commits(files) => files.iter().map(|file| file.file.path.as_str()).collect(),
        }
    }

    /// Returns their approximate size in bytes.
    pub fn size_in_bytes(&self) -> u64 {
        match &self.work {
            Work::Checkpoint(_, parts) => parts.iter().map(CheckpointPart::size_in_bytes).sum(),
            Work::Commits(files) => files.iter().map(|file| file.file.size).sum(),
        }
    }

    /// Reads its live files on `threads` threads, `None` for as many as the process may use; `source` is
    /// that of the table.
    ///
    /// # Errors
    ///
    /// Invalid argument: `replay.plan` when the tail is that of another plan. Corrupt, with the file of the
    /// log: the errors of its decoder; `replay.vanished`, or `checkpoint.sidecar_missing` for a sidecar, if it
    /// no longer exists. Storage errors.
    pub fn rows(
        &self,
        source: &Source,
        tail: &ReplayTail,
        threads: Option<usize>,
    ) -> Result<Batches> {
        self.check_plan(tail)?;
        let filter = tail.filter()?;
        match &self.work {
            Work::Checkpoint(version, parts) => {
                rows::of_checkpoint(source, tail, *version, parts, filter, threads)
            }
            Work::Commits(files) => rows::of_commits(source, tail, files, filter),
        }
    }

    /// Reads its tombstones, if the plan selects them.
    ///
    /// # Errors
    ///
    /// Invalid argument: `replay.plan` also if the plan selects none, or for a piece of commits.
    pub fn tombstones(
        &self,
        source: &Source,
        tail: &ReplayTail,
        threads: Option<usize>,
    ) -> Result<Batches> {
        self.check_plan(tail)?;
        match (&self.work, tail.spec().tombstones_since) {
            (Work::Checkpoint(version, parts), Some(since)) => {
                rows::tombstones_of_checkpoint(source, tail, *version, parts, since, threads)
            }
            _ => {
                let message = "this plan has live files only: plan a checkpoint to get tombstones";
                Err(Error::invalid("replay.plan", message))
            }
        }
    }

    fn check_plan(&self, tail: &ReplayTail) -> Result<()> {
        if self.plan == tail.spec().plan {
            return Ok(());
        }
        let message = "this piece and this tail are of different plans: read a piece with the tail of its own plan";
        Err(Error::invalid("replay.plan", message))
    }
}

fn checkpoint_work(source: &Source, segment: &LogSegment, target_size: u64) -> Result<Vec<Work>> {
    let Some(checkpoint) = &segment.checkpoint else {
        return Ok(Vec::new());
    };
    let groups = Checkpoint::parts(source, checkpoint, target_size)?;
    let work = |parts| Work::Checkpoint(checkpoint.version, parts);
    Ok(groups.into_iter().map(work).collect())
}

/// Groups the files of the tail into pieces of at most `target_size` bytes; a larger file is a piece of its
/// own.
fn commit_work(segment: &LogSegment, target_size: u64) -> Vec<Work> {
    let files = segment.tail.iter().cloned();
    let groups = group_by_size(files, target_size, |file| file.file.size);
    groups.into_iter().map(Work::Commits).collect()
}
