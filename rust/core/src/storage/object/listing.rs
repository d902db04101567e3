//! Lists a directory of a store, in parallel parts if names between them are known.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{ObjectMeta, ObjectStore};

use super::{AT_ONCE, ObjectStorage, meta};
use crate::error::Result;
use crate::storage::{FileMeta, StoreKind, progress, runtime};

impl ObjectStorage {
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
        let start = before(from).filter(|_| !express).map(ToOwned::to_owned);
        let divides = matches!(self.location.kind(), StoreKind::S3 | StoreKind::Gcs) && !express;
        let inner = if divides { names } else { &[] };
        let base = if prefix.as_ref().is_empty() {
            String::new()
        } else {
            format!("{prefix}/")
        };
        let from_key = format!("{base}{from}");
        let listed = {
            let (base, prefix) = (base.clone(), prefix.clone());
            // each part of the listing begins after a name and ends with the next one
            let after = |name: &str| format!("{base}{name}");
            let mut ends: Vec<Option<String>> =
                inner.iter().map(|name| Some(after(name))).collect();
            let mut parts = vec![start.as_deref().map(after)];
            parts.extend(ends.iter().cloned());
            ends.push(None);
            let parts: Vec<_> = parts.into_iter().zip(ends).collect();
            runtime::block_on(async move {
                let Some(pages) = client.pages else {
                    let prefix = (!prefix.as_ref().is_empty()).then_some(prefix);
                    return match client.store.list_with_delimiter(prefix.as_ref()).await {
                        Ok(listing) => {
                            progress::listed(listing.objects.len());
                            Ok(vec![listing.objects])
                        }
                        // such a store has directories, and this one does not exist
                        Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
                        Err(cause) => Err(cause),
                    };
                };
                stream::iter(parts)
                    .map(|(after, end)| listed_part(Arc::clone(&pages), base.clone(), after, end))
                    .buffered(AT_ONCE)
                    .try_collect()
                    .await
            })?
        };
        let listed = listed.map_err(|cause| self.failed("list", directory, cause))?;
        // not every store respects this maximum
        let is_inside = |object: &&ObjectMeta| {
            let key = object.location.as_ref();
            let name = key.strip_prefix(&*base);
            key >= from_key.as_str() && name.is_some_and(|name| !name.contains('/'))
        };
        let objects = listed.iter().flatten().filter(is_inside);
        let mut files: Vec<FileMeta> = objects
            .map(|object| {
                let name = object.location.filename().unwrap_or_default();
                let path = match directory {
                    "" => name.to_owned(),
                    directory => format!("{directory}/{name}"),
                };
                meta(path, object)
            })
            .collect();
        files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Ok(files)
    }
}

/// Lists the objects after a key, up to another one.
async fn listed_part(
    pages: Arc<dyn PaginatedListStore>,
    base: String,
    after: Option<String>,
    end: Option<String>,
) -> object_store::Result<Vec<ObjectMeta>> {
    let mut objects: Vec<ObjectMeta> = Vec::new();
    let mut page_token = None;
    let mut page_start = 0;
    loop {
        let options = PaginatedListOptions {
            offset: after.clone(),
            delimiter: Some("/".into()),
            page_token,
            ..Default::default()
        };
        let prefix = (!base.is_empty()).then_some(base.as_str());
        let page = pages.list_paginated(prefix, options).await?;
        progress::listed(page.result.objects.len());
        let begins = |object: &ObjectMeta| {
            let first = page.result.objects.first();
            first.is_some_and(|first| first.location == object.location)
        };
        if objects
            .get(page_start..)
            .and_then(<[_]>::first)
            .is_some_and(begins)
        {
            return Err(object_store::Error::Generic {
                store: "deltareplay",
                source: "the store sends the same page of a listing again, without end".into(),
            });
        }
        page_start = objects.len();
        objects.extend(page.result.objects);
        page_token = page.page_token;
        let reached = |object: &ObjectMeta| {
            let key = object.location.as_ref();
            end.as_deref().is_some_and(|end| key >= end)
        };
        if page_token.is_none() || objects.last().is_some_and(reached) {
            return Ok(objects);
        }
    }
}

/// Returns a name before `from` and after most names before that: stores begin a listing after a name, not
/// at it.
fn before(from: &str) -> Option<&str> {
    let (last, _) = from.char_indices().next_back()?;
    from.get(..last).filter(|start| !start.is_empty())
}
