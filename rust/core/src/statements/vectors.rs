//! Writes deletion vectors for rows that another engine has selected.
//!
//! The rows of each file are added to its existing vector, and the new vectors are packed into few files.
//!
//! Protocol: "Deletion Vectors".

use uuid::Uuid;

use crate::codec::deletion_vector::FileBuilder;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::scan::deletion_vectors::load;
use crate::scan::marked_rows::MarkedRows;
use crate::spec::DeletionVectorDescriptor;
use crate::write::{StagedFile, WrittenFiles};

/// The number of vectors loaded together.
const WINDOW: usize = 256;
/// A file of vectors is closed at this size in bytes.
const FILE_BYTES: usize = 2 << 20;

/// Writes deletion vectors for the marked rows of these data files; returns their descriptors, in the order of
/// `files`, and the files of vectors, for the transaction. If anything fails, the files of vectors are deleted.
///
/// # Errors
///
/// Invalid argument: `rows.marks` for a file without marked rows.
pub fn write_vectors(
    source: &Source,
    marked: &MarkedRows,
    files: &[(i32, Option<DeletionVectorDescriptor>)],
    durable: bool,
) -> Result<(Vec<DeletionVectorDescriptor>, Vec<StagedFile>)> {
    let mut written = WrittenFiles::new(source);
    let mut descriptors = Vec::with_capacity(files.len());
    let mut vector_file = new_vector_file();
    for window in files.chunks(WINDOW) {
        let old: Vec<_> = window.iter().filter_map(|(_, old)| old.clone()).collect();
        let mut loaded = load(&source.storage, &source.resolver, &old).into_iter();
        for (file, old) in window {
            let rows = marked.rows(*file).ok_or_else(|| {
                Error::invalid("rows.marks", format!("the file {file} has no marked rows"))
            })?;
            descriptors.push(match old.as_ref().and_then(|_| loaded.next()) {
                Some(old) => vector_file.push(&old?.union(rows)?)?,
                None => vector_file.push(rows)?,
            });
            if vector_file.len() >= FILE_BYTES {
                let full = std::mem::replace(&mut vector_file, new_vector_file());
                put_vector_file(&mut written, full, durable)?;
            }
        }
    }
    put_vector_file(&mut written, vector_file, durable)?;
    let staged = written.files().to_vec();
    written.keep();
    Ok((descriptors, staged))
}

pub(super) fn new_vector_file() -> FileBuilder {
    FileBuilder::new(Uuid::new_v4().into_bytes(), "")
}

/// Writes a file of deletion vectors, unless it is empty.
pub(super) fn put_vector_file(
    written: &mut WrittenFiles,
    vector_file: FileBuilder,
    durable: bool,
) -> Result<()> {
    if vector_file.is_empty() {
        return Ok(());
    }
    let path = vector_file.relative_path()?;
    written.put(path, &vector_file.finish(), durable)
}
