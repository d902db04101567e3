//! Changes of a table's definition.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::definition;
use crate::definition::clustering::{CLUSTERING, clustering, clustering_columns};
use crate::definition::column_changes::ColumnChange;
use crate::definition::columns::NewColumn;
use crate::definition::constraints::{add_constraint, constraint_names, drop_constraint};
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::scan::data_file::Extras;
use crate::scan::{Scan, ScanOptions};
use crate::snapshot::Snapshot;
use crate::spec::column_path::column_path_text;
use crate::spec::json::clipped;
use crate::spec::property_rules::{check_removable, is_same_property};
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::table::{At, Table};
use crate::transaction::{
    Commit, CommitDescription, IsolationLevel, Transaction, TransactionOptions, json_text,
};
use crate::write::row_display;

mod columns;

/// A change of a table's definition.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Sets these properties; `comment` is the description.
    SetProperties(BTreeMap<String, String>),
    /// Removes these properties; true: ignores those that are not set.
    UnsetProperties(Vec<String>, bool),
    /// Adds columns, in order.
    AddColumns(Vec<NewColumn>),
    /// Renames a column, or a field of a struct.
    RenameColumn(Vec<String>, String),
    /// Drops columns, or fields of structs.
    DropColumns(Vec<Vec<String>>),
    /// Replaces all columns by these, as `ALTER TABLE ... REPLACE COLUMNS`.
    ReplaceColumns(StructType),
    /// Changes columns, or fields of structs, in order; each occurs once.
    ChangeColumns(Vec<(Vec<String>, Vec<ColumnChange>)>),
    /// Sets or removes the description of the table.
    SetDescription(Option<String>),
    /// Adds a constraint: a name and an expression.
    AddConstraint(String, String),
    /// Drops a constraint; true: does nothing if it does not exist.
    DropConstraint(String, bool),
    /// Sets the clustering columns.
    ClusterBy(Vec<String>),
    /// Adds a table feature.
    AddFeature(String),
    /// Drops a table feature; true: also truncates the history that needs it.
    DropFeature(String, bool),
}

impl Table {
    /// Changes the definition of the newest version.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`], [`Transaction::set_metadata`] and [`Table::commit`]; Invalid argument: the
    /// change, `alter.constraint_broken` if a row violates a new constraint; Unsupported:
    /// `alter.drop_feature`.
    pub fn alter(&self, change: Alteration, mut options: TransactionOptions) -> Result<Commit> {
        if let Alteration::SetProperties(properties) = &change
            && enables_row_tracking(properties)
        {
            self.backfill_row_ids(properties, &options)?;
        }
        let snapshot = self.snapshot(At::Latest, None)?;
        let old = snapshot.metadata();
        let old_clustering = || snapshot.domain_configuration(self.source(), CLUSTERING);
        let altered = match change {
            Alteration::DropFeature(name, false) => return self.drop_feature(&name, &options),
            Alteration::DropFeature(name, true) => {
                return self.drop_feature_and_history(&name, &options);
            }
            Alteration::DropConstraint(name, if_exists) => match drop_constraint(old, &name) {
                None => return missing_constraint(&snapshot, &name, if_exists),
                Some((new, expression)) => {
                    let parameters = vec![("name", json!(name)), ("expr", json!(expression))];
                    Altered::new("DROP CONSTRAINT", parameters, new)
                }
            },
            Alteration::AddConstraint(name, expression) => {
                // concurrently added rows were not checked
                options.isolation = Some(IsolationLevel::Serializable);
                let (new, violated) = add_constraint(old, &name, &expression)?;
                let parameters = vec![("name", json!(name)), ("expr", json!(expression))];
                Altered {
                    violated: Some((violated, name, expression)),
                    ..Altered::new("ADD CONSTRAINT", parameters, new)
                }
            }
            Alteration::DropColumns(paths) => columns::dropped(old, paths, old_clustering)?,
            Alteration::ReplaceColumns(new) => columns::replaced(old, &new, old_clustering)?,
            Alteration::SetProperties(properties) => set_properties(old, &properties)?,
            Alteration::UnsetProperties(keys, if_exists) => {
                unset_properties(&snapshot, &keys, if_exists)?
            }
            Alteration::AddColumns(new) => columns::added(old, new)?,
            Alteration::RenameColumn(path, new_name) => columns::renamed(old, path, &new_name)?,
            Alteration::ChangeColumns(changes) => {
                columns::changed(old, snapshot.protocol(), changes)?
            }
            Alteration::SetDescription(description) => {
                let new = Metadata {
                    description,
                    ..old.clone()
                };
                Altered::new("SET TABLE COMMENT", Vec::new(), new)
            }
            Alteration::ClusterBy(columns)
                if columns.is_empty() && !snapshot.protocol().is_supported("clustering") =>
            {
                return Ok(unchanged(&snapshot));
            }
            Alteration::ClusterBy(columns) => {
                let previous = old_clustering()?.and_then(|configuration| {
                    // a malformed configuration is replaced
                    clustering_columns(snapshot.schema(), &configuration).ok()
                });
                let previous = previous.iter().flatten();
                let previous: Vec<_> = previous.map(|path| column_path_text(path)).collect();
                let parameters = vec![
                    ("oldClusteringColumns", json!(previous.join(","))),
                    ("newClusteringColumns", json!(columns.join(","))),
                ];
                Altered {
                    protocol: Some(snapshot.protocol().with_feature("clustering")?),
                    clustering: Some(clustering(old, &columns)?),
                    ..Altered::new("CLUSTER BY", parameters, old.clone())
                }
            }
            Alteration::AddFeature(name) => {
                let parameters = vec![("feature", json!(name))];
                Altered {
                    protocol: Some(snapshot.protocol().with_feature(&name)?),
                    ..Altered::new("UPGRADE PROTOCOL", parameters, old.clone())
                }
            }
        };
        let description = CommitDescription::new(altered.operation, altered.parameters);
        let mut transaction = Transaction::begin(self.source(), &snapshot, description, options)?;
        if let Some((violated, name, expression)) = altered.violated {
            transaction.read(None)?;
            self.check_constraint(&snapshot, violated, &name, &expression)?;
        }
        if altered.metadata != *old || altered.protocol.is_none() {
            transaction.set_metadata(altered.metadata)?;
        }
        if let Some(protocol) = altered.protocol {
            transaction.set_protocol(protocol)?;
        }
        if let Some(configuration) = altered.clustering {
            transaction.set_system_domain(CLUSTERING, Some(configuration));
        }
        self.commit(transaction).map(|committed| committed.commit)
    }

    fn check_constraint(
        &self,
        snapshot: &Snapshot,
        violated: Predicate,
        name: &str,
        expression: &str,
    ) -> Result<()> {
        let options = ScanOptions {
            filter: Some(violated),
            extras: Extras {
                file_path: true,
                row_index: true,
                ..Extras::default()
            },
            ..ScanOptions::default()
        };
        for rows in Scan::new(self.source(), snapshot, options)?.rows()? {
            let rows = rows?;
            if rows.num_rows() > 0 {
                let message = format!(
                    "an existing row violates the constraint {}: {} is not true for {}; delete or \
                     correct such rows first",
                    clipped(name),
                    clipped(expression),
                    row_display(&rows, 0)
                );
                return Err(Error::invalid("alter.constraint_broken", message));
            }
        }
        Ok(())
    }
}

/// The content of the commit of an alteration.
struct Altered {
    operation: &'static str,
    parameters: Vec<(&'static str, Value)>,
    metadata: Metadata,
    protocol: Option<Protocol>,
    clustering: Option<String>,
    /// The rows that violate a new constraint, as a predicate, with its name and its expression.
    violated: Option<(Predicate, String, String)>,
}

impl Altered {
    fn new(
        operation: &'static str,
        parameters: Vec<(&'static str, Value)>,
        metadata: Metadata,
    ) -> Self {
        Self {
            operation,
            parameters,
            metadata,
            protocol: None,
            clustering: None,
            violated: None,
        }
    }
}

fn set_properties(old: &Metadata, properties: &BTreeMap<String, String>) -> Result<Altered> {
    let new = definition::set_properties(old, properties)?;
    let parameters = vec![("properties", json_text(properties))];
    Ok(Altered::new("SET TBLPROPERTIES", parameters, new))
}

fn unset_properties(snapshot: &Snapshot, keys: &[String], if_exists: bool) -> Result<Altered> {
    let old = snapshot.metadata();
    let is_managed = snapshot.protocol().is_catalog_managed();
    for key in keys.iter().filter(|key| old.property(key).is_some()) {
        check_removable(key)?;
        if is_managed && is_same_property(key, "delta.enableInCommitTimestamps") {
            let message = "a table that a catalog manages needs in-commit timestamps";
            return Err(Error::invalid("catalog.in_commit_timestamps", message));
        }
    }
    let new = definition::unset_properties(old, keys, if_exists)?;
    let parameters = vec![
        ("properties", json_text(&keys)),
        ("ifExists", json!(if_exists.to_string())),
    ];
    Ok(Altered::new("UNSET TBLPROPERTIES", parameters, new))
}

fn enables_row_tracking(properties: &BTreeMap<String, String>) -> bool {
    properties.iter().any(|(key, value)| {
        key.eq_ignore_ascii_case("delta.enableRowTracking") && value.eq_ignore_ascii_case("true")
    })
}

/// Returns the result of a statement without effect.
fn unchanged(snapshot: &Snapshot) -> Commit {
    Commit {
        version: Some(snapshot.version()),
        ..Commit::default()
    }
}

/// Returns the result of dropping a constraint that does not exist: an error unless `if_exists`.
fn missing_constraint(snapshot: &Snapshot, name: &str, if_exists: bool) -> Result<Commit> {
    if if_exists {
        return Ok(unchanged(snapshot));
    }
    let names = constraint_names(snapshot.metadata());
    let existing = match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    let message = format!("the table has no constraint {}: {existing}", clipped(name));
    Err(Error::invalid("alter.constraint", message))
}
