//! The fuzz targets: a function for each kind of untrusted bytes.
//!
//! The same functions run in `cargo test`, with the small fuzzer of the parent module, and in the crate
//! `fuzz`, with libFuzzer.
//! Their seeds are in `fuzz/corpus`, one directory per target.

#![allow(
    unreachable_pub,
    reason = "the crate in `fuzz` includes these files as well"
)]

use deltareplay_core::error::Error;

mod checkpoints;
mod data_files;
mod deletion_vectors;
mod filters;
mod logs;
mod tables;
mod texts;

pub use checkpoints::CHECKPOINTS;
pub use data_files::DATA_FILES;
pub use deletion_vectors::{BASE85, BITMAPS, VECTOR_FILES};
pub use filters::FILTERS;
pub use logs::{CHECKSUMS, COMMITS, HINTS, PATHS};
pub use tables::{COMPACTED_FILES, SIDECARS};
pub use texts::{PARTITION_VALUES, SCHEMAS, STATISTICS};

/// A kind of input, and its checks.
pub struct Target {
    /// Its name, which is also that of its corpus.
    pub name: &'static str,
    /// Fragments for building inputs.
    pub words: &'static [&'static [u8]],
    /// The maximum memory for an input of a given size.
    pub memory: fn(usize) -> usize,
    /// Panics if a check fails; returns a number that distinguishes inputs.
    pub run: fn(&[u8]) -> u64,
}

/// Every target.
pub const ALL: [Target; 15] = [
    BASE85,
    BITMAPS,
    CHECKPOINTS,
    CHECKSUMS,
    COMMITS,
    COMPACTED_FILES,
    DATA_FILES,
    FILTERS,
    HINTS,
    PARTITION_VALUES,
    PATHS,
    SCHEMAS,
    SIDECARS,
    STATISTICS,
    VECTOR_FILES,
];

/// The bit that is set in the numbers of accepted inputs.
pub const ACCEPTED: u64 = 1 << 63;

/// Returns a number for an outcome: of an error, its message without numbers (even those in hex); of a
/// value, its characteristics.
fn feature(outcome: &Result<u64, Error>) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    match outcome {
        Ok(value) => ACCEPTED | value,
        Err(error) => {
            let text = error
                .message()
                .bytes()
                .filter(|byte| !byte.is_ascii_hexdigit());
            error
                .code()
                .bytes()
                .chain(text.take(200))
                .fold(0xCBF2_9CE4_8422_2325, hash)
                & !ACCEPTED
        }
    }
}
