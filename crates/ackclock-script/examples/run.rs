//! Runs scripts: `cargo run --example run -- FILE...`.
use ackclock_policy::Registry;
use ackclock_script::{Options, parse, run};

fn main() {
    let registry = Registry::builtin();
    let (mut passed, mut failed) = (0, 0);
    for name in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&name).unwrap();
        let script = match parse(
            &name,
            &text,
            &[("TFO_COOKIE".into(), "3021b9d889017eeb".into()), ("MSS".into(), "1460".into())],
        ) {
            Ok(script) => script,
            Err(e) => {
                println!("{e}");
                failed += 1;
                continue;
            }
        };
        let dir = std::path::Path::new(&name).parent().unwrap().to_owned();
        let file = |f: &str| std::fs::read_to_string(dir.join(f)).ok();
        match run(&registry, &script, &Options::default(), &file) {
            Ok(outcome) if outcome.passed() => {
                passed += 1;
                println!("ok   {name}");
            }
            Ok(outcome) => {
                failed += 1;
                let f = outcome.failure.as_ref().unwrap();
                println!("FAIL {name}:{}: {}", f.line, f.why);
                if std::env::var("SHOW").is_ok() {
                    println!("{}", outcome.timeline(12));
                    for n in &outcome.notes {
                        println!("     {n}");
                    }
                }
            }
            Err(e) => {
                failed += 1;
                println!("FAIL {name}: {e}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
}
