//! A table as a stream: the files of a snapshot, then each new commit, in small batches; each batch has the
//! offset after which another process can continue.
//!
//! Order and limits are those of Delta's own streaming source, so that each can resume from offsets of the
//! other.

use std::sync::Arc;

use arrow_schema::SchemaRef;

mod entries;
mod offset;

pub use offset::Offset;

use super::plan::IdentityOptions;
use super::range::commits::{Commit, commits_between};
use super::range::metadata_history::{MetadataHistory, PartitionNames, check_metadata};
use super::range::{Edge, first_version, load_version};
use super::rows::row_schema::{ChangesDefinition, ResolvedDefinition};
use super::rows::split::Split;
use super::{Kind, Net};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::Predicate;
use crate::log::{LogListing, VersionedFile};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::advance::is_same;
use crate::snapshot::load::load;
use crate::spec::schema::StructType;
use entries::{Entry, total_bytes};

/// The start of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StreamStart {
    /// The newest snapshot, as new rows.
    #[default]
    Snapshot,
    /// The first commit after the newest version.
    Latest,
    /// The commit of this version, or the first commit at or after this timestamp.
    At(Edge),
    /// After this offset.
    After(Offset),
}

/// The options of a stream.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// The start of the stream.
    pub start: StreamStart,
    /// Tolerate commits that only remove files.
    pub ignore_deletes: bool,
    /// Return all rows of rewritten files, also those returned before.
    pub ignore_changes: bool,
    /// Skip commits that remove files.
    pub skip_change_commits: bool,
    /// Skip commits that are no longer in the log.
    pub skip_missing_commits: bool,
    /// Return changes of this kind instead of the rows of added files; net changes are computed per batch.
    pub changes: Option<Kind>,
    /// Fail at versions at which the change data feed was disabled.
    pub require_feed: bool,
    /// Columns that identify rows, for tables without row tracking.
    pub key: Vec<String>,
    /// The maximum number of files in a batch; `None` for no limit.
    pub max_files: Option<u64>,
    /// The approximate maximum size of the files of a batch in bytes; `None` for no limit.
    pub max_bytes: Option<u64>,
    /// End with the version that is the newest at the start.
    pub available_now: bool,
    /// End at this offset.
    pub until: Option<Offset>,
    /// Logical names of the requested columns, in order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter on the rows; `None` for all.
    pub filter: Option<Predicate>,
}

/// A stream of a table's changes.
#[derive(Debug)]
pub struct Follow {
    source: Source,
    strict: bool,
    options: FollowOptions,
    definition: ChangesDefinition,
    resolved: Arc<ResolvedDefinition>,
    identity_options: IdentityOptions,
    /// The newest version at the start: all batches have its schema.
    initial: Snapshot,
    /// The last version to return; `None` for no end.
    last: Option<u64>,
    offset: Offset,
    /// Protocol and metadata before the next commit; determined on demand.
    history: Option<MetadataHistory>,
    /// The newest known commit: if it is another file in the next listing, the table may have been replaced.
    last_known: Option<VersionedFile>,
    /// The first and the last commit of each skipped range that is no longer in the log.
    missing: Vec<(u64, u64)>,
}

/// A batch of a stream.
#[derive(Clone, Debug)]
pub struct MicroBatch {
    /// The rows, as a plain value that another process can read.
    pub rows: Split,
    /// The offset after the rows.
    pub offset: Offset,
}

impl Follow {
    /// Starts a stream; reads the table definition of the newest version.
    ///
    /// # Errors
    ///
    /// Invalid argument: `follow.offset` for an offset of another table or of a version that does not
    /// exist yet, `follow.limit`, and those of columns, filter and key. Version not found: `changes.start`,
    /// `version.timestamp`. Unsupported: features of the first version. Errors of the log.
    pub fn new(source: &Source, strict: bool, options: FollowOptions) -> Result<Self> {
        if options.max_files == Some(0) || options.max_bytes == Some(0) {
            let message =
                "a micro-batch needs room for at least one file and one byte: raise the limit";
            return Err(Error::invalid("follow.limit", message));
        }
        let initial = load(source, None, strict)?;
        let mut definition = ChangesDefinition::new(
            &initial,
            None,
            options.columns.clone(),
            options.filter.as_ref(),
        );
        if options.changes.is_none() {
            definition = definition.without_change_columns();
        }
        let resolved = Arc::new(definition.resolve()?);
        resolved.check_key(&options.key)?;
        let offset = first_offset(source, &initial, &options.start)?;
        // changes load this version for their history
        if options.changes.is_none() && matches!(options.start, StreamStart::At(_)) {
            check_first(source, &initial, &offset, strict)?;
        }
        if let Some(until) = &options.until
            && until.table_id != offset.table_id
        {
            let message = "the stream cannot end at this offset: it belongs to another table, or the table \
                was replaced";
            return Err(Error::invalid("follow.offset", message));
        }
        let last_commit = initial.segment().last_commit.clone();
        Ok(Self {
            source: source.clone(),
            strict,
            last_known: last_commit.map(|file| VersionedFile {
                version: initial.version(),
                file,
            }),
            identity_options: IdentityOptions::new(&options.key, None),
            last: options.available_now.then(|| initial.version()),
            definition,
            resolved,
            initial,
            offset,
            history: None,
            missing: Vec::new(),
            options,
        })
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.resolved.schema()
    }

    /// Returns the offset of the stream.
    pub fn offset(&self) -> &Offset {
        &self.offset
    }

    /// Returns `true` if the stream has reached its end.
    pub fn is_done(&self) -> bool {
        self.last.is_some_and(|last| self.offset.version > last)
            || self
                .options
                .until
                .as_ref()
                .is_some_and(|until| self.offset >= *until)
    }

    /// Returns the first and the last commit of each range that was skipped since the last call because it
    /// is no longer in the log.
    pub fn take_missing(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.missing)
    }

    /// Returns `true` if a file is after the end.
    fn is_after_end(&self, version: u64, index: i64) -> bool {
        let until = self.options.until.as_ref();
        until.is_some_and(|until| (version, index) > (until.version, until.index))
    }

    /// Returns the last version whose commit is returned; `None` for no end.
    fn last_commit(&self) -> Option<u64> {
        let until = self.options.until.as_ref().map(|until| {
            let excludes_commit = until.initial || until.index == offset::BASE;
            until.version.saturating_sub(u64::from(excludes_commit))
        });
        [until, self.last].into_iter().flatten().min()
    }

    /// Returns the next batch, or `None` if there is no new commit yet.
    ///
    /// # Errors
    ///
    /// Unsupported: `follow.changes` and `follow.deletes` for commits that the options do not tolerate,
    /// `changes.feed_disabled`, features that this build lacks. Invalid argument: `follow.schema` and
    /// `changes.schema` when the table's columns changed, `follow.offset` when the table was replaced.
    /// Version not found: `version.range` or `version.not_found` for a version that is no longer in the log.
    /// All of these name the version. Invalid argument: `changes.identity` for net changes. Errors of the
    /// log.
    pub fn next_batch(&mut self) -> Result<Option<MicroBatch>> {
        let before = self.offset.clone();
        let batch = self.fill_batch();
        if batch.is_err() {
            // the next call reads the files after the offset again
            self.offset = before;
            self.history = None;
            self.missing.clear();
        }
        batch
    }

    fn fill_batch(&mut self) -> Result<Option<MicroBatch>> {
        let mut limits = BatchLimits::new(&self.options);
        let mut entries = Vec::new();
        if self.offset.initial {
            self.add_snapshot_files(&mut limits, &mut entries)?;
        }
        // a batch of net changes contains no rows of the snapshot before them
        let is_separate = self.options.net().is_some() && !entries.is_empty();
        if !self.offset.initial && !limits.are_reached() && !is_separate {
            while self.add_commits(&mut limits, &mut entries)? && entries.is_empty() {}
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let bytes = total_bytes(&entries);
        let tasks = entries::tasks_of(entries, &self.source, &self.options)?;
        Ok(Some(MicroBatch {
            rows: Split::new(
                self.definition.clone(),
                self.identity_options.clone(),
                tasks,
                bytes,
            ),
            offset: self.offset.clone(),
        }))
    }

    /// Adds the next files of the snapshot.
    fn add_snapshot_files(
        &mut self,
        limits: &mut BatchLimits,
        entries: &mut Vec<Entry>,
    ) -> Result<()> {
        let version = self.offset.version;
        let snapshot = self.snapshot(version)?;
        for entry in entries::of_snapshot(&self.source, &snapshot)? {
            if entry.index <= self.offset.index {
                continue;
            }
            if limits.are_reached() || self.is_after_end(version, entry.index) {
                return Ok(());
            }
            limits.take(std::slice::from_ref(&entry));
            self.offset.index = entry.index;
            entries.push(entry);
        }
        self.offset = Offset::before(&self.offset.table_id, version.saturating_add(1));
        Ok(())
    }

    /// Adds the next commits, up to the limits or to commits that are missing and may be skipped; returns
    /// `true` for the latter.
    fn add_commits(&mut self, limits: &mut BatchLimits, entries: &mut Vec<Entry>) -> Result<bool> {
        let mut first = self.offset.version;
        let listing = self.listing(first)?;
        // a version whose commit was cleaned up has a checkpoint
        let checkpoint = listing.checkpoints.last().map(|file| file.version);
        let commits = listing.commits.first().zip(listing.commits.last());
        let (oldest, newest) = match commits {
            Some((oldest, newest)) => (oldest.version, newest.version),
            None => {
                let newest = checkpoint.unwrap_or(0).max(self.initial.version());
                (newest.saturating_add(1), newest)
            }
        };
        let last = self.last_commit().unwrap_or(newest);
        if self.options.skip_missing_commits && first < oldest && first <= last {
            let next = oldest.min(last.saturating_add(1));
            self.missing.push((first, next.saturating_sub(1)));
            self.offset = Offset::before(&self.offset.table_id, next);
            self.history = None;
            first = next;
            check_first(&self.source, &self.initial, &self.offset, self.strict)?;
        }
        let mut newest = newest.min(last);
        if newest < first {
            return Ok(false);
        }
        let mut is_before_gap = false;
        if self.options.skip_missing_commits {
            let end = end_of_run(&listing.commits, first);
            is_before_gap = end < newest;
            newest = newest.min(end);
        }
        if self.history.is_none() && self.options.changes.is_some() {
            self.history = Some(self.first_history(first)?);
        }
        let partitions = PartitionNames::of(&self.initial)?;
        for commit in commits_between(&self.source.storage, first, newest)? {
            let mut commit = commit?;
            let version = commit.stamp.version;
            if self.history.is_none() && partitions.lacks(&commit) {
                self.history = Some(self.first_history(version)?);
            }
            let is_resumed = self.offset.version == version && self.offset.index >= 0;
            let settings = match &mut self.history {
                Some(history) => Some(history.step(&mut commit, &self.resolved)?),
                None => None,
            };
            self.check_commit(&commit)?;
            let groups = entries::of_commit(&self.source, &commit, settings, &self.options)?;
            for group in groups {
                let rest: Vec<Entry> = group
                    .into_iter()
                    .filter(|entry| !is_resumed || entry.index > self.offset.index)
                    .collect();
                let Some(last) = rest.last() else { continue };
                // a group of several files must not be split, so an empty batch takes it in spite of the
                // limits
                if limits.are_reached()
                    || (rest.len() > 1 && limits.exceeded_by(&rest))
                    || self.is_after_end(version, last.index)
                {
                    // the next batch reads this commit again
                    self.history = None;
                    return Ok(false);
                }
                limits.take(&rest);
                self.offset = Offset {
                    index: last.index,
                    version,
                    ..self.offset.clone()
                };
                entries.extend(rest);
            }
            self.offset = Offset::before(&self.offset.table_id, version.saturating_add(1));
            if limits.are_reached() {
                return Ok(false);
            }
        }
        Ok(is_before_gap)
    }

    fn listing(&mut self, first: u64) -> Result<LogListing> {
        let known = &self.last_known;
        let from = known
            .as_ref()
            .map_or(first, |known| known.version.min(first));
        let mut listing = LogListing::read(&*self.source.storage, from)?;
        if let Some(known) = known {
            let mut commits = listing.commits.iter();
            let now = commits.find(|commit| commit.version == known.version);
            if now.is_none_or(|now| !is_same(&now.file, &known.file)) {
                let newest = load(&self.source, None, self.strict)?;
                check_offset(&self.offset, &newest)?;
            }
        }
        self.last_known = listing.commits.last().cloned();
        listing.commits.retain(|commit| commit.version >= first);
        Ok(listing)
    }

    /// Returns the metadata history before the commit of a version.
    fn first_history(&self, version: u64) -> Result<MetadataHistory> {
        let newest = self.initial.version();
        if version == newest.saturating_add(1) {
            return Ok(MetadataHistory::new(&self.initial, &self.resolved)?.after_snapshot());
        }
        MetadataHistory::new(&self.snapshot(version)?, &self.resolved)
    }

    fn snapshot(&self, version: u64) -> Result<Snapshot> {
        load_version(&self.source, &self.initial, version, self.strict)
    }

    /// Checks that the stream can continue with the protocol, the table id and the columns of the commit.
    fn check_commit(&self, commit: &Commit) -> Result<()> {
        let version = commit.stamp.version;
        if let Some(protocol) = &commit.protocol {
            let admitted = self.source.check_readable(protocol);
            admitted.map_err(|error| error.at_version(version))?;
        }
        let Some(metadata) = &commit.metadata else {
            return Ok(());
        };
        if metadata.id != self.offset.table_id {
            let message =
                "the table was replaced at this version and has a new id: start a new stream";
            return Err(Error::invalid("follow.offset", message).at_version(version));
        }
        let initial = self.initial.metadata();
        let columns = StructType::parse(&metadata.schema_string)?;
        let is_same = columns.is_read_as(self.initial.schema())
            && metadata.partition_columns == initial.partition_columns;
        if version > self.initial.version() && !is_same {
            let message = format!(
                "the table's columns changed at this version: restart the stream after the offset {} to \
                 continue with the new columns",
                self.offset.to_json()
            );
            return Err(Error::invalid("follow.schema", message).at_version(version));
        }
        if !is_same && self.history.is_none() {
            check_metadata(metadata, &self.resolved).map_err(|error| error.at_version(version))?;
        }
        Ok(())
    }
}

/// Returns the last version before a gap in the commits from `first` on.
fn end_of_run(commits: &[VersionedFile], first: u64) -> u64 {
    let versions = commits.iter().map(|commit| commit.version);
    let run = versions
        .zip(first..)
        .take_while(|(version, expected)| version == expected);
    run.last().map_or(first, |(version, _)| version)
}

/// Returns the offset before the first file of the stream.
fn first_offset(source: &Source, initial: &Snapshot, start: &StreamStart) -> Result<Offset> {
    let id = &initial.metadata().id;
    let newest = initial.version();
    match start {
        StreamStart::Snapshot => Ok(Offset {
            initial: true,
            ..Offset::before(id, newest)
        }),
        StreamStart::Latest => Ok(Offset::before(id, newest.saturating_add(1))),
        StreamStart::At(edge) => {
            let first = first_version(source, initial, *edge)?;
            if first > newest {
                let message = format!(
                    "the stream starts at version {first}, but the newest version is {newest}: start at \
                     that version or before, or with \"latest\""
                );
                let error = Error::new(ErrorKind::VersionNotFound, "changes.start", message);
                return Err(error.at_version(first));
            }
            Ok(Offset::before(id, first))
        }
        StreamStart::After(offset) => {
            check_offset(offset, initial)?;
            Ok(offset.clone())
        }
    }
}

/// Checks that this build can read the version at the offset; the protocols of later commits are checked as
/// these are read.
fn check_first(source: &Source, initial: &Snapshot, offset: &Offset, strict: bool) -> Result<()> {
    if offset.version >= initial.version() {
        return Ok(());
    }
    // the log may no longer have the version, which the stream may not need
    let tolerated = [ErrorKind::VersionNotFound, ErrorKind::Corrupt];
    match load_version(source, initial, offset.version, strict) {
        Err(error) if tolerated.contains(&error.kind()) => Ok(()),
        loaded => loaded.map(drop),
    }
}

/// Checks that a stream of the table, whose newest version is `newest`, can continue after the offset.
fn check_offset(offset: &Offset, newest: &Snapshot) -> Result<()> {
    let problem = if offset.table_id != newest.metadata().id {
        "it belongs to another table, or the table was replaced"
    } else if offset.version > newest.version().saturating_add(1) {
        "it is after the newest version: the table was replaced or its log was cut"
    } else {
        return Ok(());
    };
    let message = format!("the stream cannot continue after this offset: {problem}");
    Err(Error::invalid("follow.offset", message))
}

/// The limits of a batch, less the files that it has.
struct BatchLimits {
    files: u64,
    bytes: u64,
    has_files: bool,
}

impl BatchLimits {
    fn new(options: &FollowOptions) -> Self {
        Self {
            files: options.max_files.unwrap_or(u64::MAX),
            bytes: options.max_bytes.unwrap_or(u64::MAX),
            has_files: false,
        }
    }

    /// Returns `true` if the batch is full; checked before each file, so that a batch has at least one.
    fn are_reached(&self) -> bool {
        self.files == 0 || self.bytes == 0
    }

    /// Returns `true` if a group of files exceeds the limits; the first group of a batch never does.
    fn exceeded_by(&self, group: &[Entry]) -> bool {
        self.has_files && (group.len() as u64 > self.files || total_bytes(group) > self.bytes)
    }

    fn take(&mut self, group: &[Entry]) {
        self.has_files = true;
        self.files = self.files.saturating_sub(group.len() as u64);
        self.bytes = self.bytes.saturating_sub(total_bytes(group));
    }
}

impl FollowOptions {
    /// Returns the kind of net changes that a batch has, if any.
    fn net(&self) -> Option<Net> {
        self.changes.and_then(Kind::net)
    }
}
