//! One way from libFuzzer to the targets that `cargo test` runs as well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::Once;

#[path = "../../rust/core/tests/it/fuzz/targets/mod.rs"]
pub mod targets;

/// One execution. A panic that the core itself catches, of a decoder of others, is no finding; one
/// that comes out of the target is.
pub fn run(target: &targets::Target, input: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        abort();
    }
}
