//! Changes to a stack by name: what each sets, as keys and values.

use std::fmt;

use crate::nearest;

/// A change to a stack, written `+name` or `+name(argument)`.
#[derive(Debug)]
pub struct Modifier {
    /// What follows the `+`.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    sets: &'static [(&'static str, &'static str)],
    /// The keys that its argument sets; empty for a modifier without an argument.
    argument: &'static [&'static str],
}

/// Every modifier of a stack.
pub const MODIFIERS: &[Modifier] = &[
    // Backoff
    with(
        "star",
        "star(n)",
        // B-A2
        "TCP*(n): does not back off the first n consecutive timeouts; n may be inf",
        &[("backoff", "sub-exponential")],
        &["backoff.n"],
    ),
    plain("no-backoff", "never backs off", &[("backoff", "none")]),
    // B-A3
    plain("freebsd-syn", "SYN timeouts double only after five drops", &[("backoff", "freebsd-syn")]),
    // Timer
    with("min-rto", "min-rto(200ms)", "floor of the timeout", &[], &["estimator.min_rto"]),
    with(
        "thin-min-rto",
        "thin-min-rto(500ms)",
        // I-A5
        "floor of the timeout while little of the window is used; how little is the option \
         `thin_window`",
        &[],
        &["thin_min_rto"],
    ),
    with(
        "init-rto",
        "init-rto(3s)",
        "timeout before the first sample, SYNs included",
        &[],
        &["estimator.initial_rto"],
    ),
    with("max-rto", "max-rto(60s)", "ceiling of the timeout before backoff", &[], &["estimator.max_rto"]),
    with(
        "ticks",
        "ticks(500ms)",
        // J-A6, E-A5
        "4.3BSD's integer timer in ticks of a free-running clock",
        &[("estimator", "jacobson88-ticks")],
        &["estimator.tick", "timer.heartbeat"],
    ),
    with(
        "lite",
        "lite(500ms)",
        // E-A1
        "4.4BSD-Lite's timer: mean plus four deviations in ticks of a clock on which it also expires, \
         restarted at every ack",
        &[("estimator", "lite"), ("timer", "restart-on-ack")],
        &["estimator.tick", "timer.heartbeat"],
    ),
    plain(
        "eifel-timer",
        // E-A6, E-E13
        "the Eifel timer: its estimator, with the age of the oldest segment subtracted from the timeout",
        &[("estimator", "eifel"), ("timer", "precise")],
    ),
    plain(
        "eifel-agg",
        // E-A7
        "the self-tuning Eifel timer, with the age of the oldest segment subtracted from the timeout",
        &[("estimator", "eifel-agg"), ("timer", "precise")],
    ),
    plain(
        "linux-timer",
        "Linux's timer: mean plus a variation of at least 200 ms",
        &[("estimator", "linux")],
    ),
    with(
        "heartbeat",
        "heartbeat(500ms)",
        // E-A5
        "the timer expires on ticks of a free-running clock",
        &[],
        &["timer.heartbeat"],
    ),
    // E-E13
    plain("precise", "an ack does not extend the running timeout", &[("timer", "precise")]),
    // E-A3
    plain("one-timing", "times one segment per round trip", &[("rtt_sampling", "once-per-rtt")]),
    // Spurious timeouts
    plain(
        "eifel",
        // E-A8
        "undoes a timeout that timestamps show to be spurious (RFC 3522)",
        &[("undo", "eifel"), ("timestamps", "true")],
    ),
    plain(
        "f-rto",
        "undoes a timeout that the acks after two new segments show to be spurious (RFC 5682)",
        &[("undo", "f-rto")],
    ),
    // Window
    with(
        "iw",
        "iw(10)",
        "initial window in segments",
        &[("window.initial_window", "segments")],
        &["window.initial_segs"],
    ),
    plain(
        "abc",
        "the window grows by bytes acknowledged, in slow start by up to two segments an ack (RFC 3465)",
        &[("window.byte_counting", "true"), ("window.limit_segs", "2")],
    ),
    plain(
        "per-ack",
        "the window grows by acks, as before byte counting (RFC 5681 3.1 eq. 3)",
        &[("window.byte_counting", "false")],
    ),
    plain(
        "delivered-slow-start",
        "slow start grows by what is newly delivered, as Linux's",
        &[("slow_start", "delivered")],
    ),
    plain(
        "hystart",
        "slow start ends by the spacing of acks or by growing delays, as Linux's CUBIC has it",
        &[("slow_start", "hystart")],
    ),
    plain(
        "hystart-pp",
        "slow start slows down when round-trip times grow, and ends five round trips later (HyStart++, RFC \
         9406)",
        &[("slow_start", "hystart-pp")],
    ),
    plain(
        "limited-slow-start",
        "a window above 100 segments grows by 50 a round trip in slow start (RFC 3742)",
        &[("slow_start", "limited")],
    ),
    plain(
        "abe",
        "an ECN echo reduces the window by less than a loss does (RFC 8511); offers ECN",
        &[("window.abe", "true"), ("ecn", "true")],
    ),
    plain(
        "prr",
        "proportional rate reduction: what is sent during a repair follows what is delivered (RFC 9937)",
        &[("reduction", "prr")],
    ),
    plain(
        "no-limited-transmit",
        "no new segments on the first duplicate acks (RFC 3042)",
        &[("recovery.limited_transmit", "false")],
    ),
    // Loss recovery
    plain(
        "rack",
        "RACK-TLP: time-based loss detection, and tail loss probes before the retransmission timer expires \
         (RFC 8985); needs SACK",
        &[("recovery", "rack")],
    ),
    plain(
        "early-retransmit",
        // I-A9
        "fewer duplicate acks start fast retransmit when few segments are outstanding (RFC 5827)",
        &[("recovery.early_retransmit", "segments")],
    ),
    with(
        "dup-thresh",
        "dup-thresh(2)",
        // I-A9
        "number of duplicate acks that indicate a loss",
        &[],
        &["recovery.dup_thresh"],
    ),
    // Framing
    with(
        "diversity",
        "diversity(2)",
        // I-A7
        "sends n copies of a segment when no other data waits; the receiver needs ack-every",
        &[("framing", "diversity")],
        &["framing.copies"],
    ),
    plain(
        "smart-framing",
        // I-A8
        "cuts data so that at least four segments are in flight",
        &[("framing", "smart")],
    ),
    // Receiver
    plain(
        "delack",
        "acknowledges every second full-sized segment at once, anything else within 200 ms",
        &[("ack", "delayed")],
    ),
    with(
        "stretch-acks",
        "stretch-acks(4)",
        // M-A2
        "a broken receiver: one ack for every n segments, within 200 ms (RFC 2525 2.13)",
        &[("ack", "delayed")],
        &["ack.ack_every_segs"],
    ),
    plain("ack-every", "acknowledges every segment", &[("ack", "every")]),
    plain(
        "bsd43-acks",
        // J-A13
        "acknowledges when 35 % of the window has arrived, or at the next tick of a 200 ms \
                         clock",
        &[("ack", "bsd43")],
    ),
    with(
        "divide-acks",
        "divide-acks(10)",
        "a misbehaving receiver: n acks for each segment",
        &[("ack", "misbehaving")],
        &["ack.divide"],
    ),
    with(
        "repeat-acks",
        "repeat-acks(3)",
        "a misbehaving receiver: n duplicate acks after each ack",
        &[("ack", "misbehaving")],
        &["ack.repeat"],
    ),
    with(
        "early-acks",
        "early-acks(10000B)",
        "a misbehaving receiver: acknowledges data before it arrives",
        &[("ack", "misbehaving")],
        &["ack.ahead"],
    ),
    // Options
    plain("sack", "offers SACK", &[("sack", "true")]),
    plain("no-sack", "does not offer SACK", &[("sack", "false")]),
    plain("timestamps", "offers timestamps", &[("timestamps", "true")]),
    plain("ecn", "offers ECN", &[("ecn", "true")]),
    plain(
        "dctcp-feedback",
        "offers ECN; as a receiver, echoes with every ack whether the last packet was marked (RFC 8257 3.2)",
        &[("ecn", "true"), ("ecn_feedback", "dctcp")],
    ),
    plain(
        "accecn",
        "offers accurate ECN feedback: the receiver counts marks (RFC 9768)",
        &[("ecn", "true"), ("ecn_feedback", "accurate")],
    ),
    plain("no-nagle", "sends small segments at once", &[("nagle", "false")]),
    plain("minshall", "a small segment waits only for the ack of another small one", &[("minshall", "true")]),
    with("mss", "mss(1000B)", "maximum segment size", &[], &["mss"]),
    with(
        "syn-retries",
        "syn-retries(3)",
        // B-A6
        "retransmissions of a SYN before giving up",
        &[],
        &["syn_retries"],
    ),
];

const fn plain(
    name: &'static str,
    about: &'static str,
    sets: &'static [(&'static str, &'static str)],
) -> Modifier {
    Modifier { name, usage: name, about, sets, argument: &[] }
}

const fn with(
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    sets: &'static [(&'static str, &'static str)],
    argument: &'static [&'static str],
) -> Modifier {
    Modifier { name, usage, about, sets, argument }
}

impl Modifier {
    /// Reads `text`, a modifier without its `+`: the keys that it sets, in order, each with its value.
    ///
    /// # Errors
    /// No modifier has that name, or an argument is missing or too many.
    pub fn read(text: &str) -> Result<Vec<(&'static str, String)>, ModifierError> {
        let (name, argument) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')'))),
            None => (text, None),
        };
        let modifier = MODIFIERS.iter().find(|m| m.name == name).ok_or_else(|| {
            let known: Vec<_> = MODIFIERS.iter().map(|m| m.name).collect();
            ModifierError::Unknown {
                met: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known,
            }
        })?;
        let argument = match (modifier.argument.is_empty(), argument) {
            (true, None) => "",
            (false, Some(Some(argument))) => argument.trim(),
            _ => return Err(ModifierError::Malformed { met: text.to_owned(), wanted: modifier.usage }),
        };
        let plain = modifier.sets.iter().map(|(key, value)| (*key, (*value).to_owned()));
        Ok(plain.chain(modifier.argument.iter().map(|key| (*key, argument.to_owned()))).collect())
    }
}

/// Why a modifier could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModifierError {
    /// No modifier has that name.
    Unknown {
        /// The name met.
        met: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// It is not written correctly.
    Malformed {
        /// The text met.
        met: String,
        /// How it is written.
        wanted: &'static str,
    },
}

impl fmt::Display for ModifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { met, nearest, known } => {
                let hint = nearest.map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
                write!(f, "`+{met}` is not a known modifier{hint}; expected one of +{}", known.join(", +"))
            }
            Self::Malformed { met, wanted } => {
                write!(f, "`+{met}` is not a modifier: it is written `+{wanted}`")
            }
        }
    }
}

impl std::error::Error for ModifierError {}
