//! `Follow`: a table as a stream of small batches.

use std::sync::{Mutex, PoisonError};

use deltareplay_core::changes::Edge;
use deltareplay_core::changes::follow::{self, FollowOptions, Offset, StreamStart};
use pyo3::prelude::*;

use crate::arguments;
use crate::batches::ArrowSchema;
use crate::changes::ChangeSplit;
use crate::exceptions::{invalid, to_exception};
use crate::filter;
use crate::gate::detached;
use crate::table::Table;

/// The default number of files per batch of Delta's own streaming source.
const MAX_FILES: u64 = 1000;

/// A stream of a table's rows or changes.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Follow {
    schema: ArrowSchema,
    inner: Mutex<follow::Follow>,
}

/// Returns the start of a stream; at most one of the three arguments may be set.
fn stream_start(
    py: Python<'_>,
    version: Option<&Bound<'_, PyAny>>,
    timestamp: Option<&Bound<'_, PyAny>>,
    offset: Option<&str>,
) -> PyResult<StreamStart> {
    Ok(match (version, timestamp, offset) {
        (None, None, None) => StreamStart::Snapshot,
        (Some(version), None, None) => {
            if version
                .extract::<String>()
                .is_ok_and(|text| text == "latest")
            {
                return Ok(StreamStart::Latest);
            }
            let version = arguments::unsigned(py, "starting_version", version.extract()?)?;
            StreamStart::At(Edge::Version(version))
        }
        (None, Some(timestamp), None) => {
            StreamStart::At(Edge::Timestamp(arguments::milliseconds(timestamp)?))
        }
        (None, None, Some(json)) => StreamStart::After(parsed_offset(py, json)?),
        _ => {
            return Err(invalid(
                py,
                "follow.start",
                "starting_version, starting_timestamp and offset all set the start of a stream: pass only \
                 one of them",
            ));
        }
    })
}

fn parsed_offset(py: Python<'_>, json: &str) -> PyResult<Offset> {
    Offset::from_json(json).map_err(|error| to_exception(py, &error))
}

/// The arguments from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    starting_version: Option<Bound<'py, PyAny>>,
    starting_timestamp: Option<Bound<'py, PyAny>>,
    offset: Option<String>,
    ignore_deletes: bool,
    ignore_changes: bool,
    skip_change_commits: bool,
    fail_on_data_loss: bool,
    read_change_feed: bool,
    require_feed: bool,
    kind: Option<String>,
    deleted: Option<String>,
    key: Option<Bound<'py, PyAny>>,
    columns: Option<Bound<'py, PyAny>>,
    filter: Option<Bound<'py, PyAny>>,
    max_files_per_batch: Option<i128>,
    max_bytes_per_batch: Option<i128>,
    available_now: bool,
    until: Option<String>,
}

impl Arguments<'_> {
    fn options(&self, py: Python<'_>) -> PyResult<FollowOptions> {
        let max_bytes = arguments::optional(py, "max_bytes_per_batch", self.max_bytes_per_batch)?;
        let max_files = arguments::optional(py, "max_files_per_batch", self.max_files_per_batch)?;
        let changes = match (self.kind.as_deref(), self.deleted.as_deref()) {
            (None, None) if !self.read_change_feed => None,
            (kind, deleted) => Some(arguments::kind(py, kind.unwrap_or("full-delta"), deleted)?),
        };
        Ok(FollowOptions {
            start: stream_start(
                py,
                self.starting_version.as_ref(),
                self.starting_timestamp.as_ref(),
                self.offset.as_deref(),
            )?,
            ignore_deletes: self.ignore_deletes,
            ignore_changes: self.ignore_changes,
            skip_change_commits: self.skip_change_commits,
            skip_missing_commits: !self.fail_on_data_loss,
            changes,
            require_feed: self.require_feed,
            key: arguments::key(py, self.key.as_ref())?,
            max_files: match (max_files, max_bytes) {
                (None, None) => Some(MAX_FILES),
                _ => max_files,
            },
            max_bytes,
            available_now: self.available_now,
            until: self
                .until
                .as_deref()
                .map(|json| parsed_offset(py, json))
                .transpose()?,
            columns: arguments::optional_strings("columns", self.columns.as_ref())?,
            filter: filter::predicate(self.filter.as_ref())?,
        })
    }
}

#[pymethods]
impl Follow {
    #[new]
    fn new(py: Python<'_>, table: &Table, arguments: Arguments<'_>) -> PyResult<Self> {
        let options = arguments.options(py)?;
        let inner = detached(py, || table.0.follow(options))?;
        Ok(Self {
            schema: ArrowSchema(inner.schema()),
            inner: Mutex::new(inner),
        })
    }

    /// Returns the schema of every batch.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.schema.0.clone())
    }

    /// Returns the offset of the stream, as JSON.
    fn offset(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.with(|follow| follow.offset().to_json())))
    }

    /// Returns `true` if the stream has ended.
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || Ok(self.with(|follow| follow.is_done())))
    }

    /// Returns the first and the last commit of each range that was skipped since the last call.
    fn take_missing(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        detached(py, || Ok(self.with(follow::Follow::take_missing)))
    }

    /// Returns the next rows with the offset after them, if there are any yet.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<(ChangeSplit, String)>> {
        let next = detached(py, || self.with(follow::Follow::next_batch))?;
        Ok(next.map(|batch| (ChangeSplit(batch.rows), batch.offset.to_json())))
    }
}

impl Follow {
    fn with<T>(&self, work: impl FnOnce(&mut follow::Follow) -> T) -> T {
        // after a failure, the offset is still that of the last returned batch
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut inner)
    }
}
