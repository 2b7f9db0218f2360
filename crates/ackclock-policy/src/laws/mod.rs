//! What every registered policy must keep, whatever its parameters: a new one inherits these laws by being
//! listed.
//!
//! Each law runs over all entries of its kind, with the default parameters, those at either end of their
//! ranges, and random ones. Every draw comes from a named stream, so a failure repeats; its message names the
//! policy and the parameters.

mod acks;
mod declarations;
mod fixed;
mod framing;
mod recovery;
mod timing;
mod undo;
mod window;

use ackclock_units::{Duration, Rate, Rng};

use crate::{Chosen, Kind, Param, Params, Registry, Role, Value};

/// Runs `law` for each policy of a kind with many choices of parameters.
fn for_all<T: Role + ?Sized>(law: impl Fn(&Chosen<T>, &mut Rng)) {
    let registry = registry();
    assert!(!T::entries(&registry).is_empty(), "no {} to try", T::KIND);
    for entry in T::entries(&registry) {
        for round in 0..ROUNDS {
            let mut rng = Rng::stream(round, entry.name, 0);
            let mut chosen = Chosen::new(entry);
            for param in entry.params {
                let value = match round {
                    0 => param.default,
                    1 => at(param, 0.0),
                    2 => at(param, 1.0),
                    _ => draw(param, &mut rng),
                };
                chosen.set_value(param.name, value).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            }
            law(&chosen, &mut rng);
        }
    }
}

/// Runs `law` for each policy of a kind with its default parameters.
fn for_all_defaults<T: Role + ?Sized>(law: impl Fn(&Chosen<T>, &mut Rng)) {
    for entry in T::entries(&registry()) {
        law(&Chosen::new(entry), &mut Rng::stream(1, entry.name, 1));
    }
}

/// The built-in policies, and the one that the README shows.
fn registry() -> Registry {
    let mut registry = Registry::builtin();
    // Whoever follows the README to the letter has it already.
    let _ = registry.register(&fixed::ENTRY);
    registry
}

/// Choices of parameters per policy.
const ROUNDS: u64 = 200;

/// The value that lies `part` of the way from one end of the range to the other.
fn at(param: &Param, part: f64) -> Value {
    let x = param.min + part * (param.max - param.min);
    match param.kind {
        Kind::Bytes => Value::Bytes(x as u64),
        Kind::Duration => Value::Duration(Duration::from_secs_f64(x)),
        Kind::Rate => Value::Rate(Rate::from_bits_per_sec(x as u64)),
        Kind::Ratio => Value::Ratio(x),
        Kind::Count => Value::Count(x as u64),
        Kind::Flag => Value::Flag(part >= 0.5),
        Kind::Choice(words) => {
            Value::Choice(words[((part * words.len() as f64) as usize).min(words.len() - 1)])
        }
        _ => param.default,
    }
}

/// Half of the time the default or an end of the range, otherwise anything between, small values more often
/// than large ones.
fn draw(param: &Param, rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 | 1 => param.default,
        2 => at(param, 0.0),
        3 => at(param, 1.0),
        4 | 5 => at(param, rng.unit()),
        _ => at(param, libm::pow(rng.unit(), 8.0)),
    }
}

/// The parameter `name` of a policy, if it has one of that name and kind.
fn duration(p: &Params, name: &str) -> Option<Duration> {
    p.iter().find_map(|(n, value)| match value {
        Value::Duration(d) if n == name => Some(d),
        _ => None,
    })
}

/// A span between a nanosecond and several minutes, every order of magnitude alike.
fn span(rng: &mut Rng) -> Duration {
    Duration::from_nanos(libm::pow(10.0, 12.0 * rng.unit()) as u64)
}
