//! Confinement of local files to allowed directories: links are followed first, then the target is
//! checked.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind as IoKind};
use std::path::{Path, PathBuf};

use super::failures::failed;
use super::location::{Location, StoreKind};
use super::{platform, with_root};
use crate::error::{Error, Result};

/// The table root and the allowed roots; no file outside of them is opened.
#[derive(Debug)]
pub(super) struct Confinement {
    roots: Vec<PathBuf>,
}

impl Confinement {
    /// Creates the confinement of the table at `root`. Roots on other stores contain no local files.
    pub(super) fn new(root: &Location, allowed_roots: &[Location]) -> Self {
        let local = allowed_roots
            .iter()
            .filter(|location| location.kind() == StoreKind::Local);
        let directory =
            |location: &Location| PathBuf::from(&*with_root(platform::to_system(location.path())));
        Self {
            roots: std::iter::once(root).chain(local).map(directory).collect(),
        }
    }

    /// Returns the real path of the absolute path `full`. `path` is its name in the table, for messages.
    pub(super) fn resolve(&self, full: &str, path: &str, verb: &str) -> Result<PathBuf> {
        let real = fs::canonicalize(full).map_err(|cause| failed(verb, path, cause))?;
        self.check_inside(&real, path)?;
        Ok(real)
    }

    /// Checks that a file may be created or deleted at `full`; a link there is not followed.
    pub(super) fn check_writable(&self, full: &str, path: &str) -> Result<()> {
        let parent = Path::new(full).parent().unwrap_or(Path::new("/"));
        let real = canonical(parent).map_err(|cause| failed("write", path, cause))?;
        self.check_inside(&real, path)
    }

    /// Checks that a real path is below a root. Roots are resolved each time, since they may be moved or
    /// created later.
    fn check_inside(&self, real: &Path, path: &str) -> Result<()> {
        let inside = |root: &PathBuf| canonical(root).is_ok_and(|root| real.starts_with(root));
        if self.roots.iter().any(inside) {
            return Ok(());
        }
        let message = format!(
            "a link leads out of the table and of allowed_roots, to {}; to allow it, add the target to \
             allowed_roots",
            platform::display(real)
        );
        Err(Error::corrupt("path.escapes_root", message).at_path(path))
    }
}

/// Returns `true` if an opened file is the checked one, and not one that replaced it in between.
pub(super) fn is_same(real: &Path, file: &File, opened: &Metadata) -> bool {
    fs::canonicalize(real).is_ok_and(|again| again == real)
        && platform::is_same_file(real, file, opened)
}

/// Returns the real path of the absolute path `full`, if it is outside of the directory `root`.
pub(super) fn outside_target(root: &str, full: &str) -> Option<PathBuf> {
    let root = fs::canonicalize(&*with_root(root)).ok()?;
    let real = fs::canonicalize(full).ok();
    real.filter(|real| !real.starts_with(root))
}

/// Returns the location of a local root without links; `None` if it does not exist.
pub(super) fn real_location(root: &Location) -> Option<Location> {
    let real = fs::canonicalize(&*with_root(platform::to_system(root.path()))).ok()?;
    Location::parse(real.to_str()?).ok()
}

/// Returns the path without links; its last components may not exist yet.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut ancestor = path;
    loop {
        match fs::canonicalize(ancestor) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(absent) if absent.kind() == IoKind::NotFound => {
                let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
                    return Err(absent);
                };
                missing.push(name.to_owned());
                ancestor = parent;
            }
            Err(other) => return Err(other),
        }
    }
}

#[cfg(all(test, unix))] // creating links needs rights on Windows
#[allow(clippy::unwrap_used)]
mod tests;
