//! The errors of local files, and of ranges that a file does not have.

use std::fmt;
use std::io::{self, ErrorKind as IoKind};
use std::ops::Range;

use bytes::Bytes;

use super::platform::LINK_LOOP;
use crate::error::{Error, Result};

/// The cause of an error if the server of the store did not respond, as text.
#[derive(Debug)]
pub(super) struct Unreachable(pub(super) String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// Returns `true` if no other request to this store would succeed: its server did not respond.
pub(crate) fn is_unreachable(error: &Error) -> bool {
    matches!(std::error::Error::source(error), Some(cause) if cause.is::<Unreachable>())
}

/// Returns the error for a path that is not a regular file.
pub(super) fn not_a_file(path: &str) -> Error {
    Error::storage("storage.not_a_file", "this path is not a file").at_path(path)
}

/// Returns the error for a range beyond the end of the file.
pub(super) fn beyond_the_end(path: &str, range: &Range<u64>, size: u64) -> Error {
    Error::corrupt(
        "storage.truncated",
        format!(
            "bytes {} to {} were requested, but the file has {size}: \
             it is truncated, or the offset that points into it is wrong",
            range.start, range.end
        ),
    )
    .at_path(path)
    .at_offset(range.start.min(size))
}

/// Returns the same error for each of these paths.
pub(super) fn repeat<T>(error: &Error, paths: &[&str]) -> Vec<Result<T>> {
    let repeated = |path: &&str| Err(error.clone().at_path(*path));
    paths.iter().map(repeated).collect()
}

/// Returns `true` if the storage has no space for a file; deleting obsolete files can then free some.
pub(crate) fn is_full(error: &Error) -> bool {
    error.code() == "storage.full"
}

/// Returns ranges of a file whose content is in memory.
pub(crate) fn slices(bytes: &Bytes, ranges: &[Range<u64>], path: &str) -> Result<Vec<Bytes>> {
    let slice = |range: &Range<u64>| {
        let start = usize::try_from(range.start).ok()?;
        let end = usize::try_from(range.end).ok()?;
        (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
    };
    ranges
        .iter()
        .map(|range| slice(range).ok_or_else(|| beyond_the_end(path, range, bytes.len() as u64)))
        .collect()
}

/// Checks that a file to be read as a whole has at most `max_bytes` bytes.
pub(crate) fn check_size(path: &str, size: u64, max_bytes: u64) -> Result<()> {
    if size <= max_bytes {
        return Ok(());
    }
    let message = format!(
        "the file has {size} bytes, and files of its kind are read up to {max_bytes}: \
         it is damaged, or was not written by a Delta writer; restore it, or delete it if it is only a copy"
    );
    Err(Error::corrupt("storage.file_too_large", message).at_path(path))
}

/// Checks that a file or a range was read completely.
pub(crate) fn check_complete(path: &str, read: usize, size: u64) -> Result<()> {
    if read as u64 >= size {
        return Ok(());
    }
    let message = format!(
        "the read ended after {read} of {size} bytes: the file was truncated meanwhile, or the \
         file system misbehaves; try again, then restore the file"
    );
    Err(Error::corrupt("storage.truncated", message).at_path(path))
}

/// Returns what a system call or a request with this verb is applied to, for messages.
pub(super) fn target_of(verb: &str) -> &'static str {
    match verb {
        "list" | "remove" => "this directory",
        _ => "this file",
    }
}

/// Returns the error for a failed system call.
pub(super) fn failed(verb: &str, path: &str, cause: io::Error) -> Error {
    let target = target_of(verb);
    let error = match cause.kind() {
        IoKind::NotADirectory if verb == "write" => Error::storage(
            "storage.name",
            "a parent directory of this file is itself a file: write elsewhere",
        ),
        IoKind::NotFound | IoKind::NotADirectory => {
            return Error::storage("storage.not_found", "there is no such file").at_path(path);
        }
        IoKind::PermissionDenied => Error::storage(
            "storage.permission",
            format!("not allowed to {verb} {target}: ask for access to it"),
        ),
        IoKind::IsADirectory => return not_a_file(path),
        IoKind::StorageFull | IoKind::QuotaExceeded | IoKind::FileTooLarge => Error::storage(
            "storage.full",
            "there is no space for this file: free some, then try again",
        ),
        IoKind::ReadOnlyFilesystem => Error::storage(
            "storage.read_only",
            "this file system is read-only: mount it for writing, or write elsewhere",
        ),
        kind if kind == IoKind::InvalidFilename || cause.raw_os_error() == Some(LINK_LOOP) => {
            Error::storage(
                "storage.name",
                format!(
                    "cannot {verb} a file of this name: it is too long, or its links form a cycle"
                ),
            )
        }
        IoKind::Unsupported | IoKind::CrossesDevices | IoKind::TooManyLinks => Error::storage(
            "storage.unsupported",
            format!("this file system cannot {verb} files in this way: commits need hard links"),
        ),
        _ => Error::storage("storage.io", format!("cannot {verb} {target}")),
    };
    error.at_path(path).because(cause)
}
