//! Two connections over a path that the steps of the input control; mutations keep steps whole.
#![no_main]

use ackclock_fuzzing::{EXCHANGE_HEADER, EXCHANGE_RECORD, exchange, mutate};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| exchange(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Now and then what libFuzzer does by itself, such as values that comparisons have seen.
    if seed % 8 == 0 {
        fuzzer_mutate(data, size, max_size)
    } else {
        mutate(data, size, max_size, seed, EXCHANGE_HEADER, EXCHANGE_RECORD)
    }
});
