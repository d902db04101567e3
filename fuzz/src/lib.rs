//! Runs the fuzz targets of `cargo test` with libFuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::Once;

#[path = "../../rust/core/tests/it/fuzz/targets/mod.rs"]
pub mod targets;

/// Runs a target once, and aborts if it panics. The panic hook of `libfuzzer-sys` is replaced, because it
/// would also abort on panics of other crates' decoders, which the core catches.
pub fn run(target: &targets::Target, input: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        abort();
    }
}
