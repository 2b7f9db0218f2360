//! The adapter: a window of ackclock that drives a controller of quinn-proto.
//!
//! Where the two differ:
//!
//! - quinn reports each packet that an ack covers, ackclock their bytes: [`Packets`] has both.
//! - quinn reports each loss, and its controllers tell by the time of sending whether they have responded to
//!   it; ackclock reports one signal for each episode. Every loss is passed on.
//! - After a probe timeout QUIC sends two packets and leaves the window as it is until it is known what was
//!   lost (RFC 9002 6.2.4); ackclock retransmits what the window allows. Until the next ack the window is
//!   therefore two segments. The controller gets a timeout as persistent congestion, which RFC 9002 7.6.2
//!   compares to a retransmission timeout of TCP.
//! - quinn's connection paces by the window and the smoothed round-trip time, whatever the controller's own
//!   pacing rate (`Pacer` in quinn-proto's `connection/pacing.rs`). So does the adapter.
//! - Idling leaves the window as it is, as in quinn.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time;

use ackclock_policy::{
    AckInfo, Congestion, CongestionControl, Control, Entry, Family, Feedback, Needs, Pacing, Param, Params,
    Policy, SenderView, Window,
};
use ackclock_units::{Bytes, Instant, Rate};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig, NewRenoConfig};

use crate::packets::Packets;
use crate::rtt::estimator;

/// quinn's defaults: ten datagrams of 1200 bytes, and 200 for BBR.
const INITIAL: Bytes = 12_000;
const INITIAL_BBR: Bytes = 240_000;
/// Packets that a probe timeout sends (RFC 9002 6.2.4).
const PROBES: u64 = 2;
/// Of quinn's pacer: the rate over a window for each round trip, the time in which a burst is sent, and the
/// packets of the smallest and the largest burst.
const PACING_GAIN: f64 = 1.25;
const BURST: f64 = 0.002;
const BURST_PACKETS: (u64, u64) = (10, 256);

/// Which round-trip time a controller reads. An estimator made for one has it in the place of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reads {
    /// The smoothed one: CUBIC.
    Smoothed,
    /// The smallest one: BBR.
    Smallest,
    /// None: New Reno.
    Neither,
}

struct Quinn {
    name: &'static str,
    reads: Reads,
    factory: fn(Bytes) -> Arc<dyn Build>,
    initial_window: Bytes,
    controller: Option<Box<dyn Controller>>,
    packets: Packets,
    /// The number of the newest packet that was acknowledged.
    acked: Option<u64>,
    /// The timer has expired, and no ack has arrived since.
    probing: bool,
}

/// A factory behind a pointer: `ControllerFactory::build` takes it by `Arc<Self>`.
trait Build: Send + Sync {
    fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn Controller>;
}

impl<F: ControllerFactory + Send + Sync> Build for F {
    fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn Controller> {
        ControllerFactory::build(self, now, mtu)
    }
}

impl Quinn {
    fn new(name: &'static str, reads: Reads, factory: fn(Bytes) -> Arc<dyn Build>, p: &Params) -> Self {
        Self {
            name,
            reads,
            factory,
            initial_window: p.bytes("initial_window"),
            controller: None,
            packets: Packets::default(),
            acked: None,
            probing: false,
        }
    }

    fn controller(&mut self) -> &mut dyn Controller {
        self.controller.as_deref_mut().expect("`start` comes before any feedback")
    }

    fn ack(&mut self, a: &AckInfo, v: &SenderView) {
        self.lose(v.pipe + a.delivered, v);
        if a.delivered == 0 {
            return;
        }
        self.probing = false;
        let (now, rtt) = (on_clock(v.now), self.estimator(v));
        let app_limited = v.unsent < u64::from(v.smss) && v.pipe + u64::from(v.smss) <= v.window.cwnd;
        let controller = self.controller.as_deref_mut().expect("`start` comes before any feedback");
        let acked = &mut self.acked;
        self.packets.take(a.delivered, |p| {
            *acked = (*acked).max(Some(p.number));
            controller.on_ack(now, on_clock(p.sent_at), p.bytes, app_limited, &rtt);
        });
        controller.on_end_acks(now, v.pipe, app_limited, *acked);
    }

    /// Reports as lost what exceeds `left`, the bytes that are still in the network or just arrived.
    fn lose(&mut self, left: Bytes, v: &SenderView) {
        let lost = self.packets.bytes().saturating_sub(left);
        if lost == 0 {
            return;
        }
        let mut newest = v.now;
        self.packets.take(lost, |p| newest = p.sent_at);
        self.controller().on_congestion_event(on_clock(v.now), on_clock(newest), false, lost);
    }

    fn congested(&mut self, c: Congestion, v: &SenderView) {
        match c {
            Congestion::Loss => self.lose(v.pipe, v),
            Congestion::Rto { .. } => {
                self.probing = true;
                let lost = self.packets.bytes();
                let newest = self.packets.clear().map_or(v.now, |p| p.sent_at);
                self.controller().on_congestion_event(on_clock(v.now), on_clock(newest), true, lost);
            }
            // quinn has the time at which the newest acknowledged packet was sent: about a round trip ago.
            Congestion::Ecn => {
                let sent = v.rtt.map_or(v.now, |rtt| v.now.saturating_sub(rtt.latest));
                self.controller().on_congestion_event(on_clock(v.now), on_clock(sent), false, 0);
            }
        }
    }

    fn estimator(&self, v: &SenderView) -> RttEstimator {
        let rtt = match (self.reads, v.rtt) {
            (Reads::Smoothed, Some(rtt)) => rtt.srtt.as_nanos(),
            (Reads::Smallest, Some(rtt)) => rtt.min_rtt.as_nanos(),
            // Before the first sample: quinn's initial round-trip time.
            _ => 333_000_000,
        };
        estimator(time::Duration::from_nanos(rtt))
    }

    fn control(&mut self, v: &SenderView) -> Control {
        let smss = u64::from(v.smss);
        let (window, ssthresh) = (self.controller().window(), self.controller().metrics().ssthresh);
        let cwnd = if self.probing { window.min(PROBES * smss) } else { window }.max(smss);
        let pacing = v.rtt.filter(|rtt| !rtt.srtt.is_zero()).map(|rtt| {
            let rate = Rate::from_transfer((cwnd as f64 * PACING_GAIN) as Bytes, rtt.srtt);
            let burst = (cwnd as f64 * BURST / rtt.srtt.as_secs_f64()) as u64;
            let quantum = burst.clamp(BURST_PACKETS.0 * smss, BURST_PACKETS.1 * smss);
            Pacing { rate, quantum: u32::try_from(quantum).unwrap_or(u32::MAX) }
        });
        Control { window: Window { cwnd, ssthresh: ssthresh.unwrap_or(Bytes::MAX) }, pacing }
    }
}

impl fmt::Debug for Quinn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name)
            .field("window", &self.controller.as_ref().map(|c| c.window()))
            .field("packets", &self.packets)
            .finish_non_exhaustive()
    }
}

impl Policy for Quinn {
    fn name(&self) -> &str {
        self.name
    }
}

impl CongestionControl for Quinn {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    fn needs(&self) -> Needs {
        Needs { every_ack: true, sends: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        let mtu = u16::try_from(v.smss).unwrap_or(u16::MAX);
        self.controller = Some((self.factory)(self.initial_window).build(on_clock(v.now), mtu));
        self.control(v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, _) => self.ack(a, v),
            Feedback::Congestion(c) => self.congested(c, v),
            Feedback::Sent { bytes, .. } => {
                let packet = self.packets.send(v.now, u64::from(bytes));
                self.controller().on_sent(on_clock(v.now), packet.bytes, packet.number);
            }
            Feedback::EpisodeEnded(_) | Feedback::Idle(_) | Feedback::Lost(_) => {}
        }
        self.control(v)
    }
}

/// A moment of the simulation on quinn's clock, whose zero is of no account: only differences are used.
fn on_clock(t: Instant) -> time::Instant {
    static ZERO: OnceLock<time::Instant> = OnceLock::new();
    *ZERO.get_or_init(time::Instant::now) + time::Duration::from_nanos(t.as_nanos())
}

const fn initial_window(default: Bytes) -> Param {
    Param::bytes(
        "initial_window",
        default,
        2_400..=1 << 30,
        "window before the first ack; quinn's own by default",
    )
}

const SOURCE: &str = "quinn-proto 0.11.19 as published";

/// The three controllers of quinn-proto.
pub static ENTRIES: [&Entry<dyn CongestionControl>; 3] = [
    &Entry {
        name: "quinn-newreno",
        about: "quinn's New Reno.",
        source: SOURCE,
        params: &[initial_window(INITIAL)],
        build: |p| {
            Box::new(Quinn::new(
                "quinn-newreno",
                Reads::Neither,
                |initial| {
                    let mut config = NewRenoConfig::default();
                    config.initial_window(initial);
                    Arc::new(config)
                },
                p,
            ))
        },
    },
    &Entry {
        name: "quinn-cubic",
        about: "quinn's CUBIC, its default.",
        source: SOURCE,
        params: &[initial_window(INITIAL)],
        build: |p| {
            Box::new(Quinn::new(
                "quinn-cubic",
                Reads::Smoothed,
                |initial| {
                    let mut config = CubicConfig::default();
                    config.initial_window(initial);
                    Arc::new(config)
                },
                p,
            ))
        },
    },
    &Entry {
        name: "quinn-bbr",
        about: "quinn's BBR, which it calls experimental. It draws its place in the probing cycle from the \
                system's random numbers: runs with the same seed differ.",
        source: SOURCE,
        params: &[initial_window(INITIAL_BBR)],
        build: |p| {
            Box::new(Quinn::new(
                "quinn-bbr",
                Reads::Smallest,
                |initial| {
                    let mut config = BbrConfig::default();
                    config.initial_window(initial);
                    Arc::new(config)
                },
                p,
            ))
        },
    },
];
