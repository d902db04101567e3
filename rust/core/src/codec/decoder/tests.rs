use std::cell::Cell;
use std::error::Error as _;
use std::panic;
use std::time::Duration;

use super::{guarded, hide_decoder_panics};
use crate::error::{Error, Result};

thread_local! {
    static PRINTED: Cell<usize> = const { Cell::new(0) };
}

fn broken() -> Error {
    Error::corrupt("data.pages", "the page does not decode")
}

fn external_panic() -> Result<Duration> {
    Ok(Duration::from_secs_f64(-1.0)) // inside the standard library
}

fn own_panic() -> Result<Duration> {
    panic!("a bug of this crate")
}

#[test]
fn decoder_panics_become_errors_and_external_ones_are_not_printed() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(|_| PRINTED.set(PRINTED.get() + 1)));
    hide_decoder_panics();

    let error = guarded(broken, external_panic).unwrap_err();
    assert_eq!(error.code(), "data.pages");
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("negative"), "{cause}");
    assert_eq!(PRINTED.get(), 0);

    let error = guarded(broken, own_panic).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "a bug of this crate");
    assert_eq!(PRINTED.get(), 1);

    panic::catch_unwind(external_panic).unwrap_err(); // outside of a decoder
    assert_eq!(PRINTED.get(), 2);
    panic::set_hook(previous);
}
