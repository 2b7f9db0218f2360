//! Laws: properties that every registered policy must keep, whatever its parameters. A new policy is checked
//! by being registered. The laws are public functions of a registry, so that policies of other crates can be
//! checked too: `laws::windows(&registry)`, or [`all`] of them.
//!
//! Each law runs over all entries of its kind, with the default parameters, those at either end of their
//! ranges, and random ones. Random numbers come from a stream named after the policy, so that a failure
//! repeats and does not depend on other policies; the message names the policy and the parameters. Laws of
//! one family of congestion windows check [`CongestionControl::family`](crate::CongestionControl::family).
//!
//! # Panics
//! Every law panics where a policy breaks it.

mod acks;
mod declarations;
#[cfg(test)]
mod fixed;
mod framings;
#[cfg(test)]
mod gentle;
mod queues;
mod recoveries;
mod reductions;
mod slow_starts;
mod timing;
mod undos;
mod window;

use ackclock_units::{Duration, Rate, Rng};

use crate::{Chosen, Param, ParamKind, Params, Registry, Role, Value};

macro_rules! laws {
    ($($(#[$doc:meta])* $kind:ident from $file:ident: $($law:ident)*;)*) => {
        $($(#[$doc])* pub fn $kind(registry: &Registry) {
            $($file::$law(registry);)*
        })*

        /// Every law of every kind.
        pub fn all(registry: &Registry) {
            $($kind(registry);)*
        }

        #[cfg(test)]
        mod kept_by_the_built_in_policies {
            $(mod $kind {
                $(#[test]
                fn $law() {
                    super::super::$file::$law(&super::super::built_in());
                })*
            })*
        }
    };
}

laws! {
    /// Declarations: names, texts, ranges and defaults.
    declarations from declarations:
        names_are_unique_and_easy_to_type
        everything_is_described_and_every_default_is_valid
        a_policy_returns_its_name;
    /// Estimators of the retransmission timeout.
    estimators from timing: timeouts_keep_their_bounds another_floor_is_a_floor given_estimates_are_used;
    /// Backoffs.
    backoffs from timing: backing_off_never_shortens;
    /// Retransmission timers.
    timers from timing: the_timer_runs_while_something_is_outstanding;
    /// Loss recoveries.
    recoveries from recoveries:
        everything_is_repaired_in_the_end
        nothing_is_retransmitted_when_nothing_is_lost
        hostile_acks_do_no_harm;
    /// Undos: detection of spurious timeouts.
    undos from undos: verdicts_depend_on_what_arrived episodes_are_undone_by_evidence_alone;
    /// Congestion windows.
    windows from window:
        windows_keep_their_floors
        a_repair_is_held_to_no_less_than_the_window
        acks_never_shrink_a_window_and_congestion_never_grows_it
        slow_start_grows_no_faster_than_what_is_acknowledged;
    /// Slow starts.
    slow_starts from slow_starts: slow_start_adds_no_more_than_what_is_acknowledged;
    /// Reductions that are spread over a recovery.
    reductions from reductions: no_more_is_sent_than_was_delivered_or_the_window_allows;
    /// Framings of new data.
    framings from framings: segments_are_of_a_size_that_can_be_sent;
    /// Acknowledgment policies.
    acks from acks:
        every_arrival_is_acknowledged_in_the_end
        those_that_follow_events_acknowledge_everything_within_half_a_second
        those_that_claim_rfc_5681_acknowledge_every_second_segment_within_half_a_second;
    /// Queues and their schedulers.
    queues from queues:
        every_packet_leaves_once_in_the_order_of_its_flow
        work_is_conserved
        turns_share_bytes_equally;
    /// Rate controls of sources without a window.
    rates from timing: intervals_keep_their_bounds_and_congestion_never_shortens_them;
}

/// Runs `law` for each policy of a kind with many choices of parameters.
fn for_all<T: Role + ?Sized>(registry: &Registry, law: impl Fn(&Chosen<T>, &mut Rng)) {
    assert!(!T::entries(registry).is_empty(), "no {} to try", T::KIND);
    for entry in T::entries(registry) {
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
fn for_all_defaults<T: Role + ?Sized>(registry: &Registry, law: impl Fn(&Chosen<T>, &mut Rng)) {
    for entry in T::entries(registry) {
        law(&Chosen::new(entry), &mut Rng::stream(1, entry.name, 1));
    }
}

/// The built-in policies, and those that the README and the guide show.
#[cfg(test)]
fn built_in() -> Registry {
    let mut registry = Registry::builtin();
    // A reader who followed them has registered them already.
    let _ = registry.register(&fixed::ENTRY);
    let _ = registry.register(&gentle::ENTRY);
    registry
}

/// Choices of parameters per policy.
const ROUNDS: u64 = 200;

/// The value at `part` of the way from one end of the range to the other.
fn at(param: &Param, part: f64) -> Value {
    let x = param.min + part * (param.max - param.min);
    match param.kind {
        ParamKind::Bytes => Value::Bytes(x as u64),
        ParamKind::Duration => Value::Duration(Duration::from_secs_f64(x)),
        ParamKind::Rate => Value::Rate(Rate::from_bits_per_sec(x as u64)),
        ParamKind::Ratio => Value::Ratio(x),
        ParamKind::Count => Value::Count(x as u64),
        ParamKind::Flag => Value::Flag(part >= 0.5),
        ParamKind::Choice(words) => {
            Value::Choice(words[((part * words.len() as f64) as usize).min(words.len() - 1)])
        }
        _ => param.default,
    }
}

/// Half of the time the default or an end of the range, otherwise any value in the range, small ones more
/// often than large ones.
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
fn count(p: &Params, name: &str) -> Option<u64> {
    p.iter().find_map(|(n, value)| match value {
        Value::Count(count) if n == name => Some(count),
        _ => None,
    })
}

/// The parameter `name` as a time, if there is one.
fn duration(p: &Params, name: &str) -> Option<Duration> {
    p.iter().find_map(|(n, value)| match value {
        Value::Duration(d) if n == name => Some(d),
        _ => None,
    })
}

/// A span between a nanosecond and several minutes, uniform in its logarithm.
fn span(rng: &mut Rng) -> Duration {
    Duration::from_nanos(libm::pow(10.0, 12.0 * rng.unit()) as u64)
}
