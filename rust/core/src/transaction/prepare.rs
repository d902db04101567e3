//! Validates a commit before anything is written.
//!
//! Protocol: "Add File and Remove File", "Domain Metadata", "Append-only Tables", "Deletion Vectors".

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow_array::Int64Array;

use crate::codec::columns::TypedColumns;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::definition::{CATALOG_TABLE_ID, ROW_TRACKING_COLUMNS};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::spec::json::clipped;
use crate::spec::properties::{ColumnMappingMode, TableProperties};
use crate::spec::property_rules::check_combination;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType, same_name};
use crate::spec::{Metadata, Protocol};

use super::Transaction;
use crate::write::actions::StringMap;
use crate::write::{AddFile, Partitions};

/// Characters that column names must not have without column mapping.
const FORBIDDEN: &str = " ,;{}()\n\t=";

const FEED_COLUMNS: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];

impl Transaction {
    /// Checks the staged actions.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.nothing`, `transaction.append_only`, `transaction.file`,
    /// `transaction.partition_values`, `transaction.duplicate`, `transaction.deletion_vector`,
    /// `transaction.domain`, `properties.combination`, `properties.internal`, `catalog.in_commit_timestamps`, and
    /// those of [`check_metadata`]. Unsupported: `catalog.take_over`, `catalog.required`.
    pub(crate) fn check(&self) -> Result<()> {
        let (Some(protocol), Some(metadata)) = (self.new_protocol(), self.new_metadata()) else {
            let message = "the first version of a table needs metadata: use create_table";
            return Err(Error::invalid("transaction.nothing", message));
        };
        if self.metadata.is_some() || self.protocol.is_some() {
            check_metadata(metadata, protocol)?;
        }
        let schema = StructType::parse(&metadata.schema_string)?;
        let (properties, _) = TableProperties::new(metadata, protocol)?;
        if properties.row_tracking && properties.row_tracking_suspended && !self.adds.is_empty() {
            // as another writer left them: rows of new files would have no ids
            check_combination(&metadata.configuration)?;
        }
        if protocol.is_catalog_managed() {
            let catalog = self.source.check_catalog()?;
            let unmanaged = |base: &super::Base| !base.protocol.is_catalog_managed();
            if self.base.as_ref().is_none_or(unmanaged) && !catalog.takes_over()? {
                let message = "the catalog cannot take over existing tables: create a managed table with the \
                               catalog's own function, such as UnityCatalog.create_table";
                return Err(Error::unsupported("catalog.take_over", message));
            }
            if !properties.in_commit_timestamps {
                let message = "a table that a catalog manages needs in-commit timestamps: set \
                               delta.enableInCommitTimestamps to true";
                return Err(Error::invalid("catalog.in_commit_timestamps", message));
            }
            if let Some(base) = &self.base
                && let Some(id) = base.metadata.property(CATALOG_TABLE_ID)
                && metadata.property(CATALOG_TABLE_ID) != Some(id)
            {
                let message =
                    format!("{CATALOG_TABLE_ID} is the id of the table in its catalog: keep it");
                return Err(Error::invalid("properties.internal", message));
            }
        }
        let append_only = match &self.base {
            // rows that a table loses by being replaced are protected by its previous protocol
            Some(base) if self.replaces_table => {
                TableProperties::new(&base.metadata, &base.protocol)?
                    .0
                    .append_only
            }
            _ => properties.append_only,
        };
        if append_only && self.removes.iter().any(|file| file.data_change) {
            let message = "delta.appendOnly is true: rows can be added to the table, never removed";
            return Err(Error::invalid("transaction.append_only", message));
        }
        if !self.domains.is_empty() && !protocol.is_supported("domainMetadata") {
            let message = "the table does not have the feature domainMetadata: set the property \
                           delta.feature.domainMetadata to supported first";
            return Err(Error::invalid("transaction.domain", message));
        }
        let names =
            schema.names_in_files(&metadata.partition_columns, properties.column_mapping_mode)?;
        let names: BTreeSet<String> = names.into_iter().collect();
        let vectors = protocol.is_supported("deletionVectors");
        for file in &self.adds {
            self.check_path(&file.path)?;
            check_values(&file.path, &file.partition_values, &names)?;
            check_numbers(&file.path, file.size, file.modification_time)?;
            check_vector(file, vectors)?;
        }
        for file in &self.cdcs {
            self.check_path(&file.path)?;
            check_values(&file.path, &file.partition_values, &names)?;
            check_numbers(&file.path, file.size, 0)?;
        }
        if !names.is_empty() {
            let columns = &metadata.partition_columns;
            let partitions = Partitions::none(columns, &schema, properties.column_mapping_mode)?;
            self.check_partition_values(&partitions)?;
        }
        for file in &self.removes {
            self.check_removed_path(&file.path)?;
        }
        self.check_duplicates()
    }

    /// Checks the path of a removed file. It may be outside of the table and of all roots, as in a shallow clone
    /// that is replaced, since the file is not opened.
    fn check_removed_path(&self, path: &str) -> Result<()> {
        let outside = ["path.escapes_root", "path.foreign", "path.other_store"];
        match self.source.resolver.resolve("", path) {
            Err(error) if outside.contains(&error.code()) => Ok(()),
            _ => self.check_path(path),
        }
    }

    fn check_path(&self, path: &str) -> Result<()> {
        self.source
            .resolver
            .resolve("", path)
            .map(drop)
            .map_err(|cause| {
                Error::invalid("transaction.file", "the path of a file cannot be committed")
                    .at_path(path)
                    .because(cause)
            })
    }

    /// Checks that partition values parse as the types of their columns: otherwise readers refuse the table.
    fn check_partition_values(&self, partitions: &Partitions) -> Result<()> {
        let adds = self.adds.iter();
        let added = adds.map(|file| (&file.partition_values, &file.path));
        let cdcs = self.cdcs.iter();
        let changed = cdcs.map(|file| (&file.partition_values, &file.path));
        let distinct: HashMap<&StringMap, &String> = added.chain(changed).collect();
        if partitions.contain_files(distinct.keys().copied()).is_ok() {
            return Ok(());
        }
        for (values, path) in distinct {
            partitions.contain_files([values]).map_err(|cause| {
                let message =
                    "a partition value of the file does not parse as the type of its column";
                Error::invalid("transaction.partition_values", message)
                    .at_path(path)
                    .because(cause)
            })?;
        }
        Ok(())
    }

    /// Checks that each file occurs at most once in the adds and once in the removes, and in both only with
    /// another deletion vector.
    fn check_duplicates(&self) -> Result<()> {
        let duplicate = |path: &str, problem: &str| {
            let message = format!("one commit {problem}: name each file once");
            Err(Error::invalid("transaction.duplicate", message).at_path(path))
        };
        let key = |path: &str| self.source.keys.key(path, None);
        let mut added = HashSet::new();
        for file in &self.adds {
            // by location: readers of two spellings of one path would return its rows twice
            if !added.insert(self.source.resolver.resolve("", &file.path)?) {
                return duplicate(&file.path, "adds a file twice");
            }
        }
        let mut removed = HashMap::new();
        for file in &self.removes {
            if removed.insert(key(&file.path), file).is_some() {
                return duplicate(&file.path, "removes a file twice");
            }
        }
        for file in &self.adds {
            if let Some(removed) = removed.get(&key(&file.path))
                && removed.deletion_vector == file.deletion_vector
            {
                return duplicate(&file.path, "adds and removes the same file");
            }
        }
        Ok(())
    }

    /// Returns `true` if a live file, except those that this commit removes, has no row ids.
    pub(super) fn lack_row_ids(&self, snapshot: &Snapshot) -> Result<bool> {
        let keys = &self.source.keys;
        let removed = self.removes.iter();
        let removed: HashSet<_> = removed.map(|file| keys.key(&file.path, None)).collect();
        let columns = FileColumns::fields_only(&[FileField::Path, FileField::BaseRowId]);
        for rows in snapshot.file_batches(&self.source, columns, None)? {
            let rows = rows?;
            let ids: &Int64Array = rows.typed(FileField::BaseRowId.name())?;
            let mut files = keys.of_paths(&rows)?.into_iter().zip(ids);
            if files.any(|(key, id)| id.is_none() && !removed.contains(&key)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn check_values(path: &str, values: &StringMap, names: &BTreeSet<String>) -> Result<()> {
    if values.keys().eq(names.iter()) {
        return Ok(());
    }
    let list = |names: Vec<&String>| {
        let names = names.iter().map(|name| clipped(name));
        names.collect::<Vec<_>>().join(", ")
    };
    let message = format!(
        "a file has values of the partition columns [{}], but the table has [{}]: pass a value or null for each of these",
        list(values.keys().collect()),
        list(names.iter().collect())
    );
    Err(Error::invalid("transaction.partition_values", message).at_path(path))
}

fn check_numbers(path: &str, size: i64, time: i64) -> Result<()> {
    if size >= 0 && time >= 0 {
        return Ok(());
    }
    let message = "size and modificationTime of a file cannot be negative";
    Err(Error::invalid("transaction.file", message).at_path(path))
}

fn check_vector(file: &AddFile, supported: bool) -> Result<()> {
    if file.deletion_vector.is_none() {
        return Ok(());
    }
    let message = if !supported {
        "the table does not have the feature deletionVectors: set delta.enableDeletionVectors first"
    } else if file.num_records().is_none() {
        "the statistics of a file with a deletion vector must have numRecords"
    } else if file.statistic::<bool>("tightBounds") != Some(false) {
        "the statistics of a file with a deletion vector must have tightBounds = false"
    } else {
        return Ok(());
    };
    Err(Error::invalid("transaction.deletion_vector", message).at_path(file.path.clone()))
}

/// Checks that metadata is valid.
///
/// # Errors
///
/// Invalid argument: `transaction.partition_columns`, `transaction.column_name`, `properties.combination`,
/// `transaction.feature_missing`.
pub(crate) fn check_metadata(metadata: &Metadata, protocol: &Protocol) -> Result<()> {
    use PrimitiveType as P;
    let schema = StructType::parse(&metadata.schema_string)?;
    let invalid = |message: String| Err(Error::invalid("transaction.partition_columns", message));
    let mut seen = HashSet::new();
    for column in &metadata.partition_columns {
        let field = schema.fields().iter().find(|field| field.name == *column);
        let problem = match field.map(|field| &field.data_type) {
            None => "is not in the schema",
            _ if !seen.insert(column.to_lowercase()) => "is named twice",
            Some(DataType::Primitive(
                P::Variant | P::Void | P::Geometry { .. } | P::Geography { .. },
            )) => "has a type that cannot partition a table",
            Some(DataType::Primitive(_)) => continue,
            Some(_) => "is a struct, array or map: choose a column of a primitive type",
        };
        return invalid(format!(
            "the partition column {} {problem}",
            clipped(column)
        ));
    }
    if !seen.is_empty() && seen.len() == schema.fields().len() {
        return invalid(
            "all columns are partition columns: at least one must be stored in the files"
                .to_owned(),
        );
    }
    let (properties, _) = TableProperties::new(metadata, protocol)?;
    if properties.column_mapping_mode == ColumnMappingMode::None {
        for field in schema.all_fields() {
            if let Some(bad) = field.name.chars().find(|c| FORBIDDEN.contains(*c)) {
                let message = format!(
                    "the column name {} contains {bad:?}: choose another, or set \
                     delta.columnMapping.mode to name",
                    clipped(&field.name)
                );
                return Err(Error::invalid("transaction.column_name", message));
            }
        }
    }
    for (key, _) in ROW_TRACKING_COLUMNS {
        let column = metadata.property(key);
        let is_field = |field: &StructField| {
            let physical = field.physical_name().unwrap_or(&field.name);
            column.is_some_and(|column| same_name(column, &field.name) || column == physical)
        };
        if let Some(field) = schema.fields().iter().find(|field| is_field(field)) {
            let name = clipped(&field.name);
            let message = format!(
                "the column name {name} is that of the internal column {key}: choose another"
            );
            return Err(Error::invalid("transaction.column_name", message));
        }
    }
    if let Some(name) = FEED_COLUMNS.iter().find(|name| schema.contains(name))
        && properties.change_data_feed
    {
        let message = format!("{name} is a column of the change data feed: choose another name");
        return Err(Error::invalid("transaction.column_name", message));
    }
    check_combination(&metadata.configuration)?;
    if let Some(missing) = protocol.missing_features(metadata)?.first() {
        let message =
            format!("the metadata requires the feature {missing}, which the protocol lacks");
        return Err(Error::invalid("transaction.feature_missing", message));
    }
    Ok(())
}
