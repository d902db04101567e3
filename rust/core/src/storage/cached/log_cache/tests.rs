use super::ranges::{MAX_REQUEST, MIN_REQUEST, PENDING_DIVISOR, Ranges};
use super::*;

fn key(name: &str) -> Arc<TableKey> {
    Arc::new(TableKey::new(name, &[]))
}

fn file(name: &str, size: u64, tag: u64) -> FileMeta {
    FileMeta {
        path: format!("_delta_log/{name}"),
        size,
        modification_time: 1,
        tag,
    }
}

fn cached_bytes(cache: &mut LogCache, key: &Arc<TableKey>, path: &str) -> Option<usize> {
    let listed = cache.listed_file(key, path)?;
    match cache.find(key, path, listed, &(0..listed.size)) {
        CachedRange::Cached(bytes) => Some(bytes.len()),
        _ => None,
    }
}

#[test]
fn bytes_are_valid_while_listings_show_the_same_file() {
    let (mut cache, key) = (LogCache::default(), key("t"));
    let log = ("_delta_log", "");
    let path = "_delta_log/1.json";
    cache.record_listing(&key, log, &[file("1.json", 3, 7)]);
    let listed = cache.listed_file(&key, path).unwrap();
    cache.insert(&key, path, listed, &(0..3), &Bytes::from_static(b"abc"));
    assert_eq!(cached_bytes(&mut cache, &key, path), Some(3));

    cache.record_listing(&key, log, &[file("1.json", 3, 7), file("2.json", 3, 8)]);
    assert_eq!(cached_bytes(&mut cache, &key, path), Some(3));
    // a listing that begins later does not cover it
    cache.record_listing(&key, ("_delta_log", "2"), &[file("2.json", 3, 8)]);
    assert_eq!(cached_bytes(&mut cache, &key, path), Some(3));
    cache.record_listing(&key, log, &[file("1.json", 3, 9), file("2.json", 3, 8)]);
    assert_eq!(cached_bytes(&mut cache, &key, path), None);
    cache.record_listing(&key, log, &[]);
    assert!(cache.listed_file(&key, path).is_none());
}

#[test]
fn bytes_of_another_table_are_not_found() {
    let mut cache = LogCache::default();
    let (first, other) = (key("a"), key("b"));
    let log = ("_delta_log", "");
    cache.record_listing(&first, log, &[file("1.json", 3, 7)]);
    cache.record_listing(&other, log, &[file("1.json", 3, 7)]);
    let listed = cache.listed_file(&first, "_delta_log/1.json").unwrap();
    let bytes = Bytes::from_static(b"abc");
    cache.insert(&first, "_delta_log/1.json", listed, &(0..3), &bytes);
    assert_eq!(cached_bytes(&mut cache, &other, "_delta_log/1.json"), None);
}

#[test]
fn recognizes_variables_that_hold_credentials() {
    // as object_store and hdfs-native read them
    for variable in [
        "AWS_ACCESS_KEY_ID",
        "AZURE_CLIENT_SECRET",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "HADOOP_USER_NAME",
        "IDENTITY_HEADER",
        "KRB5CCNAME",
        "SERVICE_ACCOUNT",
    ] {
        assert!(holds_credentials(variable), "{variable}");
    }
    assert!(!holds_credentials("PATH"));
}

#[test]
fn cached_bytes_stay_within_the_budget() {
    let (mut cache, key) = (LogCache::default(), key("t"));
    let files: Vec<FileMeta> = (1..200)
        .map(|number| file(&format!("{number}.json"), 1 << 20, number))
        .collect();
    cache.record_listing(&key, ("_delta_log", ""), &files);
    let bytes = Bytes::from(vec![0; 1 << 20]);
    for file in &files {
        let listed = cache.listed_file(&key, &file.path).unwrap();
        cache.insert(&key, &file.path, listed, &(0..file.size), &bytes);
        assert!(cache.used <= budget());
    }
    let last = &files.last().unwrap().path;
    assert_eq!(cached_bytes(&mut cache, &key, last), Some(1 << 20));
    assert_eq!(cached_bytes(&mut cache, &key, &files[0].path), None);
    let all = |table: &TableFiles| -> usize {
        let cached = table.cached.values().map(CachedFile::bytes);
        cached.sum::<usize>() + table.listing_bytes()
    };
    assert_eq!(cache.tables.values().map(all).sum::<usize>(), cache.used);
}

#[test]
fn a_listing_that_exceeds_the_budget_evicts_nothing() {
    let (mut cache, other) = (LogCache::default(), key("other"));
    cache.record_listing(&other, ("_delta_log", ""), &[file("1.json", 3, 7)]);
    let path = "_delta_log/1.json";
    let listed = cache.listed_file(&other, path).unwrap();
    cache.insert(&other, path, listed, &(0..3), &Bytes::from_static(b"abc"));
    let used = cache.used;
    let many = (budget() / ENTRY) as u64;
    let files: Vec<FileMeta> = (0..many)
        .map(|number| file(&format!("{number:020}.json"), 1, 1))
        .collect();
    cache.record_listing(&key("long"), ("_delta_log", ""), &files);
    assert_eq!(cache.used, used);
    assert_eq!(cached_bytes(&mut cache, &other, path), Some(3));
}

#[test]
fn a_range_is_found_in_a_longer_one() {
    let (mut cache, key) = (LogCache::default(), key("t"));
    cache.record_listing(&key, ("_delta_log", ""), &[file("1.json", 9, 7)]);
    let path = "_delta_log/1.json";
    let listed = cache.listed_file(&key, path).unwrap();
    cache.insert(&key, path, listed, &(2..7), &Bytes::from_static(b"cdefg"));
    let mut part = |range| match cache.find(&key, path, listed, &range) {
        CachedRange::Cached(bytes) => Some(bytes),
        _ => None,
    };
    assert_eq!(part(3..5), Some(Bytes::from_static(b"de")));
    assert_eq!(part(0..3), None);
}

#[test]
fn a_dropped_or_outdated_promise_caches_nothing() {
    let key = key("cache-tests-promise");
    let expected = [("_delta_log/1.json".to_owned(), None)];
    let mut cache = super::lock_cache().unwrap();
    cache.record_listing(&key, ("_delta_log", ""), &[file("1.json", 3, 7)]);
    let mut promised = cache.promise(&key, &expected);
    assert!(cache.promise(&key, &expected).is_empty());
    let listed = cache.listed_file(&key, "_delta_log/1.json").unwrap();
    let found = cache.find(&key, "_delta_log/1.json", listed, &(1..3));
    let CachedRange::Pending(pending, part) = found else {
        panic!("the range is not pending");
    };
    assert_eq!(part, 1..3);
    drop(cache);
    drop(promised.pop());
    assert_eq!(pending.wait().unwrap(), None);

    let mut cache = super::lock_cache().unwrap();
    let mut promised = cache.promise(&key, &expected);
    drop(cache);
    let promise = promised.pop().unwrap();
    promise.fulfil(Bytes::from_static(b"abc"), 8); // another file by now
    assert_eq!(
        cached_bytes(&mut super::lock_cache().unwrap(), &key, "_delta_log/1.json"),
        None
    );
}

#[test]
fn pending_bytes_stay_within_the_budget() {
    let (mut cache, key) = (LogCache::default(), key("cache-tests-pending"));
    let max_pending = (budget() / PENDING_DIVISOR) as u64;
    cache.record_listing(
        &key,
        ("_delta_log", ""),
        &[file("1.json", max_pending, 7), file("2.json", 1, 8)],
    );
    let request = |name: &str| [(format!("_delta_log/{name}"), None::<Range<u64>>)];
    let promised = cache.promise(&key, &request("1.json"));
    assert_eq!(promised.len(), 1);
    assert!(cache.promise(&key, &request("2.json")).is_empty());
    cache.remove_pending(&promised[0]);
    assert_eq!(cache.promise(&key, &request("2.json")).len(), 1);
}

#[test]
#[allow(clippy::single_range_in_vec_init)] // ranges are meant
fn cached_bytes_are_not_fetched_again() {
    let (mut cache, key) = (LogCache::default(), key("cache-tests-ranges"));
    cache.record_listing(&key, ("_delta_log", ""), &[file("1.json", 1000, 7)]);
    let path = "_delta_log/1.json";
    let listed = cache.listed_file(&key, path).unwrap();
    let bytes = Bytes::from(vec![0; 100]);
    cache.insert(&key, path, listed, &(200..300), &bytes);
    let mut ranges = |ranges: &[Range<u64>]| {
        let Ranges { pieces, missing } = cache.ranges(&key, path, listed, ranges);
        let pieces: Vec<Range<u64>> = pieces.into_iter().map(|(range, _)| range).collect();
        (pieces, missing)
    };
    assert_eq!(
        ranges(&[100..250, 290..400]),
        (vec![200..300], vec![100..200, 300..400])
    );
    // close to each other, but with cached bytes in between
    assert_eq!(
        ranges(&[100..150, 350..400]),
        (vec![], vec![100..150, 350..400])
    );
    assert_eq!(ranges(&[50..60, 0..10]), (vec![], vec![0..60]));
    assert_eq!(ranges(&[210..220, 7..7]), (vec![200..300], vec![]));
}

#[test]
fn long_ranges_are_fetched_ahead_in_parts() {
    let (mut cache, key) = (LogCache::default(), key("cache-tests-parts"));
    let size = 3 * MAX_REQUEST + MIN_REQUEST;
    cache.record_listing(&key, ("_delta_log", ""), &[file("1.parquet", size, 7)]);
    let path = "_delta_log/1.parquet".to_owned();
    let promised = cache.promise(&key, &[(path.clone(), Some(0..size))]);
    assert_eq!(promised.len(), 3);
    let mut at = 0;
    for promise in &promised {
        assert_eq!(promise.range().start, at);
        at = promise.range().end;
    }
    assert_eq!(at, size);
    assert!(cache.promise(&key, &[(path, Some(5..size))]).is_empty());
}

#[test]
fn a_range_of_any_claimed_length_has_few_promises() {
    for size in [1 << 44, 1 << 62, u64::MAX] {
        let (mut cache, key) = (LogCache::default(), key("t"));
        let file = file("1.parquet", size, 7);
        cache.record_listing(&key, ("_delta_log", ""), std::slice::from_ref(&file));
        let max_pending = (budget() / PENDING_DIVISOR) as u64;
        let promised = cache.promise(&key, &[(file.path, Some(1..size))]);
        let bytes = promised.iter().map(|promise| promise.range());
        let bytes: u64 = bytes.map(|range| range.end - range.start).sum();
        assert!(0 < bytes && bytes <= max_pending, "{bytes} of {size}");
    }
}
