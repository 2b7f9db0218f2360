use ackclock_units::Bytes;

use crate::{Congestion, CongestionControl, Control, Entry, Feedback, Param, Policy, SenderView, Window};

#[derive(Debug)]
struct Gentle {
    increase: f64,
    decrease: f64,
}

impl Policy for Gentle {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for Gentle {
    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: 10 * Bytes::from(v.smss), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let smss = Bytes::from(v.smss);
        let now = v.window;
        match f {
            // Slow start is a policy of its own; a segment an ack is the most that it may add.
            Feedback::Ack(a, slow_start) if a.validated && now.cwnd < now.ssthresh => {
                slow_start.on_ack(a, a.newly_acked.min(smss), v).applied_to(v)
            }
            // A window that was not in use (`validated`) does not grow.
            Feedback::Ack(a, _) if a.validated => {
                let share = a.newly_acked.min(smss) as f64 / now.cwnd.max(1) as f64;
                let more = (self.increase * share * smss as f64) as Bytes;
                Window { cwnd: now.cwnd.saturating_add(more), ..now }
            }
            Feedback::Congestion(c) => {
                let kept = (self.decrease * v.flight_size.min(now.cwnd) as f64) as Bytes;
                let ssthresh = kept.max(2 * smss);
                match c {
                    Congestion::Rto { repeated: true } => Window { cwnd: smss, ..now },
                    Congestion::Rto { repeated: false } => Window { cwnd: smss, ssthresh },
                    _ => Window { cwnd: ssthresh, ssthresh },
                }
            }
            f => v.default_window(&f),
        }
        .into()
    }
}

pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "gentle",
    about: "Grows by a number of segments a round trip; keeps a share of the flight at a loss.",
    source: "an example",
    params: &[
        Param::ratio("increase", 1.0, 0.0..=1000.0, "segments added per round trip"),
        Param::ratio("decrease", 0.8, 0.0..=1.0, "share of the data in flight that a loss leaves"),
    ],
    build: |p| Box::new(Gentle { increase: p.ratio("increase"), decrease: p.ratio("decrease") }),
};
