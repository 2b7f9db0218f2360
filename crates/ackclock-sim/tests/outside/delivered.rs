//! A window by delivery rate: twice the largest recent rate times the smallest round-trip time.

use std::collections::VecDeque;

use ackclock_policy::{
    Congestion, CongestionControl, Control, Entry, Family, Feedback, Needs, Pacing, Policy, RateSample,
    SenderView, Window,
};
use ackclock_units::{Bytes, Rate};

#[derive(Debug, Default)]
struct Delivered {
    /// The largest rate of each of the last ten round trips.
    rates: VecDeque<Rate>,
    /// Bytes delivered when the present round trip ends.
    round_end: Bytes,
}

impl Delivered {
    fn take(&mut self, s: &RateSample) {
        if s.prior_delivered >= self.round_end || self.rates.is_empty() {
            self.round_end = s.total_delivered;
            self.rates.push_back(Rate::default());
            if self.rates.len() > 10 {
                self.rates.pop_front();
            }
        }
        if let Some(rate) = self.rates.back_mut()
            && (!s.app_limited || s.rate() > *rate)
        {
            *rate = s.rate().max(*rate);
        }
    }

    fn control(&self, v: &SenderView) -> Control {
        let rate = self.rates.iter().copied().max().unwrap_or_default();
        let Some(rtt) = v.rtt.filter(|_| rate > Rate::default()) else { return v.window.into() };
        let bdp = rate.bytes_in(rtt.min_rtt);
        let cwnd = (2 * bdp).max(4 * u64::from(v.smss));
        // A fifth above the delivery rate, to probe for more.
        let rate = Rate::from_bits_per_sec(rate.bits_per_sec() / 5 * 6);
        Control { window: Window { cwnd, ..v.window }, pacing: Some(Pacing { rate, quantum: 2 * v.smss }) }
    }
}

impl Policy for Delivered {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for Delivered {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    fn needs(&self) -> Needs {
        Needs { every_ack: true, rate_samples: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: 10 * u64::from(v.smss), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, _) => {
                if let Some(s) = &a.rate {
                    self.take(s);
                }
                self.control(v)
            }
            Feedback::Congestion(Congestion::Rto { .. }) => {
                Window { cwnd: u64::from(v.smss), ..v.window }.into()
            }
            _ => self.control(v),
        }
    }
}

pub static ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "delivered",
    about: "Twice the bandwidth-delay product, by samples of the delivery rate.",
    source: "a test",
    params: &[],
    build: |_| Box::new(Delivered::default()),
};
