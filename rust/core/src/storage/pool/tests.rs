use super::*;

#[test]
fn the_environment_sets_the_number_of_threads() {
    let default = thread::available_parallelism()
        .unwrap()
        .get()
        .min(MAX_DEFAULT_THREADS);
    for (requested, expected) in [
        (None, default),
        (Some("3"), 3),
        (Some(" 1 "), 1),
        (Some("0"), default),
        (Some("-2"), default),
        (Some("many"), default),
        (Some("99999999"), 1024),
    ] {
        assert_eq!(requested_threads(requested), expected, "{requested:?}");
    }
}

#[test]
fn a_process_has_one_pool_of_that_size() {
    let pool = pool().unwrap();
    assert_eq!(pool.current_num_threads(), threads());
    assert!(std::ptr::eq(pool, super::pool().unwrap()));
}
