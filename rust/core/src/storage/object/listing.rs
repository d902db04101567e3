//! Lists a store in parallel: the log in parts between known names, a large table by its directories.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use super::{AT_ONCE, Client, ObjectStorage, meta};
use crate::error::Result;
use crate::storage::{FileMeta, StoreKind, path_in, progress, runtime};

/// The number of pages after which a table counts as large.
const FIRST_PAGES: usize = 4;

/// The number of directories to list in parallel; if there are fewer, their subdirectories are listed.
const DIRECTORIES: usize = 64;

/// The maximum depth of directories listed in parallel: a hostile store may claim any depth.
const MAX_LEVELS: usize = 16;

/// With more directories, listing each would take more requests than listing all objects.
const MAX_DIRECTORIES: usize = 1000;

/// The maximum number of consecutive pages without an object: stores with many deleted objects send some.
const MAX_EMPTY_PAGES: usize = 10_000;

/// A part of a listing.
#[derive(Default)]
struct Part {
    /// The prefix of all keys: empty, or ending with a slash.
    base: String,
    /// The key after which the listing begins.
    after: Option<String>,
    /// The key at which the listing ends.
    end: Option<String>,
    /// True if subdirectories are listed, too.
    recursive: bool,
    /// Continues an earlier listing.
    token: Option<String>,
    max_pages: Option<usize>,
}

/// The objects of a part of a listing.
#[derive(Default)]
struct PartListing {
    objects: Vec<ObjectMeta>,
    /// The directories, if they were not entered.
    directories: Vec<Path>,
    /// Continues the listing, if it ended early.
    token: Option<String>,
}

impl Part {
    fn of(directory: &Path) -> Self {
        Self {
            base: base_of(directory),
            ..Self::default()
        }
    }

    fn below(directory: &Path) -> Self {
        Self {
            recursive: true,
            ..Self::of(directory)
        }
    }
}

/// Returns the prefix of the keys in a directory.
fn base_of(directory: &Path) -> String {
    match directory.as_ref() {
        "" => String::new(),
        directory => format!("{directory}/"),
    }
}

impl ObjectStorage {
    /// Lists files as [`Storage::list_below`]; the directories of a large table are listed in parallel.
    pub(super) fn list_files_below(
        &self,
        directory: &str,
        enter: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<FileMeta>> {
        let root = base_of(&self.object("")?);
        let path_of = |key: &Path| key.as_ref().strip_prefix(&*root).map(str::to_owned);
        let enters_directory =
            |directory: &Path| path_of(directory).is_some_and(|path| enter(&path));
        let objects = self.list_objects_below(directory, enters_directory)?;
        let inside = |object: &ObjectMeta| {
            let path = path_of(&object.location)?;
            let mut directories = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
            let entered = directories.all(enter);
            entered.then(|| meta(path.clone(), object))
        };
        let mut files: Vec<FileMeta> = objects.iter().filter_map(inside).collect();
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Ok(files)
    }

    /// Lists the objects below a directory. The first pages are those of a flat listing, which is all that
    /// most tables need; it continues if the table has too many directories to list each.
    fn list_objects_below(
        &self,
        directory: &str,
        enter: impl Fn(&Path) -> bool,
    ) -> Result<Vec<ObjectMeta>> {
        let prefix = self.object(directory)?;
        let Client { store, pages, .. } = self.client()?;
        let Some(pages) = pages else {
            return self.wait_for(directory, async move {
                let prefix = Some(prefix).filter(|prefix| !prefix.as_ref().is_empty());
                store.list(prefix.as_ref()).try_collect().await
            });
        };
        let list =
            |parts: Vec<Part>| self.wait_for(directory, list_parts(Arc::clone(&pages), parts));
        let first = list(vec![Part {
            max_pages: Some(FIRST_PAGES),
            ..Part::below(&prefix)
        }])?;
        if first.token.is_none() {
            return Ok(first.objects);
        }
        let mut directories = vec![prefix.clone()];
        let mut objects = Vec::new();
        for _ in 0..MAX_LEVELS {
            if directories.is_empty() || directories.len() >= DIRECTORIES {
                break;
            }
            let level = list(directories.iter().map(Part::of).collect())?;
            let subdirectories: Vec<Path> = level.directories.into_iter().filter(&enter).collect();
            if subdirectories.len() > MAX_DIRECTORIES {
                break;
            }
            objects.extend(level.objects);
            directories = subdirectories;
        }
        let rest = if directories.first() == Some(&prefix) {
            objects = first.objects;
            vec![Part {
                token: first.token,
                ..Part::below(&prefix)
            }]
        } else {
            directories.iter().map(Part::below).collect()
        };
        objects.extend(list(rest)?.objects);
        Ok(objects)
    }

    fn wait_for<T: Send + 'static>(
        &self,
        directory: &str,
        listing: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        runtime::block_on(listing)?.map_err(|cause| self.failed("list", directory, cause))
    }

    /// Lists files as [`Storage::list`]; the parts between these sorted names are requested in parallel if
    /// the store can begin a listing at a name.
    pub(in crate::storage) fn list_divided(
        &self,
        directory: &str,
        from: &str,
        names: &[String],
    ) -> Result<Vec<FileMeta>> {
        let directory = directory.trim_end_matches('/');
        let prefix = self.object(directory)?;
        let client = self.client()?;
        // S3 Express can neither begin a listing at a name nor sort it
        let express = self.location.authority().ends_with("--x-s3");
        let start = name_before(from)
            .filter(|_| !express)
            .map(ToOwned::to_owned);
        let divides = matches!(self.location.kind(), StoreKind::S3 | StoreKind::Gcs) && !express;
        let inner = if divides { names } else { &[] };
        let base = base_of(&prefix);
        let from_key = format!("{base}{from}");
        let objects = if let Some(pages) = client.pages {
            // each part of the listing begins after a name and ends with the next one
            let after = |name: &str| format!("{base}{name}");
            let mut starts = vec![start.as_deref().map(after)];
            starts.extend(inner.iter().map(|name| Some(after(name))));
            let ends = starts.iter().skip(1).cloned().chain([None]);
            let part = |(after, end): (&Option<String>, Option<String>)| Part {
                after: after.clone(),
                end,
                ..Part::of(&prefix)
            };
            let parts = starts.iter().zip(ends).map(part).collect();
            self.wait_for(directory, list_parts(pages, parts))?.objects
        } else {
            self.wait_for(directory, async move {
                let prefix = Some(prefix).filter(|prefix| !prefix.as_ref().is_empty());
                match client.store.list_with_delimiter(prefix.as_ref()).await {
                    Ok(listing) => {
                        progress::listed(listing.objects.len());
                        Ok(listing.objects)
                    }
                    // stores with directories return this for a missing one
                    Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
                    Err(cause) => Err(cause),
                }
            })?
        };
        // not every store begins at the name and leaves out subdirectories
        let is_inside = |object: &&ObjectMeta| {
            let key = object.location.as_ref();
            let name = key.strip_prefix(&*base);
            key >= from_key.as_str() && name.is_some_and(|name| !name.contains('/'))
        };
        let mut files: Vec<FileMeta> = objects
            .iter()
            .filter(is_inside)
            .map(|object| {
                let name = object.location.filename().unwrap_or_default();
                meta(path_in(directory, name), object)
            })
            .collect();
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Ok(files)
    }
}

/// Lists parts in parallel; returns their objects in the order of the parts.
async fn list_parts(
    pages: Arc<dyn PaginatedListStore>,
    parts: Vec<Part>,
) -> object_store::Result<PartListing> {
    let mut listings = stream::iter(parts)
        .map(|part| list_part(Arc::clone(&pages), part))
        .buffered(AT_ONCE);
    let mut all = PartListing::default();
    while let Some(listing) = listings.try_next().await? {
        all.objects.extend(listing.objects);
        all.directories.extend(listing.directories);
        all.token = listing.token;
    }
    Ok(all)
}

/// Lists the objects of a part, page by page.
async fn list_part(
    pages: Arc<dyn PaginatedListStore>,
    part: Part,
) -> object_store::Result<PartListing> {
    let mut listing = PartListing {
        token: part.token,
        ..PartListing::default()
    };
    let mut previous_first = None;
    let mut tokens = HashSet::new();
    let mut empty_pages = 0;
    for number in 1.. {
        let options = PaginatedListOptions {
            offset: part.after.clone(),
            delimiter: (!part.recursive).then(|| "/".into()),
            page_token: listing.token.take(),
            ..Default::default()
        };
        let prefix = Some(part.base.as_str()).filter(|base| !base.is_empty());
        let page = pages.list_paginated(prefix, options).await?;
        progress::listed(page.result.objects.len());
        let first_object = page.result.objects.first().map(|object| &object.location);
        let first = first_object
            .or(page.result.common_prefixes.first())
            .cloned();
        if first.is_none() {
            empty_pages += 1;
        } else if first == previous_first {
            return Err(endless("the store sent the same page of a listing twice"));
        } else {
            empty_pages = 0;
        }
        if empty_pages > MAX_EMPTY_PAGES {
            return Err(endless("the store sent too many empty pages of a listing"));
        }
        previous_first = first;
        listing.objects.extend(page.result.objects);
        listing.directories.extend(page.result.common_prefixes);
        if let (Some(end), Some(last)) = (&part.end, listing.objects.last())
            && last.location.as_ref() >= end.as_str()
        {
            break;
        }
        listing.token = page.page_token;
        let Some(token) = &listing.token else { break };
        if !tokens.insert(token.clone()) {
            return Err(endless("the store sent the same page of a listing twice"));
        }
        if part.max_pages == Some(number) {
            break;
        }
    }
    Ok(listing)
}

fn endless(why: &'static str) -> object_store::Error {
    object_store::Error::Generic {
        store: "deltareplay",
        source: why.into(),
    }
}

/// Returns a name shortly before `from`: stores begin a listing after a name, not at it.
fn name_before(from: &str) -> Option<&str> {
    let (last, _) = from.char_indices().next_back()?;
    from.get(..last).filter(|start| !start.is_empty())
}

#[cfg(test)]
mod tests;
