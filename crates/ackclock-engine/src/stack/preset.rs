//! Stacks known by name.

use std::sync::Arc;

use ackclock_policy::{Registry, nearest};

use super::{Stack, StackError};

/// A stack known by name: how it differs from the standard policies and options.
#[derive(Debug)]
pub struct Preset {
    /// Name, as in [`Stack::named`].
    pub name: &'static str,
    /// Description, in one sentence.
    pub about: &'static str,
    /// The source that defines it.
    pub source: &'static str,
    sets: &'static [(&'static str, &'static str)],
}

/// The stacks known by name, oldest first. Except for the oldest and the one of
/// Linux, they differ only in recovery and window, so that these can be compared.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "rfc793",
        about: "The TCP of before 1988: RFC 793's timer, no congestion window, go-back-N after a timeout, \
                4.3BSD's receiver.",
        source: "J-A16",
        sets: &[
            ("estimator", "rfc793"),
            ("recovery", "timeout-only"),
            ("window", "receiver-only"),
            ("ack", "bsd43"),
            ("sack", "false"),
            ("window_scaling", "false"),
            ("idle_restart", "false"),
            ("karn_backoff", "false"),
            ("karn_samples", "false"),
            ("rtt_sampling", "once-per-rtt"),
        ],
    },
    Preset {
        name: "tahoe",
        about: "Slow start, congestion avoidance and fast retransmit, from a window of one segment.",
        source: "M-A3, J-A10",
        sets: &[
            ("recovery", "tahoe"),
            ("recovery.limited_transmit", "false"),
            ("window.byte_counting", "false"),
            ("window.initial_window", "segments"),
            ("window.initial_segs", "1"),
            ("sack", "false"),
        ],
    },
    Preset {
        name: "reno",
        about: "Fast recovery that the first new ack ends.",
        source: "M-A4, RFC 5681",
        sets: &[("recovery", "reno"), ("window.initial_window", "rfc5681"), ("sack", "false")],
    },
    Preset {
        name: "newreno",
        about: "Fast recovery that lasts until everything is repaired, a hole per round trip.",
        source: "M-A5, RFC 6582",
        sets: &[("recovery", "newreno"), ("window.initial_window", "rfc5681"), ("sack", "false")],
    },
    Preset {
        name: "sack",
        about: "SACK-based recovery with the standard window.",
        source: "M-A6, RFC 6675",
        sets: &[("window.initial_window", "rfc5681")],
    },
    Preset {
        name: "fack",
        about: "SACK-based recovery by the forward-most SACK, the window halved at once.",
        source: "M-A7",
        sets: &[
            ("recovery", "fack"),
            ("recovery.each_hole", "false"),
            ("recovery.lost_retransmissions", "ignore"),
            ("window.initial_window", "rfc5681"),
        ],
    },
    Preset {
        name: "fack-rh",
        about: "FACK with rate-halving, a threshold for each hole, and lost retransmissions found without \
                the timer.",
        source: "M-A8, M-A9, M-A10, M-A11",
        sets: &[
            ("recovery", "fack"),
            ("recovery.adjustment", "rate-halving"),
            ("window.initial_window", "rfc5681"),
        ],
    },
    Preset {
        name: "rack",
        about: "RACK-TLP with the standard window: losses detected by time, tails probed; `cubic+rack` \
                has Linux's window.",
        source: "I-A9, RFC 8985",
        sets: &[("recovery", "rack"), ("window.initial_window", "rfc5681")],
    },
    Preset {
        name: "cubic",
        about: "SACK-based recovery with CUBIC's window, ten segments to begin with.",
        source: "RFC 9438, RFC 6928",
        sets: &[("window", "cubic")],
    },
    Preset {
        name: "linux",
        about: "What Linux runs by default, as far as it is here: CUBIC with HyStart, RACK-TLP with \
                proportional rate reduction, F-RTO, timestamps, Linux's timer and receiver.",
        source: "RFC 9438, RFC 8985, RFC 9937, RFC 5682, and Linux where they leave a choice",
        sets: &[
            ("window", "cubic"),
            ("window.in_use", "flight"),
            ("window.reduce_from", "window"),
            ("window.explore_segs", "20"),
            ("window.refresh", "31250us"),
            ("slow_start", "hystart"),
            ("recovery", "rack"),
            ("recovery.rtt_of_highest", "true"),
            ("reduction", "prr"),
            ("reduction.whole_segs", "true"),
            ("reduction.from_window", "true"),
            ("undo", "f-rto"),
            ("estimator", "linux"),
            ("ack", "linux"),
            ("timestamps", "true"),
            ("minshall", "true"),
        ],
    },
];

/// Makes the stack of the preset `name`.
pub(super) fn find(name: &str, registry: &Registry) -> Result<Stack, StackError> {
    let preset = PRESETS.iter().find(|p| p.name == name).ok_or_else(|| {
        let known: Vec<_> = PRESETS.iter().map(|p| p.name).collect();
        StackError::UnknownPreset {
            met: name.to_owned(),
            nearest: nearest(name, known.iter().copied()),
            known,
        }
    })?;
    let mut stack = Stack::plain(Arc::new(registry.clone()))?;
    for (key, value) in preset.sets {
        stack.set(key, value)?;
    }
    Ok(stack)
}
