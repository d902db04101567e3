//! The log of a table whose commits a catalog ratifies, as an ordinary storage.
//!
//! - A listing of `_delta_log` queries the catalog at the same time. The catalog's commits replace published
//!   ones, files above its newest version are omitted, and a staged file is only used if the catalog returns
//!   it.
//! - Creating the file of a version stages it and requests its ratification; [`ManagedLog::publish`]
//!   publishes it.
//!
//! For a table that the catalog does not manage, all operations go to the underlying storage.
//!
//! Protocol: "Catalog-managed tables".

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::catalog::{Catalog, Content, LogTail, Permission, Ratification, StagedCommit};
use super::path::{self, LOG_DIRECTORY, LogFileKind, STAGED_DIRECTORY};
use crate::codec::commit::{ActionDecoder, ActionSelection};
use crate::error::{Error, Result};
use crate::storage::pool::spawn;
use crate::storage::{FileMeta, Storage};

mod storage;

/// The unique part of the path of a commit that the catalog stores itself.
const INLINE: &str = "inline";

/// The maximum number of requests for a commit while the catalog requires that older ones are published
/// first.
const MAX_REQUESTS: u32 = 3;

/// A log managed by a catalog.
#[derive(Debug)]
pub struct ManagedLog {
    files: Arc<dyn Storage>,
    catalog: Arc<dyn Catalog>,
    state: Mutex<Arc<CatalogState>>,
}

/// The catalog's last response, and what listings and commits have added since.
#[derive(Clone, Debug, Default)]
struct CatalogState {
    /// False before the first response.
    is_loaded: bool,
    commits: BTreeMap<u64, FileMeta>,
    /// By path: commits that the catalog stores, and those created here since, until they are published.
    inline: BTreeMap<String, Bytes>,
    max_version: Option<u64>,
    table_id: Option<String>,
    allowed: Vec<Permission>,
    published: Option<u64>,
}

impl ManagedLog {
    /// Creates the log in `files` whose commits `catalog` manages, if it manages the table; sends no request.
    pub fn new(files: Arc<dyn Storage>, catalog: Arc<dyn Catalog>) -> Self {
        Self {
            files,
            catalog,
            state: Mutex::default(),
        }
    }

    /// Returns `true` if the catalog manages the commits, according to its last response.
    ///
    /// # Errors
    ///
    /// If there is no response yet: the errors of [`Catalog::load`]; Corrupt: `catalog.tail`.
    pub fn is_managed(&self) -> Result<bool> {
        Ok(self.state()?.max_version.is_some())
    }

    /// Returns `true` if the catalog allows the operation or does not manage the commits, according to its last
    /// response.
    pub fn allows(&self, operation: Permission) -> Result<bool> {
        let state = self.state()?;
        Ok(state.max_version.is_none() || state.allowed.contains(&operation))
    }

    /// Returns `true` if the catalog allows taking over the table, according to its last response.
    pub fn takes_over(&self) -> Result<bool> {
        Ok(self.state()?.allowed.contains(&Permission::TakeOver))
    }

    /// Publishes the ratified commits up to version `last`, in order; does not change published ones. Does
    /// nothing if the catalog does not manage the table, or has not ratified `last`.
    ///
    /// # Errors
    ///
    /// Corrupt: `catalog.commit_missing`.
    pub fn publish(&self, last: u64) -> Result<()> {
        let state = self.state()?;
        let is_published = |version: u64| state.published >= Some(version);
        if state.max_version.is_none_or(|max| last > max) || is_published(last) {
            return Ok(());
        }
        for (version, file) in state.commits.range(..=last) {
            if !is_published(*version) {
                let bytes = self.read(&file.path)?;
                self.files
                    .put_if_absent(&path::commit_path(*version), &bytes)?;
                self.update(|state| {
                    state.published = state.published.max(Some(*version));
                    state.inline.remove(&file.path);
                });
            }
        }
        self.catalog.published(last)
    }

    /// Reports to the catalog a version that was committed without it: the first one, or the one that hands
    /// the table over to it.
    pub fn hand_over(&self, version: u64) -> Result<()> {
        self.catalog.published(version)
    }

    fn locked(&self) -> MutexGuard<'_, Arc<CatalogState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut CatalogState)) {
        change(Arc::make_mut(&mut self.locked()));
    }

    /// Returns the last response; requests one if there is none.
    fn state(&self) -> Result<Arc<CatalogState>> {
        let state = Arc::clone(&self.locked());
        if state.is_loaded {
            Ok(state)
        } else {
            self.reload()
        }
    }

    /// Queries the catalog. A response older than the last one is ignored, since ratified commits stay
    /// ratified.
    fn reload(&self) -> Result<Arc<CatalogState>> {
        let fresh = self.checked_state(self.catalog.load()?)?;
        let mut locked = self.locked();
        if let (Some(before), Some(now)) = (&locked.table_id, &fresh.table_id)
            && before != now
        {
            let message = format!(
                "the catalog now returns another table, {now} instead of {before}: open the table again"
            );
            return Err(Error::corrupt("catalog.table_id", message));
        }
        let is_outdated = fresh.max_version.is_some() && fresh.max_version < locked.max_version;
        if !is_outdated {
            let published = locked.published.filter(|_| fresh.max_version.is_some());
            *locked = Arc::new(CatalogState { published, ..fresh });
        }
        Ok(Arc::clone(&locked))
    }

    /// Converts a response. Its commits must be contiguous and end with the newest version, as the protocol
    /// requires.
    fn checked_state(&self, tail: LogTail) -> Result<CatalogState> {
        let corrupt = |message: String| Error::corrupt("catalog.tail", message);
        let mut state = CatalogState {
            is_loaded: true,
            max_version: tail.max_version,
            table_id: tail.table_id,
            allowed: tail.allowed,
            ..CatalogState::default()
        };
        let mut commits = tail.commits;
        commits.sort_by_key(|commit| commit.version);
        let mut before: Option<u64> = None;
        for commit in commits {
            let version = commit.version;
            if let Some(before) = before
                && before.checked_add(1) != Some(version)
            {
                let message =
                    format!("the catalog's commits are not contiguous: {version} follows {before}");
                return Err(corrupt(message).at_version(version));
            }
            before = Some(version);
            let file = self.file_of(version, commit.content, &mut state.inline)?;
            state.commits.insert(version, file);
        }
        match (before, state.max_version) {
            (Some(last), None) => Err(corrupt(format!(
                "the catalog returned commits up to {last}, but no newest version"
            ))),
            (Some(last), Some(max)) if last != max => Err(corrupt(format!(
                "the catalog says that the newest version is {max}, but its commits end with {last}"
            ))),
            _ => Ok(state),
        }
    }

    fn file_of(
        &self,
        version: u64,
        content: Content,
        inline: &mut BTreeMap<String, Bytes>,
    ) -> Result<FileMeta> {
        match content {
            Content::Inline(bytes) => {
                let path = path::staged_path(version, INLINE);
                let size = bytes.len() as u64;
                inline.insert(path.clone(), bytes);
                Ok(FileMeta {
                    path,
                    size,
                    modification_time: 0,
                    tag: 0,
                })
            }
            Content::File {
                name,
                size,
                modification_time,
            } => {
                let staged = format!("{STAGED_DIRECTORY}/{name}");
                let path = match path::staged_version(&staged) {
                    Some(name_version) if name_version == version => staged,
                    _ if name == path::commit_name(version) => path::commit_path(version),
                    _ => {
                        let message = format!(
                            "the catalog names {name:?} as the file of version {version}: a staged commit is \
                             named <version in 20 digits>.<uuid>.json"
                        );
                        return Err(Error::corrupt("catalog.tail", message).at_version(version));
                    }
                };
                match (size, modification_time) {
                    (Some(size), Some(modification_time)) => Ok(FileMeta {
                        path,
                        size,
                        modification_time,
                        tag: 0,
                    }),
                    _ => self.head_of(&path),
                }
            }
        }
    }

    /// Lists the files and the catalog's commits from the name `from` on.
    fn list_log(&self, from: &str) -> Result<Vec<FileMeta>> {
        let listing = spawn({
            let (files, from) = (Arc::clone(&self.files), from.to_owned());
            move || files.list(LOG_DIRECTORY, &from)
        })?;
        let state = self.reload()?;
        let files = listing.wait()?;
        let Some(max) = state.max_version else {
            return Ok(files);
        };
        let mut files = self.merge_commits(&state, max, from, files);
        if first_missing(&files, &state, max, from).is_some() {
            // between the listing and the response, a commit was published and removed from the catalog, or the
            // listing lags behind
            files = self.merge_commits(&state, max, from, self.files.list(LOG_DIRECTORY, from)?);
        }
        if let Some(missing) = first_missing(&files, &state, max, from) {
            let message = format!(
                "the catalog says that version {max} is the newest, but this commit is neither published \
                 nor among its own: ask the operator of the catalog"
            );
            let error = Error::corrupt("catalog.gap", message);
            return Err(error
                .at_path(path::commit_path(missing))
                .at_version(missing));
        }
        Ok(files)
    }

    /// Replaces published commits by those of the catalog; records the newest published version.
    fn merge_commits(
        &self,
        state: &CatalogState,
        max: u64,
        from: &str,
        mut files: Vec<FileMeta>,
    ) -> Vec<FileMeta> {
        let mut published = None;
        files.retain(|file| match path::parse_path(&file.path) {
            Some((version, _)) if version > max => false,
            Some((version, LogFileKind::Commit)) => {
                published = published.max(Some(version));
                !state.commits.contains_key(&version)
            }
            _ => true,
        });
        self.update(|state| state.published = state.published.max(published));
        let is_requested = |version: u64| path::commit_name(version).as_str() >= from;
        let ratified = state.commits.iter();
        let ratified = ratified.filter(|(version, _)| is_requested(**version));
        files.extend(ratified.map(|(_, file)| file.clone()));
        files.sort_by(|a, b| path::base_name(&a.path).cmp(path::base_name(&b.path)));
        files
    }

    /// Stages the bytes of a version and requests its ratification; returns `false` if another commit has the
    /// version.
    fn commit(&self, version: u64, bytes: &[u8], durable: bool) -> Result<bool> {
        let mut staged = staged_commit(version, bytes)?;
        let staged_path = format!("{STAGED_DIRECTORY}/{}", staged.file_name);
        // a file that exists was created by an earlier attempt whose response was lost
        if durable {
            self.files.put_if_absent(&staged_path, bytes)?;
        } else {
            self.files.put_if_absent_unsynced(&staged_path, bytes)?;
        }
        for _ in 0..MAX_REQUESTS {
            staged.published = self.state()?.published;
            match self.catalog.commit(&staged)? {
                Ratification::Taken => return Ok(false),
                Ratification::Ratified => {
                    let file = FileMeta {
                        path: staged_path,
                        size: staged.size,
                        modification_time: staged.modification_time,
                        tag: 0,
                    };
                    self.update(|state| {
                        let bytes = Bytes::copy_from_slice(bytes);
                        state.inline.insert(file.path.clone(), bytes);
                        state.commits.insert(version, file);
                        state.max_version = state.max_version.max(Some(version));
                    });
                    return Ok(true);
                }
                Ratification::PublishFirst => self.publish(version.saturating_sub(1))?,
            }
        }
        let message =
            "the catalog requires older commits to be published, and they are: try again later";
        Err(Error::unsupported("catalog.backlog", message).at_version(version))
    }

    /// Returns the other path of a commit: the published one of a staged commit, and vice versa.
    fn other_path(&self, log_path: &str) -> Option<String> {
        if let Some(version) = path::staged_version(log_path) {
            return Some(path::commit_path(version));
        }
        let version = committed_version(log_path)?;
        let state = Arc::clone(&self.locked());
        state.commits.get(&version).map(|file| file.path.clone())
    }

    /// Calls `work` with the path of a commit; if no file is there, with the commit's other path.
    fn at_either<T>(&self, log_path: &str, work: impl Fn(&str) -> Result<T>) -> Result<T> {
        let error = match work(log_path) {
            Err(error) if error.code() == "storage.not_found" => error,
            done => return done,
        };
        let Some(other) = self.other_path(log_path) else {
            return Err(error);
        };
        match work(&other) {
            Err(error) if error.code() == "storage.not_found" => {
                let message = "the catalog has ratified this commit, but neither its file nor a published \
                    copy exists: restore it from a backup";
                Err(Error::corrupt("catalog.commit_missing", message).at_path(log_path))
            }
            done => done,
        }
    }

    fn head_of(&self, log_path: &str) -> Result<FileMeta> {
        self.at_either(log_path, |path| self.files.head(path))
    }

    fn read(&self, log_path: &str) -> Result<Bytes> {
        self.at_either(log_path, |path| match self.inline(path) {
            Some(bytes) => Ok(bytes),
            None => self.files.read(path),
        })
    }

    /// Returns the bytes of a commit that was created here, or that the catalog stores; queries the catalog if it
    /// has not responded yet. Returns `None` if the query fails: a published copy may still be found.
    fn inline(&self, path: &str) -> Option<Bytes> {
        let version = path::staged_version(path)?;
        let state = if path == path::staged_path(version, INLINE) {
            self.state().ok()?
        } else {
            Arc::clone(&self.locked())
        };
        state.inline.get(path).cloned()
    }
}

/// Returns a commit that a listing from the name `from` on must contain, but does not.
fn first_missing(files: &[FileMeta], state: &CatalogState, max: u64, from: &str) -> Option<u64> {
    // the newest commit, and the one before those of the catalog
    let first = state.commits.keys().next();
    let required = [Some(max), first.and_then(|first| first.checked_sub(1))];
    let is_missing = |required: u64| {
        path::commit_name(required).as_str() >= from
            && !files.iter().any(|file| match path::parse_path(&file.path) {
                Some((version, LogFileKind::Commit)) => version == required,
                Some((version, LogFileKind::Checkpoint(_))) => version >= required,
                _ => false,
            })
    };
    required
        .into_iter()
        .flatten()
        .find(|version| is_missing(*version))
}

/// Returns the version of the path of a published commit.
fn committed_version(path: &str) -> Option<u64> {
    let name = path.strip_prefix(LOG_DIRECTORY)?.strip_prefix('/')?;
    match path::parse(name)? {
        (version, LogFileKind::Commit) => Some(version),
        _ => None,
    }
}

/// Builds the request to ratify a commit.
fn staged_commit(version: u64, bytes: &[u8]) -> Result<StagedCommit> {
    let mut decoder = ActionDecoder::new(ActionSelection {
        control: true,
        commit_infos: true,
        ..ActionSelection::default()
    });
    decoder.decode(bytes)?;
    let actions = decoder.finish()?;
    let info = actions.info();
    let id = info.get("txnId").and_then(serde_json::Value::as_str);
    let timestamp = info
        .get("inCommitTimestamp")
        .and_then(serde_json::Value::as_i64);
    let (Some(id), Some(timestamp)) = (id, timestamp) else {
        let message = "a commit to a table that a catalog manages requires txnId and inCommitTimestamp in its \
            commitInfo";
        return Err(Error::invalid("catalog.commit_info", message).at_version(version));
    };
    let relative_path = path::staged_path(version, id);
    Ok(StagedCommit {
        version,
        file_name: path::base_name(&relative_path).to_owned(),
        size: bytes.len() as u64,
        modification_time: timestamp,
        timestamp,
        protocol: actions.protocol().cloned(),
        metadata: actions.metadata().cloned(),
        domains: actions
            .domains
            .into_iter()
            .map(|(_, domain)| domain)
            .collect(),
        published: None,
    })
}

#[cfg(test)]
mod tests;
