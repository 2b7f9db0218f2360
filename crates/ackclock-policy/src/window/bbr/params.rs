//! The parameters: constants of the draft.

use ackclock_units::{Bytes, Duration};

use crate::window::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use crate::{Param, Params};

/// The parameters, by the names of the draft where it has one.
#[derive(Debug)]
pub(super) struct Rules {
    pub initial: InitialWindow,
    pub startup_pacing_gain: f64,
    pub drain_pacing_gain: f64,
    pub down_pacing_gain: f64,
    pub up_pacing_gain: f64,
    pub cwnd_gain: f64,
    pub up_cwnd_gain: f64,
    pub pacing_margin: f64,
    pub loss_thresh: f64,
    pub beta: f64,
    pub headroom: f64,
    pub min_pipe_segs: u64,
    pub full_bw_growth: f64,
    pub full_bw_rounds: u64,
    pub full_loss_ranges: u64,
    pub probe_wait: Duration,
    pub probe_wait_spread: Duration,
    pub reno_rounds: u64,
    pub min_rtt_window: Duration,
    pub probe_rtt_interval: Duration,
    pub probe_rtt_duration: Duration,
    pub probe_rtt_cwnd_gain: f64,
    pub extra_acked_rounds: u64,
    pub quantum_time: Duration,
    pub offload_quanta: u64,
}

impl Rules {
    pub fn new(p: &Params) -> Self {
        Self {
            initial: InitialWindow::new(p),
            startup_pacing_gain: p.ratio("startup_pacing_gain"),
            drain_pacing_gain: p.ratio("drain_pacing_gain"),
            down_pacing_gain: p.ratio("down_pacing_gain"),
            up_pacing_gain: p.ratio("up_pacing_gain"),
            cwnd_gain: p.ratio("cwnd_gain"),
            up_cwnd_gain: p.ratio("up_cwnd_gain"),
            pacing_margin: p.ratio("pacing_margin"),
            loss_thresh: p.ratio("loss_thresh"),
            beta: p.ratio("beta"),
            headroom: p.ratio("headroom"),
            min_pipe_segs: p.count("min_pipe_segs"),
            full_bw_growth: p.ratio("full_bw_growth"),
            full_bw_rounds: p.count("full_bw_rounds"),
            full_loss_ranges: p.count("full_loss_ranges"),
            probe_wait: p.duration("probe_wait"),
            probe_wait_spread: p.duration("probe_wait_spread"),
            reno_rounds: p.count("reno_rounds"),
            min_rtt_window: p.duration("min_rtt_window"),
            probe_rtt_interval: p.duration("probe_rtt_interval"),
            probe_rtt_duration: p.duration("probe_rtt_duration"),
            probe_rtt_cwnd_gain: p.ratio("probe_rtt_cwnd_gain"),
            extra_acked_rounds: p.count("extra_acked_rounds"),
            quantum_time: p.duration("quantum_time"),
            offload_quanta: p.count("offload_quanta"),
        }
    }
}

/// Most bytes of a quantum: 64 KBytes (§5.6.3).
pub(super) const MOST_QUANTUM: Bytes = 64 << 10;
/// Round trips in which `inflight_longterm` may double its growth: keeps the shift in range (§5.3.3.9).
pub(super) const MOST_UP_ROUNDS: u32 = 30;

const MINUTE: Duration = Duration::from_secs(60);

pub(super) const PARAMS: &[Param] = &[
    INITIAL_WINDOW,
    INITIAL_SEGS,
    Param::ratio("startup_pacing_gain", 2.77, 1.0..=10.0, "pacing gain of Startup, 4 ln 2 (2.5)"),
    Param::ratio("drain_pacing_gain", 0.5, 0.01..=1.0, "pacing gain of Drain (2.5)"),
    Param::ratio("down_pacing_gain", 0.9, 0.01..=1.0, "pacing gain of ProbeBW_DOWN (5.3.3.1)"),
    Param::ratio("up_pacing_gain", 1.25, 1.0..=10.0, "pacing gain of ProbeBW_UP (5.3.3.5)"),
    Param::ratio("cwnd_gain", 2.0, 0.1..=100.0, "window in bandwidth-delay products (2.6)"),
    Param::ratio("up_cwnd_gain", 2.25, 0.1..=100.0, "the same in ProbeBW_UP (5.3.3.5)"),
    Param::ratio("pacing_margin", 0.01, 0.0..=0.9, "how far below the estimated bandwidth it paces (2.5)"),
    Param::ratio("loss_thresh", 0.02, 0.0..=1.0, "loss rate of a round trip that is too high (2.8)"),
    Param::ratio("beta", 0.7, 0.0..=1.0, "fraction that a round trip with losses leaves at least (2.8)"),
    Param::ratio("headroom", 0.15, 0.0..=1.0, "fraction of inflight_longterm left to others (2.8)"),
    Param::count("min_pipe_segs", 4, 1..=1000, "smallest window, segments (2.8)"),
    Param::ratio("full_bw_growth", 1.25, 1.0..=10.0, "growth of a pipe that is not full yet (5.3.1.2)"),
    Param::count(
        "full_bw_rounds",
        3,
        1..=100,
        "round trips without it after which the pipe is full (5.3.1.2)",
    ),
    Param::count("full_loss_ranges", 6, 1..=1000, "ranges lost in a round trip that end Startup (5.3.1.3)"),
    Param::duration(
        "probe_wait",
        Duration::from_secs(2),
        Duration::ZERO..=MINUTE,
        "shortest time between probes for bandwidth (5.3.3.8)",
    ),
    Param::duration(
        "probe_wait_spread",
        Duration::from_secs(1),
        Duration::ZERO..=MINUTE,
        "random time added to it (5.3.3.8); 0s for none",
    ),
    Param::count("reno_rounds", 63, 1..=10_000, "most round trips between probes for bandwidth (5.3.3.8)"),
    Param::duration(
        "min_rtt_window",
        Duration::from_secs(10),
        Duration::ZERO..=MINUTE,
        "how long the smallest round-trip time is remembered (2.16.1)",
    ),
    Param::duration(
        "probe_rtt_interval",
        Duration::from_secs(5),
        Duration::ZERO..=MINUTE,
        "time between drains of the queue to measure it anew (2.16.2)",
    ),
    Param::duration(
        "probe_rtt_duration",
        Duration::from_millis(200),
        Duration::ZERO..=MINUTE,
        "shortest such drain (2.16.2)",
    ),
    Param::ratio(
        "probe_rtt_cwnd_gain",
        0.5,
        0.0..=100.0,
        "window during it, in bandwidth-delay products (2.16.2)",
    ),
    Param::count("extra_acked_rounds", 10, 1..=1000, "round trips of the filter of ack aggregation (2.12)"),
    Param::duration(
        "quantum_time",
        Duration::from_millis(1),
        Duration::ZERO..=Duration::from_secs(1),
        "time at the pacing rate of what is sent back to back: two segments at least, 64 KiB at most (5.6.3)",
    ),
    Param::count("offload_quanta", 3, 0..=1000, "quanta that the window always has room for (5.5.8.1)"),
];
