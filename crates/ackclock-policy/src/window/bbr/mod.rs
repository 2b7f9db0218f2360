//! BBR version 3, by the text of draft-ietf-ccwg-bbr-06. Functions and state have the draft's names; each
//! file has the sections that its first line cites.

mod control;
mod loss;
mod model;
mod params;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant, Rate, Rng};

use self::loss::{LossSignals, Undo};
use self::model::{Aggregation, MaxBw, Rounds};
use self::params::{PARAMS, Rules};
use self::probe_bw::ProbeBw;
use self::probe_rtt::ProbeRtt;
use self::startup::{FullPipe, StartupLoss};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, EpisodeEnd, Family, Feedback, Needs, Pacing,
    Policy, PrivateState, RateSample, SenderView, Window,
};

/// BBR.state (§5.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState().
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// IsProbingBW().
    fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What the connection is like at this event (C of the draft).
#[derive(Clone, Copy, Debug)]
struct Connection {
    now: Instant,
    cwnd: Bytes,
    inflight: Bytes,
    smss: Bytes,
    initial_cwnd: Bytes,
    delivered: Bytes,
    has_selective_acks: bool,
}

impl Connection {
    const NEW: Self = Self {
        now: Instant::ZERO,
        cwnd: 0,
        inflight: 0,
        smss: 1,
        initial_cwnd: 0,
        delivered: 0,
        has_selective_acks: false,
    };

    fn read(&mut self, v: &SenderView) {
        (self.now, self.cwnd, self.inflight) = (v.now, v.window.cwnd, v.pipe);
        (self.smss, self.has_selective_acks) = (u64::from(v.smss), v.sack);
    }
}

/// What an ack reports (RS of the draft).
#[derive(Clone, Copy, Debug)]
struct Sample {
    delivery_rate: Rate,
    delivered: Bytes,
    prior_delivered: Bytes,
    tx_in_flight: Bytes,
    lost: Bytes,
    newly_acked: Bytes,
    is_app_limited: bool,
    rtt: Option<Duration>,
}

/// A window and a pace that follow a model of the path: its bandwidth, its round-trip time, and how much may
/// be in flight.
#[derive(Debug)]
struct Bbr {
    rules: Arc<Rules>,
    rng: Rng,
    c: Connection,
    state: State,
    rounds: Rounds,
    max_bw: MaxBw,
    /// BBR.bw.
    bw: Rate,
    /// BBR.bw_shortterm; [`UNLIMITED`] for none.
    bw_shortterm: Rate,
    /// BBR.inflight_shortterm; [`Bytes::MAX`] for none.
    inflight_shortterm: Bytes,
    /// BBR.inflight_longterm; [`Bytes::MAX`] for none.
    inflight_longterm: Bytes,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    startup_loss: StartupLoss,
    /// BBR.drain_start_round.
    drain_start_round: u64,
    probe: ProbeBw,
    probe_rtt: ProbeRtt,
    losses: LossSignals,
    undo: Undo,
    /// BBR.prior_cwnd.
    prior_cwnd: Bytes,
    /// InLossRecovery().
    in_loss_recovery: bool,
    /// The recovery is that of a timeout.
    after_rto: bool,
    /// C.pacing_rate.
    pacing_rate: Rate,
    /// C.send_quantum.
    send_quantum: Bytes,
    /// The pacing rate was derived from a round-trip time.
    has_seen_rtt: bool,
}

/// Infinity.
const UNLIMITED: Rate = Rate::from_bits_per_sec(u64::MAX);

/// `rate` times `gain`.
fn scaled(rate: Rate, gain: f64) -> Rate {
    Rate::from_bits_per_sec((rate.bits_per_sec() as f64 * gain) as u64)
}

impl Bbr {
    fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            rng: Rng::stream(0, "bbr", 0),
            c: Connection::NEW,
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxBw::default(),
            bw: Rate::default(),
            bw_shortterm: UNLIMITED,
            inflight_shortterm: Bytes::MAX,
            inflight_longterm: Bytes::MAX,
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            startup_loss: StartupLoss::default(),
            drain_start_round: 0,
            probe: ProbeBw::default(),
            probe_rtt: ProbeRtt::default(),
            losses: LossSignals::default(),
            undo: Undo::default(),
            prior_cwnd: 0,
            in_loss_recovery: false,
            after_rto: false,
            pacing_rate: Rate::default(),
            send_quantum: 0,
            has_seen_rtt: false,
        }
    }

    /// UpdateOnACK() (§5.2.3).
    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) {
        self.adopt_first_rtt(v);
        // An ack that delivers nothing is no sample; what it shows to be lost came before.
        let Some(rate) = a.rate else { return };
        let rs = self.sample(a, &rate);
        // UpdateModelAndState().
        self.update_latest_delivery_signals(&rs);
        self.update_congestion_signals(&rs);
        self.update_ack_aggregation(&rs);
        self.check_full_bw_reached(&rs);
        self.check_startup_done(&rs);
        self.check_drain_done();
        self.update_probe_bw_cycle_phase(&rs);
        self.update_min_rtt(&rs);
        self.check_probe_rtt(&rs);
        self.advance_latest_delivery_signals(&rs);
        self.bound_bw_for_model();
        // UpdateControlParameters().
        self.set_pacing_rate();
        self.set_send_quantum();
        self.set_cwnd(&rs);
    }

    fn sample(&mut self, a: &AckInfo, rate: &RateSample) -> Sample {
        self.c.delivered = rate.total_delivered;
        Sample {
            delivery_rate: rate.rate(),
            delivered: rate.delivered,
            prior_delivered: rate.prior_delivered,
            tx_in_flight: rate.prior_in_flight,
            lost: rate.lost,
            newly_acked: a.delivered,
            is_app_limited: rate.app_limited || self.probe_rtt.marks(rate.prior_delivered),
            rtt: rate.rtt.or(a.rtt),
        }
    }

    /// OnTransmit() (§5.2.2): `bytes` have just been sent. `v.pipe` includes them.
    fn on_transmit(&mut self, bytes: u32, app_limited: bool) {
        self.handle_restart_from_idle(bytes, app_limited);
        self.rounds.is_cwnd_limited |= self.c.inflight + self.c.smss > self.c.cwnd;
    }

    fn control(&self) -> Control {
        let quantum = u32::try_from(self.send_quantum).unwrap_or(u32::MAX);
        Control {
            window: Window { cwnd: self.c.cwnd.max(self.c.smss), ssthresh: Bytes::MAX },
            pacing: Some(Pacing { rate: self.pacing_rate, quantum }),
        }
    }
}

impl Policy for Bbr {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("state", f64::from(self.state as u8));
        state.number("round_count", self.rounds.count as f64);
        state.number("full_bw_reached", f64::from(u8::from(self.full_pipe.reached)));
        state.number("full_bw_count", self.full_pipe.count as f64);
        state.number("max_bw", self.max_bw.get().bits_per_sec() as f64);
        state.number("bw", self.bw.bits_per_sec() as f64);
        state.number("min_rtt", self.probe_rtt.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64()));
        state.number("pacing_rate", self.pacing_rate.bits_per_sec() as f64);
        state.number("pacing_gain", self.pacing_gain());
        state.number("cwnd_gain", self.cwnd_gain());
        state.number("extra_acked", self.aggregation.extra_acked as f64);
        // Infinity is 0 in a trace.
        let finite = |bytes| if bytes == Bytes::MAX { 0.0 } else { bytes as f64 };
        state.number("inflight_longterm", finite(self.inflight_longterm));
        state.number("inflight_shortterm", finite(self.inflight_shortterm));
        state.number("bw_shortterm", finite(self.bw_shortterm.bits_per_sec()));
    }
}

impl CongestionControl for Bbr {
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

    /// OnInit() (§5.2.1).
    fn start(&mut self, v: &SenderView) -> Control {
        self.c.read(v);
        self.c.initial_cwnd = self.rules.initial.bytes(v);
        self.c.cwnd = self.c.initial_cwnd;
        self.probe_rtt.start(v);
        self.aggregation.interval_start = v.now;
        self.init_pacing_rate(v);
        self.set_send_quantum();
        self.control()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        self.c.read(v);
        match f {
            Feedback::Ack(a, _) => self.on_ack(a, v),
            Feedback::Sent { bytes, app_limited, .. } => self.on_transmit(bytes, app_limited),
            Feedback::Lost(segment) => self.handle_lost_packet(&segment),
            Feedback::Congestion(Congestion::Loss) => self.on_enter_fast_recovery(),
            Feedback::Congestion(Congestion::Rto { .. }) => self.on_enter_rto(),
            Feedback::Congestion(Congestion::Ecn) => self.on_marks(),
            Feedback::EpisodeEnded(EpisodeEnd::Completed) => self.on_exit_recovery(),
            Feedback::EpisodeEnded(EpisodeEnd::Spurious) => self.handle_spurious_loss_detection(),
            // §5.4.2: it does not restart from the initial window.
            Feedback::Idle(_) => {}
        }
        self.control()
    }
}

/// BBRv3.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "bbr",
    about: "BBRv3: paces at the bandwidth that it measures, and keeps about as much in flight as the path \
            holds; probes for more every few seconds.",
    source: "draft-ietf-ccwg-bbr-06",
    params: PARAMS,
    build: |p| Box::new(Bbr::new(p.shared(Rules::new))),
};
