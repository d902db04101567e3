//! Checks a winning commit for conflicts with a transaction. Checks have the order of delta-spark,
//! so that the same conflict has the same name.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::Int64Array;
use arrow_buffer::BooleanBuffer;

use crate::codec::columns::TypedColumns;
use crate::codec::file_actions::FileField;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::Metadata;
use crate::spec::features::find_feature;
use crate::spec::schema::{StructField, StructType};
use crate::write::MARK;

use super::winning_commit::Winner;
use super::{IsolationLevel, ROW_TRACKING, Transaction};

/// Properties that another writer may set during a transaction, and to which value; `None` for any.
const HARMLESS_PROPERTIES: [(&str, Option<&str>); 10] = [
    ("delta.enableRowTracking", Some("true")),
    ("delta.rowTracking.materializedRowIdColumnName", None),
    (
        "delta.rowTracking.materializedRowCommitVersionColumnName",
        None,
    ),
    ("delta.enableDeletionVectors", Some("true")),
    ("delta.checkpointPolicy", Some("v2")),
    ("delta.enableInCommitTimestamps", Some("true")),
    ("delta.inCommitTimestampEnablementVersion", None),
    ("delta.inCommitTimestampEnablementTimestamp", None),
    (MAPPING_MODE, Some("name")),
    ("delta.columnMapping.maxColumnId", None),
];

const MAPPING_MODE: &str = "delta.columnMapping.mode";

impl Winner {
    fn conflict(&self, code: &'static str, reason: &str) -> Error {
        let message = format!(
            "{reason}: version {} ({}) was committed while this transaction ran; read the table again, \
             then retry",
            self.version,
            self.operation()
        );
        Error::new(ErrorKind::Conflict, code, message)
            .at_version(self.version)
            .of_operation(self.operation())
    }
}

impl Transaction {
    /// Checks one winning commit. Returns `true` if it is the same or a later batch of the same application: then
    /// there is nothing left to do.
    ///
    /// # Errors
    ///
    /// Conflict: `conflict.protocol_changed`, `conflict.metadata_changed`, `conflict.domain_metadata`,
    /// `conflict.transaction`, `conflict.append`, `conflict.delete_read`, `conflict.delete_delete`. Unsupported:
    /// `protocol.writer_features` of the winning commit.
    pub(super) fn check_winner(
        &mut self,
        winner: &Winner,
        isolation: IsolationLevel,
    ) -> Result<bool> {
        self.check_protocol(winner)?;
        self.check_metadata(winner)?;
        let domains = winner.actions.domains.iter().map(|(_, domain)| domain);
        for domain in domains.filter(|domain| domain.domain != ROW_TRACKING) {
            if self.domains.contains_key(&domain.domain) {
                let reason = format!("both commits configure the domain {:?}", domain.domain);
                return Err(winner.conflict("conflict.domain_metadata", &reason));
            }
        }
        for (_, other) in &winner.actions.transactions {
            if !self.reads.applications.contains(&other.app_id) {
                continue;
            }
            if let Some(own) = self.transactions.get(&other.app_id)
                && own.version <= other.version
            {
                return Ok(true);
            }
            let reason = format!(
                "both commits are progress of the application {:?}",
                other.app_id
            );
            return Err(winner.conflict("conflict.transaction", &reason));
        }
        if winner.is_backfill()? {
            self.take_row_ids(winner)?;
        } else {
            self.check_added(winner, isolation)?;
        }
        self.check_removed(winner)?;
        Ok(false)
    }

    fn check_protocol(&mut self, winner: &Winner) -> Result<()> {
        let Some(new) = winner.actions.protocol() else {
            return Ok(());
        };
        let conflict = |reason: &str| Err(winner.conflict("conflict.protocol_changed", reason));
        new.check_writable()?;
        let Some(base) = &mut self.base else {
            return conflict("the table was created by another writer");
        };
        let old = &base.protocol;
        if self.protocol.is_some() {
            return conflict("both commits change the protocol");
        }
        if !old.can_upgrade_to(new) {
            return conflict("a table feature was dropped");
        }
        for name in new.features().iter().filter(|name| !old.is_supported(name)) {
            if find_feature(name).is_none_or(|feature| feature.stops_concurrent_writers()) {
                return conflict(&format!("the table feature {name} was added"));
            }
        }
        base.protocol = new.clone();
        Ok(())
    }

    fn check_metadata(&mut self, winner: &Winner) -> Result<()> {
        let Some(new) = winner.actions.metadata() else {
            return Ok(());
        };
        let conflict = |reason: &str| Err(winner.conflict("conflict.metadata_changed", reason));
        if self.metadata.is_some() {
            return conflict("both commits change the metadata");
        }
        let Some(base) = &mut self.base else {
            return conflict("the table was created by another writer");
        };
        let old = &base.metadata;
        let mode = |metadata: &Metadata| metadata.property(MAPPING_MODE).map(str::to_lowercase);
        let old_mode = mode(old);
        let changes_mode = old_mode != mode(new);
        let was_unmapped = old_mode.is_none_or(|mode| mode == "none");
        let same = comparable(old, changes_mode)? == comparable(new, changes_mode)?;
        if !same || (changes_mode && !was_unmapped) {
            return conflict("the schema or another part of the metadata was changed");
        }
        let (before, after) = (&old.configuration, &new.configuration);
        let removed = before.keys().find(|key| !after.contains_key(*key));
        let changed = after.iter().find(|(key, value)| {
            before.get(*key) != Some(value)
                && !HARMLESS_PROPERTIES.iter().any(|(name, only)| {
                    name == key && only.is_none_or(|only| value.eq_ignore_ascii_case(only))
                })
        });
        if let Some(key) = removed.or(changed.map(|(key, _)| key)) {
            return conflict(&format!("the table property {key} was changed"));
        }
        base.metadata = new.clone();
        Ok(())
    }

    /// Gives staged files the row ids that a winning backfill gave to the same files.
    fn take_row_ids(&mut self, winner: &Winner) -> Result<()> {
        let Some(added) = &winner.actions.adds else {
            return Ok(());
        };
        let base_row_ids: &Int64Array = added.rows.typed(FileField::BaseRowId.name())?;
        let versions: &Int64Array = added
            .rows
            .typed(FileField::DefaultRowCommitVersion.name())?;
        let keys = &self.source.keys;
        let of_rows = keys.of_paths(&added.rows)?;
        let ids: HashMap<_, _> = of_rows
            .into_iter()
            .zip(base_row_ids.iter().zip(versions))
            .collect();
        for file in &mut self.adds {
            if let Some(ids) = ids.get(&keys.key(&file.path, None)) {
                (file.base_row_id, file.default_row_commit_version) = *ids;
            }
        }
        for file in &mut self.removes {
            if let Some(ids) = ids.get(&keys.key(&file.path, None)) {
                (file.base_row_id, file.default_row_commit_version) = *ids;
            }
        }
        Ok(())
    }

    /// Checks for added files that the transaction should have read.
    fn check_added(&self, winner: &Winner, isolation: IsolationLevel) -> Result<()> {
        let Some(added) = winner.actions.adds.as_ref() else {
            return Ok(());
        };
        let ignored = match isolation {
            IsolationLevel::Serializable => false,
            IsolationLevel::WriteSerializable => {
                winner.is_blind_append() && self.metadata.is_none()
            }
            IsolationLevel::SnapshotIsolation => true,
        };
        if added.rows.num_rows() == 0 || ignored || self.is_blind_append() {
            return Ok(());
        }
        let unpartitioned = self
            .new_metadata()
            .is_none_or(|metadata| metadata.partition_columns.is_empty());
        let mut conflicts = self.reads.whole_table || unpartitioned;
        for predicate in &self.reads.predicates {
            let parsed = predicate.columns().compute_available(&added.rows)?;
            conflicts = conflicts || any(&predicate.partitions_may_match(&parsed)?);
        }
        if conflicts {
            let reason = "files were added that this transaction should have read";
            return Err(winner.conflict("conflict.append", reason));
        }
        Ok(())
    }

    /// Checks for removed files that the transaction has read, or also removes.
    fn check_removed(&self, winner: &Winner) -> Result<()> {
        let Some(removed) = &winner.actions.removes else {
            return Ok(());
        };
        if removed.rows.num_rows() == 0 {
            return Ok(());
        }
        let keys = self.source.keys.of_paths(&removed.rows)?;
        let mut conflicts =
            self.reads.whole_table || keys.iter().any(|key| self.reads.files.contains(key));
        for predicate in &self.reads.predicates {
            let parsed = predicate.columns().compute_available(&removed.rows)?;
            conflicts = conflicts || any(&predicate.may_match(&parsed)?);
        }
        if conflicts {
            let reason = "a file that this transaction has read was removed";
            return Err(winner.conflict("conflict.delete_read", reason));
        }
        let own = self.removes.iter();
        let own: HashSet<_> = own
            .map(|file| self.source.keys.key(&file.path, None))
            .collect();
        if keys.iter().any(|key| own.contains(key)) {
            let reason = "a file that this transaction removes was removed";
            return Err(winner.conflict("conflict.delete_delete", reason));
        }
        Ok(())
    }
}

fn any(bits: &BooleanBuffer) -> bool {
    bits.count_set_bits() > 0
}

/// Returns metadata without its properties, and without those of its columns that another writer may set during a
/// transaction: marks of identity columns, and column mapping by names that the columns already have in files.
fn comparable(metadata: &Metadata, changes_mode: bool) -> Result<Metadata> {
    let mut schema = StructType::parse(&metadata.schema_string)?;
    schema.change_fields(&mut |field: &mut StructField| {
        if changes_mode && field.physical_name() == Some(field.name.as_str()) {
            field.metadata.remove("delta.columnMapping.physicalName");
            field.metadata.remove("delta.columnMapping.id");
        }
        field.metadata.remove(MARK);
    });
    Ok(Metadata {
        configuration: BTreeMap::new(),
        schema_string: schema.to_json(),
        ..metadata.clone()
    })
}
