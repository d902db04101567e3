//! CREATE TABLE: version 0, or a version that replaces the table.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::definition::new_metadata;
use crate::definition::replace::replacement_metadata;
use crate::error::{Error, ErrorKind, Result};
use crate::snapshot::Snapshot;
use crate::spec::Metadata;
use crate::spec::schema::StructType;
use crate::storage::now;
use crate::table::{At, Table};
use crate::transaction::{CommitDescription, Transaction, TransactionOptions, json_text};

/// The definition of a new table.
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    /// The columns.
    pub schema: StructType,
    /// The names of the partition columns.
    pub partition_columns: Vec<String>,
    /// The clustering columns; dots separate the names of nested ones.
    pub clustering_columns: Vec<String>,
    /// Table properties, and keys that state the protocol.
    pub properties: BTreeMap<String, String>,
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
}

impl TableDefinition {
    /// Returns the metadata of the new table, which replaces the table `old`, if there is one.
    pub fn metadata(self, old: Option<&Snapshot>) -> Result<Metadata> {
        let (schema, properties) = (&self.schema, &self.properties);
        let partition_columns = self.partition_columns;
        let metadata = match old {
            None => new_metadata(schema, partition_columns, properties, now())?,
            Some(old) => {
                let is_managed = old.protocol().is_catalog_managed();
                let old = old.metadata();
                replacement_metadata(
                    old,
                    is_managed,
                    schema,
                    partition_columns,
                    properties,
                    now(),
                )?
            }
        };
        Ok(Metadata {
            name: self.name,
            description: self.description,
            ..metadata
        })
    }
}

/// The treatment of an existing table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateMode {
    /// Fail.
    #[default]
    New,
    /// Keep the table.
    IfNotExists,
    /// Replace the table.
    OrReplace,
    /// Replace the table, and fail if there is none.
    Replace,
}

impl CreateMode {
    fn operation(self, as_select: bool) -> String {
        let operation = match self {
            Self::New | Self::IfNotExists => "CREATE TABLE",
            Self::OrReplace => "CREATE OR REPLACE TABLE",
            Self::Replace => "REPLACE TABLE",
        };
        format!("{operation}{}", if as_select { " AS SELECT" } else { "" })
    }
}

impl Table {
    /// Creates the table as version 0, or replaces the existing one. Returns `None` if it is kept.
    ///
    /// # Errors
    ///
    /// As [`Table::define`] and [`Table::commit`].
    pub fn create(
        &self,
        new: TableDefinition,
        mode: CreateMode,
        options: TransactionOptions,
    ) -> Result<Option<u64>> {
        let Some(transaction) = self.define(new, mode, false, options)? else {
            return Ok(None);
        };
        match self.commit(transaction) {
            Ok(committed) => Ok(committed.commit.version),
            // another writer created it in the meantime
            Err(error)
                if mode == CreateMode::IfNotExists && error.kind() == ErrorKind::Conflict =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Starts a transaction that creates the table, or replaces the existing one. Returns `None` if it is
    /// kept. `as_select`: the rows of a query will be added.
    ///
    /// # Errors
    ///
    /// Invalid argument: `table.exists`; as [`TableDefinition::metadata`], [`Transaction::create`] and
    /// [`Transaction::cluster_by`]; for a table to replace, as [`Table::snapshot`] and
    /// [`Transaction::replace_table`].
    pub fn define(
        &self,
        new: TableDefinition,
        mode: CreateMode,
        as_select: bool,
        options: TransactionOptions,
    ) -> Result<Option<Transaction>> {
        let clustering_columns = new.clustering_columns.clone();
        let description = CommitDescription::new(&mode.operation(as_select), []);
        let exists = match mode {
            CreateMode::Replace => true,
            _ => self.exists()?,
        };
        let mut transaction = match (exists, mode) {
            (true, CreateMode::New) => {
                let message = "there is a table already: open it, or choose another location";
                return Err(Error::invalid("table.exists", message).at_path(self.uri()));
            }
            (true, CreateMode::IfNotExists) => return Ok(None),
            (true, _) => {
                let snapshot = self.snapshot(At::Latest, None)?;
                let metadata = new.metadata(Some(&snapshot))?;
                let mut transaction =
                    Transaction::begin(self.source(), &snapshot, description, options)?;
                transaction.replace_table(metadata)?;
                transaction
            }
            (false, _) => {
                let metadata = new.metadata(None)?;
                Transaction::create(self.source(), metadata, description, options)?
            }
        };
        if !clustering_columns.is_empty() {
            transaction.cluster_by(&clustering_columns)?;
        }
        let (metadata, _) = transaction.effective()?;
        let parameters = parameters(metadata, &clustering_columns);
        transaction.description().parameters = parameters;
        Ok(Some(transaction))
    }
}

/// Returns the parameters of the commit, from the definition in the log.
fn parameters(metadata: &Metadata, clustering_columns: &[String]) -> Map<String, Value> {
    let values = [
        ("partitionBy", json_text(&metadata.partition_columns)),
        ("clusterBy", json_text(&clustering_columns)),
        ("description", json!(metadata.description)),
        ("isManaged", json!("false")),
        ("properties", json_text(&metadata.configuration)),
    ];
    Map::from_iter(values.map(|(key, value)| (key.to_owned(), value)))
}
