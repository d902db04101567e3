//! Selection of the live files to rewrite, and their bins.

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::file_columns::FileColumns;
use crate::error::Result;
use crate::replay::{FileFilter, Source};
use crate::scan::ScanFile;
use crate::scan::data_file::{Extras, ReadPlan};
use crate::scan::data_files::open_with_deleted_rows;
use crate::snapshot::Snapshot;
use crate::spec::file_size::group_by_size;
use crate::spec::properties::ColumnMappingMode;
use crate::storage::pool::{ordered, threads};
use crate::write::actions::StringMap;
use crate::write::{AddFile, table_layout};

/// The share of deleted rows above which a file is rewritten, whatever its size.
const MAX_DELETED: f64 = 0.05;

/// The number of footers that are read per unit of work.
const FOOTERS: usize = 32;

/// Returns the live files that satisfy `keep`, in log order.
pub(super) fn live(
    source: &Source,
    snapshot: &Snapshot,
    filter: Option<&std::sync::Arc<FileFilter>>,
    keep: &dyn Fn(&AddFile) -> bool,
) -> Result<Vec<AddFile>> {
    let mut files = Vec::new();
    for rows in snapshot.file_batches(source, FileColumns::all(), filter)? {
        files.extend(AddFile::of_rows(&rows?)?.into_iter().filter(keep));
    }
    Ok(files)
}

pub(super) fn size(file: &AddFile) -> u64 {
    u64::try_from(file.size).unwrap_or(0)
}

/// Returns `true` if enough rows of the file are deleted for a rewrite, or if the number of rows of a file with
/// a deletion vector is unknown.
pub(super) fn has_many_deleted_rows(file: &AddFile) -> bool {
    let Some(vector) = &file.deletion_vector else {
        return false;
    };
    match file.num_records() {
        #[allow(clippy::cast_precision_loss, reason = "a share")]
        Some(rows) if rows > 0 => vector.cardinality() as f64 / rows as f64 > MAX_DELETED,
        _ => true,
    }
}

/// Returns `true` if a vector deletes rows of the file, or, as in delta-spark, if the number of rows of a file
/// with a deletion vector is unknown.
pub(super) fn has_deleted_rows(file: &AddFile) -> bool {
    let vector = file.deletion_vector.as_ref();
    vector.is_some_and(|vector| vector.cardinality() > 0 || file.num_records().is_none())
}

/// Returns the paths of files with columns that were dropped from the table. Only tables with column mapping
/// can have such files: for these tables, the footers of all `files` are read.
pub(super) fn with_dropped_columns(
    source: &Source,
    snapshot: &Snapshot,
    files: &[AddFile],
) -> Result<BTreeSet<String>> {
    let properties = snapshot.properties();
    if properties.column_mapping_mode == ColumnMappingMode::None {
        return Ok(BTreeSet::new());
    }
    let extras = Extras {
        row_id: properties.row_tracking,
        ..Extras::default()
    };
    let layout = table_layout(snapshot.metadata(), properties)?;
    let plan = ReadPlan::new(layout, None, extras)?;
    let units: Vec<Vec<ScanFile>> = files
        .chunks(FOOTERS)
        .map(|files| files.iter().map(AddFile::scan_file).collect())
        .collect();
    let source = source.clone();
    let work = move |unit: Vec<ScanFile>| {
        let mut paths = Vec::new();
        for file in unit {
            if open_with_deleted_rows(&plan, &source, &file)?.has_other_columns() {
                paths.push(file.path);
            }
        }
        Ok(paths)
    };
    let paths_of_units = ordered(units, threads() * 2, work).collect::<Result<Vec<_>>>()?;
    Ok(paths_of_units.into_iter().flatten().collect())
}

/// Groups the files by partition; those of a partition keep their order.
pub(super) fn by_partition(files: Vec<AddFile>) -> Vec<Vec<AddFile>> {
    let mut partitions: BTreeMap<StringMap, Vec<AddFile>> = BTreeMap::new();
    for file in files {
        let values = file.partition_values.clone();
        partitions.entry(values).or_default().push(file);
    }
    partitions.into_values().collect()
}

/// Packs files of one partition into bins of at most `max_bytes` bytes, smallest files first; a larger file gets
/// its own bin. The files of a bin are in log order.
pub(super) fn packed(files: Vec<AddFile>, max_bytes: u64) -> Vec<Vec<AddFile>> {
    let mut files: Vec<(usize, AddFile)> = files.into_iter().enumerate().collect();
    files.sort_by_key(|(_, file)| size(file));
    let in_order = |mut bin: Vec<(usize, AddFile)>| {
        bin.sort_by_key(|(index, _)| *index);
        bin.into_iter().map(|(_, file)| file).collect()
    };
    let bins = group_by_size(files, max_bytes, |(_, file)| size(file));
    bins.into_iter().map(in_order).collect()
}

#[cfg(test)]
mod tests;
