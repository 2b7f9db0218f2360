//! BBR as Linux ships it (6.18, `net/ipv4/tcp_bbr.c`), the first version: the largest delivery rate of ten
//! round trips and the smallest round-trip time of ten seconds.
//!
//! It counts in segments and microseconds, with fractions in 256ths, as Linux does, so that windows come out
//! the same.

mod control;
mod model;
mod phases;
mod policer;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use self::model::{Aggregation, Bandwidth, Rounds};
use self::phases::{FullPipe, Mode, ProbeRtt};
use self::policer::Policer;
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, EpisodeEnd, Family, Feedback, Needs, Pacing,
    Param, Params, Policy, PrivateState, SenderView, Window,
};

/// One, as a gain: gains are whole 256ths.
const UNIT: u64 = 1 << 8;
/// Segments that may be in flight whatever the model says (`bbr_cwnd_min_target`).
const MIN_CWND: u64 = 4;

/// The parameters.
#[derive(Debug)]
struct Rules {
    initial: InitialWindow,
    bw_rounds: u64,
    min_rtt_window: Duration,
    probe_rtt_duration: Duration,
    detect_policers: bool,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            initial: InitialWindow::new(p),
            bw_rounds: p.count("bw_rounds"),
            min_rtt_window: p.duration("min_rtt_window"),
            probe_rtt_duration: p.duration("probe_rtt_duration"),
            detect_policers: p.flag("detect_policers"),
        }
    }
}

/// The connection at this event, sizes in segments.
#[derive(Clone, Copy, Debug)]
struct Now {
    at: Instant,
    cwnd: u64,
    in_flight: u64,
    smss: u64,
    /// Segments of data delivered so far.
    delivered: u64,
    /// Of the connection, not of the model.
    min_rtt: Duration,
}

/// Whether the sender repairs losses, as Linux's states order it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Repair {
    None,
    Recovery,
    Loss,
}

/// What an ack reports, in segments.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Delivered in the interval; `None` where nothing was, or the interval was too short.
    rate: Option<(u64, u64)>,
    prior_delivered: Bytes,
    total_delivered: Bytes,
    acked: u64,
    losses: u64,
    prior_in_flight: u64,
    is_app_limited: bool,
    rtt: Option<Duration>,
}

/// A window and a pace by the path's bandwidth and round-trip time.
#[derive(Debug)]
struct Bbr1 {
    rules: Arc<Rules>,
    rng: Rng,
    now: Now,
    mode: Mode,
    rounds: Rounds,
    bandwidth: Bandwidth,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    probe_rtt: ProbeRtt,
    policer: Policer,
    /// When this phase of the gain cycle began, and its number.
    cycle_stamp: Instant,
    cycle: usize,
    pacing_gain: u64,
    cwnd_gain: u64,
    idle_restart: bool,
    packet_conservation: bool,
    repair: Repair,
    /// The same at the ack before.
    prev_repair: Repair,
    prior_cwnd: u64,
    /// Bytes per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// Segments of data sent, no more than are of interest.
    sent: u8,
    /// When the next segment may leave at the pacing rate, and what is left of the lateness of the segments that
    /// leave together.
    departure: Instant,
    credit: Duration,
    /// Segments lost so far.
    lost: u64,
    ssthresh: Bytes,
}

/// The segment of a connection from which on others wait for those before them
/// (`tcp_update_skb_after_send`).
const FIRST_PACED: u8 = 10;

impl Bbr1 {
    fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            rng: Rng::stream(0, "bbr1", 0),
            now: Now {
                at: Instant::ZERO,
                cwnd: 0,
                in_flight: 0,
                smss: 1,
                delivered: 0,
                min_rtt: Duration::MAX,
            },
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: Bandwidth::default(),
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            probe_rtt: ProbeRtt::default(),
            policer: Policer::default(),
            cycle_stamp: Instant::ZERO,
            cycle: 0,
            pacing_gain: phases::HIGH_GAIN,
            cwnd_gain: phases::HIGH_GAIN,
            idle_restart: false,
            packet_conservation: false,
            repair: Repair::None,
            prev_repair: Repair::None,
            prior_cwnd: 0,
            pacing_rate: 0,
            has_seen_rtt: false,
            sent: 0,
            departure: Instant::ZERO,
            credit: Duration::ZERO,
            lost: 0,
            ssthresh: Bytes::MAX,
        }
    }

    fn read(&mut self, v: &SenderView) {
        let smss = u64::from(v.smss);
        self.now.at = v.now;
        (self.now.cwnd, self.now.in_flight) = (v.window.cwnd / smss, v.pipe.div_ceil(smss));
        self.now.smss = smss;
        self.now.min_rtt = v.rtt.map_or(Duration::MAX, |rtt| rtt.min_rtt);
    }

    fn sample(&mut self, a: &AckInfo, v: &SenderView) -> Sample {
        let segs = |bytes: Bytes| bytes.div_ceil(self.now.smss);
        let mut s = Sample {
            rate: None,
            prior_delivered: 0,
            total_delivered: 0,
            acked: segs(a.delivered),
            losses: segs(a.newly_lost),
            prior_in_flight: segs(v.pipe + a.delivered + a.newly_lost),
            is_app_limited: false,
            rtt: a.rtt,
        };
        if let Some(rate) = &a.rate {
            let us = rate.interval.as_nanos() / 1000;
            s.rate = (us > 0).then(|| (segs(rate.delivered), us));
            (s.prior_delivered, s.total_delivered) = (rate.prior_delivered, rate.total_delivered);
            s.is_app_limited = rate.app_limited || self.probe_rtt.limited.covers(rate.prior_delivered);
            s.rtt = rate.rtt.or(a.rtt);
            self.now.delivered = segs(rate.total_delivered);
            self.probe_rtt.delivered = rate.total_delivered;
        }
        s
    }

    /// `bbr_main`.
    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) {
        let s = self.sample(a, v);
        self.update_bandwidth(&s);
        self.update_ack_aggregation(&s);
        self.update_cycle_phase(&s);
        self.check_full_pipe(&s);
        self.check_drain();
        self.update_min_rtt(&s);
        self.update_gains();
        self.set_pacing_rate(v);
        self.set_cwnd(&s);
    }

    /// Data was sent; `v.pipe` includes it.
    fn on_sent(&mut self, bytes: u32, app_limited: bool, v: &SenderView) {
        let app_limited = app_limited || self.probe_rtt.limited.covers(self.probe_rtt.delivered);
        if v.pipe <= u64::from(bytes) && app_limited {
            // Restarting from idle: at the estimated bandwidth, since no more is needed.
            self.idle_restart = true;
            self.aggregation.restart(v.now);
            match self.mode {
                Mode::ProbeBw => self.pace_at(UNIT),
                Mode::ProbeRtt => self.check_probe_rtt_done(),
                _ => {}
            }
        }
        self.sent = (self.sent + 1).min(FIRST_PACED);
        self.note_departure(bytes);
    }

    fn control(&self) -> Control {
        let cwnd = self.now.cwnd.max(1).saturating_mul(self.now.smss);
        let quantum = self.packet_segs() * self.now.smss;
        let pacing = Pacing {
            rate: ackclock_units::Rate::from_bits_per_sec(self.pacing_rate.saturating_mul(8)),
            quantum: u32::try_from(quantum).unwrap_or(u32::MAX),
        };
        Control {
            window: Window { cwnd, ssthresh: self.ssthresh },
            // The next segment is the first that counts.
            pacing: (self.sent + 1 >= FIRST_PACED).then_some(pacing),
        }
    }
}

impl Policy for Bbr1 {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("mode", f64::from(self.mode as u8));
        state.number("round_count", self.rounds.count as f64);
        state.number("bw", self.rate(self.bw(), UNIT) as f64 * 8.0);
        state.number("min_rtt", self.probe_rtt.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64()));
        state.number("pacing_rate", self.pacing_rate as f64 * 8.0);
        state.number("pacing_gain", self.pacing_gain as f64 / UNIT as f64);
        state.number("cwnd_gain", self.cwnd_gain as f64 / UNIT as f64);
        state.number("full_bw_reached", f64::from(u8::from(self.full_pipe.reached)));
        state.number("uses_policed_bw", f64::from(u8::from(self.policer.is_policed())));
    }
}

impl CongestionControl for Bbr1 {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    /// Three, since it may begin start-up again in a repair (`bbr_sndbuf_expand`).
    fn buffered_windows(&self) -> u64 {
        3
    }

    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            rate_samples: true,
            sends: true,
            losses: true,
            random: true,
            owns_repair: true,
            ..Needs::default()
        }
    }

    fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn drawn_gain(&self) -> Option<f64> {
        (self.mode == Mode::ProbeBw).then(|| self.pacing_gain as f64 / UNIT as f64)
    }

    fn follow_gain(&mut self, gain: f64, now: Instant) {
        self.go_on_after(gain, now);
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.read(v);
        self.now.cwnd = self.rules.initial.bytes(v) / self.now.smss;
        self.probe_rtt.start(v);
        self.aggregation.restart(v.now);
        self.init_pacing_rate(v);
        self.control()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        self.read(v);
        match f {
            Feedback::Ack(a, _) => self.on_ack(a, v),
            Feedback::Sent { bytes, app_limited, .. } => self.on_sent(bytes, app_limited, v),
            Feedback::Lost(_) => self.lost += 1,
            Feedback::Congestion(Congestion::Loss) => {
                self.save_cwnd();
                self.repair = Repair::Recovery;
            }
            Feedback::Congestion(Congestion::Rto { .. }) => self.on_timeout(),
            Feedback::EpisodeEnded(end) => {
                self.repair = Repair::None;
                if end == EpisodeEnd::Spurious {
                    self.on_undo();
                }
            }
            // It knows no marks, and does not restart from the initial window.
            Feedback::Congestion(Congestion::Ecn) | Feedback::Idle(_) => {}
        }
        self.control()
    }
}

/// Linux's BBR.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "bbr1",
    about: "BBR version 1, as Linux ships it: paces at the largest recent delivery rate, with a window of \
            twice the bandwidth-delay product.",
    source: "Linux 6.18 tcp_bbr.c",
    params: &[
        INITIAL_WINDOW,
        INITIAL_SEGS,
        Param::count("bw_rounds", 10, 1..=1000, "round trips of the filter of the bandwidth"),
        Param::duration(
            "min_rtt_window",
            Duration::from_secs(10),
            Duration::ZERO..=Duration::from_secs(3600),
            "how long the smallest round-trip time is remembered before the queue is drained",
        ),
        Param::duration(
            "probe_rtt_duration",
            Duration::from_millis(200),
            Duration::ZERO..=Duration::from_secs(60),
            "how long it is drained at least",
        ),
        Param::flag(
            "detect_policers",
            true,
            "look for a traffic policer, and keep to its rate (long-term bandwidth sampling)",
        ),
    ],
    build: |p| Box::new(Bbr1::new(p.shared(Rules::new))),
};
