//! CREATE TABLE: version 0.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Table;
use super::commit::described;
use crate::error::{Error, Result};
use crate::spec::actions::Metadata;
use crate::spec::schema::StructType;
use crate::transaction::alter::new_metadata;
use crate::transaction::random::now;
use crate::transaction::{Commit, Transaction, TransactionOptions};

/// What a new table is to be.
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    /// The columns.
    pub schema: StructType,
    /// Names of those that the table is partitioned by.
    pub partition_columns: Vec<String>,
    /// Table properties, and those that say which protocol the table gets.
    pub properties: BTreeMap<String, String>,
    /// A name for people.
    pub name: Option<String>,
    /// What the table is for.
    pub description: Option<String>,
}

impl TableDefinition {
    /// The metadata of such a table.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition.
    pub fn metadata(self) -> Result<Metadata> {
        let mut metadata = new_metadata(
            &self.schema,
            self.partition_columns,
            &self.properties,
            now(),
        )?;
        (metadata.name, metadata.description) = (self.name, self.description);
        Ok(metadata)
    }
}

impl Table {
    /// Creates the table: version 0.
    ///
    /// # Errors
    ///
    /// Invalid argument: the definition, and `table.exists`; Unsupported: a feature that this build
    /// cannot write; Conflict: another writer created it.
    pub fn create(&self, new: TableDefinition, options: TransactionOptions) -> Result<Commit> {
        if self.exists()? {
            let message = "there is a table already: open it, or choose another place";
            return Err(Error::invalid("table.exists", message).at_path(self.uri()));
        }
        let metadata = new.metadata()?;
        let text = |value: Value| value.to_string();
        let parameters = [
            ("isManaged", json!("false")),
            ("description", json!(metadata.description)),
            (
                "partitionBy",
                json!(text(json!(metadata.partition_columns))),
            ),
            ("properties", json!(text(json!(metadata.configuration)))),
        ];
        let description = described("CREATE TABLE", parameters);
        self.commit(Transaction::create(
            &self.source,
            metadata,
            description,
            options,
        )?)
        .map(|committed| committed.commit)
    }
}
