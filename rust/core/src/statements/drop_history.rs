//! Drops table features together with the history that needs them.
//!
//! The traces of a feature in the newest version are removed first, then a checkpoint is written. Once that
//! is older than `delta.dropFeatureTruncateHistory.retentionDuration`, a day by default, the earlier log is
//! deleted, and the feature is dropped: no client has to support it, and nothing has to be protected. Until
//! then the feature stays, and an error states when it can be dropped.
//!
//! Protocol: "Table Features", "Checkpoint Protection"; steps as in delta-spark.

use crate::derived::cleanup::truncate_log;
use crate::derived::traces::{PROTECTION, Traces};
use crate::error::{Error, Result};
use crate::log::history::render;
use crate::snapshot::Snapshot;
use crate::spec::features::find_feature;
use crate::spec::interval::MILLIS_PER_MINUTE;
use crate::storage::now;
use crate::table::{At, Table};
use crate::transaction::{Commit, CommitDescription, Transaction, TransactionOptions};

impl Table {
    /// Drops a feature, and the history that needs it.
    ///
    /// # Errors
    ///
    /// As [`Table::drop_feature`], but `alter.truncate_history` for a feature that leaves nothing in the
    /// history. Invalid argument: `alter.feature_in_history` while versions that need it are too recent to be
    /// deleted. Unsupported: `catalog.maintenance`.
    pub(super) fn drop_feature_and_history(
        &self,
        name: &str,
        options: &TransactionOptions,
    ) -> Result<Commit> {
        let snapshot = self.snapshot(At::Latest, None)?;
        snapshot.protocol().without_feature(name)?;
        let feature = find_feature(name);
        let name = feature.map_or(name, |feature| feature.name);
        if name != PROTECTION && feature.is_none_or(|feature| !feature.binds_readers()) {
            let message = format!(
                "no older version needs {name} to be read: drop it without truncate_history"
            );
            return Err(Error::invalid("alter.truncate_history", message));
        }
        self.remove_traces(name, options)?;
        self.remove_type_changes(name, options)?;
        let mut snapshot = self.snapshot(At::Latest, None)?;
        let mut traces = Traces::of(self.source(), name, &snapshot)?;
        if !traces.none {
            if traces.barrier.is_none() {
                self.write_barrier(&snapshot, &traces, options)?;
                snapshot = self.snapshot(At::Latest, None)?;
            }
            let cleaned = truncate_log(self.source(), &snapshot, self.now(false)?)?;
            traces = Traces::of(self.source(), name, &snapshot)?;
            if !traces.none {
                return Err(in_history(name, &snapshot, &traces, &cleaned.notes));
            }
        }
        self.commit_drop(&snapshot, name, true, options)
    }

    /// Writes a checkpoint after all versions that need the feature.
    fn write_barrier(
        &self,
        snapshot: &Snapshot,
        traces: &Traces,
        options: &TransactionOptions,
    ) -> Result<()> {
        if traces.last.is_none_or(|last| snapshot.version() > last) {
            return self.checkpoint(snapshot, None).map(drop);
        }
        self.commit_barrier(snapshot, options)
    }

    /// Removes previous types of columns in a separate commit: the feature can only be dropped once no
    /// version has them.
    fn remove_type_changes(&self, name: &str, options: &TransactionOptions) -> Result<()> {
        if !matches!(name, "typeWidening" | "typeWidening-preview") {
            return Ok(());
        }
        let snapshot = self.snapshot(At::Latest, None)?;
        let metadata = self.without_traces(&snapshot, name)?;
        if metadata == *snapshot.metadata() {
            return Ok(());
        }
        let description = CommitDescription::new("UPDATE SCHEMA", []);
        let mut transaction =
            Transaction::begin(self.source(), &snapshot, description, options.clone())?;
        transaction.read(None)?;
        transaction.set_metadata(metadata)?;
        self.commit(transaction).map(drop)
    }
}

/// Returns the error for a feature that is still in the history, with the time to retry.
fn in_history(name: &str, snapshot: &Snapshot, traces: &Traces, obstacles: &[String]) -> Error {
    let retention = snapshot.properties().truncated_history_retention;
    let earliest = traces.barrier.map(|(_, time)| {
        let minute = time.saturating_add(MILLIS_PER_MINUTE - 1);
        (minute - minute.rem_euclid(MILLIS_PER_MINUTE)).saturating_add(retention)
    });
    let remedy = match earliest {
        Some(earliest) if earliest > now() => format!(
            "call drop_feature({name:?}, truncate_history=True) again from {} on, when these versions \
             are older than {} (delta.dropFeatureTruncateHistory.retentionDuration); completed steps are \
             not repeated",
            render(earliest),
            duration(retention)
        ),
        _ if obstacles.is_empty() => {
            "another writer changed the table meanwhile: call drop_feature again".to_owned()
        }
        _ => format!(
            "remove the obstacles to their deletion: {}. If a checkpoint is the obstacle, write one of \
             a later version with checkpoint(), and call drop_feature again once it is old enough",
            obstacles.join("; ")
        ),
    };
    let message =
        format!("{name} stays for now: older versions in the log need it. To drop it, {remedy}");
    let error = Error::invalid("alter.feature_in_history", message);
    match traces.last {
        Some(version) => error.at_version(version),
        None => error,
    }
}

fn duration(milliseconds: i64) -> String {
    const HOUR: i64 = 60 * MILLIS_PER_MINUTE;
    if milliseconds >= 2 * HOUR && milliseconds % HOUR == 0 {
        return format!("{} hours", milliseconds / HOUR);
    }
    format!("{} minutes", milliseconds / MILLIS_PER_MINUTE)
}
