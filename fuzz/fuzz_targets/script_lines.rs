//! Lines of scripts, chosen by bytes.
#![no_main]

use ackclock_fuzzing::{mutate, script_lines};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| script_lines(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 8 == 0 {
        fuzzer_mutate(data, size, max_size)
    } else {
        // The stack, and four bytes for each line.
        mutate(data, size, max_size, seed, 1, 4)
    }
});
