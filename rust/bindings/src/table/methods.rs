//! The methods that Python calls on a `Table`.

use std::collections::BTreeMap;
use std::sync::Arc;

use deltareplay_core::changes::ChangeOptions;
use deltareplay_core::derived::checkpoint::CheckpointLayout;
use deltareplay_core::derived::cleanup::cleanup_expired;
use deltareplay_core::error::{Error, Result};
use deltareplay_core::scan::bitmaps::bitmaps;
use deltareplay_core::spec::schema::StructType;
use deltareplay_core::spec::variant_name::variant_named;
use deltareplay_core::statements::{
    Alteration, CreateMode, MergeDefinition, Replaced, TableDefinition,
};
use deltareplay_core::table::{self, TableOptions};
use deltareplay_core::transaction::{CommitDescription, IsolationLevel, TransactionOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Table;
use super::columns::{self, Added, Change};
use crate::arguments;
use crate::batches::{ArrowTable, BatchIterator, stream};
use crate::catalog::PyCatalog;
use crate::changes::Changes;
use crate::deletion_vector::{Descriptor, descriptor_in};
use crate::exceptions::invalid;
use crate::filter;
use crate::gate::detached;
use crate::rows::{Options, Outcome, PyClause, clause, outcome};
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use crate::written::{PyCheckpoint, checkpoint_out};

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (uri, storage_options=None, allowed_roots=None, strict=false, catalog=None))]
    fn new(
        py: Python<'_>,
        uri: &str,
        storage_options: Option<&Bound<'_, PyDict>>,
        allowed_roots: Option<&Bound<'_, PyAny>>,
        strict: bool,
        catalog: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let catalog = catalog.map(PyCatalog::new).transpose()?;
        let options = TableOptions {
            storage_options: arguments::storage_options(storage_options)?,
            allowed_roots: arguments::optional_strings("allowed_roots", allowed_roots)?,
            strict,
            catalog: catalog.map(|catalog| Arc::new(catalog) as _),
        };
        detached(py, || table::Table::new(uri, options)).map(Self)
    }

    /// Returns the root of the table as a URI.
    #[getter]
    fn uri(&self) -> &str {
        self.0.uri()
    }

    /// Returns `true` if there is a table.
    fn exists(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.exists())
    }

    /// Returns `true` if there are files below the root, besides hidden ones.
    fn has_visible_files(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.has_visible_files())
    }

    /// Returns the snapshot of a version, of a time, or the latest.
    #[pyo3(signature = (version=None, timestamp=None, strict=None, verify=false))]
    fn snapshot(
        &self,
        py: Python<'_>,
        version: Option<i128>,
        timestamp: Option<&Bound<'_, PyAny>>,
        strict: Option<bool>,
        verify: bool,
    ) -> PyResult<Snapshot> {
        let at = arguments::at(py, version, timestamp)?;
        let state = detached(py, || {
            let strict = if verify { Some(true) } else { strict };
            let state = self.0.snapshot_to_read(at, strict)?;
            if verify {
                state.verify(self.0.source())?;
            }
            Ok(state)
        })?;
        Ok(Snapshot::new(self.0.clone(), state))
    }

    /// Returns the commits, newest first.
    #[pyo3(signature = (limit=None))]
    fn history(&self, py: Python<'_>, limit: Option<i128>) -> PyResult<ArrowTable> {
        let limit = arguments::limit(py, "limit", limit)?;
        detached(py, || self.0.history(limit)).map(ArrowTable::from)
    }

    /// Returns the history of one version, as a single row.
    fn history_of(&self, py: Python<'_>, version: i128) -> PyResult<ArrowTable> {
        let version = arguments::unsigned(py, "version", version)?;
        detached(py, || self.0.history_of(version)).map(ArrowTable::from)
    }

    /// Returns the decoded paths of files in the log: relative to the root or, for files below an allowed
    /// root, absolute within the store, with a leading slash.
    fn locate(&self, py: Python<'_>, paths: Vec<String>) -> PyResult<Vec<String>> {
        let source = self.0.source();
        let locate = |path: &String| {
            let resolved = source.resolver.resolve("", path);
            let resolved = resolved.and_then(|resolved| {
                match source.storage.check_readable(&resolved) {
                    // a missing file is reported when it is opened
                    Err(error) if error.code() != "storage.not_found" => Err(error),
                    _ => Ok(resolved.into_owned()),
                }
            });
            resolved.map_err(|error| error.at_path(path.clone()))
        };
        detached(py, || paths.iter().map(locate).collect())
    }

    /// Returns deletion vectors as bitmaps: `vector`, `chunk`, `words`.
    fn bitmaps(
        &self,
        py: Python<'_>,
        descriptors: Vec<Descriptor>,
        chunk_bits: u32,
    ) -> PyResult<BatchIterator> {
        detached(py, || {
            let descriptors = descriptors.into_iter().map(descriptor_in);
            let descriptors = descriptors.collect::<Result<Vec<_>>>()?;
            Ok(bitmaps(self.0.source(), descriptors, chunk_bits))
        })
        .map(BatchIterator::new)
    }

    /// Returns the changed rows from `start` to `end`, both inclusive.
    #[pyo3(signature = (start, end=None, *, kind="full-delta", deleted=None, columns=None, filter=None, key=None, most_rows=None, require_feed=false, allow_out_of_range=false, newest=None))]
    #[allow(clippy::too_many_arguments, reason = "the options of one call")]
    fn changes(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        end: Option<&Bound<'_, PyAny>>,
        kind: &str,
        deleted: Option<&str>,
        columns: Option<&Bound<'_, PyAny>>,
        filter: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        most_rows: Option<i128>,
        require_feed: bool,
        allow_out_of_range: bool,
        newest: Option<u64>,
    ) -> PyResult<Changes> {
        let start = arguments::edge("start", start)?;
        let end = end.map(|end| arguments::edge("end", end)).transpose()?;
        let options = ChangeOptions {
            kind: arguments::kind(py, kind, deleted)?,
            columns: arguments::optional_strings("columns", columns)?,
            filter: filter::predicate(filter)?,
            key: arguments::key(py, key)?,
            most_rows: arguments::limit(py, "most_rows", most_rows)?,
            require_feed,
            allow_out_of_range,
            newest,
        };
        detached(py, || self.0.changes(start, end, options)).map(Changes)
    }

    /// Creates or replaces the table; returns the version, None if the existing table is kept.
    #[pyo3(signature = (schema_string, partition_columns, properties, name=None, description=None, durable=true, mode="new", clustering_columns=None))]
    #[allow(clippy::too_many_arguments, reason = "the parts of one definition")]
    fn create(
        &self,
        py: Python<'_>,
        schema_string: &str,
        partition_columns: &Bound<'_, PyAny>,
        properties: BTreeMap<String, String>,
        name: Option<String>,
        description: Option<String>,
        durable: bool,
        mode: &str,
        clustering_columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        let partition_columns = arguments::strings("partition_columns", partition_columns)?;
        let clustering_columns =
            arguments::optional_strings("clustering_columns", clustering_columns)?;
        let mode: CreateMode = variant_named(mode).unwrap_or_default();
        detached(py, || {
            let definition = TableDefinition {
                schema: StructType::parse(schema_string).map_err(Error::of_argument)?,
                partition_columns,
                clustering_columns: clustering_columns.unwrap_or_default(),
                properties,
                name,
                description,
            };
            let options = TransactionOptions::durable(durable);
            self.0.create(definition, mode, options)
        })
    }

    /// Starts a transaction that creates or replaces the table, to which the rows of a query will be added;
    /// None if the existing table is kept.
    #[allow(clippy::too_many_arguments, reason = "the parts of one definition")]
    fn define(
        &self,
        py: Python<'_>,
        schema_string: &str,
        partition_columns: &Bound<'_, PyAny>,
        clustering_columns: &Bound<'_, PyAny>,
        properties: BTreeMap<String, String>,
        description: Option<String>,
        mode: &str,
    ) -> PyResult<Option<Transaction>> {
        let partition_columns = arguments::strings("partition_columns", partition_columns)?;
        let clustering_columns = arguments::strings("clustering_columns", clustering_columns)?;
        let mode: CreateMode = variant_named(mode).unwrap_or_default();
        let transaction = detached(py, || {
            let definition = TableDefinition {
                schema: StructType::parse(schema_string).map_err(Error::of_argument)?,
                partition_columns,
                clustering_columns,
                properties,
                name: None,
                description,
            };
            let options = TransactionOptions::default();
            self.0.define(definition, mode, true, options)
        })?;
        Ok(transaction.map(|transaction| Transaction::new(self.0.clone(), transaction)))
    }

    /// Sets properties; returns the version.
    fn set_properties(
        &self,
        py: Python<'_>,
        properties: BTreeMap<String, String>,
    ) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::SetProperties(properties))
    }

    /// Removes properties; returns the version.
    fn unset_properties(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        if_exists: bool,
    ) -> PyResult<Option<u64>> {
        let keys = arguments::strings("keys", keys)?;
        self.alter(py, Alteration::UnsetProperties(keys, if_exists))
    }

    /// Adds columns: for each struct its path, a schema of its new columns, and their position; returns the
    /// version.
    fn add_columns(&self, py: Python<'_>, columns: Vec<Added>) -> PyResult<Option<u64>> {
        let change = detached(py, || columns::added_columns(columns))?;
        self.alter(py, change)
    }

    /// Renames a column, or a field of one; returns the version.
    fn rename_column(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        new: String,
    ) -> PyResult<Option<u64>> {
        let path = arguments::strings("name", path)?;
        self.alter(py, Alteration::RenameColumn(path, new))
    }

    /// Drops columns, or fields of columns; returns the version.
    fn drop_columns(&self, py: Python<'_>, paths: Vec<Vec<String>>) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::DropColumns(paths))
    }

    /// Replaces all columns by those of a schema; returns the version.
    fn replace_columns(&self, py: Python<'_>, schema: &str) -> PyResult<Option<u64>> {
        let columns = detached(py, || StructType::parse(schema).map_err(Error::of_argument))?;
        self.alter(py, Alteration::ReplaceColumns(columns))
    }

    /// Changes columns, or fields of columns: the path and the changes of each; returns the version.
    fn change_columns(
        &self,
        py: Python<'_>,
        changes: Vec<(Vec<String>, Vec<Change>)>,
    ) -> PyResult<Option<u64>> {
        let change = detached(py, || columns::changed_columns(changes))?;
        self.alter(py, change)
    }

    /// Sets the comment of the table; returns the version.
    fn set_description(&self, py: Python<'_>, comment: Option<String>) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::SetDescription(comment))
    }

    /// Adds a constraint; returns the version.
    fn add_constraint(
        &self,
        py: Python<'_>,
        name: String,
        expression: String,
    ) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::AddConstraint(name, expression))
    }

    /// Drops a constraint; returns the version.
    fn drop_constraint(
        &self,
        py: Python<'_>,
        name: String,
        if_exists: bool,
    ) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::DropConstraint(name, if_exists))
    }

    /// Sets the columns by which rows are clustered; returns the version.
    fn cluster_by(&self, py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let columns = arguments::strings("columns", columns)?;
        self.alter(py, Alteration::ClusterBy(columns))
    }

    /// Drops a table feature and, with `truncate_history`, the history that needs it; returns the version.
    fn drop_feature(
        &self,
        py: Python<'_>,
        name: String,
        truncate_history: bool,
    ) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::DropFeature(name, truncate_history))
    }

    /// Adds a table feature; returns the version.
    fn add_feature(&self, py: Python<'_>, name: String) -> PyResult<Option<u64>> {
        self.alter(py, Alteration::AddFeature(name))
    }

    /// Appends the rows of an Arrow stream.
    fn append(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        options: Options,
    ) -> PyResult<Outcome> {
        let rows = stream(data)?;
        detached(py, || self.0.append(rows, options.core()?)).map(outcome)
    }

    /// Replaces all rows, those that satisfy a condition, or those of the same partitions, by the rows
    /// of an Arrow stream.
    fn overwrite(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        condition: Option<&Bound<'_, PyAny>>,
        partitions: bool,
        options: Options,
    ) -> PyResult<Outcome> {
        let rows = stream(data)?;
        let replaced = match filter::predicate(condition)? {
            Some(condition) => Replaced::Where(condition),
            None if partitions => Replaced::Partitions,
            None => Replaced::All,
        };
        detached(py, || self.0.overwrite(rows, &replaced, options.core()?)).map(outcome)
    }

    /// Deletes the rows that satisfy a condition, or all.
    fn delete(
        &self,
        py: Python<'_>,
        condition: Option<&Bound<'_, PyAny>>,
        options: Options,
    ) -> PyResult<Outcome> {
        let condition = filter::predicate(condition)?;
        detached(py, || self.0.delete(condition.as_ref(), options.core()?)).map(outcome)
    }

    /// Sets columns in the rows that satisfy a condition, or in all.
    fn update_rows(
        &self,
        py: Python<'_>,
        condition: Option<&Bound<'_, PyAny>>,
        set: Vec<(String, String)>,
        options: Options,
    ) -> PyResult<Outcome> {
        let condition = filter::predicate(condition)?;
        let work = || {
            self.0
                .update_rows(condition.as_ref(), &set, options.core()?)
        };
        detached(py, work).map(outcome)
    }

    /// Merges the rows of an Arrow stream; `names`: the condition, and the aliases of source and target.
    fn merge(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        names: (String, String, String),
        clauses: Vec<PyClause>,
        options: Options,
    ) -> PyResult<Outcome> {
        let rows = stream(data)?;
        let (on, source_name, target_name) = names;
        let work = || {
            let definition = MergeDefinition {
                on,
                source_name,
                target_name,
                clauses: clauses.into_iter().map(clause).collect::<Result<_>>()?,
            };
            self.0.merge(rows, &definition, options.core()?)
        };
        detached(py, work).map(outcome)
    }

    /// Writes a checkpoint of this snapshot; returns path, actions, files, bytes, sidecars.
    #[pyo3(signature = (snapshot, layout=None))]
    fn checkpoint(
        &self,
        py: Python<'_>,
        snapshot: &Snapshot,
        layout: Option<&str>,
    ) -> PyResult<PyCheckpoint> {
        let written = detached(py, || {
            let layout = layout.map(CheckpointLayout::parse).transpose()?;
            self.0.checkpoint(snapshot.state(), layout)
        })?;
        Ok(checkpoint_out(written))
    }

    /// Deletes expired log files, unless the table's properties forbid it.
    fn cleanup_expired(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        detached(py, || cleanup_expired(self.0.source(), snapshot.state()))
    }

    /// Writes a compacted file; returns start, end, path, actions, actions before, bytes, bytes before.
    #[pyo3(signature = (start=None, end=None))]
    #[allow(clippy::type_complexity, reason = "the fields of one dataclass")]
    fn compact_log(
        &self,
        py: Python<'_>,
        start: Option<i128>,
        end: Option<i128>,
    ) -> PyResult<(u64, u64, String, u64, u64, u64, u64)> {
        let start = arguments::optional(py, "start", start)?;
        let end = arguments::optional(py, "end", end)?;
        let written = detached(py, || self.0.compact_log(start, end))?;
        Ok((
            written.start,
            written.end,
            written.path,
            written.num_actions,
            written.num_actions_before,
            written.size_in_bytes,
            written.size_in_bytes_before,
        ))
    }

    /// Writes the version checksum of this snapshot; returns `false` if there is one already.
    fn write_checksum(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<bool> {
        detached(py, || self.0.write_checksum(snapshot.state()))
    }

    /// Starts a transaction that reads this snapshot.
    #[pyo3(signature = (snapshot, operation, isolation_level=None, durable=true, timeout=60.0))]
    fn transaction(
        &self,
        py: Python<'_>,
        snapshot: Option<&Snapshot>,
        operation: String,
        isolation_level: Option<&str>,
        durable: bool,
        timeout: f64,
    ) -> PyResult<Transaction> {
        let transaction = detached(py, || {
            let isolation = isolation_level.map(IsolationLevel::parse).transpose()?;
            let timeout = arguments::seconds(timeout)?;
            let options = TransactionOptions {
                isolation,
                durable,
                timeout,
            };
            let description = CommitDescription::new(&operation, []);
            self.0
                .transaction(snapshot.map(Snapshot::state), description, options)
        })?;
        Ok(Transaction::new(self.0.clone(), transaction))
    }

    /// Returns the raw actions of the commits `start` to `end`, both inclusive.
    #[pyo3(signature = (start, end=None))]
    fn actions(&self, py: Python<'_>, start: i128, end: Option<i128>) -> PyResult<BatchIterator> {
        let start = arguments::unsigned(py, "start", start)?;
        let end = arguments::optional(py, "end", end)?;
        if let Some(end) = end
            && end < start
        {
            return Err(invalid(
                py,
                "argument.range",
                "end is before start: pass the first and the last version of the range",
            ));
        }
        detached(py, || self.0.actions(start, end)).map(BatchIterator::new)
    }
}

impl Table {
    fn alter(&self, py: Python<'_>, change: Alteration) -> PyResult<Option<u64>> {
        let commit = detached(py, || self.0.alter(change, TransactionOptions::default()))?;
        Ok(commit.version)
    }
}
