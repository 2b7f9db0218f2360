//! Any bytes as a list of a graph's edges.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::edges(data));
