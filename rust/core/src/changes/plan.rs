//! The tasks that read a range: commit by commit for full changes, all at once for net changes.

use std::hash::{BuildHasher, RandomState};
use std::iter;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Changes;
use super::net::Net;
use super::net::compare::MAX_ROWS;
use super::net::endpoints;
use super::net::endpoints::EndpointFiles;
use super::net::identify::{RowIdentity, Share};
use super::range::commits::{Commit, Stamp, commits_between};
use super::range::derive::{
    CommitRows, DerivedCommit, MatchBy, derive, derive_net, row_changes, row_changes_of,
};
use super::range::metadata_history::{CommitSettings, MetadataHistory, check_schema};
use super::rows::piece::Piece;
use super::rows::row_schema::ResolvedDefinition;
use crate::error::{Error, Result};
use crate::replay::{Keys, Source};
use crate::snapshot::load::load;

/// A part of the work of reading changed rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// Pieces whose rows need no comparison.
    Pieces(Vec<Piece>),
    /// A share of the rows of one commit that must be compared.
    Compare(#[serde(with = "shared")] Arc<CommitRows>, Share),
    /// A share of the rows of all commits, whose net outcome must be computed.
    Net(#[serde(with = "shared")] Arc<NetPlan>, Share),
}

/// Serializes shared values in full.
pub(super) mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::changes) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        T::serialize(value, serializer)
    }

    pub(in crate::changes) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}

impl Task {
    pub(super) fn of(commit_rows: CommitRows) -> Self {
        match commit_rows {
            CommitRows::Pieces(pieces) => Self::Pieces(pieces),
            CommitRows::Compare { .. } => Self::Compare(Arc::new(commit_rows), Share::ALL),
        }
    }

    /// Returns all pieces that may be read.
    pub(super) fn pieces(&self) -> Box<dyn Iterator<Item = &Piece> + '_> {
        match self {
            Self::Pieces(pieces) => Box::new(pieces.iter()),
            Self::Compare(commit_rows, _) => Box::new(commit_rows.pieces()),
            Self::Net(plan, _) => Box::new(plan.pieces()),
        }
    }

    /// Appends this task, or its pieces to those of the last task.
    pub(super) fn append(self, tasks: &mut Vec<Self>) {
        match (tasks.last_mut(), self) {
            (Some(Self::Pieces(before)), Self::Pieces(more)) => before.extend(more),
            (_, task) => tasks.push(task),
        }
    }
}

/// The options by which rows are identified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct IdentityOptions {
    key: Vec<String>,
    seed: u64,
    most_rows: usize,
}

impl IdentityOptions {
    pub(super) fn new(key: &[String], most_rows: Option<usize>) -> Self {
        Self {
            key: key.to_vec(),
            seed: RandomState::new().hash_one(0),
            most_rows: most_rows.unwrap_or(MAX_ROWS).max(1),
        }
    }

    pub(super) fn row_identity(&self, way: MatchBy) -> RowIdentity {
        RowIdentity {
            way,
            key: self.key.clone(),
            seed: self.seed,
            most_rows: self.most_rows,
        }
    }
}

/// Reads the commits of the range with the settings of the table at each, oldest first, up to the first error.
fn commits_with_settings(
    changes: &Changes,
) -> Result<impl Iterator<Item = Result<(Commit, CommitSettings)>> + Send + use<>> {
    // `None` for an empty range, and after the end
    let mut log = match (changes.range.versions, &changes.range.start) {
        (Some((first, last)), Some(start)) => Some((
            commits_between(&changes.source.storage, first, last)?,
            MetadataHistory::new(start, &changes.resolved)?,
        )),
        _ => None,
    };
    let resolved = Arc::clone(&changes.resolved);
    let source = changes.source.clone();
    let require_feed = changes.options.require_feed;
    let mut first = true;
    Ok(iter::from_fn(move || {
        let (commits, history) = log.as_mut()?;
        let next = commits.next().map(|commit| {
            let mut commit = commit?;
            if std::mem::take(&mut first) {
                check_before(&source, &commit, &resolved)?;
            }
            let settings = history.step(&mut commit, &resolved)?;
            if require_feed && !settings.feed {
                return Err(feed_disabled(commit.stamp.version));
            }
            Ok((commit, settings))
        });
        if !matches!(next, Some(Ok(_))) {
            log = None;
        }
        next
    }))
}

/// Checks the columns of the rows that the first commit of a range removes, if it changes the table's.
///
/// If the version before it cannot be loaded, its files are read nevertheless.
fn check_before(source: &Source, commit: &Commit, resolved: &ResolvedDefinition) -> Result<()> {
    let version = commit.stamp.version;
    if commit.metadata.is_none() || commit.removes.is_empty() || !commit.change_files.is_empty() {
        return Ok(());
    }
    let before = version.checked_sub(1);
    match before.map(|before| load(source, Some(before), false)) {
        Some(Ok(before)) => {
            check_schema(&before, resolved).map_err(|error| error.at_version(version))
        }
        Some(Err(_)) | None => Ok(()),
    }
}

/// Returns the error for a version at which the change data feed was disabled, as in delta-spark.
pub(super) fn feed_disabled(version: u64) -> Error {
    let message = "the change data feed was off at this version, so no changes were recorded: read versions \
        at which `delta.enableChangeDataFeed` was true, or derive the changes from the files";
    Error::unsupported("changes.feed_disabled", message).at_version(version)
}

/// Returns the changes of each commit of the range, oldest first.
pub(super) fn derived_commits(
    changes: &Changes,
) -> Result<impl Iterator<Item = Result<DerivedCommit>> + Send + use<>> {
    let has_key = !changes.options.key.is_empty();
    let keys = changes.source.keys.clone();
    let derive = move |(commit, settings)| derive(&commit, settings, &keys, has_key);
    Ok(commits_with_settings(changes)?.map(move |commit| commit.and_then(&derive)))
}

/// Returns the tasks that read the changes of each commit.
pub(super) fn tasks_of_commits(
    changes: &Changes,
) -> Result<impl Iterator<Item = Result<Task>> + Send + use<>> {
    let task = |derived: DerivedCommit| Task::of(derived.rows);
    Ok(derived_commits(changes)?.map(move |derived| derived.map(task)))
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NetPlan {
    pub kind: Net,
    /// The same for all commits, since rows must be matched across them.
    pub way: MatchBy,
    #[serde(skip)]
    pub reason: &'static str,
    /// The changes of each commit, oldest first.
    pub commits: Vec<(Stamp, CommitRows)>,
    /// Files whose rows were moved but not changed, oldest first; `None` if the endpoints of the range do
    /// not suffice.
    pub moves: Option<Vec<(Stamp, CommitRows)>>,
}

impl NetPlan {
    /// Reads the commits of the range.
    pub(super) fn new(changes: &Changes) -> Result<Self> {
        let kind = changes.options.kind.net().unwrap_or(Net::MinDelta);
        let commits = commits_with_settings(changes)?.collect::<Result<Vec<_>>>()?;
        let has_key = !changes.options.key.is_empty();
        Self::of(&commits, &changes.source.keys, has_key, kind)
    }

    /// Returns the files at the endpoints of the range if these suffice; otherwise the reason.
    pub(super) fn endpoint_files(&self, keys: &Keys) -> Result<EndpointFiles, &'static str> {
        let moves = match &self.moves {
            Some(moves) => moves,
            None if endpoints::suffice(self.kind) => return Err(endpoints::NO_IDS),
            None => return Err(endpoints::SHORT_LIVED_ROWS),
        };
        EndpointFiles::of(&self.commits, moves, keys)
    }

    /// Returns all pieces that may be read.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let moves = self.moves.iter().flatten();
        let steps = self.commits.iter().chain(moves);
        steps.flat_map(|(_, commit_rows)| commit_rows.pieces())
    }

    /// Plans the net outcome of these commits.
    ///
    /// # Errors
    ///
    /// Invalid argument: `changes.identity` where the kind needs to know which row is which.
    pub(super) fn of(
        commits: &[(Commit, CommitSettings)],
        keys: &Keys,
        has_key: bool,
        kind: Net,
    ) -> Result<Self> {
        let (way, reason) = best_common_way(commits, keys, has_key)?;
        if way == MatchBy::Rows && kind != Net::MinDelta {
            let message = format!(
                "{reason}, but this kind of changes needs to know: enable row tracking \
                 (`delta.enableRowTracking`), or pass the columns of a `key`"
            );
            return Err(Error::invalid("changes.identity", message));
        }
        let net = |(commit, settings): &(Commit, CommitSettings)| {
            derive_net(commit, *settings, keys, way).map(|commit_rows| (commit.stamp, commit_rows))
        };
        let endpoints_suffice = way == MatchBy::RowTracking && endpoints::suffice(kind);
        Ok(Self {
            kind,
            way,
            reason,
            commits: commits.iter().map(net).collect::<Result<_>>()?,
            moves: endpoints_suffice.then(|| moves(commits, keys)).flatten(),
        })
    }
}

/// Returns the files that commits rewrote without a change; `None` if not all of their rows have ids.
fn moves(commits: &[(Commit, CommitSettings)], keys: &Keys) -> Option<Vec<(Stamp, CommitRows)>> {
    let mut moved_rows = Vec::new();
    for (commit, settings) in commits {
        let stamp = commit.stamp;
        let mut moved = vec![(&commit.unchanged_adds, &commit.unchanged_removes)];
        if commit.info.no_op_merge {
            moved.push((&commit.adds, &commit.removes)); // rewritten without a changed row
        }
        for (adds, removes) in moved {
            if adds.is_empty() && removes.is_empty() {
                continue;
            }
            let changes = row_changes_of(stamp, adds, removes, *settings, keys).ok()?;
            let tracked = settings.row_tracking && changes.all_have_ids;
            if !tracked || commit.info.row_ids_preserved == Some(false) {
                return None;
            }
            moved_rows.push((stamp, CommitRows::Pieces(changes.into_pieces())));
        }
    }
    Some(moved_rows)
}

/// Returns the best way to identify rows that all of the commits allow, and the reason for it.
fn best_common_way(
    commits: &[(Commit, CommitSettings)],
    keys: &Keys,
    has_key: bool,
) -> Result<(MatchBy, &'static str)> {
    let (mut tracked, mut by_vectors) = (true, true);
    for (commit, settings) in commits {
        by_vectors &= !commit.moved;
        if commit.info.no_op_merge {
            by_vectors &= commit.adds.is_empty() && commit.removes.is_empty();
            continue;
        }
        let changes = row_changes(commit, *settings, keys)?;
        if changes.removed.is_empty() && changes.new.is_empty() {
            continue;
        }
        let preserved = commit.info.row_ids_preserved != Some(false) || !changes.rewrites();
        tracked &= settings.row_tracking && changes.all_have_ids && preserved;
        by_vectors &= !changes.rewrites();
    }
    Ok(if tracked {
        (MatchBy::RowTracking, "all changed rows have ids")
    } else if has_key {
        (MatchBy::Key, "rows are identified by the key columns")
    } else if by_vectors {
        (
            MatchBy::Files,
            "no file was rewritten in the range: a row is identified by its position in its file",
        )
    } else {
        (
            MatchBy::Rows,
            "files were rewritten in the range, and rows cannot be matched",
        )
    })
}
