//! Commit timestamps, the version at a timestamp, and the `commitInfo` of every commit.
//!
//! Takes listings and the bytes of single commits; returns versions, timestamps and history rows.
//!
//! Protocol: "Commit Provenance Information", "In-Commit Timestamps".

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use serde_json::{Map, Value};

use super::commit::{decode_files, read_commit_info};
use super::listing::{LogListing, VersionedFile};
use super::segment::file_timestamps;
use crate::codec::commit::{ActionDecoder, ActionSelection, columns_error, parse_commit_info};
use crate::codec::control_columns::{boolean, long, structure, text, text_map};
use crate::codec::file_actions::string_map_builder;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::json::{Cursor, JsonError};
use crate::spec::properties::InCommitTimestampEnablement;
use crate::storage::{FileMeta, Storage, interrupt};

/// Returns `inCommitTimestamp` of a `commitInfo`, in milliseconds, if it has one.
///
/// # Errors
///
/// Corrupt: `commit.in_commit_timestamp` if it is not an integer, or if the text is not an object.
pub fn in_commit_timestamp(commit_info: &str) -> Result<Option<i64>> {
    let read = |cursor: &mut Cursor<'_>| {
        cursor.begin_object()?;
        let mut first = true;
        while let Some(key) = cursor.next_key(&mut first)? {
            if key.decode() == "inCommitTimestamp" && !cursor.null()? {
                return cursor.i64().map(Some);
            }
            cursor.skip()?;
        }
        Ok(None)
    };
    read(&mut Cursor::new(commit_info)).map_err(|problem: JsonError| {
        Error::corrupt(
            "commit.in_commit_timestamp",
            format!("commitInfo cannot be read: {}", problem.message),
        )
    })
}

/// Returns the in-commit timestamp of a commit that must have one by the protocol.
///
/// # Errors
///
/// Corrupt: `commit.in_commit_timestamp` if it is missing or not an integer.
pub fn required_in_commit_timestamp(
    commit_info: Option<&str>,
    commit: &FileMeta,
    version: u64,
) -> Result<i64> {
    let error = match commit_info.map(in_commit_timestamp) {
        Some(Ok(Some(timestamp))) => return Ok(timestamp),
        Some(Err(error)) => error,
        _ => Error::corrupt(
            "commit.in_commit_timestamp",
            "in-commit timestamps are enabled, but the commit's commitInfo has none: ask the writer of the \
             commit",
        ),
    };
    Err(error.at_path(commit.path.clone()).at_version(version))
}

/// The position of a timestamp among the readable versions, each with its commit timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampMatch {
    /// Before the oldest version.
    Before(u64, i64),
    /// This version was current.
    At(u64, i64),
    /// After the commit of the newest version.
    After(u64, i64),
}

/// Returns the version that was current at `timestamp` (milliseconds).
///
/// # Errors
///
/// Version not found: `version.timestamp` if it is before the first or after the last readable version.
pub fn version_at(
    storage: &dyn Storage,
    listing: &LogListing,
    timestamp: i64,
    in_commit: Option<InCommitTimestampEnablement>,
) -> Result<u64> {
    let earliest = listing.earliest_recreatable().unwrap_or(0);
    match find_timestamp(storage, listing, earliest, timestamp, in_commit)? {
        TimestampMatch::At(version, _) => Ok(version),
        outside => Err(outside.into_error(timestamp)),
    }
}

impl TimestampMatch {
    /// Returns the error for a timestamp outside of the history.
    pub fn into_error(self, timestamp: i64) -> Error {
        let (position, version, time, remedy) = match self {
            Self::Before(version, time) => (
                "before the oldest version that can be read,",
                version,
                time,
                "that time or a later one",
            ),
            Self::At(version, time) => ("at", version, time, "another time"),
            Self::After(version, time) => (
                "after the newest version,",
                version,
                time,
                "that time or an earlier one",
            ),
        };
        let message = format!(
            "timestamp {} is {position} version {version}, committed at {}: pass {remedy}, or a version",
            render(timestamp),
            render(time)
        );
        Error::new(ErrorKind::VersionNotFound, "version.timestamp", message)
    }
}

/// Returns the position of a timestamp (milliseconds) among the versions from `earliest` on.
///
/// # Errors
///
/// Version not found: `version.timestamp` if the log has no commit of these versions.
pub fn find_timestamp(
    storage: &dyn Storage,
    listing: &LogListing,
    earliest: u64,
    timestamp: i64,
    in_commit: Option<InCommitTimestampEnablement>,
) -> Result<TimestampMatch> {
    let has_own_time =
        |commit: &VersionedFile| in_commit.is_some_and(|enabled| commit.version >= enabled.version);
    let by_commit = in_commit.is_some_and(|enabled| timestamp >= enabled.timestamp);
    let mut readable = file_timestamps(&listing.commits);
    readable.retain(|(commit, _)| commit.version >= earliest);
    let candidates: Vec<(&VersionedFile, i64)> = readable
        .iter()
        .filter(|(commit, _)| has_own_time(commit) == by_commit)
        .copied()
        .collect();
    let time_of = |(commit, file_time): (&VersionedFile, i64)| {
        if !has_own_time(commit) {
            return Ok(file_time);
        }
        let info = read_commit_info(storage, &commit.file, commit.version)?;
        required_in_commit_timestamp(info.as_deref(), &commit.file, commit.version)
    };
    // the last version that is not later; timestamps ascend with versions
    let (mut low, mut high) = (0, candidates.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match candidates.get(middle) {
            Some(candidate) if time_of(*candidate)? <= timestamp => low = middle + 1,
            _ => high = middle,
        }
    }
    let before = low
        .checked_sub(1)
        .and_then(|at| candidates.get(at).copied());
    let Some(earlier) = before else {
        let Some(first) = candidates.first().or(readable.first()).copied() else {
            let message =
                "no commit is left in the log, so its versions have no timestamps: pass a version";
            return Err(Error::new(
                ErrorKind::VersionNotFound,
                "version.timestamp",
                message,
            ));
        };
        return Ok(TimestampMatch::Before(first.0.version, time_of(first)?));
    };
    let newest = listing.commits.last().map(|commit| commit.version);
    let (version, time) = (earlier.0.version, time_of(earlier)?);
    Ok(if Some(version) == newest && time < timestamp {
        TimestampMatch::After(version, time)
    } else {
        TimestampMatch::At(version, time)
    })
}

/// Formats a timestamp for display.
pub(crate) fn render(milliseconds: i64) -> String {
    chrono::DateTime::from_timestamp_millis(milliseconds).map_or_else(
        || format!("{milliseconds} ms"),
        |time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    )
}

/// A row of the history: the commit timestamp and the content of `commitInfo`.
pub struct HistoryEntry {
    version: u64,
    timestamp: i64,
    info: Map<String, Value>,
}

/// Starts to fetch what [`read_history`] reads first.
pub fn prefetch_history(storage: &dyn Storage, listing: &LogListing, limit: Option<usize>) {
    let Some(cache) = storage.log_cache() else {
        return;
    };
    let newest = listing.commits.iter().rev();
    let newest = newest.take(limit.unwrap_or(usize::MAX).min(AHEAD));
    let newest: Vec<_> = newest
        .map(|commit| (commit.file.path.clone(), None))
        .collect();
    cache.prefetch(&newest);
}

/// The number of commits that are fetched ahead.
const AHEAD: usize = 64;

/// Reads the history, newest first, at most `limit` versions.
pub fn read_history(
    storage: &dyn Storage,
    listing: &LogListing,
    limit: Option<usize>,
    in_commit: Option<InCommitTimestampEnablement>,
) -> Result<Vec<HistoryEntry>> {
    let newest: Vec<(&VersionedFile, i64)> = file_timestamps(&listing.commits)
        .into_iter()
        .rev()
        .take(limit.unwrap_or(usize::MAX))
        .collect();
    read_entries(storage, &newest, in_commit)
}

/// Reads the rows of commits, each with the timestamp of its file.
pub fn read_entries(
    storage: &dyn Storage,
    commits: &[(&VersionedFile, i64)],
    in_commit: Option<InCommitTimestampEnablement>,
) -> Result<Vec<HistoryEntry>> {
    let mut entries = Vec::with_capacity(commits.len());
    for run in commits.chunks(512) {
        interrupt::check()?;
        let files: Vec<_> = run
            .iter()
            .map(|(commit, _)| (&commit.file, commit.version))
            .collect();
        let mut decoder = ActionDecoder::new(ActionSelection {
            commit_infos: true,
            ..ActionSelection::default()
        });
        decode_files(storage, &files, &mut decoder)?;
        let actions = decoder.finish()?;
        let mut infos = actions.commit_infos.iter().peekable();
        for (number, (commit, file_time)) in run.iter().enumerate() {
            let located = |error: Error| {
                error
                    .at_path(commit.file.path.clone())
                    .at_version(commit.version)
            };
            let end = actions
                .starts
                .get(number + 1)
                .copied()
                .unwrap_or(actions.num_positions);
            let text = infos
                .next_if(|(position, _)| *position < end)
                .map(|(_, text)| text.as_str());
            while infos.next_if(|(position, _)| *position < end).is_some() {} // ignore a second one
            let info: Map<String, Value> = match text {
                Some(text) => parse_commit_info(text).map_err(|cause| {
                    located(
                        Error::corrupt("commit.action", "commitInfo cannot be read").because(cause),
                    )
                })?,
                None => Map::new(),
            };
            let own_time = info.get("inCommitTimestamp").and_then(Value::as_i64);
            let enabled = in_commit.is_some_and(|enabled| commit.version >= enabled.version);
            let timestamp = own_time.filter(|_| enabled).unwrap_or(*file_time);
            entries.push(HistoryEntry {
                version: commit.version,
                timestamp,
                info,
            });
        }
    }
    Ok(entries)
}

const JOB: [&str; 6] = [
    "jobId",
    "jobName",
    "jobRunId",
    "runId",
    "jobOwnerId",
    "triggerType",
];

/// Returns the schema of the history: the columns of `DESCRIBE HISTORY`.
pub fn history_schema() -> SchemaRef {
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Arc::new(Field::new("version", DataType::Int64, false)),
        Arc::new(Field::new("timestamp", instant, false)),
        text("userId"),
        text("userName"),
        text("operation"),
        text_map("operationParameters"),
        structure("job", JOB.map(text).into_iter().collect()),
        structure("notebook", [text("notebookId")].into_iter().collect()),
        text("clusterId"),
        long("readVersion"),
        text("isolationLevel"),
        boolean("isBlindAppend"),
        text_map("operationMetrics"),
        text("userMetadata"),
        text("engineInfo"),
    ]))
}

/// Converts history rows to columns.
pub fn history_batch(entries: &[HistoryEntry]) -> Result<RecordBatch> {
    let version = entries
        .iter()
        .map(|entry| i64::try_from(entry.version).unwrap_or(i64::MAX));
    let instant = entries
        .iter()
        .map(|entry| entry.timestamp.saturating_mul(1_000));
    let schema = history_schema();
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(version)),
        Arc::new(TimestampMicrosecondArray::from_iter_values(instant).with_timezone("UTC")),
    ];
    for field in schema.fields().iter().skip(2) {
        let mut values = entries.iter().map(|entry| {
            entry
                .info
                .get(field.name())
                .filter(|value| !value.is_null())
        });
        columns.push(column(field.data_type(), &mut values).map_err(columns_error)?);
    }
    RecordBatch::try_new(schema, columns).map_err(columns_error)
}

/// Converts JSON values to a column of this type: values of another type become null, strings accept any
/// value.
pub(super) fn column(
    data_type: &DataType,
    values: &mut dyn Iterator<Item = Option<&Value>>, // dyn, since structs recurse with another type of iterator
) -> std::result::Result<ArrayRef, ArrowError> {
    Ok(match data_type {
        DataType::Int64 => {
            let mut builder = Int64Builder::new();
            values.for_each(|value| builder.append_option(value.and_then(Value::as_i64)));
            Arc::new(builder.finish())
        }
        DataType::Boolean => {
            let mut builder = BooleanBuilder::new();
            values.for_each(|value| builder.append_option(value.and_then(Value::as_bool)));
            Arc::new(builder.finish())
        }
        DataType::Map(..) => {
            let mut builder = string_map_builder();
            for value in values {
                let object = value.and_then(Value::as_object);
                for (key, value) in object.into_iter().flatten() {
                    builder.keys().append_value(key);
                    builder.values().append_option(as_text(Some(value)));
                }
                builder.append(object.is_some())?;
            }
            Arc::new(builder.finish())
        }
        DataType::Struct(fields) => {
            let objects: Vec<_> = values
                .map(|value| value.and_then(Value::as_object))
                .collect();
            let child = |field: &Arc<Field>| {
                column(
                    field.data_type(),
                    &mut objects
                        .iter()
                        .map(|object| object.and_then(|object| object.get(field.name()))),
                )
            };
            let children = fields
                .iter()
                .map(child)
                .collect::<std::result::Result<Vec<_>, _>>()?;
            let nulls = objects
                .iter()
                .map(Option::is_some)
                .collect::<Vec<bool>>()
                .into();
            Arc::new(StructArray::try_new(fields.clone(), children, Some(nulls))?)
        }
        _ => {
            let mut builder = StringBuilder::new();
            values.for_each(|value| builder.append_option(as_text(value)));
            Arc::new(builder.finish())
        }
    })
}

/// Returns strings bare, other values as JSON.
fn as_text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
