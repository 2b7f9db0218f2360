//! Any bytes as a distribution of extra delays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::jitter(data));
