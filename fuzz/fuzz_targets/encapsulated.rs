//! Any bytes as a link type and a frame.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::encapsulated(data));
