//! A small fuzzer for decoders of untrusted bytes that needs no other compiler.
//!
//! Each target starts from valid seeds, mutates them at random (the same way each time), and checks the
//! result: no panic, no excessive time, no memory out of proportion to the input, and the assertions of the
//! target. Instead of code coverage, the target returns a number for each input, such as a hash of its
//! error: an input with a new number becomes a seed.
//!
//! `DELTAREPLAY_FUZZ=10000000` sets the number of executions of each target, `DELTAREPLAY_FUZZ_SEED` the
//! random seed. A failure prints the input as a Rust literal: add it to the target's corpus in
//! `fuzz/corpus`, with the seeds.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

mod memory;
mod targets;

use deltareplay_core::codec::decoder::hide_decoder_panics;
use deltareplay_core::error::panic_message;
use targets::{ACCEPTED, Target};

use crate::support::Random;

/// The default number of executions of a target.
const EXECUTIONS: u64 = 20_000;
/// The default number of executions of a target that reads Parquet files, which takes much longer.
const FILE_EXECUTIONS: u64 = 5_000;
/// The maximum size of an input.
const MAX_BYTES: usize = 32 << 10;
/// The maximum number of seeds of a target.
const MAX_SEEDS: usize = 4096;
/// The maximum time for an input of at most [`MAX_BYTES`], even on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Numbers at the boundaries of types, and a cookie.
const BOUNDARIES: [u64; 12] = [
    0,
    1,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX,
    12_347, // of a Roaring bitmap with runs; one less is that of a bitmap without
];

macro_rules! fuzzed {
    ($($name:ident: $target:ident, $executions:ident;)*) => {
        $(
            #[test]
            fn $name() {
                fuzz(&targets::$target, &corpus(targets::$target.name), $executions);
            }
        )*

        #[test]
        fn every_target_has_a_corpus_and_runs() {
            let mut run = [$(targets::$target.name),*];
            run.sort_unstable();
            assert_eq!(run, targets::ALL.map(|target| target.name));
            let mut with_corpus: Vec<String> = fs::read_dir(CORPUS)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            with_corpus.sort();
            assert_eq!(with_corpus, run);
            let manifest = fs::read_to_string(format!("{CORPUS}/../Cargo.toml")).unwrap();
            for name in run {
                let path = format!("fuzz_targets/{name}.rs");
                assert!(manifest.contains(&format!("path = \"{path}\"")), "{path}");
                let called = format!("targets::{}", name.to_uppercase());
                let text = fs::read_to_string(format!("{CORPUS}/../{path}")).unwrap();
                assert!(text.contains(&called), "{path} calls {called}");
            }
        }
    };
}

fuzzed! {
    base85: BASE85, EXECUTIONS;
    bitmaps_of_deletion_vectors: BITMAPS, EXECUTIONS;
    checkpoints: CHECKPOINTS, FILE_EXECUTIONS;
    checksums: CHECKSUMS, EXECUTIONS;
    commits: COMMITS, EXECUTIONS;
    compacted_files: COMPACTED_FILES, FILE_EXECUTIONS;
    data_files: DATA_FILES, FILE_EXECUTIONS;
    files_of_deletion_vectors: VECTOR_FILES, EXECUTIONS;
    filters: FILTERS, EXECUTIONS;
    hints: HINTS, EXECUTIONS;
    partition_values: PARTITION_VALUES, EXECUTIONS;
    paths: PATHS, EXECUTIONS;
    schemas: SCHEMAS, EXECUTIONS;
    sidecars: SIDECARS, FILE_EXECUTIONS;
    statistics: STATISTICS, EXECUTIONS;
}

/// The directory of the seeds, next to the targets of libFuzzer.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");

/// Returns the seeds of a target, always in the same order.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(format!("{CORPUS}/{name}")).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs one target, from these seeds; `executions` times, unless the environment says otherwise.
fn fuzz(target: &Target, seeds: &[Vec<u8>], executions: u64) {
    let Target {
        words, memory, run, ..
    } = *target;
    quiet();
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let executions = number("DELTAREPLAY_FUZZ").unwrap_or(executions);
    let mut random = Random(number("DELTAREPLAY_FUZZ_SEED").unwrap_or(0x5EED));
    let mut corpus: Vec<Vec<u8>> = seeds.to_vec();
    let mut known: HashSet<u64> = seeds
        .iter()
        .map(|seed| execute(seed, memory, run))
        .collect();
    let mut accepted = 0_u64;
    for _ in 0..executions {
        // refused inputs are rarely useful: valid seeds are chosen again and again
        let choices = if random.below(2) == 0 {
            seeds.len()
        } else {
            corpus.len()
        };
        let mut input = corpus[random.below(choices)].clone();
        for _ in 0..=[0, 0, 0, 1, 2, 4][random.below(6)] {
            mutate(&mut input, &corpus, words, &mut random);
        }
        input.truncate(MAX_BYTES);
        let result = execute(&input, memory, run);
        accepted += u64::from(result >= ACCEPTED);
        if known.insert(result) && corpus.len() < MAX_SEEDS {
            corpus.push(input);
        }
    }
    say(&format!(
        "{executions} executions, {accepted} inputs accepted, {} kinds of outcome",
        known.len()
    ));
    assert!(known.len() > 1, "all inputs have the same outcome");
    assert!(
        accepted * 50 > executions,
        "hardly any input is accepted: improve the seeds"
    );
}

/// Silences panics of other crates' decoders, which the core reports as errors.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(hide_decoder_panics);
}

/// Runs one execution with all checks.
fn execute(input: &[u8], memory: fn(usize) -> usize, run: fn(&[u8]) -> u64) -> u64 {
    let begin = Instant::now();
    let (outcome, peak) = memory::peak(|| catch_unwind(AssertUnwindSafe(|| run(input))));
    let result = outcome.unwrap_or_else(|panic| {
        report(input);
        resume_unwind(panic)
    });
    let (mut took, max_bytes) = (begin.elapsed(), memory(input.len()));
    if took > MAX_TIME {
        // the machine may have been busy with something else: a slow input is slow again
        let begin = Instant::now();
        run(input);
        took = took.min(begin.elapsed());
    }
    if took > MAX_TIME || peak > max_bytes {
        report(input);
    }
    assert!(took < MAX_TIME, "it took {took:?}");
    assert!(
        peak <= max_bytes,
        "{peak} bytes allocated, {max_bytes} allowed"
    );
    result
}

fn report(input: &[u8]) {
    say(&format!("the input: b\"{}\"", input.escape_ascii()));
}

#[allow(
    clippy::print_stderr,
    reason = "prints results, which `--nocapture` shows"
)]
fn say(text: &str) {
    eprintln!("{text}");
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&[u8]], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let max_size = if random.below(8) == 0 { 600 } else { 9 };
    let size = random.below(max_size) + 1;
    let end = (at + size).min(input.len());
    let boundary = BOUNDARIES[random.below(BOUNDARIES.len())]
        .wrapping_add(random.next() % 3)
        .wrapping_sub(1);
    match random.below(12) {
        0 | 1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.byte();
            }
        }
        3 => {
            let width = 1 << random.below(4);
            let big = random.below(2) == 0;
            for (index, byte) in input.iter_mut().skip(at).take(width).enumerate() {
                let position = if big { width - 1 - index } else { index };
                *byte = boundary.to_le_bytes()[position];
            }
        }
        4 => {
            if let Some(byte) = input.get_mut(at) {
                let step = u8::try_from(random.below(16)).unwrap();
                *byte = byte.wrapping_add(step).wrapping_sub(8);
            }
        }
        5 => drop(input.splice(at..at, (0..size).map(|_| random.byte()).collect::<Vec<_>>())),
        6 => drop(input.drain(at..end)),
        7 => {
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            let times = 1 + random.below(4);
            input.splice(to..to, piece.repeat(times));
        }
        8 => input.truncate(at),
        9 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            if let Some(word) = words.get(random.below(words.len().max(1))) {
                let end = if random.below(2) == 0 { at } else { end };
                input.splice(at..end, word.iter().copied());
            }
        }
    }
}

#[test]
fn finds_panics_and_excessive_allocations() {
    fn hidden(input: &[u8]) -> u64 {
        let depth = input
            .iter()
            .zip(b"bad")
            .take_while(|(byte, expected)| byte == expected)
            .count();
        assert!(depth < 3, "found");
        ACCEPTED | depth as u64
    }
    fn greedy(input: &[u8]) -> u64 {
        ACCEPTED | vec![0_u8; input.len() << 10].len() as u64
    }
    let target = |run, memory| Target {
        name: "",
        words: &[],
        memory,
        run,
    };
    let failure = |target: Target, seed: Vec<u8>| {
        let result = catch_unwind(|| fuzz(&target, &[seed], EXECUTIONS));
        panic_message(&*result.unwrap_err())
    };
    let failed = failure(target(hidden, |_| usize::MAX), b"aaaa".to_vec());
    assert_eq!(failed, "found");
    let failed = failure(target(greedy, |_| 1 << 10), vec![0; 64]);
    assert!(failed.contains("bytes allocated"), "{failed}");
}
