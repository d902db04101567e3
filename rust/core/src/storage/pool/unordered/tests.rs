use std::sync::Arc;
use std::time::Duration;

use super::*;

#[test]
fn returns_every_result_of_every_unit() {
    let work = |unit: &usize, emit: &mut dyn FnMut(usize) -> Result<()>| {
        (0..*unit).try_for_each(&mut *emit)
    };
    let mut result: Vec<_> = unordered((0..50).collect(), None, 2, work)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    result.sort_unstable();
    let expected: Vec<_> = (0..50)
        .flat_map(|unit| (0..unit).map(move |n| (unit, n)))
        .collect();
    assert_eq!(result, expected);
}

#[test]
fn a_panic_is_an_error_and_ends_the_stream() {
    let work = |unit: &usize, _: &mut dyn FnMut(()) -> Result<()>| {
        assert!(*unit != 3, "three");
        Ok(())
    };
    let mut stream = unordered((0..8).collect(), Some(2), 1, work).unwrap();
    let error = stream.next().unwrap().unwrap_err();
    assert_eq!(error.code(), "internal.panic");
    assert!(stream.next().is_none());
}

#[test]
fn an_interrupt_is_seen_while_results_are_ready() {
    let work = |_: &(), emit: &mut dyn FnMut(usize) -> Result<()>| (0..).try_for_each(&mut *emit);
    let mut stream = unordered(vec![(); 2], None, 100, work).unwrap();
    assert!(stream.next().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(100)); // until many are ready
    interrupt::testing::stop_this_thread(true);
    let result = stream.next().unwrap();
    interrupt::testing::stop_this_thread(false);
    assert_eq!(
        result.unwrap_err().kind(),
        crate::error::ErrorKind::Interrupted
    );
    assert!(stream.next().is_none());
}

#[test]
fn dropping_the_stream_ends_the_threads() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let work = move |_: &usize, emit: &mut dyn FnMut(usize) -> Result<()>| {
        let _held = &held;
        (0..).try_for_each(&mut *emit)
    };
    let mut stream = unordered(vec![0; 4], None, 1, work).unwrap();
    assert!(stream.next().is_some());
    drop(stream);
    for _ in 0..500 {
        if Arc::strong_count(&alive) == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a thread of the stream is still at work");
}
