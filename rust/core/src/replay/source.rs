//! The source of a table's log: its storage, its paths, its keys.

use std::sync::Arc;

use super::key::Keys;
use crate::codec::parquet_file::FooterRules;
use crate::error::{Error, Result};
use crate::log::catalog::Permission;
use crate::log::{Catalog, ManagedLog};
use crate::spec::Protocol;
use crate::storage::pool::{BackgroundTask, spawn};
use crate::storage::{
    self, FileBytes, FileCache, Footer, Location, PathResolver, Storage, VendedStorage, footer_of,
    read_footer,
};

/// The common parts of all readers of one table's log. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    /// The files below the table root.
    pub storage: Arc<dyn Storage>,
    /// Converts paths in the log to storage paths.
    pub resolver: Arc<PathResolver>,
    /// Computes the keys of file actions.
    pub keys: Keys,
    /// The table's log as its catalog defines it, if a catalog was passed; `storage` is this log or wraps it.
    catalog: Option<Arc<ManagedLog>>,
    /// The bytes of files, for a call that reads files more than once.
    file_cache: Option<Arc<FileCache>>,
}

impl Source {
    /// Creates the source of the table at `uri`; with `allowed_roots`, confined to them and its own root.
    /// No I/O.
    pub fn new(
        uri: &str,
        storage_options: &[(String, String)],
        allowed_roots: Option<&[String]>,
        catalog: Option<Arc<dyn Catalog>>,
    ) -> Result<Self> {
        let location = Location::parse(uri)?;
        let parse = |roots: &[String]| roots.iter().map(|uri| Location::parse(uri)).collect();
        let roots: Option<Vec<Location>> = allowed_roots.map(parse).transpose()?;
        let resolver = PathResolver::new(&location, roots.as_deref().unwrap_or_default());
        let (storage, catalog): (Arc<dyn Storage>, _) = match catalog {
            None => {
                let roots = roots.as_deref();
                (
                    storage::open_location(&location, storage_options, roots)?,
                    None,
                )
            }
            Some(catalog) => {
                let vending = Arc::clone(&catalog);
                let table_location = location.clone();
                let files = VendedStorage::new(table_location, storage_options, roots, vending)?;
                let managed = Arc::new(ManagedLog::new(Arc::new(files), catalog));
                (Arc::clone(&managed) as _, Some(managed))
            }
        };
        Ok(Self {
            storage,
            resolver: Arc::new(resolver),
            keys: Keys::below(location.root()),
            catalog,
            file_cache: None,
        })
    }

    /// Returns a source for a call that reads files more than once: their bytes are kept, up to a limit.
    #[must_use]
    pub fn with_file_cache(&self) -> Self {
        Self {
            file_cache: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// Returns the bytes of a remote data file, by its path and its size in the log; `None` for a local
    /// file, and for a path that leads out of the table.
    pub fn file_bytes(&self, path: &str, size: i64) -> Option<Arc<FileBytes>> {
        self.storage.max_requests()?;
        let size = u64::try_from(size).ok()?;
        let path = self.resolver.resolve("", path).ok()?.into_owned();
        Some(match &self.file_cache {
            Some(cache) => cache.file(&self.storage, path, size),
            None => Arc::new(FileBytes::new(&self.storage, path, size)),
        })
    }

    /// Reads the footer of a file, by its storage path.
    pub(crate) fn footer(&self, path: &str, size: u64, rules: FooterRules) -> Result<Footer> {
        if !self.storage.is_remote() {
            return read_footer(&*self.storage, path, size, rules);
        }
        let (storage, path) = (&self.storage, path.to_owned());
        let bytes = match &self.file_cache {
            Some(cache) => cache.footer(storage, path, size),
            None => Arc::new(FileBytes::footer_only(storage, path, size)),
        };
        footer_of(&bytes, rules)
    }

    /// Releases the bytes of a data file that is not read again.
    pub fn forget(&self, path: &str) {
        if let Some(cache) = &self.file_cache
            && let Ok(path) = self.resolver.resolve("", path)
        {
            cache.remove(&path);
        }
    }

    /// Returns the source with other keys.
    #[must_use]
    pub fn with_keys(&self, keys: Keys) -> Self {
        Self {
            keys,
            ..self.clone()
        }
    }

    /// Returns the source with another storage.
    #[must_use]
    pub fn with_storage(&self, storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            ..self.clone()
        }
    }

    /// Checks that this build reads tables of this protocol, and that the source has the catalog that they require.
    ///
    /// # Errors
    ///
    /// Unsupported: `catalog.required` if the source does not have the catalog that manages the commits.
    pub fn check_readable(&self, protocol: &Protocol) -> Result<()> {
        protocol.check_readable()?;
        if protocol.is_catalog_managed() && !self.check_catalog()?.is_managed()? {
            let message = "the table's protocol says that a catalog manages its commits, but the catalog that was passed \
                           does not: pass the catalog that manages this table";
            return Err(Error::unsupported("catalog.required", message));
        }
        Ok(())
    }

    /// Returns the log that the table's catalog manages.
    ///
    /// # Errors
    ///
    /// Unsupported: `catalog.required` if the table was opened without a catalog.
    pub fn check_catalog(&self) -> Result<&ManagedLog> {
        self.catalog.as_deref().ok_or_else(|| {
            let message = "a catalog manages the table (table feature catalogManaged), and only the catalog knows its \
                           newest commits: open the table by its name with Table.from_name, or pass catalog= to Table";
            Error::unsupported("catalog.required", message)
        })
    }

    /// Publishes the commits up to a version, if a catalog ratified them.
    pub fn publish(&self, version: u64) -> Result<()> {
        self.catalog
            .as_ref()
            .map_or(Ok(()), |catalog| catalog.publish(version))
    }

    /// Starts to publish in the background; `None` if no catalog manages the table.
    ///
    /// # Errors
    ///
    /// Storage: `storage.threads`.
    pub fn publish_in_background(&self, version: u64) -> Result<Option<BackgroundTask<()>>> {
        let Some(catalog) = self.catalog.clone() else {
            return Ok(None);
        };
        if !catalog.is_managed()? {
            return Ok(None);
        }
        spawn(move || catalog.publish(version)).map(Some)
    }

    /// Reports to the catalog the first version that it manages.
    pub fn hand_over(&self, version: u64) -> Result<()> {
        self.catalog
            .as_ref()
            .map_or(Ok(()), |catalog| catalog.hand_over(version))
    }

    /// Returns `true` if the table's catalog allows the operation; always if no catalog manages the table.
    pub fn allows(&self, operation: Permission) -> Result<bool> {
        self.catalog
            .as_ref()
            .map_or(Ok(true), |catalog| catalog.allows(operation))
    }

    /// Checks that the table's catalog allows the operation.
    ///
    /// # Errors
    ///
    /// Unsupported: `catalog.maintenance`.
    pub fn check_allowed(&self, operation: Permission) -> Result<()> {
        if self.allows(operation)? {
            return Ok(());
        }
        let message = format!(
            "a catalog manages the table, and it does not allow {}: leave it to the catalog, or have it allowed there",
            operation.name()
        );
        Err(Error::unsupported("catalog.maintenance", message))
    }
}
