use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::sleep;
use std::time::Duration;

use super::*;
use crate::error::Error;

#[test]
fn results_have_the_order_of_the_units() {
    let doubled = map_concurrently((0..100).collect(), |unit: &u64| {
        sleep(Duration::from_micros(unit * 7 % 50));
        Ok(unit * 2)
    });
    assert_eq!(doubled.unwrap(), (0..200).step_by(2).collect::<Vec<_>>());
}

#[test]
fn an_error_waits_for_the_units_in_progress_and_begins_no_other() {
    let begun = Arc::new(AtomicUsize::new(0));
    let finished = Arc::new(AtomicUsize::new(0));
    let (at_begin, at_end) = (Arc::clone(&begun), Arc::clone(&finished));
    let outcome = map_concurrently((0..1000).collect(), move |unit: &usize| {
        at_begin.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(if *unit == 3 { 20 } else { 50 }));
        at_end.fetch_add(1, Ordering::SeqCst);
        match unit {
            3 => Err(Error::invalid("test.three", "three")),
            _ => Ok(()),
        }
    });
    assert_eq!(outcome.unwrap_err().code(), "test.three");
    let units = begun.load(Ordering::SeqCst);
    assert_eq!(finished.load(Ordering::SeqCst), units);
    assert!(units < 100, "{units}");
}
