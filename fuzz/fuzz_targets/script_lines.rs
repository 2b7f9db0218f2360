//! Lines of scripts, chosen by bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ackclock_testkit::fuzz_script::script_lines(data));
