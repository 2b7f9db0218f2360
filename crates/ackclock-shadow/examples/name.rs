//! Names the senders of captures: `cargo run --release -p ackclock-shadow --example name -- FILE...`.

use std::path::Path;

use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, ShadowError, default_stacks, name_sender};

fn main() -> Result<(), ShadowError> {
    let stacks = default_stacks(&Registry::builtin())?;
    for file in std::env::args().skip(1) {
        let verdict = Conversation::read(Path::new(&file), None).and_then(|c| name_sender(&c, &stacks));
        match verdict {
            Err(e) => println!("{file}: {e}"),
            Ok(v) => {
                let all = v.candidates.iter().map(|c| {
                    let at = c.deviates.map_or(0, |d| d.packet);
                    format!("{} {:.2} -{:.0}@{at}", c.stack, c.fit, c.behind)
                });
                println!(
                    "{file}: rounds {} iw {:?} timeouts {} min rto {:?}: {}",
                    v.rounds,
                    v.initial_segs,
                    v.timeouts,
                    v.min_rto.map(|m| (
                        m.low.as_millis(),
                        m.value.map(|v| v.as_millis()),
                        m.high.as_millis(),
                        m.timeouts
                    )),
                    all.take(6).collect::<Vec<_>>().join("; ")
                );
            }
        }
    }
    Ok(())
}
