use ackclock_policy::nearest;

use super::{Stack, StackError};

/// A change to a stack, written `+name` or `+name(argument)`.
#[derive(Debug)]
pub struct Modifier {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    apply: Apply,
}

#[derive(Debug)]
enum Apply {
    /// Sets these.
    Plain(&'static [(&'static str, &'static str)]),
    /// Sets these, and then its argument at those keys.
    With(&'static [(&'static str, &'static str)], &'static [&'static str]),
}

/// Every modifier.
pub const MODIFIERS: &[Modifier] = &[
    // Backoff
    with(
        "star",
        "star(n)",
        "TCP*(n): the first n consecutive timeouts are not backed off; n may be inf (B-A2)",
        &[("backoff", "sub-exponential")],
        &["backoff.n"],
    ),
    plain("no-backoff", "never backs off", &[("backoff", "none")]),
    plain("freebsd-syn", "SYN timeouts double only after five drops (B-A3)", &[("backoff", "freebsd-syn")]),
    // Timer
    with("min-rto", "min-rto(200ms)", "floor of the timeout", &[], &["estimator.min_rto"]),
    with("init-rto", "init-rto(3s)", "timeout before the first sample, SYNs included", &[], &["estimator.initial_rto"]),
    with("max-rto", "max-rto(60s)", "ceiling of the timeout before backoff", &[], &["estimator.max_rto"]),
    with(
        "ticks",
        "ticks(500ms)",
        "4.3BSD's integer timer in ticks of a free-running clock (J-A6, E-A5)",
        &[("estimator", "jacobson88-ticks")],
        &["estimator.tick", "timer.heartbeat"],
    ),
    with(
        "lite",
        "lite(500ms)",
        "4.4BSD-Lite's timer: mean plus four deviations in ticks of a clock on which it also expires, restarted at every ack (E-A1)",
        &[("estimator", "lite"), ("timer", "restart-on-ack")],
        &["estimator.tick", "timer.heartbeat"],
    ),
    plain("eifel-timer", "the Eifel timer: its prediction and its precise countdown (E-A6, E-E13)", &[("estimator", "eifel"), ("timer", "precise")]),
    plain("eifel-agg", "the self-trained Eifel timer with its precise countdown (E-A7)", &[("estimator", "eifel-agg"), ("timer", "precise")]),
    with("heartbeat", "heartbeat(500ms)", "the timer expires on ticks of a free-running clock (E-A5)", &[], &["timer.heartbeat"]),
    plain("precise", "an ack does not prolong the running timeout (E-E13)", &[("timer", "precise")]),
    plain("one-timing", "times one segment per round trip (E-A3)", &[("rtt_sampling", "once-per-rtt")]),
    // Spurious timeouts
    plain("eifel", "takes a timeout back when timestamps show that it was spurious (E-A8, RFC 3522)", &[("undo", "eifel"), ("timestamps", "true")]),
    plain("f-rto", "takes a timeout back when new data sent after it shows that it was spurious (RFC 5682)", &[("undo", "f-rto")]),
    // Window
    with("iw", "iw(10)", "initial window in segments", &[("window.initial_window", "segments")], &["window.initial_segs"]),
    plain("abc", "the window grows by bytes acknowledged (RFC 3465)", &[("window.byte_counting", "true")]),
    plain("no-limited-transmit", "no new segments on the first duplicate acks (RFC 3042)", &[("recovery.limited_transmit", "false")]),
    // Receiver
    plain("delack", "acknowledges every second segment, others within 200 ms", &[("ack", "delayed")]),
    with(
        "stretch-acks",
        "stretch-acks(4)",
        "a broken receiver: one ack for so many segments, within 200 ms (M-A2, RFC 2525 2.13)",
        &[("ack", "delayed")],
        &["ack.ack_every_segs"],
    ),
    plain("ack-every", "acknowledges every segment", &[("ack", "every")]),
    plain("bsd43-acks", "acknowledges 35 % of the window or at a 200 ms clock (J-A13)", &[("ack", "bsd43")]),
    // Options
    plain("sack", "offers SACK", &[("sack", "true")]),
    plain("no-sack", "does not offer SACK", &[("sack", "false")]),
    plain("timestamps", "offers timestamps", &[("timestamps", "true")]),
    plain("ecn", "offers ECN", &[("ecn", "true")]),
    plain("no-nagle", "sends small segments at once", &[("nagle", "false")]),
    with("mss", "mss(1000B)", "largest segment", &[], &["mss"]),
    with("syn-retries", "syn-retries(3)", "retransmissions of a SYN before giving up (B-A6)", &[], &["syn_retries"]),
];

const fn plain(name: &'static str, about: &'static str, sets: &'static [(&'static str, &'static str)]) -> Modifier {
    Modifier { name, usage: name, about, apply: Apply::Plain(sets) }
}

const fn with(
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    sets: &'static [(&'static str, &'static str)],
    argument: &'static [&'static str],
) -> Modifier {
    Modifier { name, usage, about, apply: Apply::With(sets, argument) }
}

/// Applies `text`, a modifier without its `+`.
pub(super) fn apply(stack: &mut Stack, text: &str) -> Result<(), StackError> {
    let (name, argument) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')'))),
        None => (text, None),
    };
    let modifier = MODIFIERS.iter().find(|m| m.name == name).ok_or_else(|| {
        let known: Vec<_> = MODIFIERS.iter().map(|m| m.name).collect();
        StackError::UnknownModifier { met: name.to_owned(), nearest: nearest(name, known.iter().copied()), known }
    })?;
    let (sets, keys, argument) = match (&modifier.apply, argument) {
        (Apply::Plain(sets), None) => (*sets, &[] as &[_], ""),
        (Apply::With(sets, keys), Some(Some(argument))) => (*sets, *keys, argument.trim()),
        _ => return Err(StackError::Malformed { met: text.to_owned(), wanted: modifier.usage }),
    };
    for (key, value) in sets {
        stack.set(key, value)?;
    }
    for key in keys {
        stack.set(key, argument)?;
    }
    Ok(())
}
