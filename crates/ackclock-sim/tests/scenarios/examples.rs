use std::fs;

use super::{examples, resolved, results};

#[test]
fn every_example_runs_and_reads_back_the_same() {
    let mut names: Vec<_> = fs::read_dir(examples())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    for path in names {
        let text = fs::read_to_string(&path).unwrap();
        let whole = resolved(&text, &[]);
        assert_eq!(resolved(&whole.to_toml(), &[]), whole, "{}", path.display());
        // A few seconds are enough to check that it runs.
        let short = resolved(&text, &[("duration", "4s"), ("warmup", "0s"), ("drain", "0s")]);
        let r = results(&short, 2);
        for s in r.summaries(&short) {
            assert!(
                s.flows_started > 0 && s.goodput.is_some_and(|g| g.bits_per_sec() > 0),
                "{}: {s:?}",
                path.display()
            );
        }
    }
}
