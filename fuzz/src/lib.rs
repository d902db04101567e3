//! Runs the fuzz targets of `cargo test` with libFuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::Once;

#[path = "../../rust/core/tests/it/fuzz/targets/mod.rs"]
pub mod targets;

/// Runs a target once. The core catches panics of other decoders; a panic that leaves the target is a
/// finding.
pub fn run(target: &targets::Target, input: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        abort();
    }
}
