//! `Snapshot`: the state of a table at one version.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, RecordBatch};
use deltareplay_core::changes::diff::diff;
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::error::Result;
use deltareplay_core::expr::Predicate;
use deltareplay_core::replay::FileFilter;
use deltareplay_core::scan::data_file::Extras;
use deltareplay_core::scan::min_max::{min_max, warn};
use deltareplay_core::scan::{self, ScanOptions};
use deltareplay_core::snapshot;
use deltareplay_core::snapshot::pieces::PieceOptions;
use deltareplay_core::table::Table;
use deltareplay_core::write::{Partitions, each_step};
use pyo3::prelude::*;

use crate::arguments;
use crate::batches::{ArrowBatch, ArrowSchema, ArrowTable, BatchIterator, stream};
use crate::filter;
use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::pieces::{ReplayPiece, ReplayTail};
use crate::protocol::PyProtocol;
use crate::scan::Scan;

/// A difference in the definition: kind, name, before, after.
type Difference = (&'static str, String, Option<String>, Option<String>);

/// Files, rows and bytes.
type Totals = (u64, Option<u64>, u64);

/// One version of a table. Its files, transactions and domains are read on demand.
#[pyclass(module = "deltareplay._native", frozen)]
pub(crate) struct Snapshot {
    table: Table,
    state: snapshot::Snapshot,
}

impl Snapshot {
    pub(crate) fn new(table: Table, state: snapshot::Snapshot) -> Self {
        Self { table, state }
    }

    pub(crate) fn state(&self) -> &snapshot::Snapshot {
        &self.state
    }

    /// Resolves columns and a filter of files.
    fn selection(
        &self,
        columns: Option<&[String]>,
        filter: Option<&Predicate>,
    ) -> Result<(FileColumns, Option<Arc<FileFilter>>)> {
        let filter = filter.map(|filter| self.state.filter_of(filter));
        let filter = filter.transpose()?;
        Ok((FileColumns::of_names(columns, &self.state)?, filter))
    }
}

#[pymethods]
impl Snapshot {
    /// Returns the version.
    #[getter]
    fn version(&self) -> u64 {
        self.state.version()
    }

    /// Returns the commit timestamp in milliseconds since the epoch.
    #[getter]
    fn timestamp(&self) -> i64 {
        self.state.timestamp()
    }

    /// Returns the in-commit timestamp in milliseconds since the epoch, if the table has them.
    #[getter]
    fn in_commit_timestamp(&self) -> Option<i64> {
        self.state.in_commit_timestamp()
    }

    /// Returns the logical schema.
    #[getter]
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.state.arrow_schema())
    }

    /// Returns the `metaData` action.
    fn metadata(&self) -> PyMetadata {
        PyMetadata(self.state.metadata().clone())
    }

    /// Returns the `protocol` action.
    fn protocol(&self) -> PyProtocol {
        PyProtocol(self.state.protocol().clone())
    }

    /// Returns the newest transaction of each application: (appId, version).
    fn transactions(&self, py: Python<'_>) -> PyResult<Vec<(String, i64)>> {
        let latest = detached(py, || self.state.transactions(self.table.source()))?;
        Ok(latest.into_iter().map(|t| (t.app_id, t.version)).collect())
    }

    /// Returns the live domains: (domain, configuration).
    fn domain_metadata(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let domains = detached(py, || self.state.domain_metadata(self.table.source()))?;
        Ok(domains
            .into_iter()
            .map(|d| (d.domain, d.configuration))
            .collect())
    }

    /// Returns the number of live files.
    fn num_files(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.state.num_files(self.table.source()))
    }

    /// Returns the number of rows, if the log determines it.
    fn num_rows(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        detached(py, || self.state.num_rows(self.table.source()))
    }

    /// Returns the minimum and the maximum of a column, if the log determines them and values of Python can
    /// hold them.
    fn min_max(&self, py: Python<'_>, column: &str) -> PyResult<Option<ArrowBatch>> {
        let bounds = detached(py, || min_max(self.table.source(), &self.state, column))?;
        if bounds.iter().flat_map(RecordBatch::columns).any(is_far) {
            let message = format!(
                "the minimum or maximum of {column} is not in the years 1 to 9999 of Python's dates: compute them \
                 by a scan"
            );
            warn(&self.state, None, message);
            return Ok(None);
        }
        Ok(bounds.map(ArrowBatch))
    }

    /// Returns the total size of the live files in bytes.
    fn size_in_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.state.size_in_bytes(self.table.source()))
    }

    /// Returns the live files, all in memory.
    #[pyo3(signature = (columns=None, filter=None))]
    fn files(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ArrowTable> {
        let columns = arguments::optional_strings("columns", columns)?;
        let filter = filter::predicate(filter)?;
        let table = detached(py, || {
            let (columns, filter) = self.selection(columns.as_deref(), filter.as_ref())?;
            let source = self.table.source();
            self.state.files(source, &columns, filter.as_ref())
        })?;
        Ok(ArrowTable::from(table))
    }

    /// Returns the live files, read on demand.
    #[pyo3(signature = (columns=None, filter=None))]
    fn file_batches(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<BatchIterator> {
        let columns = arguments::optional_strings("columns", columns)?;
        let filter = filter::predicate(filter)?;
        detached(py, || {
            let (columns, filter) = self.selection(columns.as_deref(), filter.as_ref())?;
            let source = self.table.source();
            self.state.file_batches(source, columns, filter.as_ref())
        })
        .map(BatchIterator::new)
    }

    /// Returns the log files of this version, as the fields of `deltareplay.LogSegment`.
    fn log_segment(&self) -> (Option<u64>, Vec<String>, u64, usize, u64) {
        let segment = self.state.segment();
        let checkpoint = segment.checkpoint.as_ref();
        let files = checkpoint.map_or(&[][..], |checkpoint| &checkpoint.files);
        (
            checkpoint.map(|checkpoint| checkpoint.version),
            files.iter().map(|file| file.path.clone()).collect(),
            files.iter().map(|file| file.size).sum(),
            segment.commits.len(),
            segment.tail.iter().map(|file| file.file.size).sum(),
        )
    }

    /// Splits the replay of the live files into pieces; returns the pieces, the tail that is needed to read
    /// them, and the live files that the tail adds. With `keyed`, there are no such files: the commits of the
    /// tail are pieces, too.
    #[pyo3(signature = (columns=None, filter=None, *, piece_size, keyed=false))]
    fn replay_plan(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
        piece_size: i128,
        keyed: bool,
    ) -> PyResult<(Vec<ReplayPiece>, ReplayTail, ArrowTable)> {
        let options = PieceOptions {
            columns: arguments::optional_strings("columns", columns)?,
            filter: filter::predicate(filter)?,
            target_size: arguments::unsigned(py, "piece_size", piece_size)?,
            keyed,
            tombstones_since: None,
        };
        let source = self.table.source();
        let plan = detached(py, || self.state.replay_plan(source, &options))?;
        let pieces = plan.pieces.into_iter().map(ReplayPiece).collect();
        Ok((pieces, ReplayTail(plan.tail), ArrowTable::from(plan.files)))
    }

    /// Returns a scan of this version.
    #[pyo3(signature = (columns=None, filter=None, with_row_id=false, with_file_path=false, with_row_index=false, skip_errors=false, look_ahead=None))]
    #[allow(clippy::too_many_arguments, reason = "the options of one call")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
        with_row_id: bool,
        with_file_path: bool,
        with_row_index: bool,
        skip_errors: bool,
        look_ahead: Option<i128>,
    ) -> PyResult<Scan> {
        let extras = Extras {
            file_path: with_file_path,
            row_index: with_row_index,
            row_id: with_row_id,
            change_type: false,
        };
        let options = ScanOptions {
            columns: arguments::optional_strings("columns", columns)?,
            filter: filter::predicate(filter)?,
            extras,
            skip_errors,
            look_ahead: arguments::limit(py, "look_ahead", look_ahead)?,
        };
        let scan = detached(py, || {
            let scan = scan::Scan::new(self.table.source(), &self.state, options)?;
            scan.check_names()?;
            Ok(scan)
        })?;
        Ok(Scan(scan))
    }

    /// Returns for each of `files` whether any of `others` is in the same partition.
    ///
    /// `files` has typed partition values by physical name; `others` has partition values as in the log.
    fn in_partitions(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        others: Vec<BTreeMap<String, Option<String>>>,
    ) -> PyResult<Vec<bool>> {
        let files = stream(files)?;
        detached(py, || {
            let partitions = Partitions::of_files(&self.state, &others)?;
            let mut result = Vec::new();
            each_step(files, &mut |rows| {
                result.extend(partitions.contain_rows(&rows)?);
                Ok(())
            })?;
            Ok(result)
        })
    }

    /// Returns the removed files within the retention period.
    fn tombstones(&self, py: Python<'_>) -> PyResult<ArrowTable> {
        detached(py, || self.state.tombstones(self.table.source())).map(ArrowTable::from)
    }

    /// Returns the differences between this version and another one of the same table: files, the
    /// definition as (kind, name, before, after), and (files, rows, bytes) of both.
    fn diff(
        &self,
        py: Python<'_>,
        other: &Snapshot,
    ) -> PyResult<(ArrowTable, Vec<Difference>, [Totals; 2])> {
        let changes = detached(py, || diff(self.table.source(), &self.state, &other.state))?;
        let definition = changes.definition.into_iter();
        let totals = changes
            .totals
            .map(|side| (side.files, side.rows, side.bytes));
        Ok((
            ArrowTable::from(changes.files),
            definition
                .map(|change| (change.kind, change.name, change.before, change.after))
                .collect(),
            totals,
        ))
    }

    /// Returns the snapshot of the newest version, which may be this one.
    fn update(&self, py: Python<'_>) -> PyResult<Self> {
        let state = detached(py, || self.table.update(&self.state))?;
        Ok(Self::new(self.table.clone(), state))
    }

    /// Returns the warnings from index `start` on: (code, path, version, message) each.
    fn warnings(&self, start: usize) -> Vec<(&'static str, Option<String>, Option<u64>, String)> {
        let warnings = self.state.warnings().into_iter().skip(start);
        warnings
            .map(|warning| (warning.code, warning.path, warning.version, warning.message))
            .collect()
    }
}

/// Returns `true` if any value is a date or timestamp that Python cannot hold.
fn is_far(values: &ArrayRef) -> bool {
    const DAYS: Range<i64> = -719_162..2_932_897; // the years 1 to 9999
    const MICROSECONDS: i64 = 86_400_000_000; // of a day
    let days = values.as_primitive_opt::<Date32Type>();
    let instants = values.as_primitive_opt::<TimestampMicrosecondType>();
    let days = days.into_iter().flatten().flatten().map(i64::from);
    let of_instants = instants.into_iter().flatten().flatten();
    days.chain(of_instants.map(|instant| instant.div_euclid(MICROSECONDS)))
        .any(|day| !DAYS.contains(&day))
}
