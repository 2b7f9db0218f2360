//! Prints each round trip's score under one stack: `... --example rounds -- FILE STACK [KEY=VALUE...]`.

use std::path::Path;

use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, ShadowError, follow};

fn main() -> Result<(), ShadowError> {
    let mut arguments = std::env::args().skip(1);
    let (file, stack) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let conversation = Conversation::read(Path::new(&file), None)?;
    let mut stack = Stack::named(&Registry::builtin(), &stack)?;
    for pair in arguments {
        let (key, value) = pair.split_once('=').unwrap_or((&pair, "true"));
        stack.set(key, value)?;
    }
    let followed = follow(&stack, &conversation);
    for round in &followed.rounds {
        println!("{:?}", round);
    }
    for expiry in &followed.expiries {
        println!("{:?}", expiry);
    }
    println!("{:.2}", followed.log_likelihood());
    Ok(())
}
