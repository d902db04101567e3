//! Windows: paths begin with a drive, and `\` is a separator, too.

use std::borrow::Cow;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use same_file::Handle;

use crate::error::{Error, Result};

/// `ERROR_CANT_RESOLVE_FILENAME`: a cycle of links has no stable `ErrorKind` yet.
pub(in crate::storage) const LINK_LOOP: i32 = 1921;
/// `FILE_FLAG_BACKUP_SEMANTICS`: required to open a directory, to recognize it as such.
const OPEN_DIRECTORIES: u32 = 0x0200_0000;
/// `FILE_FLAG_DELETE_ON_CLOSE`: the file is deleted with its last handle.
const DELETE_ON_CLOSE: u32 = 0x0400_0000;
/// From 1601-01-01, the epoch of Windows, to 1970-01-01.
const MILLISECONDS_TO_1970: i64 = 11_644_473_600_000;

/// Returns `true` if this is a path such as `C:\t` or `C:/t`: a scheme has more than one letter.
pub(in crate::storage) fn begins_with_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Converts `/c:/t` to `/C:/t`, so that a drive has a single form.
pub(in crate::storage) fn with_uppercase_drive(path: &str) -> Cow<'_, str> {
    match path.strip_prefix('/').and_then(|path| path.split_once(':')) {
        Some((letter, rest)) if begins_with_drive(to_system(path)) => {
            format!("/{}:{rest}", letter.to_ascii_uppercase()).into()
        }
        _ => path.into(),
    }
}

/// Converts `C:\t` to the form of a location, `/C:/t`; `None` for a path without a drive, such as
/// `\\server\share`.
pub(in crate::storage) fn from_system(absolute: &str) -> Option<Cow<'_, str>> {
    begins_with_drive(absolute).then(|| format!("/{}", absolute.replace('\\', "/")).into())
}

/// Converts `/C:/t` to `C:/t`.
pub(in crate::storage) fn to_system(path: &str) -> &str {
    match path.strip_prefix('/') {
        Some(below) if begins_with_drive(below) => below,
        _ => path,
    }
}

/// Formats a real path for messages, without its prefix `\\?\`.
pub(in crate::storage) fn display(real: &Path) -> String {
    let text = real.display().to_string();
    text.strip_prefix(r"\\?\").unwrap_or(&text).to_owned()
}

/// Refuses names that Windows treats specially: `\` separates, `:` opens a stream of a file, trailing dots
/// and spaces are dropped, and some names are devices.
pub(in crate::storage) fn check_names(path: &str) -> Result<()> {
    let path_of_names = match to_system(path).split_at_checked(2) {
        Some((drive, rest)) if path.starts_with('/') && begins_with_drive(drive) => rest,
        _ => path,
    };
    if path_of_names.split('/').any(is_special) {
        let message = "Windows has no file of this name: open the table on another system";
        return Err(Error::storage("storage.name", message).at_path(path));
    }
    Ok(())
}

fn is_special(name: &str) -> bool {
    name.contains(['\\', ':']) || name.ends_with(['.', ' ']) || is_device(name)
}

/// Returns `true` for names of devices such as `NUL` and `com1.json`, with any extension.
fn is_device(name: &str) -> bool {
    let name = name.split('.').next().unwrap_or(name);
    let name = name.trim_end_matches(' ').to_ascii_uppercase();
    let numbered = |kind| {
        let number = name.strip_prefix(kind).map(str::chars);
        number.is_some_and(|mut number| {
            matches!(
                (number.next(), number.next()),
                (Some('0'..='9' | '¹' | '²' | '³'), None)
            )
        })
    };
    matches!(
        name.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || numbered("COM")
        || numbered("LPT")
}

/// Opens a file or a directory for reading.
pub(in crate::storage) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_DIRECTORIES)
        .open(path)
}

/// Creates a directory; the rights are those of the parent, which is usually the user's own.
pub(in crate::storage) fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Creates a file that only this process opens and that is deleted when it is closed.
pub(in crate::storage) fn create_temporary(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .share_mode(0)
        .custom_flags(DELETE_ON_CLOSE)
        .open(path)
}

/// Returns `true` if `file` is the one at the path `real`.
pub(in crate::storage) fn is_same_file(real: &Path, file: &File, _opened: &Metadata) -> bool {
    let opened = file.try_clone().and_then(Handle::from_file);
    opened.is_ok_and(|opened| Handle::from_path(real).is_ok_and(|current| current == opened))
}

/// Returns the modification time in milliseconds since the Unix epoch; the system counts units of 100 ns.
pub(in crate::storage) fn modification_time(metadata: &Metadata) -> i64 {
    i64::try_from(metadata.last_write_time() / 10_000)
        .unwrap_or(i64::MAX)
        .saturating_sub(MILLISECONDS_TO_1970)
}

/// Does nothing: Windows has no such call; the NTFS journal keeps a directory consistent, but may lose its
/// last entries.
pub(in crate::storage) fn sync_directory(_directory: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
