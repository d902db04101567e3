//! The functions that write rows into a table.

use std::collections::BTreeMap;

use deltareplay_core::error::{Error, Result};
use deltareplay_core::maintenance::to_json;
use deltareplay_core::spec::variant_name::variant_named;
use deltareplay_core::statements::{Clause, Then};
use deltareplay_core::table::{RowsOptions, RowsWritten, SchemaMode};
use deltareplay_core::transaction::TransactionOptions;
use deltareplay_core::write::WriteOptions;
use pyo3::prelude::*;

use crate::arguments;
use crate::batches::stream;
use crate::filter;
use crate::gate::detached;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// The result of a write: version, metrics, error of the work after the commit.
pub(crate) type Outcome = (Option<u64>, BTreeMap<String, String>, Option<String>);

/// The options of a write: the arguments from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    schema_mode: Option<String>,
    partition_columns: Option<Vec<String>>,
    txn: Option<(String, i128)>,
    user_metadata: Option<String>,
    target_file_size: Option<i128>,
    durable: bool,
    timeout: f64,
    snapshot: Option<Py<Snapshot>>,
}

impl Options {
    /// Returns the requested file size in bytes.
    pub(crate) fn target(&self) -> Result<Option<u64>> {
        target(self.target_file_size)
    }

    /// Converts the options to those of the core.
    pub(crate) fn core(self) -> Result<RowsOptions> {
        Ok(RowsOptions {
            write: write_options(self.target_file_size)?,
            transaction: TransactionOptions {
                durable: self.durable,
                timeout: arguments::seconds(self.timeout)?,
                ..TransactionOptions::default()
            },
            schema_mode: match self.schema_mode.as_deref() {
                None => SchemaMode::Fixed,
                Some("merge") => SchemaMode::Merge,
                Some("overwrite") => SchemaMode::Overwrite,
                Some(other) => {
                    let message = format!(
                        "schema_mode is {other:?}: pass \"merge\" or, if all rows are replaced, \"overwrite\""
                    );
                    return Err(Error::invalid("rows.schema_mode", message));
                }
            },
            partition_columns: self.partition_columns,
            txn: self.txn.map(version_of_application).transpose()?,
            user_metadata: self.user_metadata,
            snapshot: self.snapshot.map(|snapshot| snapshot.get().state().clone()),
        })
    }
}

fn version_of_application((application, version): (String, i128)) -> Result<(String, i64)> {
    let version = i64::try_from(version).map_err(|_| {
        let message = format!("txn has the version {version}: pass a signed 64-bit integer");
        Error::invalid("argument.range", message)
    })?;
    Ok((application, version))
}

/// Converts an optional file size in bytes.
pub(crate) fn target(size: Option<i128>) -> Result<Option<u64>> {
    let positive = |size: i128| match u64::try_from(size) {
        Ok(size) if size > 0 => Ok(size),
        _ => {
            let message = format!("target_file_size is {size}: pass 1 byte or more");
            Err(Error::invalid("argument.range", message))
        }
    };
    size.map(positive).transpose()
}

fn write_options(target_file_size: Option<i128>) -> Result<WriteOptions> {
    let mut write = WriteOptions::default();
    if let Some(size) = target(target_file_size)? {
        write.target_file_size = usize::try_from(size).unwrap_or(usize::MAX);
    }
    Ok(write)
}

/// A clause of MERGE: when it applies, its action, condition, and assignments of columns.
pub(crate) type PyClause = (
    String,
    String,
    Option<String>,
    Option<Vec<(String, String)>>,
);

pub(crate) fn clause((when, then, condition, set): PyClause) -> Result<Clause> {
    let unknown = || Error::invalid("rows.merge", "unknown kind of merge clause");
    Ok(Clause {
        when: variant_named(&when).ok_or_else(unknown)?,
        condition,
        then: match then.as_str() {
            "update" => Then::Update(set),
            "delete" => Then::Delete,
            "insert" => Then::Insert(set),
            _ => return Err(unknown()),
        },
    })
}

/// The definition of a table, on which its data files depend.
pub(crate) type Definition = (PyMetadata, PyProtocol);

/// Bodies of `add` as a JSON array, rows, bytes.
type Staged = (String, u64, u64);

/// Writes the rows of an Arrow stream to uncommitted files.
#[pyfunction]
#[pyo3(signature = (table, data, definition, condition=None, target_file_size=None))]
pub(crate) fn stage_rows(
    py: Python<'_>,
    table: &Table,
    data: &Bound<'_, PyAny>,
    definition: Definition,
    condition: Option<&Bound<'_, PyAny>>,
    target_file_size: Option<i128>,
) -> PyResult<Staged> {
    let rows = stream(data)?;
    let condition = filter::predicate(condition)?;
    let (PyMetadata(metadata), PyProtocol(protocol)) = definition;
    detached(py, || {
        let write = write_options(target_file_size)?;
        let staged = table
            .0
            .stage_rows(&metadata, &protocol, rows, condition.as_ref(), write)?;
        let json = to_json(&staged.adds);
        Ok((json, staged.rows, staged.bytes))
    })
}

/// Returns the files that another engine has written into a directory of a table: path (not encoded), size,
/// modification time and statistics as JSON of each.
#[pyfunction]
pub(crate) fn staged_statistics(
    py: Python<'_>,
    table: &Table,
    directory: &str,
    definition: Definition,
) -> PyResult<Vec<(String, u64, i64, String)>> {
    let (PyMetadata(metadata), PyProtocol(protocol)) = definition;
    let statistics = detached(py, || {
        table.0.staged_statistics(&metadata, &protocol, directory)
    })?;
    let files = statistics.into_iter();
    Ok(files
        .map(|(file, stats)| (file.path, file.size, file.modification_time, stats))
        .collect())
}

/// Deletes a directory of a table with all files in it, none of which is committed.
#[pyfunction]
pub(crate) fn discard_directory(py: Python<'_>, table: &Table, directory: &str) -> PyResult<()> {
    detached(py, || table.0.discard_directory(directory))
}

/// Deletes uncommitted files, by their paths in the log.
#[pyfunction]
pub(crate) fn discard_staged(py: Python<'_>, table: &Table, paths: Vec<String>) -> PyResult<()> {
    detached(py, || table.0.discard_staged(&paths))
}

/// Moves uncommitted files, by their paths in the table, not encoded.
#[pyfunction]
pub(crate) fn move_staged(
    py: Python<'_>,
    table: &Table,
    files: Vec<(String, String)>,
) -> PyResult<()> {
    detached(py, || table.0.move_staged(&files))
}

pub(crate) fn outcome(written: RowsWritten) -> Outcome {
    let afterwards = written.afterwards.map(|error| error.to_string());
    (written.version, written.metrics, afterwards)
}
