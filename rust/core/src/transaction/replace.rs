//! Replaces a table in one commit: only the history is kept.
//!
//! Not part of the protocol; rules as in delta-spark.

use super::{Transaction, with_versions};
use crate::codec::file_columns::FileColumns;
use crate::definition::clustering::{CLUSTERING, NOT_CLUSTERED, can_cluster, clustering};
use crate::definition::{with_required_properties, without_protocol_keys};
use crate::error::{Error, Result};
use crate::spec::schema::StructType;
use crate::spec::{Metadata, Protocol};
use crate::write::AddFile;

impl Transaction {
    /// Stages another definition of the table, and the removal of all files.
    ///
    /// # Errors
    ///
    /// Invalid argument: `transaction.partition_columns` for a clustered table; as
    /// [`Transaction::set_metadata`].
    pub fn replace_table(&mut self, metadata: Metadata) -> Result<()> {
        self.replaces_table = true;
        self.read(None)?;
        let is_partitioned = !metadata.partition_columns.is_empty();
        self.set_metadata(metadata)?;
        self.remove_all()?;
        if let Some(protocol) = self.new_protocol()
            && protocol.is_supported("clustering")
        {
            if is_partitioned {
                let message = "a clustered table cannot be partitioned: leave out the partition columns, or create \
                     another table";
                return Err(Error::invalid("transaction.partition_columns", message));
            }
            self.set_system_domain(CLUSTERING, Some(NOT_CLUSTERED.to_owned()));
        }
        Ok(())
    }

    /// Ends the clustering if the staged schema has no such columns any more.
    pub(super) fn end_impossible_clustering(&mut self) -> Result<()> {
        let (Some(snapshot), Some(metadata)) = (&self.snapshot, &self.metadata) else {
            return Ok(());
        };
        if metadata.schema_string == snapshot.metadata().schema_string
            || !snapshot.protocol().is_supported("clustering")
        {
            return Ok(());
        }
        let schema = StructType::parse(&metadata.schema_string)?;
        let configuration = snapshot.domain_configuration(&self.source, CLUSTERING)?;
        if configuration.is_some_and(|configuration| !can_cluster(&schema, &configuration)) {
            self.set_system_domain(CLUSTERING, Some(NOT_CLUSTERED.to_owned()));
        }
        Ok(())
    }

    /// Stages the clustering columns.
    ///
    /// # Errors
    ///
    /// As [`clustering`], and [`Transaction::set_protocol`].
    pub fn cluster_by(&mut self, columns: &[String]) -> Result<()> {
        let (metadata, protocol) = self.effective()?;
        let configuration = clustering(metadata, columns)?;
        let protocol = protocol.with_feature("clustering")?;
        self.set_protocol(protocol)?;
        self.set_system_domain(CLUSTERING, Some(configuration));
        Ok(())
    }

    /// Stages the definition of a clone, with its clustering, whether the table exists or not. That a catalog
    /// manages the source does not mean that it manages the clone.
    ///
    /// # Errors
    ///
    /// Invalid argument: `protocol.version`; as [`Protocol::upgrade_for`] and [`Protocol::check_writable`].
    pub fn clone_definition(
        &mut self,
        mut metadata: Metadata,
        protocol: &Protocol,
        clustering: Option<String>,
    ) -> Result<()> {
        self.replaces_table = true;
        self.read(None)?;
        let own = self.new_protocol();
        let protocol = protocol.without_catalog()?;
        let merged = own.map_or_else(|| protocol.clone(), |own| own.merge(&protocol));
        let required = with_versions(merged, &mut metadata)?.upgrade_for(&metadata)?;
        required.check_writable()?;
        if own.is_none_or(|own| !own.is_equivalent(&required)) {
            self.protocol = Some(required.clone());
        }
        let metadata = without_protocol_keys(metadata);
        self.metadata = Some(with_required_properties(metadata, &required));
        let not_clustered = || {
            let was_clustered = self.snapshot.is_some() && required.is_supported("clustering");
            was_clustered.then(|| NOT_CLUSTERED.to_owned())
        };
        if let Some(configuration) = clustering.or_else(not_clustered) {
            self.set_system_domain(CLUSTERING, Some(configuration));
        }
        Ok(())
    }

    fn remove_all(&mut self) -> Result<()> {
        let now = self.removal_time();
        if let Some(snapshot) = &self.snapshot {
            for rows in snapshot.file_batches(&self.source, FileColumns::all(), None)? {
                let files = AddFile::of_rows(&rows?)?;
                self.removes
                    .extend(files.iter().map(|file| file.removed(now, true)));
            }
        }
        Ok(())
    }
}
