//! Makes varied captures of the kernel's TCP with the kernel's own trace events, and scores the analysis of
//! captures on them.
//!
//! `cargo run --release -p ackclock-drive --example kernel_captures -- make FOLDER [SEED [CASES [AT-ONCE]]]`,
//! or `... -- make-long ...` for transfers that last, or `... -- make-named ...` for transfers of half a minute; then
//! `... -- score FOLDER [CASE]`, or `... -- causes FOLDER [CASE]` for what the sender's stack says of each
//! retransmission, or `... -- names FOLDER [CASE]` for which stack is taken for the sender. Needs root, the tracing
//! system of the kernel, `ip` and `tcpdump`.

#[cfg(target_os = "linux")]
mod arrived;
#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod causes;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod score;
#[cfg(target_os = "linux")]
mod tally;
#[cfg(target_os = "linux")]
mod tcptrace;
#[cfg(target_os = "linux")]
mod timeouts;
#[cfg(target_os = "linux")]
mod trace;

#[cfg(target_os = "linux")]
use plan::Plan;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: u64| arguments.get(i).map_or(Ok(otherwise), |a| a.parse());
    let folder = std::path::PathBuf::from(arguments.get(1).ok_or("make FOLDER or score FOLDER")?);
    match arguments[0].as_str() {
        "make" => make(&folder, Plan::random, number(2, 1)?, number(3, 60)?, number(4, 6)?),
        "make-long" => make(&folder, Plan::long, number(2, 1)?, number(3, 60)?, number(4, 4)?),
        "make-named" => make(&folder, Plan::half_minute, number(2, 1)?, number(3, 48)?, number(4, 3)?),
        "names" => names::score(&folder, arguments.get(2).map(String::as_str)),
        "causes" => causes::score(&folder, arguments.get(2).map(String::as_str)),
        "score" => score::score(&folder, arguments.get(2).map(String::as_str)),
        other => {
            Err(format!("`{other}` is none of make, make-long, make-named, score, causes and names").into())
        }
    }
}

#[cfg(target_os = "linux")]
fn make(
    folder: &std::path::Path,
    plan: fn(u64, u64) -> Plan,
    seed: u64,
    cases: u64,
    at_once: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::atomic::{AtomicU64, Ordering};
    let trace = trace::Trace::start()?;
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= cases.min(250) {
                        return;
                    }
                    let plan = plan(seed, index);
                    let case = folder.join(format!("{seed}-{index:03}"));
                    let done = std::fs::create_dir_all(&case)
                        .map_err(Into::into)
                        .and_then(|()| run::run(&plan, index as u8, &case, &trace));
                    match done {
                        Ok(()) => println!("{index}: {}", plan.talk),
                        Err(e) => println!("{index}: {e}: {plan:?}"),
                    }
                }
            });
        }
    });
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
