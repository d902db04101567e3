//! `Changes`: the changed rows between two versions.

use deltareplay_core::changes;
use deltareplay_core::snapshot::plain_value::PlainValue;
use pyo3::prelude::*;

use crate::arguments;
use crate::batches::{ArrowSchema, BatchIterator, stream};
use crate::gate::detached;
use crate::table::Table;

/// The changes of a range of versions.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Changes(pub(crate) changes::Changes);

#[pymethods]
impl Changes {
    /// Returns the schema of the rows.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.0.schema())
    }

    /// Returns the first and the last version, or None for an empty range.
    #[getter]
    fn versions(&self) -> Option<(u64, u64)> {
        self.0.versions()
    }

    /// Returns the version whose columns the rows have.
    #[getter]
    fn end_version(&self) -> u64 {
        self.0.end_version()
    }

    /// Returns the rows, read on demand.
    fn rows(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        detached(py, || self.0.rows()).map(BatchIterator::new)
    }

    /// Returns for each commit how its rows are identified, the reason, and the amount to read.
    fn explain(&self, py: Python<'_>) -> PyResult<Vec<Explained>> {
        let commits = detached(py, || self.0.explain())?;
        let fields = |commit: changes::Explained| {
            (
                commit.version,
                commit.way.name(),
                commit.reason,
                commit.files,
                commit.bytes,
            )
        };
        Ok(commits.into_iter().map(fields).collect())
    }

    /// Returns the steps of net changes for many processes; None for full changes.
    fn shuffle(&self, py: Python<'_>) -> PyResult<Option<ChangeShuffle>> {
        let shuffle = detached(py, || self.0.shuffle())?;
        Ok(shuffle.map(ChangeShuffle))
    }

    /// Returns parts of about this many bytes.
    fn splits(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<ChangeSplit>> {
        let size = arguments::unsigned(py, "target_size", target_size)?;
        let splits = detached(py, || self.0.splits(size))?;
        Ok(splits.into_iter().map(ChangeSplit).collect())
    }
}

/// One commit: version, name of its `MatchBy`, reason, number of files to read, sum of their sizes.
type Explained = (u64, &'static str, &'static str, u64, u64);

/// One file: path, size, partition values, change type, version, milliseconds since the epoch.
type WholeFile = (
    String,
    i64,
    Vec<(String, Option<String>)>,
    Option<&'static str>,
    u64,
    i64,
);

/// A part of the changes.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ChangeSplit(pub(crate) changes::Split);

#[pymethods]
impl ChangeSplit {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        detached(py, || changes::Split::from_json(json)).map(Self)
    }

    /// Returns the split as JSON, from which it can be created again.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// Returns the schema of the rows.
    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        detached(py, || self.0.schema()).map(ArrowSchema)
    }

    /// Returns the paths of the files, as in the log.
    fn paths(&self) -> Vec<String> {
        self.0.paths()
    }

    /// Returns the approximate size of its files in bytes.
    #[getter]
    fn size_in_bytes(&self) -> u64 {
        self.0.size_in_bytes()
    }

    /// Returns the same rows in parts of about this many bytes.
    fn cut(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<Self>> {
        let size = arguments::unsigned(py, "target_size", target_size)?;
        let parts = detached(py, || self.0.cut(size))?;
        Ok(parts.into_iter().map(Self).collect())
    }

    /// Returns the files that any Parquet reader can read as a whole, and a split of the rest.
    fn without_whole_files(&self) -> (Vec<WholeFile>, Option<Self>) {
        let (whole, rest) = self.0.clone().without_whole_files();
        let fields = |file: changes::WholeFile| {
            (
                file.path,
                file.size,
                file.partition_values,
                file.change.map(changes::ChangeType::name),
                file.version,
                file.timestamp,
            )
        };
        (whole.into_iter().map(fields).collect(), rest.map(Self))
    }

    /// Returns the rows, read on demand from the files of this table.
    fn rows(&self, py: Python<'_>, table: &Table) -> PyResult<BatchIterator> {
        detached(py, || self.0.rows(table.0.source())).map(BatchIterator::new)
    }
}

/// Net changes in steps, with a shuffle between them.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct ChangeShuffle(changes::Shuffle);

#[pymethods]
impl ChangeShuffle {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        detached(py, || changes::Shuffle::from_json(json)).map(Self)
    }

    /// Returns the steps as JSON, from which they can be created again.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_json())
    }

    /// Returns a part of about this many bytes of files for each task: a range of indexes of pieces, without
    /// its end.
    fn parts(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<(u32, u32)>> {
        let size = arguments::unsigned(py, "target_size", target_size)?;
        detached(py, || self.0.parts(size))
    }

    /// Returns the same changes as splits that need no shuffle, each of about this many bytes of files.
    fn splits(&self, py: Python<'_>, target_size: i128) -> PyResult<Vec<ChangeSplit>> {
        let size = arguments::unsigned(py, "target_size", target_size)?;
        let splits = detached(py, || self.0.splits(size))?;
        Ok(splits.into_iter().map(ChangeSplit).collect())
    }

    /// Returns `true` if rows are followed through all commits, not only at both ends of the range.
    #[getter]
    fn follows_commits(&self) -> bool {
        self.0.follows_commits()
    }

    /// Returns the identity of each row of a part, and the change to it.
    fn row_events(
        &self,
        py: Python<'_>,
        table: &Table,
        part: (u32, u32),
    ) -> PyResult<BatchIterator> {
        detached(py, || self.0.row_events(table.0.source(), part)).map(BatchIterator::new)
    }

    /// Returns the outcomes of rows; the events of a row must be adjacent, and sorted by row.
    fn outcomes(&self, py: Python<'_>, row_events: &Bound<'_, PyAny>) -> PyResult<BatchIterator> {
        let row_events = stream(row_events)?;
        detached(py, || self.0.outcomes(row_events)).map(BatchIterator::new)
    }

    /// Returns the changed rows for these outcomes; the outcomes of a piece must be adjacent.
    fn rows(
        &self,
        py: Python<'_>,
        table: &Table,
        outcomes: &Bound<'_, PyAny>,
    ) -> PyResult<BatchIterator> {
        let outcomes = stream(outcomes)?;
        detached(py, || self.0.rows(table.0.source(), outcomes)).map(BatchIterator::new)
    }
}
