//! All named table features, and their support in this build.
//!
//! [`crate::spec::protocol`] evaluates versions and lists; this module has the facts of each feature: its
//! kind, the versions that introduced it, what it requires, how this build reads it, what writers must do.
//!
//! Protocol: "Table Features", "Requirements for Readers", the feature RFCs.

use crate::error::{Error, Result};
use crate::spec::json::clipped;

/// The clients that a feature concerns, readers or writers, and whether protocol versions can imply it.
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

/// The support of this build for reading tables with a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSupport {
    /// This build supports it.
    Supported,
    /// Readers need no support for it.
    NotRequired,
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
    /// The support of this build for reading tables with it.
    pub read_support: ReadSupport,
    /// The duty of writers of a table with it.
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

    /// Returns `true` if protocol versions can imply it.
    pub fn is_legacy(&self) -> bool {
        matches!(
            self.kind,
            FeatureKind::LegacyReaderWriter | FeatureKind::LegacyWriter
        )
    }
}

/// Returns the feature of this name, case-insensitive. `timestampNtz` has another name in some logs, which
/// delta-kernel-rs reads, too.
pub fn find_feature(name: &str) -> Option<&'static TableFeature> {
    let name = if name.eq_ignore_ascii_case("timestampWithoutTimezone") {
        "timestampNtz"
    } else {
        name
    };
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
            "unknown table feature {}: check its name, or upgrade deltareplay",
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
        read_support: ReadSupport::NotRequired,
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
        read_support: ReadSupport::NotRequired,
        writer_duty: duty,
    }
}

const fn reader_writer(
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
        read_support: ReadSupport::Supported,
        writer_duty: duty,
    }
}

const fn unsupported(
    name: &'static str,
    requires: &'static [&'static str],
    reason: &'static str,
    remedy: &'static str,
) -> TableFeature {
    TableFeature {
        read_support: ReadSupport::Missing { reason, remedy },
        ..reader_writer(name, requires, "understand it")
    }
}

/// The feature of catalog-managed tables, and its names before it was final.
pub const CATALOG_MANAGED: [&str; 3] = ["catalogManaged", "catalogOwned", "catalogOwned-preview"];

const CATALOG_REQUIRES: &[&str] = &["inCommitTimestamp", "vacuumProtocolCheck"];
const CATALOG: &str = "read the commits from the table's catalog and have it ratify new ones";
const TREE_REQUIRES: &[&str] = &[
    "columnMapping",
    "rowTracking",
    "domainMetadata",
    "deletionVectors",
    "inCommitTimestamp",
];
const MANIFEST_TREE: &str = "the list of files is in manifests outside the log";
const MANIFEST_TREE_REMEDY: &str =
    "read it with a client that supports adaptive metadata trees, or drop the feature";
const WIDEN: &str =
    "record every type change in the field's metadata and allow only those of the protocol";
const VARIANT: &str =
    "write variants as a group of two binary columns, without minimum and maximum";
const SHREDDED_VARIANTS: &str =
    "write shredded variants only while delta.enableVariantShredding is true";
const GEO: &str =
    "write geometries as WKB with geospatial Parquet types, and bounding boxes as statistics";
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
        ..reader_writer("columnMapping", &[], "write physical names and field ids")
    },
    legacy_writer(
        "identityColumns",
        6,
        "assign identity values and advance their high-water marks",
    ),
    reader_writer(
        "deletionVectors",
        &[],
        "carry deletion vectors over, and count rows without them",
    ),
    reader_writer("timestampNtz", &[], "write timestamps without time zone"),
    reader_writer(
        "v2Checkpoint",
        &[],
        "write V2 checkpoints while delta.checkpointPolicy is v2",
    ),
    reader_writer(
        "vacuumProtocolCheck",
        &[],
        "check the write protocol before VACUUM",
    ),
    reader_writer("typeWidening", &[], WIDEN),
    reader_writer("typeWidening-preview", &[], WIDEN),
    reader_writer("variantType", &[], VARIANT),
    reader_writer("variantType-preview", &[], VARIANT),
    reader_writer("variantShredding", &["variantType"], SHREDDED_VARIANTS),
    // occurs with variantType and with its preview; delta-spark requires neither
    reader_writer("variantShredding-preview", &[], SHREDDED_VARIANTS),
    reader_writer("catalogManaged", CATALOG_REQUIRES, CATALOG),
    reader_writer("catalogOwned", CATALOG_REQUIRES, CATALOG),
    reader_writer("catalogOwned-preview", CATALOG_REQUIRES, CATALOG),
    reader_writer("geospatial", &[], GEO),
    reader_writer("geospatial-dev", &[], GEO),
    unsupported(
        "timestampNanos",
        &["timestampNtz"],
        "timestamps in nanoseconds are not understood",
        "read it with a client that supports nanosecond timestamps",
    ),
    unsupported(
        "adaptiveMetadata",
        TREE_REQUIRES,
        MANIFEST_TREE,
        MANIFEST_TREE_REMEDY,
    ),
    unsupported(
        "adaptiveMetadata-preview",
        TREE_REQUIRES,
        MANIFEST_TREE,
        MANIFEST_TREE_REMEDY,
    ),
    unsupported(
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
        "assign row ids to every file and preserve them in rewrites",
    ),
    writer(
        "clustering",
        &["domainMetadata"],
        "keep statistics on the clustering columns",
    ),
    writer(
        "allowColumnDefaults",
        &[],
        "fill omitted columns with CURRENT_DEFAULT",
    ),
    writer(
        "inCommitTimestamp",
        &[],
        "begin every commit with a commitInfo that has its timestamp",
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
        "write only what Iceberg writers allow (V1 rules)",
    ),
    writer(
        "icebergWriterCompatV3",
        &["icebergCompatV3"],
        "write only what Iceberg writers allow (V3 rules)",
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

#[cfg(test)]
mod tests;
