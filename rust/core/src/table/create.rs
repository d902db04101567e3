//! CREATE TABLE: version 0, or a version that replaces all there was.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::commit::described;
use super::{At, Table};
use crate::definition::new_metadata;
use crate::definition::replace::replaced_metadata;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::Metadata;
use crate::spec::schema::StructType;
use crate::storage::now;
use crate::transaction::{Transaction, TransactionOptions};

/// The definition of a new table.
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    /// The columns.
    pub schema: StructType,
    /// Names of those that the table is partitioned by.
    pub partition_columns: Vec<String>,
    /// The columns by which its rows are clustered, parts of structs with dots between the names.
    pub clustering_columns: Vec<String>,
    /// Table properties, and those that say which protocol the table gets.
    pub properties: BTreeMap<String, String>,
    /// A name for people.
    pub name: Option<String>,
    /// The purpose of the table.
    pub description: Option<String>,
}

impl TableDefinition {
    /// The metadata of such a table.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition.
    pub fn metadata(self) -> Result<Metadata> {
        self.described(new_metadata)
    }

    /// The same where the table takes the place of another.
    fn replacing(self, old: &Metadata) -> Result<Metadata> {
        self.described(|schema, partition_columns, properties, created_time| {
            replaced_metadata(old, schema, partition_columns, properties, created_time)
        })
    }

    fn described(
        self,
        make: impl FnOnce(&StructType, Vec<String>, &BTreeMap<String, String>, i64) -> Result<Metadata>,
    ) -> Result<Metadata> {
        let metadata = make(
            &self.schema,
            self.partition_columns,
            &self.properties,
            now(),
        )?;
        Ok(Metadata {
            name: self.name,
            description: self.description,
            ..metadata
        })
    }
}

/// The treatment of a table that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateMode {
    /// It is an error.
    #[default]
    New,
    /// It stays as it is.
    IfNotExists,
    /// The new one takes its place.
    OrReplace,
    /// The same, and it is an error if there is none.
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
    /// Creates the table, version 0; or replaces the one that is there. `None` where it stays as it is.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition, and `table.exists`; Unsupported: a feature that this build
    /// cannot write; Conflict: another writer created or changed it; `table.not_found`.
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

    /// A transaction that creates the table, or replaces the one that is there. `None` where it stays as
    /// it is. `as_select`: the rows of a query are still to be added.
    ///
    /// # Errors
    ///
    /// As [`Table::create`], but for conflicts.
    pub fn define(
        &self,
        new: TableDefinition,
        mode: CreateMode,
        as_select: bool,
        options: TransactionOptions,
    ) -> Result<Option<Transaction>> {
        let clustering_columns = new.clustering_columns.clone();
        let description = described(&mode.operation(as_select), []);
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
                let metadata = new.replacing(snapshot.metadata())?;
                let mut transaction =
                    Transaction::begin(&self.source, &snapshot, description, options)?;
                transaction.replace_table(metadata)?;
                transaction
            }
            (false, _) => {
                let metadata = new.metadata()?;
                Transaction::create(&self.source, metadata, description, options)?
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

/// Returns the parameters of the commit, from the definition as it will be in the log.
fn parameters(metadata: &Metadata, clustering_columns: &[String]) -> Map<String, Value> {
    let text = |value: Value| value.to_string();
    let values = [
        (
            "partitionBy",
            json!(text(json!(metadata.partition_columns))),
        ),
        ("clusterBy", json!(text(json!(clustering_columns)))),
        ("description", json!(metadata.description)),
        ("isManaged", json!("false")),
        ("properties", json!(text(json!(metadata.configuration)))),
    ];
    let values = values.map(|(key, value)| (key.to_owned(), value));
    values.into_iter().collect()
}
