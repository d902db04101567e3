use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use super::*;
use crate::error::ErrorKind;

/// Calls [`ordered`] on a pool, even if the machine has one processor.
fn on_two_threads<U, T, W>(units: Vec<U>, look_ahead: usize, work: W) -> Ordered<U, T>
where
    U: Send + 'static,
    T: Send + 'static,
    W: Fn(U) -> Result<T> + Send + Sync + 'static,
{
    static POOL: std::sync::OnceLock<ThreadPool> = std::sync::OnceLock::new();
    let pool = POOL.get_or_init(|| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap()
    });
    let mut iterator = ordered(units, look_ahead, work);
    iterator.pool = Some(pool);
    iterator
}

#[test]
fn results_are_in_the_order_of_the_units() {
    let units: Vec<u64> = (0..200).collect();
    for look_ahead in [0, 1, 3, 1000] {
        let results: Vec<u64> = on_two_threads(units.clone(), look_ahead, |unit| {
            thread::sleep(Duration::from_micros((unit * 7) % 300));
            Ok(unit)
        })
        .map(Result::unwrap)
        .collect();
        assert_eq!(results, units, "look-ahead {look_ahead}");
    }
}

#[test]
fn reads_ahead_up_to_the_limit() {
    let started = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&started);
    let mut iterator = on_two_threads((0..100).collect(), 3, move |unit: i32| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(unit)
    });
    for taken in 1..=5 {
        iterator.next().unwrap().unwrap();
        thread::sleep(Duration::from_millis(20));
        let seen = started.load(Ordering::SeqCst);
        assert!(seen <= taken + 3, "{seen} started, {taken} taken");
        assert!(seen > taken, "nothing was started ahead");
    }
}

#[test]
fn dropping_cancels_units_that_have_not_started() {
    let started = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&started);
    let mut iterator = on_two_threads((0..1000).collect(), 1000, move |unit: i32| {
        counter.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(2));
        Ok(unit)
    });
    iterator.next().unwrap().unwrap();
    drop(iterator);
    thread::sleep(Duration::from_millis(50));
    let after = started.load(Ordering::SeqCst);
    assert!(after < 500, "{after} units ran after the drop");
}

#[test]
fn errors_and_panics_are_results_in_order() {
    let work = |unit: i32| match unit {
        2 => Err(Error::corrupt("test.bad", "two")),
        4 => panic!("four is {unit}"),
        _ => Ok(unit),
    };
    let inline: Ordered<i32, i32> = {
        let mut iterator = ordered((0..6).collect(), 4, work);
        iterator.pool = None;
        iterator
    };
    for iterator in [inline, on_two_threads((0..6).collect(), 4, work)] {
        let codes: Vec<_> = iterator
            .map(|result| result.map_err(|error| error.code()))
            .collect();
        assert_eq!(
            codes,
            [
                Ok(0),
                Ok(1),
                Err("test.bad"),
                Ok(3),
                Err("internal.panic"),
                Ok(5)
            ]
        );
    }
}

#[test]
fn an_interrupt_ends_the_wait_and_the_iterator() {
    interrupt::testing::stop_this_thread(true);
    let mut iterator = on_two_threads((0..4).collect(), 4, |unit: i32| {
        thread::sleep(Duration::from_millis(1500));
        Ok(unit)
    });
    let start = Instant::now();
    let result = iterator.next().unwrap();
    interrupt::testing::stop_this_thread(false);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(start.elapsed() < Duration::from_millis(1000));
    assert!(iterator.next().is_none());
}

#[test]
fn an_interrupt_is_seen_while_results_are_ready() {
    let mut iterator = on_two_threads((0..4).collect(), 4, Ok::<i32, _>);
    assert_eq!(iterator.next().unwrap().unwrap(), 0);
    thread::sleep(Duration::from_millis(100)); // until all the others are ready
    interrupt::testing::stop_this_thread(true);
    let result = iterator.next().unwrap();
    interrupt::testing::stop_this_thread(false);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(iterator.next().is_none());
}

#[test]
fn one_unit_runs_in_the_callers_thread() {
    let here = thread::current().id();
    let mut iterator = ordered(vec![()], 8, move |()| Ok(thread::current().id() == here));
    assert!(iterator.next().unwrap().unwrap());
    assert!(iterator.next().is_none());
}

#[test]
fn a_unit_may_use_the_pool_itself() {
    let total: u64 = on_two_threads((0..20_u64).collect(), 20, |outer| {
        let inner = move |inner| Ok(outer * inner);
        let alone = ordered((0..10_u64).collect(), 4, inner).sum::<Result<u64>>()?;
        // an iterator that uses the pool of this worker must not block it
        let moved = on_two_threads((10..20_u64).collect(), 4, inner).sum::<Result<u64>>()?;
        Ok(alone + moved)
    })
    .map(Result::unwrap)
    .sum();
    assert_eq!(total, 190 * 190);
}

#[test]
fn without_units_there_are_no_results() {
    assert!(ordered(Vec::<u8>::new(), 4, Ok).next().is_none());
}
