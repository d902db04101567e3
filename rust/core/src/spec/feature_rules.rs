//! The rules of each feature for writers: whether this build can commit to tables with it, which metadata
//! enables it, how adding it affects concurrent writers, whether it can be dropped.
//!
//! Protocol: "Table Features"; the lists other than `WRITABLE` are those of delta-spark.

use crate::spec::actions::Metadata;
use crate::spec::features::TableFeature;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// Features that this build can write. Duties about the rows themselves (constraints, generated values,
/// change files) apply to writers of data files.
const WRITABLE: [&str; 26] = [
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "columnMapping",
    "identityColumns",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview",
    "domainMetadata",
    "rowTracking",
    "clustering",
    "allowColumnDefaults",
    "inCommitTimestamp",
    "checkpointProtection",
    "catalogManaged",
    "catalogOwned",
    "catalogOwned-preview",
];

/// Features whose addition does not conflict with concurrent transactions.
const HARMLESS_TO_CONCURRENT_WRITERS: [&str; 17] = [
    "appendOnly",
    "changeDataFeed",
    "columnMapping",
    "timestampNtz",
    "deletionVectors",
    "rowTracking",
    "domainMetadata",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "v2Checkpoint",
    "catalogManaged",
    "typeWidening",
    "typeWidening-preview",
    "inCommitTimestamp",
    "vacuumProtocolCheck",
    "catalogOwned-preview",
];

/// Features that delta-spark can drop.
const REMOVABLE: [&str; 18] = [
    "checkConstraints",
    "columnMapping",
    "deletionVectors",
    "rowTracking",
    "domainMetadata",
    "materializePartitionColumns",
    "v2Checkpoint",
    "coordinatedCommits-preview",
    "catalogManaged",
    "typeWidening",
    "typeWidening-preview",
    "inCommitTimestamp",
    "vacuumProtocolCheck",
    "checkpointProtection",
    "geospatial",
    "geospatial-dev",
    "redirectReaderWriter-preview",
    "redirectWriterOnly-preview",
];

/// Features that metadata requires, each with its other name: that of its preview, or its final one.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("typeWidening", "typeWidening-preview"),
    ("variantType", "variantType-preview"),
    ("variantShredding-preview", "variantShredding"),
    ("geospatial", "geospatial-dev"),
    ("collations", "collations-preview"),
];

impl TableFeature {
    /// Returns the other name of a feature that metadata requires. A table that has the feature under that
    /// name does not need this one, which its clients may not know.
    pub fn other_name(&self) -> Option<&'static str> {
        let pair = OTHER_NAMES.iter().find(|(name, _)| *name == self.name);
        pair.map(|(_, other)| *other)
    }

    /// Returns `true` if this build can commit to tables that have it.
    pub fn is_writable(&self) -> bool {
        WRITABLE.contains(&self.name)
    }

    /// Returns `true` if transactions that run while it is added to the table must be retried.
    pub fn stops_concurrent_writers(&self) -> bool {
        !HARMLESS_TO_CONCURRENT_WRITERS.contains(&self.name)
    }

    /// Returns `true` if delta-spark can drop it.
    pub fn is_removable(&self) -> bool {
        REMOVABLE.contains(&self.name)
    }

    /// Returns `true` if an existing table gets it as soon as its metadata requires it; otherwise it must
    /// be added by name first.
    pub fn is_added_automatically(&self) -> bool {
        self.name != "timestampNtz"
    }

    /// Returns `true` if the metadata of a table requires it, under this name or its other one.
    pub fn is_required_by(&self, metadata: &Metadata, schema: &StructType) -> bool {
        let on = |key: &str| metadata.is_on(key);
        let is = |key: &str, expected: &str| {
            let value = metadata.property(key).unwrap_or_default();
            value.eq_ignore_ascii_case(expected)
        };
        let has = |key: &str| metadata.property(key).is_some();
        let has_key = |keys: &[&str]| {
            let has_any =
                |field: &StructField| keys.iter().any(|key| field.metadata.contains_key(*key));
            schema.all_fields().any(has_any)
        };
        let has_type = |matches_type: fn(&PrimitiveType) -> bool| {
            let is = |data_type: &DataType| matches!(data_type, DataType::Primitive(data_type) if matches_type(data_type));
            schema.all_types().any(is)
        };
        match self.name {
            "appendOnly" => on("delta.appendOnly"),
            "invariants" => has_key(&["delta.invariants"]),
            "checkConstraints" => metadata
                .configuration
                .keys()
                .any(|key| key.to_ascii_lowercase().starts_with("delta.constraints.")),
            "changeDataFeed" => match metadata.property("delta.enableChangeDataFeed") {
                Some(value) => value.eq_ignore_ascii_case("true"),
                None => on("delta.enableChangeDataCapture"),
            },
            "generatedColumns" => has_key(&["delta.generationExpression"]),
            "identityColumns" => has_key(&[
                "delta.identity.start",
                "delta.identity.step",
                "delta.identity.highWaterMark",
                "delta.identity.allowExplicitInsert",
            ]),
            "columnMapping" => {
                is("delta.columnMapping.mode", "name") || is("delta.columnMapping.mode", "id")
            }
            "deletionVectors" => on("delta.enableDeletionVectors"),
            "timestampNtz" => {
                has_type(|primitive| matches!(primitive, PrimitiveType::TimestampNtz))
            }
            "v2Checkpoint" => is("delta.checkpointPolicy", "v2"),
            "typeWidening" => on("delta.enableTypeWidening"),
            "variantType" => has_type(|primitive| matches!(primitive, PrimitiveType::Variant)),
            // the name that delta-spark up to 4.4 adds unless it is configured otherwise
            "variantShredding-preview" => on("delta.enableVariantShredding"),
            "geospatial" => has_type(|primitive| {
                matches!(
                    primitive,
                    PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. }
                )
            }),
            "rowTracking" => on("delta.enableRowTracking"),
            "inCommitTimestamp" => on("delta.enableInCommitTimestamps"),
            "icebergCompatV1" => on("delta.enableIcebergCompatV1"),
            "icebergCompatV2" => on("delta.enableIcebergCompatV2"),
            "icebergCompatV3" => on("delta.enableIcebergCompatV3"),
            "icebergWriterCompatV1" => on("delta.enableIcebergWriterCompatV1"),
            "icebergWriterCompatV3" => on("delta.enableIcebergWriterCompatV3"),
            "materializePartitionColumns" => on("delta.enableMaterializePartitionColumnsFeature"),
            "coordinatedCommits-preview" => {
                has("delta.coordinatedCommits.commitCoordinator-preview")
            }
            "redirectReaderWriter-preview" => has("delta.redirectReaderWriter-preview"),
            "redirectWriterOnly-preview" => has("delta.redirectWriterOnly-preview"),
            "collations" => has_key(&["__COLLATIONS"]),
            _ => false,
        }
    }
}
