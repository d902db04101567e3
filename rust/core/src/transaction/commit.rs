//! From staged actions to a version of the table: render them, create the file, check for conflicts with
//! winning commits, retry.
//!
//! Only the first writer can create the file of a version. If the response is ambiguous, the file is read:
//! it is ours if it has our transaction id. If it is absent or cannot be read, the same bytes are put again,
//! always with put-if-absent, so that nothing is committed twice.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::definition::remove_properties;
use crate::error::{Error, ErrorKind, Result};
use crate::log::path::commit_path;
use crate::spec::properties::{MANIFESTS, TableProperties};
use crate::spec::{DomainMetadata, Metadata, Protocol};
use crate::storage::{interrupt, now};

use super::winning_commit::{Winner, high_water_mark};
use super::{IsolationLevel, ROW_TRACKING, Transaction};
use crate::write::AddFile;
use crate::write::actions::{line, without_nulls};
use crate::write::random::random_bits;

/// A retry waits a random time, first less than twice [`BASE_WAIT`]; each retry doubles this limit, up to
/// [`MAX_WAIT`].
const BASE_WAIT: Duration = Duration::from_millis(5);
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The result of a transaction.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The committed version; `None` if the application had already committed this batch.
    pub version: Option<u64>,
    /// The number of versions that were attempted.
    pub attempts: u32,
    /// The added files, as committed.
    pub adds: Vec<AddFile>,
    /// The transaction id of the commit.
    pub id: String,
    /// True if the table's properties require a checkpoint of this version.
    pub checkpoint_due: bool,
    /// True if the table's properties require new symlink manifests.
    pub manifests_due: bool,
    /// True if a catalog manages the table from this version on.
    pub becomes_catalog_managed: bool,
    /// The commit as written; empty if there is none.
    pub text: String,
}

struct LatestState {
    version: Option<u64>,
    timestamp: Option<i64>,
    high_water_mark: i64,
}

impl Transaction {
    /// Commits the transaction.
    ///
    /// # Errors
    ///
    /// Invalid argument: the commit would break the table. Unsupported: `catalog.take_over`,
    /// `catalog.required`, and `protocol.writer_features` of a winning commit. Conflict: a winning commit
    /// conflicts with this one, or `conflict.deadline` if other writers kept winning until the timeout.
    /// Storage: `commit.unknown` if the store did not confirm the commit, `rows.vacuumed`, and those of the
    /// store. Nothing is committed, except perhaps after `commit.unknown` or an interrupt.
    pub fn commit(mut self) -> Result<Commit> {
        let mut attempts = 0;
        if self.already_committed {
            return Ok(self.into_commit(None, attempts, String::new()));
        }
        self.check()?;
        let isolation = self.isolation()?;
        let blind = self.is_blind_append();
        let mut latest = self.latest_state()?;
        for file in &mut self.adds {
            // an id above the mark of the version that was read belongs to no existing row
            file.base_row_id = file.base_row_id.filter(|id| *id <= latest.high_water_mark);
        }
        let deadline = Instant::now() + self.options.timeout;
        loop {
            interrupt::check()?;
            attempts += 1;
            let version = latest.version.map_or(0, |version| version + 1);
            self.check_staged()?;
            let (text, adds) = self.render(version, &latest, isolation, blind)?;
            if self.create_file(version, text.as_bytes(), deadline)? {
                self.adds = adds;
                return Ok(self.into_commit(Some(version), attempts, text));
            }
            for winner in Winner::since(&*self.source.storage, version)? {
                if self.check_winner(&winner, isolation)? {
                    return Ok(self.into_commit(None, attempts, String::new()));
                }
                latest.version = Some(winner.version);
                latest.timestamp = Some(winner.timestamp());
                if let Some(mark) = winner.high_water_mark() {
                    latest.high_water_mark = mark;
                }
            }
            if Instant::now() >= deadline {
                let message = format!(
                    "other writers won {attempts} times before the timeout: nothing was committed"
                );
                let code = "conflict.deadline";
                return Err(Error::new(ErrorKind::Conflict, code, message));
            }
            wait(attempts, deadline)?;
        }
    }

    fn into_commit(self, version: Option<u64>, attempts: u32, text: String) -> Commit {
        let interval = self
            .effective()
            .and_then(|(metadata, protocol)| TableProperties::new(metadata, protocol))
            .map(|(properties, _)| properties.checkpoint_interval);
        let managed = |protocol: &Protocol| protocol.is_catalog_managed();
        let old_protocol = self.base.as_ref().map(|base| &base.protocol);
        let becomes_catalog_managed = version.is_some()
            && self.new_protocol().is_some_and(managed)
            && !old_protocol.is_some_and(managed);
        let due = |interval| version.is_some_and(|version| version > 0 && version % interval == 0);
        let mut metadata = self.new_metadata().into_iter();
        let manifests_due = metadata.any(|metadata| metadata.is_on(MANIFESTS));
        Commit {
            version,
            attempts,
            checkpoint_due: interval.is_ok_and(due),
            manifests_due,
            becomes_catalog_managed,
            adds: self.adds,
            id: self.id,
            text,
        }
    }

    fn latest_state(&self) -> Result<LatestState> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(LatestState {
                version: None,
                timestamp: None,
                high_water_mark: -1,
            });
        };
        let mut mark = -1;
        if snapshot.protocol().is_supported("rowTracking") {
            mark = snapshot
                .domain_configuration(&self.source, ROW_TRACKING)?
                .map_or(-1, |configuration| high_water_mark(&configuration));
        }
        Ok(LatestState {
            version: Some(snapshot.version()),
            timestamp: Some(snapshot.timestamp()),
            high_water_mark: mark,
        })
    }

    /// Returns the isolation level for the conflict check. A commit that only rearranges data (no data change,
    /// and no actions other than those of files) needs only snapshot isolation.
    fn isolation(&self) -> Result<IsolationLevel> {
        let changes_data = self.adds.iter().any(|file| file.data_change)
            || self.removes.iter().any(|file| file.data_change)
            || !self.cdcs.is_empty();
        let has_other_actions = self.metadata.is_some()
            || self.protocol.is_some()
            || !self.transactions.is_empty()
            || !self.domains.is_empty();
        if !changes_data && !has_other_actions {
            return Ok(IsolationLevel::SnapshotIsolation);
        }
        if let Some(level) = self.options.isolation {
            return Ok(level);
        }
        let property = self
            .new_metadata()
            .and_then(|metadata| metadata.property("delta.isolationLevel"));
        property.map_or(Ok(IsolationLevel::Serializable), IsolationLevel::parse)
    }

    /// Renders the commit as version `version`; returns its text and its added files, with the row ids
    /// assigned to them.
    fn render(
        &self,
        version: u64,
        latest: &LatestState,
        isolation: IsolationLevel,
        blind: bool,
    ) -> Result<(String, Vec<AddFile>)> {
        let (effective, protocol) = self.effective()?;
        let (properties, _) = TableProperties::new(effective, protocol)?;
        let now = now();
        let timestamp = latest
            .timestamp
            .map_or(now, |before| now.max(before.saturating_add(1)));
        let in_commit_timestamp = properties.in_commit_timestamps.then_some(timestamp);
        let mut metadata = self.metadata.clone();
        if let Some(metadata) = &mut metadata {
            self.update_timestamp_enablement(metadata, in_commit_timestamp, version)?;
        }
        let mut adds = self.adds.clone();
        let mut domains: Vec<DomainMetadata> = self.domains.values().cloned().collect();
        let tracks_rows =
            protocol.is_supported("rowTracking") && !properties.row_tracking_suspended;
        if tracks_rows {
            let mark = latest.high_water_mark;
            domains.extend(assign_row_ids(&mut adds, mark, version)?);
        }
        let mut lines = String::new();
        let info = self.commit_info(now, in_commit_timestamp, isolation, blind, tracks_rows);
        line(&mut lines, "commitInfo", &info)?;
        if let Some(protocol) = &self.protocol {
            line(&mut lines, "protocol", &json!(protocol))?;
        }
        if let Some(metadata) = &metadata {
            line(&mut lines, "metaData", &json!(metadata))?;
        }
        for transaction in self.transactions.values() {
            line(&mut lines, "txn", &json!(transaction))?;
        }
        for domain in &domains {
            line(&mut lines, "domainMetadata", &json!(domain))?;
        }
        for file in &self.removes {
            line(&mut lines, "remove", file)?;
        }
        for file in &adds {
            line(&mut lines, "add", file)?;
        }
        for file in &self.cdcs {
            line(&mut lines, "cdc", file)?;
        }
        Ok((lines, adds))
    }

    /// Sets the enablement version and timestamp if this commit enables in-commit timestamps on an existing
    /// table; keeps both if in-commit timestamps were enabled before; removes both if they are off.
    fn update_timestamp_enablement(
        &self,
        metadata: &mut Metadata,
        in_commit_timestamp: Option<i64>,
        version: u64,
    ) -> Result<()> {
        let keys = [
            "delta.inCommitTimestampEnablementVersion",
            "delta.inCommitTimestampEnablementTimestamp",
        ];
        let Some(base) = &self.base else {
            return Ok(());
        };
        let (old_properties, _) = TableProperties::new(&base.metadata, &base.protocol)?;
        match in_commit_timestamp {
            None => remove_properties(metadata, &keys),
            Some(timestamp) if !old_properties.in_commit_timestamps => {
                let values = [version.to_string(), timestamp.to_string()];
                let keys = keys.map(str::to_owned).into_iter();
                metadata.configuration.extend(keys.zip(values));
            }
            // also if the table is replaced: its older versions still lack these timestamps
            Some(_) => {
                for key in keys {
                    if let Some(value) = base.metadata.property(key) {
                        let entry = metadata.configuration.entry(key.to_owned());
                        entry.or_insert_with(|| value.to_owned());
                    }
                }
            }
        }
        Ok(())
    }

    fn commit_info(
        &self,
        now: i64,
        in_commit_timestamp: Option<i64>,
        isolation: IsolationLevel,
        blind: bool,
        tracks_rows: bool,
    ) -> Value {
        let description = &self.description;
        let mut tags = description.tags.clone();
        if tracks_rows {
            // rewritten rows keep their ids only if every added file was staged with a base row id
            let preserved =
                self.removes.is_empty() || self.adds.iter().all(|file| file.base_row_id.is_some());
            let key = "delta.rowTracking.preserved".to_owned();
            tags.entry(key).or_insert_with(|| preserved.to_string());
        }
        let mut metrics = description.metrics.clone();
        metrics.extend(description.times.clone());
        let engine = concat!("deltareplay/", env!("CARGO_PKG_VERSION"));
        without_nulls(json!({
            "inCommitTimestamp": in_commit_timestamp,
            "timestamp": now,
            "operation": description.operation,
            "operationParameters": description.parameters,
            "readVersion": self.snapshot.as_ref().map(|snapshot| snapshot.version()),
            "isolationLevel": isolation.name(),
            "isBlindAppend": blind,
            "operationMetrics": metrics,
            "userMetadata": description.user_metadata,
            "tags": Some(tags).filter(|tags| !tags.is_empty()),
            "engineInfo": description.engine_info.as_deref().unwrap_or(engine),
            "txnId": self.id,
        }))
    }

    /// Creates the file of the version: returns `true` if it is ours, `false` if it is another writer's.
    fn create_file(&self, version: u64, bytes: &[u8], deadline: Instant) -> Result<bool> {
        let (storage, path) = (&self.source.storage, commit_path(version));
        let mut tries = 0;
        loop {
            let outcome = if self.options.durable {
                storage.put_if_absent(&path, bytes)
            } else {
                storage.put_if_absent_unsynced(&path, bytes)
            };
            let error = match outcome {
                Ok(true) => return Ok(true),
                // another writer's commit, or this one if the response to an earlier attempt was lost
                Ok(false) => Error::storage("storage.io", "the existing commit cannot be read"),
                // a refusal is final at the first try only: later, an earlier try may still be executed
                Err(error) if tries == 0 && is_refusal(&error) => {
                    // a catalog may take the commit and answer wrongly
                    if error.code() == "catalog.answer" && self.owns(version) == Some(true) {
                        return Ok(true);
                    }
                    return Err(error.at_version(version));
                }
                Err(error) if error.code() == "storage.unsynced" => {
                    let message = "the commit is in the log, but a power failure may undo it";
                    return Err(self.unconfirmed(version, message, error));
                }
                Err(error) => error,
            };
            if let Some(owned) = self.owns(version) {
                return Ok(owned);
            }
            // a directory or a pipe: no writer can commit this version
            if let Err(error) = storage.head(&path)
                && error.code() == "storage.not_a_file"
            {
                return Err(error.at_version(version));
            }
            tries += 1;
            if Instant::now() >= deadline {
                let message = "the store did not confirm the commit";
                return Err(self.unconfirmed(version, message, error));
            }
            wait(tries, deadline)?;
        }
    }

    fn unconfirmed(&self, version: u64, message: &str, cause: Error) -> Error {
        let id = &self.id;
        let message =
            format!("{message} (txnId {id}): look for this id in the log before trying again");
        Error::storage("commit.unknown", message)
            .at_path(commit_path(version))
            .at_version(version)
            .because(cause)
    }

    /// Returns `true` if the commit of this version is ours; `None` if there is none, or it cannot be read.
    fn owns(&self, version: u64) -> Option<bool> {
        let winners = Winner::since(&*self.source.storage, version).ok()?;
        let first = winners.first()?;
        Some(first.transaction_id() == Some(&self.id))
    }
}

/// Returns `true` for errors after which the file was certainly not created, and for an interrupt.
fn is_refusal(error: &Error) -> bool {
    let refusals = [
        "storage.permission",
        "storage.full",
        "storage.name",
        "storage.not_a_file",
        "storage.not_found",
        "storage.read_only",
        "storage.unsupported",
    ];
    error.kind() != ErrorKind::Storage || refusals.contains(&error.code())
}

/// Waits a random time, longer after more attempts, and never beyond the deadline.
fn wait(attempts: u32, deadline: Instant) -> Result<()> {
    let max = BASE_WAIT
        .saturating_mul(2_u32.saturating_pow(attempts.min(20)))
        .min(MAX_WAIT)
        .min(deadline.saturating_duration_since(Instant::now()));
    let micros = u64::try_from(max.as_micros()).unwrap_or(u64::MAX).max(1);
    let until = Instant::now() + Duration::from_micros(random_bits() % micros);
    loop {
        interrupt::check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(interrupt::INTERVAL));
    }
}

/// Assigns row ids and commit versions to files that have none; returns the high-water mark if it changed.
fn assign_row_ids(
    adds: &mut [AddFile],
    latest_mark: i64,
    version: u64,
) -> Result<Option<DomainMetadata>> {
    let mut mark = latest_mark;
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let refused = |file: &AddFile, message: &str| {
        Err(Error::invalid("transaction.row_ids", message).at_path(file.path.clone()))
    };
    for file in adds {
        if file.base_row_id.is_none() {
            let Some(rows) = file.num_records() else {
                let message =
                    "row tracking is enabled: add numRecords to the statistics of the file";
                return refused(file, message);
            };
            let (Some(first), Some(last)) = (mark.checked_add(1), mark.checked_add(rows)) else {
                let message = "the domain delta.rowTracking leaves no row ids for this file: its \
                    rowIdHighWaterMark is not a number, or is too large; restore a version with a valid one";
                return refused(file, message);
            };
            file.base_row_id = Some(first);
            mark = last;
        }
        file.default_row_commit_version.get_or_insert(version);
    }
    Ok((mark != latest_mark).then(|| DomainMetadata {
        domain: ROW_TRACKING.to_owned(),
        configuration: json!({ "rowIdHighWaterMark": mark }).to_string(),
        removed: false,
    }))
}
