use std::time::{Duration, Instant};

use super::*;
use crate::error::ErrorKind;

#[test]
fn returns_the_result_and_survives_a_panic() {
    assert_eq!(block_on(async { 6 * 7 }).unwrap(), 42);
    let error = block_on(async { panic!("oh") }).unwrap_err();
    assert_eq!(error.code(), "internal.panic");
    assert_eq!(block_on(async { 1 }).unwrap(), 1);
}

#[test]
fn works_inside_another_runtime() {
    let outer = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    assert_eq!(outer.block_on(async { block_on(async { 5 }).unwrap() }), 5);
}

#[test]
fn an_interrupt_ends_the_wait() {
    interrupt::testing::stop_this_thread(true);
    let start = Instant::now();
    let result = block_on(async { tokio::time::sleep(Duration::from_secs(20)).await });
    interrupt::testing::stop_this_thread(false);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(5));
}
