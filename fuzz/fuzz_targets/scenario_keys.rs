//! Scenarios made of parts that the bytes choose.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::scenario_keys(data));
