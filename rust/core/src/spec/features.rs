//! All named table features, and their support in this build.
//!
//! [`crate::spec::protocol`] evaluates versions and lists; this module only has the facts of each feature:
//! its kind, the versions that introduced it, what it requires, how this build reads it.
//!
//! Protocol: "Table Features", "Requirements for Readers", the feature RFCs.

use crate::error::{Error, Result};
use crate::spec::json::clipped;

/// The clients that a feature concerns, readers or writers, and the generation of protocols that introduced
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Implied by writer versions below 7; concerns writers only.
    LegacyWriter,
    /// Implied by reader and writer versions below 3 and 7; concerns both.
    LegacyReaderWriter,
    /// Listed by name; concerns both.
    ReaderWriter,
    /// Listed by name; concerns writers only.
    Writer,
}

/// The requirements of a read of a table with this feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// This build supports it.
    Supported,
    /// Readers need no support for it.
    NoDuty,
    /// This build cannot read it.
    Missing {
        /// The reason why the table cannot be read.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
}

/// One feature by its name in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFeature {
    /// The name in canonical case.
    pub name: &'static str,
    /// The clients that it concerns.
    pub kind: FeatureKind,
    /// Lowest reader version of a table that has it.
    pub min_reader_version: i32,
    /// Lowest writer version of a table that has it.
    pub min_writer_version: i32,
    /// Features that a table with this one must have, too.
    pub requires: &'static [&'static str],
    /// The requirements of a read.
    pub reading: Reading,
    /// The duty of a writer of a table with the feature.
    pub writer_duty: &'static str,
}

impl TableFeature {
    /// Returns `true` if readers must understand it.
    pub fn binds_readers(&self) -> bool {
        matches!(
            self.kind,
            FeatureKind::LegacyReaderWriter | FeatureKind::ReaderWriter
        )
    }

    /// Returns `true` if protocol versions below table features can imply it.
    pub fn is_legacy(&self) -> bool {
        matches!(
            self.kind,
            FeatureKind::LegacyReaderWriter | FeatureKind::LegacyWriter
        )
    }
}

/// Returns the feature of this name, case-insensitive.
pub fn find_feature(name: &str) -> Option<&'static TableFeature> {
    TABLE_FEATURES
        .iter()
        .find(|feature| feature.name.eq_ignore_ascii_case(name))
}

/// Returns the feature of this name, or an error.
///
/// # Errors
///
/// Invalid argument: `protocol.unknown_feature`.
pub fn known_feature(name: &str) -> Result<&'static TableFeature> {
    find_feature(name).ok_or_else(|| {
        let message = format!(
            "{} is not a table feature that is known here: check its name, or upgrade deltareplay",
            clipped(name)
        );
        Error::invalid("protocol.unknown_feature", message)
    })
}

const fn legacy_writer(name: &'static str, version: i32, duty: &'static str) -> TableFeature {
    TableFeature {
        name,
        kind: FeatureKind::LegacyWriter,
        min_reader_version: 1,
        min_writer_version: version,
        requires: &[],
        reading: Reading::NoDuty,
        writer_duty: duty,
    }
}

const fn writer(
    name: &'static str,
    requires: &'static [&'static str],
    duty: &'static str,
) -> TableFeature {
    TableFeature {
        name,
        kind: FeatureKind::Writer,
        min_reader_version: 1,
        min_writer_version: 7,
        requires,
        reading: Reading::NoDuty,
        writer_duty: duty,
    }
}

const fn both(
    name: &'static str,
    requires: &'static [&'static str],
    duty: &'static str,
) -> TableFeature {
    TableFeature {
        name,
        kind: FeatureKind::ReaderWriter,
        min_reader_version: 3,
        min_writer_version: 7,
        requires,
        reading: Reading::Supported,
        writer_duty: duty,
    }
}

const fn refused(
    name: &'static str,
    requires: &'static [&'static str],
    reason: &'static str,
    remedy: &'static str,
) -> TableFeature {
    TableFeature {
        reading: Reading::Missing { reason, remedy },
        ..both(name, requires, reason)
    }
}

/// The feature of catalog-managed tables, and its names before it was final.
pub const CATALOG_MANAGED: [&str; 3] = ["catalogManaged", "catalogOwned", "catalogOwned-preview"];

const CATALOG_REQUIRES: &[&str] = &["inCommitTimestamp", "vacuumProtocolCheck"];
const CATALOG: &str = "ask the table's catalog for commits and have it ratify new ones";
const MANIFEST_TREE: &str = "the list of files is in manifests outside the log";
const MANIFEST_TREE_REMEDY: &str =
    "read it with a client that supports adaptive metadata trees, or drop the feature";
const WIDEN: &str =
    "record every type change in the field's metadata and allow only those of the list";
const VARIANT: &str =
    "write variants as a group of two binary columns, without minimum and maximum";
const SHREDDED_VARIANTS: &str =
    "write shredded variants only while delta.enableVariantShredding is true";
const GEO: &str = "write shapes as WKB of the geospatial Parquet types, and boxes as their bounds";
const COLLATE: &str = "preserve collations and keep statistics by collation";

/// All features of the protocol, its accepted proposals, and the previews that occur in real tables.
pub static TABLE_FEATURES: &[TableFeature] = &[
    legacy_writer(
        "appendOnly",
        2,
        "refuse to remove data while delta.appendOnly is true",
    ),
    legacy_writer("invariants", 2, "evaluate delta.invariants on every row"),
    legacy_writer(
        "checkConstraints",
        3,
        "evaluate delta.constraints.* on every row",
    ),
    legacy_writer(
        "changeDataFeed",
        4,
        "write change files while delta.enableChangeDataFeed is true",
    ),
    legacy_writer(
        "generatedColumns",
        4,
        "compute or verify delta.generationExpression",
    ),
    TableFeature {
        kind: FeatureKind::LegacyReaderWriter,
        min_reader_version: 2,
        min_writer_version: 5,
        ..both("columnMapping", &[], "write physical names and field ids")
    },
    legacy_writer(
        "identityColumns",
        6,
        "assign identity values and advance their high-water marks",
    ),
    both(
        "deletionVectors",
        &[],
        "carry deletion vectors over, and count rows without them",
    ),
    both("timestampNtz", &[], "write timestamps without time zone"),
    both(
        "v2Checkpoint",
        &[],
        "write V2 checkpoints where delta.checkpointPolicy asks for them",
    ),
    both(
        "vacuumProtocolCheck",
        &[],
        "check the write protocol before VACUUM",
    ),
    both("typeWidening", &[], WIDEN),
    both("typeWidening-preview", &[], WIDEN),
    both("variantType", &[], VARIANT),
    both("variantType-preview", &[], VARIANT),
    both("variantShredding", &["variantType"], SHREDDED_VARIANTS),
    both(
        "variantShredding-preview",
        &["variantType"],
        SHREDDED_VARIANTS,
    ),
    both("catalogManaged", CATALOG_REQUIRES, CATALOG),
    both("catalogOwned", CATALOG_REQUIRES, CATALOG),
    both("catalogOwned-preview", CATALOG_REQUIRES, CATALOG),
    both("geospatial", &[], GEO),
    both("geospatial-dev", &[], GEO),
    refused(
        "timestampNanos",
        &["timestampNtz"],
        "timestamps in nanoseconds are not understood",
        "read it with a client that supports nanosecond timestamps",
    ),
    refused(
        "adaptiveMetadata",
        TREE_REQUIRES,
        MANIFEST_TREE,
        MANIFEST_TREE_REMEDY,
    ),
    refused(
        "adaptiveMetadata-preview",
        TREE_REQUIRES,
        MANIFEST_TREE,
        MANIFEST_TREE_REMEDY,
    ),
    refused(
        "redirectReaderWriter-preview",
        &[],
        "reads of the table are redirected to another one",
        "read the table that delta.redirectReaderWriter-preview names",
    ),
    writer(
        "domainMetadata",
        &[],
        "preserve the metadata of every domain",
    ),
    writer(
        "rowTracking",
        &["domainMetadata"],
        "assign row ids to every file and keep them over rewrites",
    ),
    writer(
        "clustering",
        &["domainMetadata"],
        "keep statistics on the clustering columns",
    ),
    writer(
        "allowColumnDefaults",
        &[],
        "fill columns that a write leaves out by CURRENT_DEFAULT",
    ),
    writer(
        "inCommitTimestamp",
        &[],
        "begin every commit with a commitInfo that holds its timestamp",
    ),
    writer(
        "icebergCompatV1",
        &["columnMapping"],
        "write files that Iceberg can read (V1 rules)",
    ),
    writer(
        "icebergCompatV2",
        &["columnMapping"],
        "write files that Iceberg can read (V2 rules)",
    ),
    writer(
        "icebergCompatV3",
        &["columnMapping", "rowTracking"],
        "write files that Iceberg can read (V3 rules)",
    ),
    writer(
        "icebergWriterCompatV1",
        &["icebergCompatV2"],
        "keep to what Iceberg writers allow (V1 rules)",
    ),
    writer(
        "icebergWriterCompatV3",
        &["icebergCompatV3"],
        "keep to what Iceberg writers allow (V3 rules)",
    ),
    writer(
        "materializePartitionColumns",
        &[],
        "write partition columns into the data files too",
    ),
    writer(
        "checkpointProtection",
        &[],
        "leave protected checkpoints and their commits in the log",
    ),
    writer(
        "coordinatedCommits-preview",
        &["inCommitTimestamp", "vacuumProtocolCheck"],
        "commit through the table's coordinator",
    ),
    writer("collations", &["domainMetadata"], COLLATE),
    writer("collations-preview", &["domainMetadata"], COLLATE),
    writer(
        "columnMappingUsageTracking",
        &["columnMapping"],
        "record dropped and renamed columns",
    ),
    writer(
        "redirectWriterOnly-preview",
        &[],
        "send writes to the table that the redirect names",
    ),
];

const TREE_REQUIRES: &[&str] = &[
    "columnMapping",
    "rowTracking",
    "domainMetadata",
    "deletionVectors",
    "inCommitTimestamp",
];

#[cfg(test)]
mod tests;
