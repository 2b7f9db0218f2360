//! A window by ECN marks: a reduction is by half of the smoothed share of marked bytes.

use ackclock_policy::{
    Congestion, CongestionControl, Control, Entry, Family, Feedback, Needs, Policy, SenderView, Window,
};
use ackclock_units::{Bytes, SeqNumber};

/// RFC 8257 §4.2: the recommended g.
const GAIN: f64 = 1.0 / 16.0;

#[derive(Debug, Default)]
struct Marks {
    marked: f64,
    acked: Bytes,
    ce: Bytes,
    window_end: SeqNumber,
}

impl Policy for Marks {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for Marks {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.window_end = v.snd_nxt;
        Window { cwnd: 10 * u64::from(v.smss), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let (cwnd, smss) = (v.window.cwnd, u64::from(v.smss));
        let window = match f {
            Feedback::Ack(a, slow_start) => {
                self.acked += a.newly_acked;
                self.ce += a.ce_bytes;
                if a.ack >= self.window_end {
                    let part = self.ce as f64 / self.acked.max(1) as f64;
                    self.marked += GAIN * (part.min(1.0) - self.marked);
                    (self.acked, self.ce, self.window_end) = (0, 0, v.snd_nxt);
                }
                match a.may_grow && a.validated {
                    true if cwnd < v.window.ssthresh => {
                        slow_start.on_ack(a, a.newly_acked.min(smss), v).applied_to(v)
                    }
                    true => Window { cwnd: cwnd + (smss * smss / cwnd).max(1), ..v.window },
                    false => v.window,
                }
            }
            Feedback::Congestion(Congestion::Ecn) => {
                let ssthresh = ((cwnd as f64 * (1.0 - self.marked / 2.0)) as u64).max(2 * smss);
                Window { cwnd: ssthresh, ssthresh }
            }
            Feedback::Congestion(c) => {
                let ssthresh = (v.flight_size.min(cwnd) / 2).max(2 * smss);
                let timeout = matches!(c, Congestion::Rto { .. });
                Window { cwnd: if timeout { smss } else { ssthresh }, ssthresh }
            }
            f => v.default_window(&f),
        };
        window.into()
    }
}

pub static ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "marks",
    about: "Reduces by half of the share of bytes that were marked.",
    source: "a test; RFC 8257 3.3",
    params: &[],
    build: |_| Box::new(Marks::default()),
};
