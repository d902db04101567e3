//! Explains how the changes of each commit are determined.

use crate::changes::net::endpoints;
use crate::changes::plan::{NetPlan, derived_commits};
use crate::changes::range::derive::{CommitRows, DerivedCommit, MatchBy};
use crate::changes::{Changes, Kind, Net};
use crate::error::Result;

/// One commit of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The version.
    pub version: u64,
    /// The way in which its rows are identified.
    pub way: MatchBy,
    /// The reason for that way.
    pub reason: &'static str,
    /// The number of files to read.
    pub files: u64,
    /// The sum of their sizes in the log.
    pub bytes: u64,
}

impl Changes {
    /// Explains how the changes of each commit are determined. Reads the log of the range and deletion
    /// vectors, but no rows.
    ///
    /// # Errors
    ///
    /// Version not found: `version.range`. Invalid argument: `changes.schema`; `changes.identity` for net
    /// changes. Unsupported: `changes.feed_disabled`, features that this build lacks. Corrupt:
    /// `changes.partition_values`. The errors of the log.
    pub fn explain(&self) -> Result<Vec<Explained>> {
        if self.options.kind == Kind::Full {
            let explain = |commit: DerivedCommit| {
                let version = commit.stamp.version;
                explained(version, commit.way, commit.reason, &commit.rows)
            };
            return derived_commits(self)?
                .map(|commit| commit.map(explain))
                .collect();
        }
        let plan = NetPlan::new(self)?;
        let reason = match (plan.way, plan.kind) {
            (MatchBy::RowTracking, _) => match plan.endpoint_files(&self.source.keys) {
                Ok(files) if files.restores_rows(&self.source)? => endpoints::RESTORED_ROWS,
                Ok(_) => {
                    "all changed rows have ids, and the two ends of the range determine the result"
                }
                Err(reason) => reason,
            },
            (MatchBy::Rows, Net::MinDelta) => {
                "files were rewritten in the range, and rows cannot be matched: equal rows cancel, an \
                 update appears as a delete and an insert; enable row tracking or pass `key` to match \
                 them"
            }
            _ => plan.reason,
        };
        let commits = plan.commits.iter().map(|(stamp, commit_rows)| {
            let (way, reason) = match commit_rows {
                CommitRows::Pieces(pieces) if pieces.is_empty() => {
                    (MatchBy::Nothing, "no action of the commit changes a row")
                }
                _ => (plan.way, reason),
            };
            explained(stamp.version, way, reason, commit_rows)
        });
        Ok(commits.collect())
    }
}

fn explained(
    version: u64,
    way: MatchBy,
    reason: &'static str,
    commit_rows: &CommitRows,
) -> Explained {
    // a file may occur twice: for removed and for restored rows
    let mut files: Vec<(&str, u64)> = commit_rows
        .pieces()
        .map(|piece| (piece.file.path.as_str(), piece.bytes()))
        .collect();
    files.sort_unstable();
    files.dedup();
    Explained {
        version,
        way,
        reason,
        files: files.len() as u64,
        bytes: files
            .iter()
            .map(|(_, bytes)| *bytes)
            .fold(0, u64::saturating_add),
    }
}
