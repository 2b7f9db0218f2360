//! The inputs in `fuzz/seeds`, which libFuzzer kept because each reaches code that the others do not, run
//! through their bodies.

use std::fs;
use std::path::Path;

use ackclock_fuzzing as fuzzing;

type Body = fn(&[u8]);

const BODIES: &[(&str, Body)] = &[
    ("packet", fuzzing::packet),
    ("options", fuzzing::options),
    ("connection", fuzzing::connection),
    ("exchange", fuzzing::exchange),
    ("capture", fuzzing::capture_file),
    ("conversation", fuzzing::conversation),
    ("encapsulated", fuzzing::encapsulated),
    ("script", fuzzing::script),
    ("script_lines", fuzzing::script_lines),
    ("scenario", fuzzing::scenario),
    ("scenario_keys", fuzzing::scenario_keys),
    ("delivery_trace", fuzzing::delivery_trace),
    ("schedule", fuzzing::schedule),
    ("arrivals", fuzzing::arrivals),
    ("jitter", fuzzing::jitter),
    ("edges", fuzzing::edges),
    ("shadow", fuzzing::shadow),
];

#[test]
fn kept_inputs_run() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let targets: Vec<_> = fs::read_dir(fuzz.join("fuzz_targets"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(targets.len(), BODIES.len(), "{targets:?}");
    for (target, body) in BODIES {
        assert!(targets.iter().any(|t| t == target), "{target}");
        let inputs = fs::read_dir(fuzz.join("seeds").join(target)).unwrap();
        let mut run = 0;
        for input in inputs {
            let input = input.unwrap().path();
            // Shown when the test fails: the last line is the input.
            println!("{}", input.display());
            body(&fs::read(&input).unwrap());
            run += 1;
        }
        assert!(run >= 10, "{target} has {run} inputs");
    }
}
