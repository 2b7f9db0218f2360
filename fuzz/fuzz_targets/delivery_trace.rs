//! Any bytes as a packet-delivery trace.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_fuzzing::delivery_trace(data));
