//! Any bytes as a log of transfers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::arrivals(data));
