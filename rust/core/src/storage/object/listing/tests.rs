use std::sync::Mutex;

use async_trait::async_trait;
use object_store::ListResult;
use object_store::list::PaginatedListResult;

use super::*;
use crate::storage::runtime::block_on;

/// A store with these pages: the key of the only object, if any, and the token.
struct Pages<F> {
    page: F,
    requests: Mutex<usize>,
}

#[async_trait]
impl<F> PaginatedListStore for Pages<F>
where
    F: Fn(usize) -> (Option<String>, Option<String>) + Send + Sync + 'static,
{
    async fn list_paginated(
        &self,
        _prefix: Option<&str>,
        _options: PaginatedListOptions,
    ) -> object_store::Result<PaginatedListResult> {
        let mut requests = self.requests.lock().unwrap();
        let (key, page_token) = (self.page)(*requests);
        *requests += 1;
        let object = |key: String| ObjectMeta {
            location: key.into(),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        };
        let result = ListResult {
            common_prefixes: Vec::new(),
            objects: key.map(object).into_iter().collect(),
            extensions: Default::default(),
        };
        Ok(PaginatedListResult { result, page_token })
    }
}

fn listed(
    page: impl Fn(usize) -> (Option<String>, Option<String>) + Send + Sync + 'static,
) -> std::result::Result<usize, String> {
    let pages = Pages {
        page,
        requests: Mutex::default(),
    };
    let listing = block_on(list_part(Arc::new(pages), Part::default())).unwrap();
    listing
        .map(|listing| listing.objects.len())
        .map_err(|error| error.to_string())
}

/// Returns the key and the token of a page.
type Page = Box<dyn Fn(usize) -> (Option<String>, Option<String>) + Send + Sync>;

#[test]
fn a_listing_that_does_not_end_is_an_error() {
    let text = |number: usize| Some(number.to_string());
    let cases: [(&str, Page); 4] = [
        ("twice", Box::new(move |_| (None, text(0)))),
        (
            "twice",
            Box::new(move |page| (text(page % 2), text(page % 2))),
        ),
        ("twice", Box::new(move |page| (text(0), text(page)))),
        ("empty pages", Box::new(move |page| (None, text(page)))),
    ];
    for (expected, page) in cases {
        let error = listed(page).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn empty_pages_may_precede_others() {
    let page = |page: usize| {
        let key = (page % 1000 == 999).then(|| page.to_string());
        (key, (page < 4999).then(|| page.to_string()))
    };
    assert_eq!(listed(page), Ok(5));
}
