//! The interface to the catalog that manages a table: it lists the commits that count, and takes
//! one more.
//!
//! The trait and its nouns; [`super::managed`] reads and writes a log with them.
//!
//! Protocol: "Catalog-managed tables".

use std::fmt::Debug;

use bytes::Bytes;
use serde::Deserialize;

use crate::error::Result;
use crate::spec::{DomainMetadata, Metadata, Protocol};
use crate::storage::Vending;

/// The catalog of one table.
pub trait Catalog: Vending {
    /// Returns the commits that count beside the published ones.
    fn load(&self) -> Result<LogTail>;

    /// Requests that a staged commit becomes its version.
    ///
    /// After any error of the kind Storage it is unknown whether the catalog took it: [`Self::load`]
    /// tells, and asking again for the same version and file is safe.
    fn commit(&self, staged: &StagedCommit) -> Result<Ratification>;

    /// Reports that the commits up to this version are published.
    fn published(&self, version: u64) -> Result<()>;
}

/// The newest commits, as the catalog knows them.
#[derive(Clone, Debug, Default)]
pub struct LogTail {
    /// Ratified commits that may not be published yet: without a gap, up to the newest version.
    pub commits: Vec<RatifiedCommit>,
    /// The newest version that counts; `None` where the catalog does not manage the table's commits.
    pub max_version: Option<u64>,
    /// The catalog's id of the table.
    pub table_id: Option<String>,
    /// The operations that the catalog allows beside commits, checkpoints, compacted files and
    /// checksums.
    pub allowed: Vec<Permission>,
}

/// A commit that the catalog has ratified.
#[derive(Clone, Debug)]
pub struct RatifiedCommit {
    /// The version.
    pub version: u64,
    /// The location of its actions.
    pub content: Content,
}

/// The location of the actions of a ratified commit.
#[derive(Clone, Debug)]
pub enum Content {
    /// In a file below `_staged_commits`, or published already.
    File {
        /// Its base name.
        name: String,
        /// Its length in bytes, if the catalog knows.
        size: Option<u64>,
        /// In milliseconds since the epoch, if the catalog knows.
        modification_time: Option<i64>,
    },
    /// With the catalog.
    Inline(Bytes),
}

/// A commit that is staged and waits for the catalog.
#[derive(Clone, Debug)]
pub struct StagedCommit {
    /// The version that it would be.
    pub version: u64,
    /// The base name of its file below `_staged_commits`.
    pub file_name: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was staged, in milliseconds since the epoch.
    pub modification_time: i64,
    /// Its in-commit timestamp.
    pub timestamp: i64,
    /// The protocol, where the commit changes it.
    pub protocol: Option<Protocol>,
    /// The metadata, where the commit changes it.
    pub metadata: Option<Metadata>,
    /// The domains that the commit changes or removes.
    pub domains: Vec<DomainMetadata>,
    /// The newest version that is known to be published.
    pub published: Option<u64>,
}

/// The answer of a catalog to a staged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ratification {
    /// It is the version now.
    Ratified,
    /// Another commit is that version.
    Taken,
    /// Too many commits wait for their publication: publish, then ask again.
    PublishFirst,
}

/// An operation that a catalog may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Taking over a new table, or one that the catalog does not manage yet: it manages the table from the
    /// version on that [`Catalog::published`] names.
    TakeOver,
    /// Deleting data files that no version needs.
    Vacuum,
    /// Packing and ordering data files again.
    Optimize,
    /// Deleting expired files of the log.
    CleanupLog,
}

impl Permission {
    /// Every one.
    pub const ALL: [Self; 4] = [
        Self::TakeOver,
        Self::Vacuum,
        Self::Optimize,
        Self::CleanupLog,
    ];

    /// As users and catalogs spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TakeOver => "take_over",
            Self::Vacuum => "vacuum",
            Self::Optimize => "optimize",
            Self::CleanupLog => "cleanup_log",
        }
    }
}
