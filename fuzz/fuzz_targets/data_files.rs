#![no_main]

use deltareplay_fuzz::{run, targets};

libfuzzer_sys::fuzz_target!(|input: &[u8]| run(&targets::DATA_FILES, input));
