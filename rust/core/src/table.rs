//! A Delta table: its location and options, its versions, and commits to it.
//! [`maintenance`](crate::maintenance) and [`statements`](crate::statements) add the operations.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::changes::follow::{Follow, FollowOptions};
use crate::changes::{ChangeOptions, Changes, Edge};
use crate::codec::batches::Batches;
use crate::error::{Error, ErrorKind, Result};
use crate::log::actions::actions;
use crate::log::history::{
    history_batch, prefetch_history, read_entries, read_history, version_at,
};
use crate::log::{Catalog, LogListing, VersionedFile};
use crate::replay::Source;
use crate::snapshot::load::load_prefetching;
use crate::storage::{CachedStorage, in_background};

mod commit;
mod log;
mod rows;

pub use commit::Committed;
pub use rows::{RowSource, RowsOptions, RowsWritten, SchemaMode};

pub use crate::snapshot::Snapshot;
pub use crate::snapshot::files::FileTable;
pub use crate::snapshot::pieces::{ReplayPiece, ReplayPlan, ReplayTail};

/// The options for accessing and reading a table.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// Options of the store, with `object_store`'s keys.
    pub storage_options: Vec<(String, String)>,
    /// Roots, in addition to the table's own, below which the log may refer to files. If set, even if
    /// empty, symbolic links that lead elsewhere are refused.
    pub allowed_roots: Option<Vec<String>>,
    /// Treat warnings as errors.
    pub strict: bool,
    /// The catalog that manages the table's commits.
    pub catalog: Option<Arc<dyn Catalog>>,
}

/// A version of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest version.
    Latest,
    /// The version of this number.
    Version(u64),
    /// The version that was current at this timestamp: milliseconds since the epoch, UTC.
    Timestamp(i64),
}

/// A Delta table. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Table {
    source: Source,
    uri: Arc<str>,
    strict: bool,
}

impl Table {
    /// Returns the table at `uri`, which may not exist yet; nothing is read.
    ///
    /// # Errors
    ///
    /// Invalid argument: the URI or an option.
    pub fn new(uri: &str, options: TableOptions) -> Result<Self> {
        let roots = options.allowed_roots.as_deref();
        let source = Source::new(uri, &options.storage_options, roots, options.catalog)?;
        Ok(Self {
            uri: source.storage.root().into(),
            source,
            strict: options.strict,
        })
    }

    /// Returns the table root as a URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the source of the table's log.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns this table for a call that reads files more than once, as [`Source::with_file_cache`].
    pub(crate) fn with_file_cache(&self) -> Self {
        Self {
            source: self.source.with_file_cache(),
            ..self.clone()
        }
    }

    /// Adds the table's URI to an error about a missing table.
    pub(crate) fn with_uri(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::TableNotFound {
            error.at_path(self.uri())
        } else {
            error
        }
    }

    /// Returns `true` if there is a log with at least one version.
    pub fn exists(&self) -> Result<bool> {
        let storage = &*self.source.storage;
        let cache = storage.log_cache();
        let begin = cache.and_then(CachedStorage::listing_start).unwrap_or(0);
        let has_versions =
            |begin| LogListing::read(storage, begin).map(|listing| listing.latest().is_some());
        // a table that was created again since the last listing begins at 0 again
        Ok(has_versions(begin)? || (begin > 0 && has_versions(0)?))
    }

    /// Returns `true` if there are files below the root, besides those whose names, or the names of whose
    /// directories, begin with `_` or `.`.
    pub fn has_visible_files(&self) -> Result<bool> {
        let is_visible = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            !name.starts_with(['_', '.'])
        };
        let files = self.source.storage.list_below("", &is_visible)?;
        Ok(files.iter().any(|file| is_visible(&file.path)))
    }

    /// Returns a version of the table; `strict` overrides the table's own setting.
    ///
    /// # Errors
    ///
    /// Table not found: `table.not_found`; Version not found: `version.not_found`, `version.timestamp`;
    /// Unsupported with all missing features, or `catalog.required`; Corrupt with the file if the version
    /// cannot be reconstructed; any warning if `strict`.
    pub fn snapshot(&self, at: At, strict: Option<bool>) -> Result<Snapshot> {
        self.load(at, strict, false)
    }

    /// Returns a version as [`Table::snapshot`], for a caller that will probably read its files: also fetches
    /// the commits after its checkpoint.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`].
    pub fn snapshot_to_read(&self, at: At, strict: Option<bool>) -> Result<Snapshot> {
        self.load(at, strict, true)
    }

    fn load(&self, at: At, strict: Option<bool>, prefetch_tail: bool) -> Result<Snapshot> {
        let strict = strict.unwrap_or(self.strict);
        let load = |target| {
            load_prefetching(&self.source, target, strict, prefetch_tail)
                .map_err(|error| self.with_uri(error))
        };
        match at {
            At::Latest => load(None),
            At::Version(version) => load(Some(version)),
            At::Timestamp(timestamp) => {
                let newest = load(None)?;
                let listing = LogListing::read(&*self.source.storage, 0)?;
                let version = version_at(
                    &*self.source.storage,
                    &listing,
                    timestamp,
                    newest.in_commit_timestamps(),
                )?;
                if version == newest.version() {
                    Ok(newest)
                } else {
                    load(Some(version))
                }
            }
        }
    }

    /// Returns the newest version, derived from an older one; usually reads only the new commits.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::advance`].
    pub fn update(&self, snapshot: &Snapshot) -> Result<Snapshot> {
        snapshot
            .advance(&self.source)
            .map_err(|error| self.with_uri(error))
    }

    /// Returns a history row for each commit, newest first: at most `limit` of them.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`]; Corrupt: a commit that does not decode. Storage.
    pub fn history(&self, limit: Option<usize>) -> Result<RecordBatch> {
        let listing = in_background(&self.source.storage, move |storage| {
            let listing = LogListing::read(&**storage, 0)?;
            prefetch_history(&**storage, &listing, limit);
            Ok(listing)
        });
        let newest = self.snapshot(At::Latest, None)?;
        let listing = listing.wait()?;
        let entries = read_history(
            &*self.source.storage,
            &listing,
            limit,
            newest.in_commit_timestamps(),
        )?;
        history_batch(&entries)
    }

    /// Returns the history of one version, as a single row.
    ///
    /// # Errors
    ///
    /// As [`Table::snapshot`]; Version not found: `version.not_found` if the commit is no longer in the log.
    pub fn history_of(&self, version: u64) -> Result<RecordBatch> {
        let snapshot = self.snapshot(At::Version(version), None)?;
        let segment = snapshot.segment();
        let Some(file) = segment.last_commit.clone() else {
            let message = format!(
                "the commit of version {version} is no longer in the log, only its checkpoint"
            );
            let error = Error::new(ErrorKind::VersionNotFound, "version.not_found", message);
            return Err(self.with_uri(error.at_version(version)));
        };
        let commit = VersionedFile { version, file };
        let entries = read_entries(
            &*self.source.storage,
            &[(&commit, segment.file_timestamp)],
            snapshot.in_commit_timestamps(),
        )?;
        history_batch(&entries)
    }

    /// Returns the changed rows from `start` to `end`, both inclusive; `end` defaults to the newest
    /// version.
    ///
    /// # Errors
    ///
    /// As [`Changes::new`].
    pub fn changes(
        &self,
        start: Edge,
        end: Option<Edge>,
        options: ChangeOptions,
    ) -> Result<Changes> {
        Changes::new(&self.source, start, end, self.strict, options)
            .map_err(|error| self.with_uri(error))
    }

    /// Returns the table as a stream: a snapshot, then each new commit.
    ///
    /// # Errors
    ///
    /// As [`Follow::new`].
    pub fn follow(&self, options: FollowOptions) -> Result<Follow> {
        Follow::new(&self.source, self.strict, options).map_err(|error| self.with_uri(error))
    }

    /// Returns the raw actions of the commits `start..=end`, oldest first.
    ///
    /// # Errors
    ///
    /// As [`actions`].
    pub fn actions(&self, start: u64, end: Option<u64>) -> Result<Batches> {
        actions(Arc::clone(&self.source.storage), start, end).map_err(|error| self.with_uri(error))
    }
}
