//! CLONE: creates a table with the rows of a version of another table.
//!
//! A shallow clone references the source's files by absolute URIs; a deep clone has its own copies. A clone
//! into an existing table replaces it; a deep clone then copies only the files that the target lacks. No file
//! is overwritten: the name of a copy is used only for copies of its file. Rows get new row ids.
//!
//! Not part of the protocol; operation, metrics and rules as in delta-spark.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use crate::codec::deletion_vector::{VectorLocation, as_relative, hash_of_text, vector_location};
use crate::codec::file_columns::FileColumns;
use crate::definition::clone::cloned_metadata;
use crate::definition::clustering::CLUSTERING;
use crate::error::{Error, Result};
use crate::log::path::LOG_DIRECTORY;
use crate::maintenance::vacuum::{VisibleNames, collect_referenced};
use crate::replay::{FileActionKey, Source};
use crate::snapshot::Snapshot;
use crate::spec::{DeletionVectorDescriptor, DeletionVectorStorage, Metadata};
use crate::storage::transfer::{FileCopy, transfer};
use crate::storage::{FileMeta, interrupt, now, pool};
use crate::table::{At, Table};
use crate::transaction::{CommitDescription, TransactionOptions};
use crate::write::random::{new_id, now_after};
use crate::write::{AddFile, RemoveFile, StagedFile, encoded};

/// The options of a clone.
#[derive(Clone, Debug, Default)]
pub struct CloneOptions {
    /// Reference the source's files, instead of copying them.
    pub shallow: bool,
    /// Replace an existing table.
    pub replace: bool,
    /// Properties that are added to those of the source, or replace them.
    pub properties: BTreeMap<String, String>,
}

/// A planned clone.
#[derive(Debug)]
pub struct Cloning {
    source: Table,
    snapshot: Snapshot,
    target: Table,
    existing: Option<Snapshot>,
    metadata: Metadata,
    plan: ClonePlan,
}

impl Cloning {
    /// Plans a clone of a version of `source`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `table.exists`, and the properties. As [`plan`].
    pub fn new(
        source: &Table,
        snapshot: &Snapshot,
        target: &Table,
        options: CloneOptions,
    ) -> Result<Self> {
        let exists = target.exists()?;
        if exists && !options.replace {
            let message =
                "there is a table already: pass or_replace=True, or choose another location";
            return Err(Error::invalid("table.exists", message).at_path(target.uri()));
        }
        let existing = exists
            .then(|| target.snapshot(At::Latest, None))
            .transpose()?;
        let before = existing.as_ref().map(Snapshot::metadata);
        let metadata = cloned_metadata(snapshot.metadata(), before, &options.properties)?;
        let plan = plan(
            source.source(),
            snapshot,
            target.source(),
            existing.as_ref(),
            options.shallow,
            metadata.is_on("delta.enableRowTracking"),
        )?;
        Ok(Self {
            source: source.clone(),
            snapshot: snapshot.clone(),
            target: target.clone(),
            existing,
            metadata,
            plan,
        })
    }

    /// Returns the files to copy before the commit.
    pub fn copies(&self) -> &[FileCopy] {
        &self.plan.copies
    }

    /// Copies the files of [`Cloning::copies`]; returns the number of bytes.
    pub fn copy(&self) -> Result<u64> {
        let copies = self.plan.copies.clone();
        copy_files(self.source.source(), self.target.source(), copies)
    }

    /// Commits the clone, once its files are copied; returns the version.
    pub fn commit(self, options: TransactionOptions) -> Result<Option<u64>> {
        let source = self.source.source();
        let name = format!("delta.`{}`", source.resolver.root().hadoop_root());
        let parameters = [
            ("source", json!(name)),
            ("sourceVersion", json!(self.snapshot.version())),
        ];
        let description = CommitDescription {
            metrics: self.plan.metrics,
            ..CommitDescription::new("CLONE", parameters)
        };
        let clustering = self.snapshot.domain_configuration(source, CLUSTERING)?;
        let mut transaction =
            self.target
                .transaction(self.existing.as_ref(), description, options)?;
        transaction.clone_definition(self.metadata, self.snapshot.protocol(), clustering)?;
        transaction.remove(self.plan.removes);
        transaction.add(self.plan.adds);
        transaction.record_written(self.plan.uncommitted);
        Ok(self.target.commit(transaction)?.commit.version)
    }
}

#[derive(Debug, Default)]
struct ClonePlan {
    /// Files to copy before the commit; empty for a shallow clone.
    copies: Vec<FileCopy>,
    adds: Vec<AddFile>,
    removes: Vec<RemoveFile>,
    /// The copies, and the reused files of earlier copies that no version references: a vacuum may delete
    /// them meanwhile.
    uncommitted: Vec<StagedFile>,
    metrics: BTreeMap<String, String>,
}

/// Determines the files to copy, add and remove.
///
/// # Errors
///
/// Invalid argument: `clone.target` if one table is inside the other; Unsupported: `clone.store` for a
/// shallow clone on another store; Corrupt: a path in the log that leads out of the table or into its log.
fn plan(
    source: &Source,
    snapshot: &Snapshot,
    target: &Source,
    existing: Option<&Snapshot>,
    shallow: bool,
    tracks_rows: bool,
) -> Result<ClonePlan> {
    check_locations(source, target, shallow)?;
    let started = now();
    let mut live = HashSet::new();
    let mut old_files: HashMap<FileActionKey, AddFile> = HashMap::new();
    if let Some(existing) = existing {
        for rows in existing.file_batches(target, FileColumns::all(), None)? {
            let rows = rows?;
            collect_referenced(target, &rows, &mut live)?;
            let keys = target.keys.of_batch(&rows)?;
            old_files.extend(keys.into_iter().zip(AddFile::of_rows(&rows)?));
        }
    }
    let mut copies = Copies::new(source, snapshot, target, shallow)?;
    let mut plan = ClonePlan::default();
    let (mut files, mut size) = (0_u64, 0_i64);
    for rows in snapshot.file_batches(source, FileColumns::all(), None)? {
        interrupt::check()?;
        for file in AddFile::of_rows(&rows?)? {
            let file = copies.clone_file(file)?;
            (files, size) = (files + 1, size.saturating_add(file.size));
            let vector = file.deletion_vector.as_ref();
            let key = target.keys.of_file(&file.path, vector);
            match old_files.remove(&key) {
                Some(old) if is_same(&old, &file) => {
                    if tracks_rows && old.base_row_id.is_none() {
                        plan.adds.push(AddFile {
                            data_change: false,
                            ..file
                        });
                    }
                }
                _ => plan.adds.push(file),
            }
        }
    }
    let now = existing.map_or_else(now, now_after);
    let mut removed = 0_i64;
    for file in old_files.into_values() {
        removed = removed.saturating_add(file.size);
        plan.removes.push(file.removed(now, true));
    }
    plan.removes
        .sort_by(|left, right| left.path.cmp(&right.path));
    let reused = copies.reused.into_values();
    plan.uncommitted
        .extend(reused.filter(|file| !live.contains(&file.path)));
    plan.copies = copies.needed.into_values().collect();
    plan.uncommitted
        .extend(plan.copies.iter().map(|copy| StagedFile {
            path: copy.to.clone(),
            size: copy.size,
            written: started,
        }));
    let sizes = plan.copies.iter().filter_map(|copy| copy.size);
    let data_files = sizes.clone().count();
    let copied: u64 = sizes.sum();
    plan.metrics = [
        ("sourceTableSize", size.to_string()),
        ("sourceNumOfFiles", files.to_string()),
        ("numRemovedFiles", plan.removes.len().to_string()),
        ("numCopiedFiles", data_files.to_string()),
        ("removedFilesSize", removed.to_string()),
        ("copiedFilesSize", copied.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    Ok(plan)
}

/// Copies files in parallel; returns the number of bytes copied.
pub fn copy_files(source: &Source, target: &Source, copies: Vec<FileCopy>) -> Result<u64> {
    let (from, to) = (source.storage.clone(), target.storage.clone());
    let copied = pool::map_concurrently(copies, move |copy| transfer(&*from, &*to, copy))?;
    Ok(copied.into_iter().sum())
}

fn check_locations(source: &Source, target: &Source, shallow: bool) -> Result<()> {
    let (from, to) = (source.resolver.root(), target.resolver.root());
    if !from.same_store(to) {
        if shallow {
            let message = "a shallow clone must be on the store of its source, whose files it references: \
                pass shallow=False";
            return Err(Error::unsupported("clone.store", message).at_path(to.root()));
        }
        return Ok(());
    }
    let within = |inner: &str, outer: &str| {
        let (inner, outer) = (inner.trim_matches('/'), outer.trim_matches('/'));
        inner == outer || crate::storage::is_below(inner, outer)
    };
    if within(from.path(), to.path()) || within(to.path(), from.path()) {
        let message =
            "the clone and its source must not be inside each other: choose another location";
        return Err(Error::invalid("clone.target", message).at_path(to.root()));
    }
    Ok(())
}

/// Returns `true` if both actions are equal except for row ids and times.
fn is_same(existing: &AddFile, file: &AddFile) -> bool {
    existing.size == file.size
        && existing.partition_values == file.partition_values
        && existing.stats == file.stats
        && existing.tags == file.tags
}

/// The paths of the files in the clone, and the files that must be copied.
struct Copies<'a> {
    source: &'a Source,
    target: &'a Source,
    shallow: bool,
    visible: VisibleNames,
    /// Files in the target's directory.
    existing: HashMap<String, FileMeta>,
    /// Files reused as copies of files of the source.
    reused: BTreeMap<String, StagedFile>,
    needed: BTreeMap<String, FileCopy>,
}

impl<'a> Copies<'a> {
    fn new(
        source: &'a Source,
        snapshot: &Snapshot,
        target: &'a Source,
        shallow: bool,
    ) -> Result<Self> {
        let mut existing = HashMap::new();
        if !shallow {
            let files = target
                .storage
                .list_below("", &|path| path != LOG_DIRECTORY)?;
            existing.extend(files.into_iter().map(|file| (file.path.clone(), file)));
        }
        Ok(Self {
            source,
            target,
            shallow,
            visible: VisibleNames::of(snapshot)?,
            existing,
            reused: BTreeMap::new(),
            needed: BTreeMap::new(),
        })
    }

    /// Returns the action of a file in the clone, and records the files to copy.
    fn clone_file(&mut self, mut file: AddFile) -> Result<AddFile> {
        let resolve = |path: &str| -> Result<String> {
            let resolved = self.source.resolver.resolve("", path);
            Ok(resolved.map_err(|error| error.at_path(path))?.into_owned())
        };
        let from = resolve(&file.path)?;
        let vector = match &file.deletion_vector {
            Some(vector) => match vector_location(vector)? {
                VectorLocation::Inline(_) => None,
                VectorLocation::File(path) => Some((vector.clone(), resolve(&path)?)),
            },
            None => None,
        };
        let root = self.source.resolver.root();
        if self.shallow {
            file.path = root.uri_of(&from);
            if let Some((vector, from)) = vector {
                file.deletion_vector = Some(moved(&vector, "p", root.uri_of(&from))?);
            }
        } else {
            let size = u64::try_from(file.size).ok();
            file.path = encoded(&self.copy_path(&from, size, file.modification_time));
            if let Some((vector, from)) = vector {
                if vector.storage() == DeletionVectorStorage::Relative
                    && self.visible.holds_data(&from)
                {
                    self.add_copy(&from, &from, None);
                } else {
                    let (to, name) = as_relative(&from);
                    file.deletion_vector = Some(moved(&vector, "u", name)?);
                    self.add_copy(&from, &to, None);
                }
            }
        }
        (file.base_row_id, file.default_row_commit_version) = (None, None);
        file.data_change = true;
        file.with_wide_bounds()
    }

    /// Returns the path of the copy of a data file: the file's own relative path, if data files may be stored
    /// there and its name is unique.
    fn copy_path(&mut self, from: &str, size: Option<u64>, modified: i64) -> String {
        if !from.starts_with('/')
            && self.visible.holds_data(from)
            && is_unique(from)
            && self.add_copy(from, from, size)
        {
            return from.to_owned();
        }
        let (directory, name) = from.rsplit_once('/').unwrap_or(("", from));
        let mut parts: Vec<&str> = directory
            .rsplit('/')
            .take_while(|part| part.contains('=') && self.visible.holds_data(part))
            .collect();
        parts.reverse();
        let above: String = parts.iter().map(|part| format!("{part}/")).collect();
        let origin = if is_unique(name) {
            directory.to_owned()
        } else {
            let uri = self.source.resolver.root().uri_of(from);
            format!("{uri} {} {modified}", size.unwrap_or_default())
        };
        let hashed = format!("{above}{:032x}-{name}", hash_of_text(&origin));
        if self.add_copy(from, &hashed, size) {
            return hashed;
        }
        let random = format!("{above}{}-{name}", new_id());
        self.add_copy(from, &random, size);
        random
    }

    /// Records a file to copy unless it exists; returns `false` if another file has the path.
    fn add_copy(&mut self, from: &str, to: &str, size: Option<u64>) -> bool {
        if let Some(needed) = self.needed.get(to) {
            return needed.from == from;
        }
        if let Some(existing) = self.existing.get(to) {
            if let Some(size) = size
                && size != existing.size
            {
                return false;
            }
            let file = StagedFile {
                path: to.to_owned(),
                size: Some(existing.size),
                written: existing.modification_time,
            };
            self.reused.insert(file.path.clone(), file);
            return true;
        }
        let (source, target) = (self.source.resolver.root(), self.target.resolver.root());
        let within_store = source.same_store(target).then(|| source.within_store(from));
        let copy = FileCopy {
            from: from.to_owned(),
            within_store,
            to: to.to_owned(),
            size,
        };
        self.needed.insert(to.to_owned(), copy);
        true
    }
}

/// Returns `true` if a name contains 32 consecutive hexadecimal digits, ignoring dashes, as the name of a
/// file with a random id does: such a name is unique. A name such as `part-0.parquet` is not, and one of
/// decimal digits only may be a counter.
fn is_unique(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (mut digits, mut letters) = (0_u32, false);
    name.chars().any(|character| {
        if character.is_ascii_hexdigit() {
            digits += 1;
            letters |= character.is_ascii_alphabetic();
        } else if character != '-' {
            (digits, letters) = (0, false);
        }
        digits >= 32 && letters
    })
}

/// Returns the descriptor of a vector whose file was renamed.
fn moved(
    vector: &DeletionVectorDescriptor,
    storage: &str,
    path: String,
) -> Result<DeletionVectorDescriptor> {
    DeletionVectorDescriptor::new(
        storage,
        path,
        vector.offset(),
        i32::try_from(vector.size_in_bytes()).unwrap_or(i32::MAX),
        i64::try_from(vector.cardinality()).unwrap_or(i64::MAX),
    )
}
