//! Loads the deletion vectors of many data files.
//!
//! Takes descriptors; returns vectors. The vectors of one file are read once, by merged ranges, whatever
//! the number of descriptors; files are read in parallel. The number of pending reads is bounded; the
//! vectors of one read together keep little more than twice their bytes in memory.
//!
//! Protocol: "Deletion Vectors".

use std::collections::BTreeMap;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::deletion_vector::{
    DeletionVector, FRAME_BYTES, VectorLocation, check_version, vector_location,
};
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;
use crate::storage::{PathResolver, Storage, interrupt, pool};

/// Vectors with at most this many bytes between them are fetched by one range.
const MAX_GAP_BYTES: u64 = 16 << 10;
/// A read gets no more vectors once it has this many bytes.
const READ_BYTES: u64 = 16 << 20;
/// The maximum number of vectors that wait to be taken.
const RESULTS_AHEAD: usize = 256;

/// A vector, or the error for it; shared by all descriptors of the same vector.
pub type Loaded = Result<Arc<DeletionVector>>;

/// Loads the vectors of these descriptors, in order. An error is one result among others, with the file and
/// the offset: the other vectors of the file are still returned.
pub fn load(
    storage: &Arc<dyn Storage>,
    resolver: &PathResolver,
    descriptors: &[DeletionVectorDescriptor],
) -> Vec<Loaded> {
    let mut loaded: Vec<Option<Loaded>> = Vec::new();
    loaded.resize_with(descriptors.len(), || None);
    let mut emit = |index: usize, vector: Loaded| {
        if let Some(slot) = loaded.get_mut(index) {
            *slot = Some(vector);
        }
    };
    let reads = plan(resolver, descriptors, &mut emit);
    let failed = execute(storage, reads, &mut emit).err();
    let missing = || {
        Err(failed
            .as_ref()
            .map_or_else(Error::interrupted, Error::clone))
    };
    let slots = loaded.into_iter();
    slots.map(|slot| slot.unwrap_or_else(missing)).collect()
}

/// A vector in a file, and the descriptors of it.
struct StoredVector {
    position: u64,
    size: u32,
    /// The index of each descriptor, and its cardinality.
    descriptors: Vec<(usize, u64)>,
}

impl StoredVector {
    fn range(&self) -> Range<u64> {
        self.position..self.position + u64::from(self.size) + FRAME_BYTES
    }
}

/// Vectors of one file that are read together, ascending.
struct VectorRead {
    path: String,
    vectors: Vec<StoredVector>,
}

/// Returns inline vectors at once; plans reads for all others.
fn plan(
    resolver: &PathResolver,
    descriptors: &[DeletionVectorDescriptor],
    emit: &mut dyn FnMut(usize, Loaded),
) -> Vec<VectorRead> {
    let mut files: BTreeMap<String, Vec<(usize, &DeletionVectorDescriptor)>> = BTreeMap::new();
    for (index, descriptor) in descriptors.iter().enumerate() {
        let path = match vector_location(descriptor) {
            Ok(VectorLocation::File(encoded)) => {
                resolver.resolve("", &encoded).map(|path| path.into_owned())
            }
            Ok(VectorLocation::Inline(text)) => {
                let (size, cardinality) = (descriptor.size_in_bytes(), descriptor.cardinality());
                let vector = DeletionVector::decode_inline(text, size, Some(cardinality));
                emit(index, vector.map(Arc::new));
                continue;
            }
            Err(error) => Err(error),
        };
        match path {
            Ok(path) => files.entry(path).or_default().push((index, descriptor)),
            Err(error) => emit(index, Err(error)),
        }
    }
    let reads = files.into_iter();
    reads
        .flat_map(|(path, vectors)| plan_file(path, vectors))
        .collect()
}

fn plan_file(
    path: String,
    mut vectors: Vec<(usize, &DeletionVectorDescriptor)>,
) -> Vec<VectorRead> {
    vectors.sort_by_key(|(_, descriptor)| (descriptor.position(), descriptor.size_in_bytes()));
    let mut reads: Vec<VectorRead> = Vec::new();
    let mut bytes = 0;
    for (index, descriptor) in vectors {
        let (position, size) = (descriptor.position(), descriptor.size_in_bytes());
        let descriptor = (index, descriptor.cardinality());
        let last = reads.last_mut().and_then(|read| read.vectors.last_mut());
        if let Some(same) = last.filter(|last| (last.position, last.size) == (position, size)) {
            same.descriptors.push(descriptor);
            continue;
        }
        let vector = StoredVector {
            position,
            size,
            descriptors: vec![descriptor],
        };
        match reads.last_mut() {
            Some(read) if bytes < READ_BYTES => read.vectors.push(vector),
            _ => {
                bytes = 0;
                reads.push(VectorRead {
                    path: path.clone(),
                    vectors: vec![vector],
                });
            }
        }
        bytes += u64::from(size) + FRAME_BYTES;
    }
    reads
}

/// Executes the reads, several at a time, and returns the vectors as they arrive.
fn execute(
    storage: &Arc<dyn Storage>,
    reads: Vec<VectorRead>,
    emit: &mut dyn FnMut(usize, Loaded),
) -> Result<()> {
    // on a remote store, each read waits for the network
    let max_requests = storage.max_requests().unwrap_or_else(pool::threads);
    let threads = max_requests.min(reads.len());
    if threads < 2 || pool::in_worker() {
        for read in &reads {
            interrupt::check()?;
            read_vectors(&**storage, &read.path, &read.vectors, emit);
        }
        return Ok(());
    }
    let storage = Arc::clone(storage);
    let work = move |read: &VectorRead, emit: &mut dyn FnMut((usize, Loaded)) -> Result<()>| {
        let mut result = Ok(());
        read_vectors(
            &*storage,
            &read.path,
            &read.vectors,
            &mut |index, vector| {
                if result.is_ok() {
                    result = emit((index, vector));
                }
            },
        );
        result
    };
    for result in pool::unordered(reads, Some(threads), RESULTS_AHEAD, work)? {
        let (_, (index, vector)) = result?;
        emit(index, vector);
    }
    Ok(())
}

/// Reads these vectors of a file, and decodes them.
fn read_vectors(
    storage: &dyn Storage,
    path: &str,
    vectors: &[StoredVector],
    emit: &mut dyn FnMut(usize, Loaded),
) {
    match fetch(storage, path, vectors) {
        Ok(pieces) => {
            for (vector, framed) in vectors.iter().zip(pieces) {
                decode(path, vector, framed, emit);
            }
        }
        Err(error) if error.code() == "storage.truncated" => match vectors {
            [vector] => fail(vector, truncated(path, vector, error), emit),
            // a vector that points beyond its file must not affect the others
            vectors => {
                for vector in vectors {
                    read_vectors(storage, path, slice::from_ref(vector), emit);
                }
            }
        },
        Err(error) => {
            for vector in vectors {
                fail(vector, error.clone(), emit);
            }
        }
    }
}

/// Fetches the framed bytes of each vector.
fn fetch(storage: &dyn Storage, path: &str, vectors: &[StoredVector]) -> Result<Vec<Bytes>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let version_byte = std::iter::once(0..1);
    for range in version_byte.chain(vectors.iter().map(StoredVector::range)) {
        match ranges.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(MAX_GAP_BYTES) => {
                last.end = last.end.max(range.end);
            }
            _ => ranges.push(range),
        }
    }
    let fetched = storage.read_ranges(path, &ranges).map_err(missing_file)?;
    check_version(fetched.first().map_or(&[], |bytes| bytes))
        .map_err(|error| error.at_path(path))?;
    let needed: u64 = vectors
        .iter()
        .map(|vector| u64::from(vector.size) + FRAME_BYTES)
        .sum();
    let begin = vectors.first().map_or(0, |vector| vector.position);
    let span = ranges
        .last()
        .map_or(0, |last| last.end)
        .saturating_sub(begin);
    // a slice keeps the memory of the whole fetched range alive
    let shared = needed.saturating_mul(2) >= span;
    let piece = |vector: &StoredVector| {
        let range = vector.range();
        let at = ranges.partition_point(|merged| merged.start <= range.start);
        let at = at.checked_sub(1)?;
        let (merged, bytes) = (ranges.get(at)?, fetched.get(at)?);
        let start = usize::try_from(range.start - merged.start).ok()?;
        let end = usize::try_from(range.end - merged.start).ok()?;
        let framed = bytes.get(start..end)?;
        Some(if shared {
            bytes.slice(start..end)
        } else {
            Bytes::copy_from_slice(framed)
        })
    };
    vectors
        .iter()
        .map(|vector| {
            piece(vector).ok_or_else(|| {
                Error::corrupt(
                    "storage.truncated",
                    "the storage returned fewer bytes than requested",
                )
                .at_path(path)
                .at_offset(vector.position)
            })
        })
        .collect()
}

/// Names the vector instead of the range that was read, which may begin at the file's version byte.
fn truncated(path: &str, vector: &StoredVector, error: Error) -> Error {
    let message = format!(
        "the file ends before the end of this deletion vector, which has {} bytes at offset {}: without it the \
         deleted rows are unknown, so restore the file or the table",
        u64::from(vector.size) + FRAME_BYTES,
        vector.position
    );
    Error::corrupt("storage.truncated", message)
        .because(error)
        .at_path(path)
        .at_offset(vector.position)
}

/// Converts a missing file to an error of the table, not of the storage.
fn missing_file(error: Error) -> Error {
    if error.code() != "storage.not_found" {
        return error;
    }
    let path = error.path().unwrap_or_default().to_owned();
    let message = "this file of deletion vectors is in use, but does not exist: it was deleted by hand or \
        by a VACUUM with too short a retention; without it the deleted rows are unknown, so restore it or \
        the table";
    Error::corrupt("dv.missing", message)
        .because(error)
        .at_path(path)
}

fn decode(path: &str, stored: &StoredVector, framed: Bytes, emit: &mut dyn FnMut(usize, Loaded)) {
    let locate = |error: Error| {
        error
            .shift(0, stored.position)
            .at_path(path)
            .at_offset(stored.position)
    };
    match DeletionVector::decode_framed(framed, stored.size, None).map_err(locate) {
        Ok(vector) => {
            let vector = Arc::new(vector);
            for (index, cardinality) in &stored.descriptors {
                let checked = vector.check_cardinality(*cardinality).map_err(locate);
                emit(*index, checked.map(|()| Arc::clone(&vector)));
            }
        }
        Err(error) => fail(stored, error, emit),
    }
}

fn fail(vector: &StoredVector, error: Error, emit: &mut dyn FnMut(usize, Loaded)) {
    for (index, _) in vector.descriptors.iter().skip(1) {
        emit(*index, Err(error.clone()));
    }
    if let Some((index, _)) = vector.descriptors.first() {
        emit(*index, Err(error));
    }
}

#[cfg(test)]
mod tests;
