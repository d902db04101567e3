//! Where a table's log is read from: its storage, its paths, its keys.

use std::sync::Arc;

use super::key::Keys;
use crate::error::Result;

use crate::storage::{self, Storage};
use crate::storage::{Location, PathResolver};

/// What every reader of one table's log shares. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    /// Everything below the table root.
    pub storage: Arc<dyn Storage>,
    /// Paths in the log to paths of the storage.
    pub resolver: Arc<PathResolver>,
    /// File actions to keys.
    pub keys: Keys,
}

impl Source {
    /// For the table at `uri`; with `allowed_roots` confined to them and its own. No I/O yet.
    pub fn new(
        uri: &str,
        storage_options: &[(String, String)],
        allowed_roots: Option<&[String]>,
    ) -> Result<Self> {
        let location = Location::parse(uri)?;
        let parse = |roots: &[String]| roots.iter().map(|uri| Location::parse(uri)).collect();
        let roots: Option<Vec<Location>> = allowed_roots.map(parse).transpose()?;
        let resolver = PathResolver::new(&location, roots.as_deref().unwrap_or_default());
        Ok(Self {
            storage: storage::open_location(&location, storage_options, roots.as_deref())?,
            resolver: Arc::new(resolver),
            keys: Keys::below(location.root()),
        })
    }
}
