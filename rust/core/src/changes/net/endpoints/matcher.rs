//! Matches the rows before a range with those after it by their ids, and labels them with their changes.

use super::deletions::Removal;
use super::{EndpointFiles, needs_before};
use crate::changes::net::Net;
use crate::changes::net::compare::LabelledPieces;
use crate::changes::net::runs::{Joined, Run, join};
use crate::changes::range::commits::Stamp;
use crate::changes::rows::piece::{ChangeType, Piece};

/// Consecutive rows that exist before and after the range, and that one of its commits wrote: their values
/// may be equal. 32 bytes.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// The position of the first row in its file, before and after.
    pub rows: [u64; 2],
    /// The indexes of the pieces, before and after.
    pub pieces: [u32; 2],
    /// The number of rows.
    pub count: u32,
    /// The index of the commit that last wrote them.
    pub stamp: u32,
}

/// Matches the rows of both sides, and collects their changes.
pub(super) struct RowMatcher<'a> {
    pub files: &'a EndpointFiles,
    pub kind: Net,
    pub pieces: &'a [Piece],
    pub labels: LabelledPieces,
    /// Rows that exist only before, ascending by id.
    pub removed: Vec<Run>,
    /// Pairs whose values must be compared.
    pub pairs: Vec<Pair>,
}

impl RowMatcher<'_> {
    /// Matches both sides, which ascend by id. `None` if the endpoints do not determine the result.
    pub(super) fn match_rows(&mut self, before: &[Run], after: &[Run]) -> Option<()> {
        join(before, after, &mut |joined| match joined {
            Joined::Before(run) => {
                self.removed.push(run);
                Some(())
            }
            Joined::After(run) => self.only_after(run),
            Joined::Both(before, after) => self.both(before, after),
        })
    }

    fn only_after(&mut self, run: Run) -> Option<()> {
        let first_new_id = self.files.first_new_id;
        if run.id < first_new_id && first_new_id < run.end() {
            self.only_after(run.cut(run.id, first_new_id))?;
            return self.only_after(run.cut(first_new_id, run.end()));
        }
        let existed = run.id < first_new_id;
        if existed && needs_before(self.kind) {
            return None; // the rows before were read: these would have matched some of them
        }
        let Some(stamp) = self.stamp(&run)? else {
            return existed.then_some(()); // only rows that existed before can be moved
        };
        let change = match (self.kind, existed) {
            (Net::AppendOnly { .. }, true) => return Some(()),
            (_, true) => ChangeType::UpdatePostimage,
            (_, false) => ChangeType::Insert,
        };
        self.label(run, change, stamp);
        Some(())
    }

    fn label(&mut self, run: Run, change: ChangeType, stamp: Stamp) {
        self.labels
            .push_run(run.piece, run.row, run.rows, change, stamp);
    }

    fn both(&mut self, before: Run, after: Run) -> Option<()> {
        if before.end() > self.files.first_new_id {
            return None; // a row before has the id of a new row
        }
        let Some(stamp) = self.stamp(&after)? else {
            return Some(()); // moved
        };
        if self.kind != Net::MinDelta {
            self.label(after, ChangeType::UpdatePostimage, stamp);
            return Some(());
        }
        let stamps = &self.files.stamps;
        let index = stamps.partition_point(|other| other.version < stamp.version);
        self.pairs.push(Pair {
            rows: [before.row, after.row],
            pieces: [before.piece, after.piece],
            count: after.rows,
            stamp: u32::try_from(index).ok()?,
        });
        Some(())
    }

    /// Returns the commit that last wrote the rows: `Some(None)` if it is before the range, `None` if the row
    /// commit version cannot be right.
    fn stamp(&self, run: &Run) -> Option<Option<Stamp>> {
        let version = u64::try_from(run.version).ok()?;
        if version < self.files.first {
            return Some(None);
        }
        let added = self.pieces.get(run.piece as usize)?.version()?;
        let stamp = self.files.stamp(version)?;
        (stamp.version <= added).then_some(Some(stamp))
    }

    /// Labels removed rows with the last version that removed them. `removed` has the versions that removed
    /// rows from files that existed before the range. `within` has the ids of rows that had moved to files
    /// added in the range, and the versions that removed them from these; ascending by id.
    pub(super) fn label_removed(
        &mut self,
        removed: &[Removal],
        within: &[(i64, u64)],
    ) -> Option<()> {
        let mut within = within.iter().copied().peekable();
        for (run, removed_at) in removed {
            let mut from = run.id;
            while let Some((id, mut version)) = within.next_if(|(id, _)| *id < run.end()) {
                while let Some((_, later)) = within.next_if(|(same, _)| *same == id) {
                    version = later;
                }
                if let Some(removed_at) = removed_at {
                    self.label_deleted(run.cut(from, id), *removed_at)?;
                    version = version.max(*removed_at);
                }
                from = id.saturating_add(1);
                self.label_deleted(run.cut(id, from), version)?;
            }
            if let Some(removed_at) = removed_at {
                self.label_deleted(run.cut(from, run.end()), *removed_at)?;
            }
        }
        Some(())
    }

    fn label_deleted(&mut self, run: Run, version: u64) -> Option<()> {
        let stamp = self.files.stamp(version)?;
        if run.rows > 0 {
            self.label(run, ChangeType::Delete, stamp);
        }
        Some(())
    }
}
