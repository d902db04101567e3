//! Linux, macOS and other Unix systems: paths have the form of a location already.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::error::Result;

/// The error number of a cycle of links, which has no stable `ErrorKind` yet.
pub(in crate::storage) const LINK_LOOP: i32 = libc::ELOOP;

/// Returns `false`: there are no drives.
pub(in crate::storage) fn begins_with_drive(_path: &str) -> bool {
    false
}

/// Returns the path unchanged: there are no drives.
pub(in crate::storage) fn with_uppercase_drive(path: &str) -> Cow<'_, str> {
    path.into()
}

/// Converts an absolute path to the form of a location; `None` if it has no such form.
pub(in crate::storage) fn from_system(absolute: &str) -> Option<Cow<'_, str>> {
    Some(absolute.into())
}

/// Converts an absolute path to the form of the operating system.
pub(in crate::storage) fn to_system(path: &str) -> &str {
    path
}

/// Formats a real path for messages.
pub(in crate::storage) fn display(real: &Path) -> String {
    real.display().to_string()
}

/// Accepts every name: all are ordinary file names.
pub(in crate::storage) fn check_names(_path: &str) -> Result<()> {
    Ok(())
}

/// Opens a file for reading; does not block on a pipe without a writer.
pub(in crate::storage) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK) // no effect on regular files
        .open(path)
}

/// Creates a directory that other users cannot read.
pub(in crate::storage) fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a file that only this process sees and that is deleted when it is closed: its name is removed at
/// once.
pub(in crate::storage) fn create_temporary(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Returns `true` if `file`, whose metadata is `opened`, is the file at the path `real`, which is not a
/// link.
pub(in crate::storage) fn is_same_file(real: &Path, _file: &File, opened: &Metadata) -> bool {
    fs::symlink_metadata(real)
        .is_ok_and(|current| (current.dev(), current.ino()) == (opened.dev(), opened.ino()))
}

/// Returns the modification time in milliseconds since the Unix epoch.
pub(in crate::storage) fn modification_time(metadata: &Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1000)
        .saturating_add(metadata.mtime_nsec().div_euclid(1_000_000))
}

/// Makes files created, renamed or deleted in a directory durable.
pub(in crate::storage) fn sync_directory(directory: &str) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}
