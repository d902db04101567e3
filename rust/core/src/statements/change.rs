//! Changes to rows of live files: DELETE, UPDATE and MERGE.
//!
//! Each file is read once to plan the changes to its rows, and updated rows are written to new files at
//! once. If the table uses deletion vectors, the file stays and a vector marks the rows that left it.
//! Otherwise the file is read again, and its remaining rows are copied with their row ids. A file without
//! remaining rows is removed.
//!
//! Protocol: "Deletion Vectors", "Row Tracking", "Change Data Files".

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::{take, take_record_batch};

use super::read_ahead::{FileRead, OWN_VECTOR, read_ahead};
use super::row_plan::{Counts, DeleteAll, RowPlan, RowPlanner};
use super::vectors::{new_vector_file, put_vector_file};
use crate::codec::columns::{TypedColumns, missing};
use crate::codec::deletion_vector::DeletionVector;
use crate::codec::file_actions::FileField;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, TOO_LARGE};
use crate::replay::{FileFilter, Source};
use crate::scan::data_file::{Extras, ReadPlan, TableLayout, extra_index};
use crate::scan::data_files::open_with_deleted_rows;
use crate::snapshot::Snapshot;
use crate::spec::arrow::split_batch;
use crate::spec::properties::TableProperties;
use crate::spec::{Metadata, Protocol};
use crate::transaction::Transaction;
use crate::write::columns::columns_mismatch;
use crate::write::random::now_after;
use crate::write::{
    AddFile, DataWriter, Layout, Purpose, RowWriter, WriteOptions, WrittenFiles, table_layout,
};

/// The number of files that are copied together, so that rows of one partition are mostly written together.
const COPIED_TOGETHER: usize = 64;

/// A file, and the positions of the rows to remove from it.
struct ChangedFile {
    file: AddFile,
    /// The rows that are deleted already.
    vector: Option<Arc<DeletionVector>>,
    /// Its number of rows, including deleted ones.
    rows: u64,
    removed: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct Changer {
    begun: Instant,
    source: Source,
    snapshot: Snapshot,
    options: WriteOptions,
    table: TableLayout,
    row_tracking: bool,
    /// True if deletion vectors mark removed rows.
    uses_vectors: bool,
    data: DataWriter,
    /// The writer of change data files, if this change needs them.
    changes: Option<RowWriter>,
    change_rows: u64,
    /// Files to remove without reading their rows.
    unread: Vec<AddFile>,
    removed: Vec<AddFile>,
    /// Files to copy, and the rows to leave out.
    to_copy: Vec<(AddFile, Option<Arc<DeletionVector>>)>,
    /// Files that keep their remaining rows, and their new vectors.
    vectors: Vec<(AddFile, DeletionVector)>,
    pub written: WrittenFiles,
    /// The numbers of changed rows and files.
    pub counts: Counts,
}

impl Changer {
    /// Creates a changer of the rows of a snapshot, with the new metadata and protocol of the table. `feed`:
    /// write change data files if the table has a change data feed.
    pub(super) fn new(
        source: &Source,
        snapshot: &Snapshot,
        metadata: &Metadata,
        protocol: &Protocol,
        options: WriteOptions,
        feed: bool,
    ) -> Result<Self> {
        let (properties, _) = TableProperties::new(metadata, protocol)?;
        let feed = feed && properties.change_data_feed;
        let changes = feed.then(|| {
            let change_type = Field::new("_change_type", ArrowType::Utf8, true);
            Layout::new(metadata, protocol, Purpose::Changes, &[change_type])
        });
        Ok(Self {
            begun: Instant::now(),
            table: table_layout(metadata, &properties)?,
            row_tracking: properties.row_tracking,
            uses_vectors: properties.deletion_vectors,
            data: DataWriter::new(metadata, protocol, options)?,
            changes: changes
                .transpose()?
                .map(|layout| RowWriter::new(Arc::new(layout), options)),
            change_rows: 0,
            unread: Vec::new(),
            removed: Vec::new(),
            to_copy: Vec::new(),
            vectors: Vec::new(),
            written: WrittenFiles::new(source),
            counts: Counts::default(),
            source: source.with_file_cache(),
            snapshot: snapshot.clone(),
            options,
        })
    }

    /// Reads files with the snapshot's metadata instead of the new one.
    pub(super) fn read_with_old_metadata(&mut self) -> Result<()> {
        self.table = table_layout(self.snapshot.metadata(), self.snapshot.properties())?;
        Ok(())
    }

    /// Returns `true` if a column of the file has a different type than the table's.
    pub(super) fn has_other_types(&self, file: &AddFile) -> Result<bool> {
        let plan = ReadPlan::new(self.table.clone(), None, Extras::default())?;
        let open = open_with_deleted_rows(&plan, &self.source, &file.scan_file())?;
        Ok(open.has_other_types())
    }

    /// Returns the live files in which a row may satisfy a filter.
    pub(super) fn candidates(&self, filter: Option<Arc<FileFilter>>) -> Result<Vec<AddFile>> {
        let mut files = Vec::new();
        let (all, filter) = (FileColumns::all(), filter.as_ref());
        for rows in self.snapshot.file_batches(&self.source, all, filter)? {
            files.extend(AddFile::of_rows(&rows?)?);
        }
        Ok(files)
    }

    /// Returns the paths of the live files in which a row may satisfy a filter.
    pub(super) fn candidate_paths(&self, filter: Arc<FileFilter>) -> Result<HashSet<String>> {
        let mut paths = HashSet::new();
        let columns = FileColumns::fields_only(&[FileField::Path]);
        for rows in self
            .snapshot
            .file_batches(&self.source, columns, Some(&filter))?
        {
            let rows = rows?;
            let names: &StringArray = rows.typed("path")?;
            paths.extend(names.iter().flatten().map(ToOwned::to_owned));
        }
        Ok(paths)
    }

    /// Removes a file with all of its rows.
    pub(super) fn remove_file(&mut self, file: AddFile) {
        self.unread.push(file);
    }

    /// Returns `true` if a row was written to a change data file: the commit's change data files must then have
    /// all changes.
    pub(super) fn has_change_rows(&self) -> bool {
        self.change_rows > 0
    }

    /// Writes no change data files if deletion vectors will mark the rows deleted from these files: readers of
    /// changes derive the deleted rows from the vectors, but not from copies of the other rows.
    pub(super) fn leave_deletes_to_vectors(&mut self, files: &[AddFile]) {
        if files.iter().all(|file| self.gets_vector(file)) {
            self.changes = None;
        }
    }

    /// Returns `true` if a deletion vector marks the rows removed from a file: it requires the number of rows.
    fn gets_vector(&self, file: &AddFile) -> bool {
        self.uses_vectors && file.num_records().is_some()
    }

    /// Changes the rows of files that satisfy `filter`, or all, as planned by `planner`.
    pub(super) fn change(
        &mut self,
        files: Vec<AddFile>,
        filter: Option<&BoundPredicate>,
        planner: &mut dyn RowPlanner,
    ) -> Result<()> {
        let plan = self.read_plan(filter, &*planner)?;
        let files = files.into_iter().map(|file| (file, OWN_VECTOR));
        let mut changed: Option<ChangedFile> = None;
        for read in read_ahead(&self.source, plan, files.collect()) {
            match read? {
                FileRead::Begin { file, vector, rows } => {
                    let next = ChangedFile {
                        file: *file,
                        vector,
                        rows,
                        removed: Vec::new(),
                    };
                    if let Some(previous) = changed.replace(next) {
                        self.remove_rows(previous)?;
                    }
                }
                FileRead::Rows(rows) => {
                    split_batch(rows, planner.max_rows(), u64::MAX, &mut |rows| {
                        let removed = self.change_batch(&rows, &mut *planner)?;
                        if let Some(changed) = &mut changed {
                            changed.removed.extend(removed);
                        }
                        Ok::<_, Error>(())
                    })?;
                }
            }
        }
        changed.map_or(Ok(()), |last| self.remove_rows(last))
    }

    /// Changes the rows of a batch, which are of one file; returns the positions of those to remove from it.
    fn change_batch(
        &mut self,
        rows: &RecordBatch,
        planner: &mut dyn RowPlanner,
    ) -> Result<Vec<u64>> {
        // the first column that is not the table's
        let positions = extra_index(rows, "_row_index").ok_or_else(|| missing("_row_index"))?;
        let of_table = rows.project(&(0..positions).collect::<Vec<_>>());
        let plan = match planner.plan(&of_table.map_err(columns_mismatch)?) {
            Err(error)
                if error.code() == TOO_LARGE && rows.num_rows() > 1 && planner.may_repeat() =>
            {
                let half = rows.num_rows() / 2;
                let mut removed = self.change_batch(&rows.slice(0, half), planner)?;
                let rest = rows.slice(half, rows.num_rows() - half);
                removed.extend(self.change_batch(&rest, planner)?);
                return Ok(removed);
            }
            plan => plan?,
        };
        let positions = rows.column(positions).as_primitive_opt::<Int64Type>();
        let positions = positions.ok_or_else(|| missing("_row_index"))?;
        let removed = plan.removed.iter().zip(positions);
        let removed = removed
            .filter(|(is_removed, _)| *is_removed == Some(true))
            .filter_map(|(_, position)| u64::try_from(position?).ok());
        let removed = removed.collect();
        self.write_planned(rows, &plan)?;
        Ok(removed)
    }

    fn read_plan(
        &self,
        filter: Option<&BoundPredicate>,
        planner: &dyn RowPlanner,
    ) -> Result<ReadPlan> {
        // change data files have all columns
        let feed = self.changes.is_some();
        let columns = planner.columns();
        let extras = Extras {
            row_index: true,
            row_id: self.row_tracking && (feed || columns.is_some()),
            ..Extras::default()
        };
        let columns = (!feed).then(|| columns.unwrap_or_default());
        let plan = ReadPlan::new(self.table.clone(), columns.as_deref(), extras)?;
        match filter {
            Some(filter) => plan.with_filter(filter.clone()),
            None => Ok(plan),
        }
    }

    /// Removes rows from a file: the file gets a deletion vector, or its other rows are copied later, or it is
    /// removed because no row is left.
    fn remove_rows(&mut self, changed: ChangedFile) -> Result<()> {
        let ChangedFile {
            file,
            vector: old,
            rows,
            removed,
        } = changed;
        let removed = DeletionVector::from_rows(removed)?;
        if removed.is_empty() {
            self.source.forget(&file.path);
            return Ok(());
        }
        let old = old.as_deref();
        if removed.len() >= rows.saturating_sub(old.map_or(0, DeletionVector::len)) {
            self.source.forget(&file.path);
            self.removed.push(file);
            return Ok(());
        }
        let all = match old {
            Some(old) => old.union(&removed)?,
            None => removed,
        };
        if self.gets_vector(&file) {
            self.source.forget(&file.path);
            self.vectors.push((file, all));
            return Ok(());
        }
        self.rewrite(file, Some(Arc::new(all)))
    }

    /// Writes the updated rows of a plan, and its changes to the change data feed.
    fn write_planned(&mut self, rows: &RecordBatch, plan: &RowPlan) -> Result<()> {
        let removed = plan.removed.true_count() as u64;
        let Some((positions, values)) = &plan.updated else {
            self.counts.deleted += removed;
            if removed > 0 && self.changes.is_some() {
                let deleted = filter_record_batch(&self.columns(rows)?, &plan.removed);
                self.write_changes("delete", &deleted.map_err(columns_mismatch)?)?;
            }
            return Ok(());
        };
        let updated = positions.len() as u64;
        self.counts.updated += updated;
        self.counts.deleted += removed.saturating_sub(updated);
        if updated > 0 {
            let ids = extra_index(rows, "_row_id").filter(|_| self.row_tracking);
            let ids = ids
                .map(|ids| take(rows.column(ids), positions, None))
                .transpose();
            self.write(values, ids.map_err(columns_mismatch)?, None)?;
        }
        if self.changes.is_some() {
            let rows = self.columns(rows)?;
            let before = take_record_batch(&rows, positions).map_err(columns_mismatch)?;
            self.write_changes("update_preimage", &before)?;
            self.write_changes("update_postimage", values)?;
            let deleted = plan.removed.iter();
            let mut deleted: Vec<bool> = deleted.map(|removed| removed == Some(true)).collect();
            for position in positions.values() {
                if let Some(is_deleted) = deleted.get_mut(*position as usize) {
                    *is_deleted = false;
                }
            }
            let deleted = filter_record_batch(&rows, &BooleanArray::from(deleted));
            self.write_changes("delete", &deleted.map_err(columns_mismatch)?)?;
        }
        Ok(())
    }

    fn columns(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = self.table.schema.fields().len();
        rows.project(&(0..count).collect::<Vec<_>>())
            .map_err(columns_mismatch)
    }

    pub(super) fn write(
        &mut self,
        rows: &RecordBatch,
        ids: Option<ArrayRef>,
        versions: Option<ArrayRef>,
    ) -> Result<()> {
        self.data.write(rows, ids, versions, &mut self.written)
    }

    /// Writes rows with the table's columns to the change data feed, if there is one, with their change
    /// type.
    pub(super) fn write_changes(&mut self, change_type: &str, rows: &RecordBatch) -> Result<()> {
        let Some(changes) = &mut self.changes else {
            return Ok(());
        };
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let mut columns = rows.columns().to_vec();
        let change_type = StringArray::new_repeated(change_type, rows.num_rows());
        columns.push(Arc::new(change_type));
        let all = RecordBatch::try_new(changes.schema(), columns).map_err(columns_mismatch)?;
        self.change_rows += all.num_rows() as u64;
        changes.write(&all, &mut self.written)
    }

    /// Removes a file, and copies its rows: now or in [`Changer::flush`]. `without`: the vector of the rows to
    /// leave out, or [`OWN_VECTOR`].
    pub(super) fn rewrite(
        &mut self,
        file: AddFile,
        without: Option<Arc<DeletionVector>>,
    ) -> Result<()> {
        self.to_copy.push((file.clone(), without));
        self.removed.push(file);
        if self.to_copy.len() < COPIED_TOGETHER {
            return Ok(());
        }
        self.copy()
    }

    fn copy(&mut self) -> Result<()> {
        let extras = Extras {
            row_id: self.row_tracking,
            ..Extras::default()
        };
        let plan = ReadPlan::new(self.table.clone(), None, extras)?;
        let files = std::mem::take(&mut self.to_copy);
        let paths: Vec<String> = files.iter().map(|(file, _)| file.path.clone()).collect();
        for read in read_ahead(&self.source, plan, files) {
            if let FileRead::Rows(rows) = read? {
                self.counts.copied += rows.num_rows() as u64;
                self.data.copy(&rows, &mut self.written)?;
            }
        }
        paths.iter().for_each(|path| self.source.forget(path));
        Ok(())
    }

    /// Copies the remaining rows of rewritten files, and closes open files.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.copy()?;
        if let Some(changes) = &mut self.changes {
            changes.finish(&mut self.written)?;
        }
        self.data.finish(&mut self.written)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unread.is_empty()
            && self.removed.is_empty()
            && self.vectors.is_empty()
            && self.counts.updated == 0
    }

    /// Writes open files, and stages all changes in the transaction.
    pub(super) fn stage(self, transaction: &mut Transaction) -> Result<(WrittenFiles, Counts)> {
        self.stage_with(transaction, true)
    }

    /// Stages all changes; `data_change`: true if rows change, false if they are only moved to other files.
    pub(super) fn stage_with(
        mut self,
        transaction: &mut Transaction,
        data_change: bool,
    ) -> Result<(WrittenFiles, Counts)> {
        let staged_from = Instant::now();
        let mut unread = std::mem::take(&mut self.unread);
        if self.has_change_rows() {
            // the change data files of a commit must have all of its changes
            self.change(std::mem::take(&mut unread), None, &mut DeleteAll)?;
        }
        for file in unread {
            let vector = file.deletion_vector.as_ref();
            let deleted = vector.map_or(0, |vector| vector.cardinality());
            match file.num_records().and_then(|rows| u64::try_from(rows).ok()) {
                Some(rows) => self.counts.deleted += rows.saturating_sub(deleted),
                None => self.counts.deleted_is_incomplete = true,
            }
            self.removed.push(file);
        }
        self.flush()?;
        for file in &mut self.written.adds {
            file.data_change = data_change;
        }
        let time = now_after(&self.snapshot);
        let mut removes = Vec::new();
        for file in &self.removed {
            self.counts.removed_files += 1;
            self.counts.removed_bytes += u64::try_from(file.size).unwrap_or(0);
            self.counts.vectors_removed += u64::from(file.deletion_vector.is_some());
            removes.push(file.removed(time, data_change));
        }
        let mut adds = Vec::new();
        let mut vector_file = new_vector_file();
        for (file, vector) in &self.vectors {
            match file.deletion_vector {
                None => self.counts.vectors_added += 1,
                Some(_) => self.counts.vectors_updated += 1,
            }
            let rows = file.num_records().and_then(|rows| u64::try_from(rows).ok());
            self.counts.kept_rows += rows.unwrap_or(0).saturating_sub(vector.len());
            self.counts.kept_bytes += u64::try_from(file.size).unwrap_or(0);
            removes.push(file.removed(time, true));
            adds.push(file.with_vector(vector_file.push(vector)?)?);
        }
        put_vector_file(&mut self.written, vector_file, self.options.durable)?;
        transaction.read_files(removes.iter().map(|file| &file.path));
        transaction.remove(removes);
        transaction.add(adds);
        if self.row_tracking {
            let key = "delta.rowTracking.preserved".to_owned();
            let tags = &mut transaction.description().tags;
            tags.insert(key, "true".to_owned());
        }
        self.counts.scan = staged_from.duration_since(self.begun);
        self.counts.rewrite = staged_from.elapsed();
        Ok((self.written, self.counts))
    }
}
