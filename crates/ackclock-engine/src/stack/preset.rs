//! Stacks known by name.

use std::sync::Arc;

use ackclock_policy::{CongestionControl, Registry, Role, nearest};

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
    /// What it has in common with others.
    base: &'static [(&'static str, &'static str)],
    sets: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// How it differs from the standard policies and options: keys and values of a stack, in the order in
    /// which they are set.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.base.iter().chain(self.sets).copied()
    }
}

/// The stacks known by name, oldest first. Except for the oldest and those of systems and of QUIC, they
/// differ only in recovery and window, so that these can be compared.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "rfc793",
        about: "The TCP of before 1988: RFC 793's timer, no congestion window, go-back-N after a timeout, \
                4.3BSD's receiver.",
        source: "Jacobson & Karels 1988 (J-A16)",
        base: &[],
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
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A3); Jacobson & Karels 1988 (J-A10)",
        base: &[],
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
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A4); RFC 5681",
        base: &[],
        sets: &[("recovery", "reno"), ("window.initial_window", "rfc5681"), ("sack", "false")],
    },
    Preset {
        name: "newreno",
        about: "Fast recovery that lasts until everything is repaired, a hole per round trip.",
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A5); RFC 6582",
        base: &[],
        sets: &[("recovery", "newreno"), ("window.initial_window", "rfc5681"), ("sack", "false")],
    },
    Preset {
        name: "sack",
        about: "SACK-based recovery with the standard window.",
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A6); RFC 6675",
        base: &[],
        sets: &[("window.initial_window", "rfc5681")],
    },
    Preset {
        name: "fack",
        about: "SACK-based recovery by the forward-most SACK, the window halved at once.",
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A7)",
        base: &[],
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
                the timer and sent again without a further cut.",
        source: "Mathis, Semke, Mahdavi & Ott 1997 (M-A8, M-A9, M-A10, M-A11)",
        base: &[],
        sets: &[
            ("recovery", "fack"),
            ("recovery.adjustment", "rate-halving"),
            // M-A10: retransmission is decoupled from congestion control.
            ("recovery.lost_retransmissions", "resend"),
            ("window.initial_window", "rfc5681"),
        ],
    },
    Preset {
        name: "rack",
        about: "RACK-TLP with the standard window: losses detected by time, tails probed; `cubic+rack` \
                has Linux's window.",
        source: "Mondal & Kuzmanovic 2007 (I-A9); RFC 8985",
        base: &[],
        sets: &[("recovery", "rack"), ("window.initial_window", "rfc5681")],
    },
    Preset {
        name: "cubic",
        about: "SACK-based recovery with CUBIC's window, ten segments to begin with.",
        source: "RFC 9438, RFC 6928",
        base: &[],
        sets: &[("window", "cubic")],
    },
    Preset {
        name: "linux",
        about: "What Linux runs by default, as far as it is here: CUBIC with HyStart, RACK-TLP with \
                proportional rate reduction, undo by F-RTO, timestamps and DSACK, Linux's timer, SYN \
                timeouts and receiver.",
        source: "RFC 9438, RFC 8985, RFC 9937, RFC 5682, RFC 3708, and Linux where they leave a choice",
        base: LINUX,
        sets: &[
            ("window", "cubic"),
            ("window.in_use", "flight"),
            ("window.reduce_from", "window"),
            ("window.arithmetic", "linux"),
            ("slow_start", "hystart"),
        ],
    },
    Preset {
        name: "linux-reno",
        about: "`linux` with the congestion control `reno`, which grows by what is delivered and is reduced \
                from all of the window.",
        source: "Linux 6.18, net/ipv4/tcp_cong.c (tcp_reno_cong_avoid, tcp_reno_ssthresh)",
        base: LINUX,
        sets: &[
            ("window", "reno"),
            ("window.in_use", "flight"),
            ("window.reduce_from", "window"),
            ("window.whole_segs_left", "true"),
            ("slow_start", "delivered"),
        ],
    },
    Preset {
        name: "linux-bbr",
        about: "`linux` with the congestion control `bbr`: Linux's BBR, which is version 1 (the window `bbr1`); it \
                paces, and decides by itself how much leaves during a repair.",
        source: "Linux 6.18, net/ipv4/tcp_bbr.c",
        base: LINUX,
        sets: &[("window", "bbr1")],
    },
    Preset {
        name: "freebsd",
        about: "What FreeBSD documents of its default stack: CUBIC from ten segments, SACK, timestamps, \
                200 ms added to timeouts of at least 30 ms, SYN timeouts that double after the fifth.",
        source: "FreeBSD, cc_cubic(4) (the default), tcp(4) (initcwnd_segments, rexmit_min and rexmit_slop, \
                 rfc3042, sack.enable); Mondal & Kuzmanovic 2008 (B-A3)",
        base: &[],
        sets: &[
            ("window", "cubic"),
            // rexmit_slop is added to every timeout, and their least sum is that with rexmit_min.
            ("estimator.min_rto", "230ms"),
            ("estimator.slop", "200ms"),
            ("backoff", "freebsd-syn"),
            ("timestamps", "true"),
        ],
    },
    Preset {
        name: "windows",
        about: "What Windows Server 2019 documents of its Internet template: CUBIC from ten segments, timeouts \
                of at least 300 ms, an ack for every second segment or after 40 ms, no restart after idling.",
        source: "Microsoft, TCP Templates for Windows Server 2019 (2018), table InternetCustom",
        base: &[],
        sets: &[
            ("window", "cubic"),
            ("estimator.min_rto", "300ms"),
            ("ack.ack_delay", "40ms"),
            ("idle_restart", "false"),
        ],
    },
    Preset {
        name: "macos",
        about: "What is documented of Apple's systems: CUBIC, an ack for eight segments of a stream; all else \
                as standards have it.",
        source: "RFC 9438 1 (CUBIC is the default in Apple stacks); macOS, tcp(4) (TCP_SENDMOREACKS)",
        base: &[],
        sets: &[("window", "cubic"), ("ack.ack_every_segs", "8")],
    },
    Preset {
        name: "quic",
        about: "QUIC's loss detection and congestion control over TCP's segments: RFC 9002's NewReno, \
                thresholds of time (9/8) and packets (3), estimator and probe timeout, whose expiry is \
                persistent congestion; a tail loss probe is sent before.",
        source: "RFC 9002 5 to 7, without its pacing (7.7); there an ack establishes persistent congestion, \
                 by \
                 the times of what was lost (7.6.2). max_ack_delay: RFC 9000 18.2",
        base: &[],
        sets: &[
            ("window", "reno"),
            // 7.2: kInitialWindow and kMinimumWindow. 7.3.2: kLossReductionFactor of the whole window.
            ("window.initial_window", "rfc9002"),
            ("window.reduce_from", "window"),
            ("window.loss_window_segs", "2"),
            // 7.3.1: grows by what is acknowledged.
            ("slow_start", "delivered"),
            ("recovery", "rack"),
            // 6.1.1: kPacketThreshold.
            ("recovery.dup_thresh", "3"),
            // 6.1.2: kTimeThreshold.
            ("recovery.thresholds", "rfc9002"),
            ("recovery.max_ack_delay", "25ms"),
            ("estimator", "quic"),
            ("timer", "quic-pto"),
            // 7.6.1: kPersistentCongestionThreshold.
            ("timer.persistent_congestion_threshold", "3"),
            // 6.2.1: any ack ends the backoff.
            ("karn_backoff", "false"),
            ("ack.ack_delay", "25ms"),
            ("nagle", "false"),
            ("idle_restart", "false"),
        ],
    },
];

/// What all stacks of Linux have.
const LINUX: &[(&str, &str)] = &[
    ("recovery", "rack"),
    ("recovery.linux", "true"),
    ("recovery.sample_before_probe", "false"),
    ("recovery.bounded_duplicates", "true"),
    ("recovery.pto_margin", "2ms"),
    // CONFIG_HZ is 250 unless a distribution chooses another one.
    ("timer_tick", "4ms"),
    ("pacing_credit", "true"),
    ("reduction", "prr"),
    ("reduction.whole_segs", "true"),
    ("reduction.from_window", "true"),
    ("undo", "linux"),
    ("estimator", "linux"),
    ("backoff", "linux"),
    ("ack", "linux"),
    ("timestamps", "true"),
    ("minshall", "true"),
    ("eager_send", "true"),
    ("tso", "true"),
    // The most that its buffers grow to, tcp_wmem and tcp_rmem of Linux 6.18 with 24 GB of memory. Of what a segment
    // of 1448 bytes takes, 158 in 256 parts are data (`scaling_ratio`), so that the window is that part of tcp_rmem.
    ("snd_buf", "4MiB"),
    ("snd_autotune", "true"),
    ("snd_wake", "3"),
    ("rcv_buf", "20224KiB"),
    ("rcv_autotune", "true"),
    ("rcv_buf_initial", "79KiB"),
    ("renege_wait", "10ms"),
    ("sack_samples", "true"),
    ("probe_in_flight", "false"),
    ("sack_fin", "true"),
    ("grow_after_repair", "true"),
    ("timer.oldest_again", "true"),
];

/// Makes the stack of the preset `name`.
pub(super) fn find(name: &str, registry: &Registry) -> Result<Stack, StackError> {
    let preset = PRESETS.iter().find(|p| p.name == name).ok_or_else(|| {
        window(name, name, "sack", registry).unwrap_or_else(|| {
            let known: Vec<_> = PRESETS.iter().map(|p| p.name).collect();
            StackError::UnknownPreset {
                met: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known,
            }
        })
    })?;
    let mut stack = Stack::plain(Arc::new(registry.clone()))?;
    for (key, value) in preset.settings() {
        stack.set(key, value)?;
    }
    Ok(stack)
}

/// The error for the name of a window, given as `met`, where a preset or a modifier of `preset` is expected.
pub(super) fn window(name: &str, met: &str, preset: &str, registry: &Registry) -> Option<StackError> {
    let found = registry.find::<dyn CongestionControl>(name).ok()?;
    let stem = |name: &'static str| name.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut alike: Vec<_> = registry
        .declarations()
        .into_iter()
        .filter(|d| d.kind == <dyn CongestionControl>::KIND && stem(d.name) == stem(found.name))
        // What it is stands before the colon of what it does.
        .map(|d| (d.name, d.about.split(':').next().unwrap_or(d.about)))
        .collect();
    if alike.len() < 2 {
        alike.clear();
    }
    Some(StackError::Window {
        met: met.to_owned(),
        window: found.name,
        preset: preset.to_owned(),
        alike,
        known: PRESETS.iter().map(|p| p.name).collect(),
    })
}
