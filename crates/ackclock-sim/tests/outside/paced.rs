//! A paced window: AIMD with segments spread over the round trip.

use ackclock_policy::{
    Congestion, CongestionControl, Control, Entry, Feedback, Pacing, Param, Policy, SenderView, Window,
};
use ackclock_units::{Bytes, Rate};

#[derive(Debug)]
struct Paced {
    /// The rate over `cwnd / srtt`.
    gain: f64,
}

impl Paced {
    fn control(&self, window: Window, v: &SenderView) -> Control {
        let pacing = v.rtt.map(|rtt| {
            let bytes = (window.cwnd as f64 * self.gain) as Bytes;
            Pacing { rate: Rate::from_transfer(bytes, rtt.srtt), quantum: v.smss }
        });
        Control { window, pacing }
    }
}

impl Policy for Paced {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for Paced {
    fn start(&mut self, v: &SenderView) -> Control {
        self.control(Window { cwnd: 10 * u64::from(v.smss), ssthresh: Bytes::MAX }, v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let (cwnd, smss) = (v.window.cwnd, u64::from(v.smss));
        let window = match f {
            Feedback::Ack(a, _) if !a.validated => v.window,
            Feedback::Ack(a, slow_start) if cwnd < v.window.ssthresh => {
                slow_start.on_ack(a, a.newly_acked.min(smss), v).applied_to(v)
            }
            Feedback::Ack(..) => Window { cwnd: cwnd + (smss * smss / cwnd).max(1), ..v.window },
            Feedback::Congestion(Congestion::Rto { repeated: true }) => Window { cwnd: smss, ..v.window },
            Feedback::Congestion(c) => {
                let ssthresh = (v.flight_size.min(cwnd) / 2).max(2 * smss);
                let timeout = matches!(c, Congestion::Rto { .. });
                Window { cwnd: if timeout { smss } else { ssthresh }, ssthresh }
            }
            f => v.default_window(&f),
        };
        self.control(window, v)
    }
}

pub static ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "paced",
    about: "Additive increase, multiplicative decrease, and segments spread over the round trip.",
    source: "a test",
    params: &[Param::ratio("gain", 1.25, 0.1..=10.0, "the pacing rate over cwnd / srtt")],
    build: |p| Box::new(Paced { gain: p.ratio("gain") }),
};
