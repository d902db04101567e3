//! The interface to the catalog that manages a table: it lists the ratified commits, and ratifies new ones.
//!
//! The trait and its types; [`super::managed`] reads and writes a log with them.
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
    /// Returns the newest commits, including all ratified ones that may not be published yet.
    fn load(&self) -> Result<LogTail>;

    /// Requests that a staged commit becomes the commit of its version.
    ///
    /// After an error of the kind Storage, it is unknown whether the catalog ratified the commit:
    /// [`Self::load`] shows it, and repeating the request with the same version and file is safe.
    fn commit(&self, staged: &StagedCommit) -> Result<Ratification>;

    /// Reports that the commits up to this version are published.
    fn published(&self, version: u64) -> Result<()>;
}

/// The newest commits, according to the catalog.
#[derive(Clone, Debug, Default)]
pub struct LogTail {
    /// Ratified commits that may not be published yet: without a gap, up to the newest version.
    pub commits: Vec<RatifiedCommit>,
    /// The newest version; `None` if the catalog does not manage the table's commits.
    pub max_version: Option<u64>,
    /// The catalog's id of the table.
    pub table_id: Option<String>,
    /// The operations that the catalog allows in addition to commits, checkpoints, compacted files and
    /// checksums.
    pub allowed: Vec<Permission>,
}

/// A ratified commit.
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
        /// Its length in bytes, if known to the catalog.
        size: Option<u64>,
        /// In milliseconds since the epoch, if known to the catalog.
        modification_time: Option<i64>,
    },
    /// Stored by the catalog.
    Inline(Bytes),
}

/// A staged commit that is not ratified yet.
#[derive(Clone, Debug)]
pub struct StagedCommit {
    /// Its prospective version.
    pub version: u64,
    /// The base name of its file below `_staged_commits`.
    pub file_name: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its modification time in milliseconds since the epoch: the same as `timestamp`.
    pub modification_time: i64,
    /// Its in-commit timestamp.
    pub timestamp: i64,
    /// The protocol, if the commit changes it.
    pub protocol: Option<Protocol>,
    /// The metadata, if the commit changes it.
    pub metadata: Option<Metadata>,
    /// The domains that the commit changes or removes.
    pub domains: Vec<DomainMetadata>,
    /// The newest version known to be published.
    pub published: Option<u64>,
}

/// The response of a catalog to a staged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ratification {
    /// The commit is the version now.
    Ratified,
    /// Another commit is that version.
    Taken,
    /// Too many commits are not published: publish them, then repeat the request.
    PublishFirst,
}

/// An operation that a catalog may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Taking over a new table, or one that the catalog does not manage yet. The first version that it manages is
    /// passed to [`Catalog::published`].
    TakeOver,
    /// Deleting data files that no version inside the retention period needs.
    Vacuum,
    /// Rewriting data files to compact and order them.
    Optimize,
    /// Deleting expired log files.
    CleanupLog,
}

impl Permission {
    /// All operations.
    pub const ALL: [Self; 4] = [
        Self::TakeOver,
        Self::Vacuum,
        Self::Optimize,
        Self::CleanupLog,
    ];

    /// Returns the name, as users and catalogs spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TakeOver => "take_over",
            Self::Vacuum => "vacuum",
            Self::Optimize => "optimize",
            Self::CleanupLog => "cleanup_log",
        }
    }
}
