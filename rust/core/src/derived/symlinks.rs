//! Symlink manifests: per partition, a file that lists its data files, for engines that read Parquet but no
//! Delta log.
//!
//! Not part of the protocol; files as delta-spark writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::properties::ColumnMappingMode;
use crate::storage::{delete_all, is_below, pool};
use crate::write::{AddFile, HIVE_NULL, escaped};

const DIRECTORY: &str = "_symlink_format_manifest";

/// The file name of a manifest, and of the checksum that Hadoop keeps beside it on a local disk.
const NAME: &str = "manifest";
const CHECKSUM: &str = ".manifest.crc";

/// Writes the symlink manifests of a snapshot and deletes those of partitions that it does not have; returns
/// the number of manifests written.
///
/// # Errors
///
/// Unsupported: `generate.deletion_vectors` if a file has a deletion vector, which plain Parquet readers
/// ignore; `generate.column_mapping`; `generate.path` if a path has a line break or another control
/// character. Storage errors.
pub fn write_symlinks(source: &Source, snapshot: &Snapshot) -> Result<usize> {
    let manifests = manifests(source, snapshot)?;
    let within = |path: &str| path == DIRECTORY || is_below(path, DIRECTORY);
    let stored = source.storage.list_below(DIRECTORY, &within)?;
    let stale = stored.iter().map(|file| file.path.as_str()).filter(|path| {
        match path.rsplit_once('/') {
            // Hadoop would refuse the new manifest because of the checksum of the old one
            Some((_, CHECKSUM)) => true,
            Some((_, NAME)) => !manifests.contains_key(*path),
            _ => false,
        }
    });
    let stale: Vec<&str> = stale.collect();
    delete_all(&*source.storage, &stale)?;
    let count = manifests.len();
    let storage = Arc::clone(&source.storage);
    let manifests: Vec<(String, Vec<String>)> = manifests.into_iter().collect();
    pool::map_concurrently(manifests, move |(path, lines)| {
        storage.put(path, lines.concat().as_bytes())
    })?;
    let directories = source.storage.list_directories(&within)?.into_iter().rev();
    for directory in directories.filter(|directory| directory.path != DIRECTORY) {
        source.storage.delete_empty(&directory.path)?;
    }
    Ok(count)
}

/// Returns `true` for characters that a line reader may treat as a line break, or may drop.
fn breaks_lines(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns the lines of each manifest, by its path.
fn manifests(source: &Source, snapshot: &Snapshot) -> Result<BTreeMap<String, Vec<String>>> {
    if snapshot.properties().column_mapping_mode != ColumnMappingMode::None {
        let message = "manifests are not supported for tables with column mapping: plain Parquet readers do not \
                       know the names of the columns";
        return Err(Error::unsupported("generate.column_mapping", message));
    }
    let columns = &snapshot.metadata().partition_columns;
    let mut manifests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if columns.is_empty() {
        manifests.insert(format!("{DIRECTORY}/{NAME}"), Vec::new());
    }
    for rows in snapshot.file_batches(source, FileColumns::all(), None)? {
        for file in AddFile::of_rows(&rows?)? {
            if file.deletion_vector.is_some() {
                let message = "this file has a deletion vector, which plain Parquet readers ignore: set \
                               delta.enableDeletionVectors to false, then rewrite such files by \
                               REORG TABLE ... APPLY (PURGE), or optimize(purge=True)";
                let error = Error::unsupported("generate.deletion_vectors", message);
                return Err(error.at_path(file.path));
            }
            let mut path = format!("{DIRECTORY}/");
            for name in columns {
                let value = file.partition_values.get(name).cloned().flatten();
                let value = value.filter(|value| !value.is_empty());
                let value = value.map(|value| escaped(&value));
                let value = value.unwrap_or_else(|| HIVE_NULL.to_owned());
                path.push_str(&format!("{}={value}/", escaped(name)));
            }
            path.push_str(NAME);
            let location = source.resolver.resolve("", &file.path)?;
            let line = source.resolver.root().hadoop_path(&location);
            if line.chars().any(breaks_lines) {
                let message = "the path of this file has a line break or another control character, and a manifest \
                               has one line per file: rewrite the file with OPTIMIZE or an update, which \
                               gives it another name";
                return Err(Error::unsupported("generate.path", message).at_path(file.path));
            }
            manifests.entry(path).or_default().push(format!("{line}\n"));
        }
    }
    manifests
        .values_mut()
        .for_each(|lines| lines.sort_unstable());
    Ok(manifests)
}
