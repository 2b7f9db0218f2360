//! A reduction spread over the recovery: bytes sent are proportional to bytes delivered.

use ackclock_policy::{AckInfo, Entry, Policy, Reduction, SenderView, Window};
use ackclock_units::Bytes;

#[derive(Debug, Default)]
struct Proportional {
    flight_size: Bytes,
    delivered: Bytes,
    sent: Bytes,
}

impl Policy for Proportional {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Reduction for Proportional {
    fn begin(&mut self, _before: Window, v: &SenderView) {
        *self = Self { flight_size: v.flight_size.max(1), ..Self::default() };
    }

    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Bytes {
        self.delivered += a.delivered;
        let quota = if v.pipe > v.window.ssthresh {
            (self.delivered * v.window.ssthresh).div_ceil(self.flight_size).saturating_sub(self.sent)
        } else {
            let earned = self.delivered.saturating_sub(self.sent).max(a.delivered);
            (v.window.ssthresh - v.pipe).min(earned + u64::from(v.smss))
        };
        // The first retransmission is sent however little was delivered.
        if self.sent == 0 { quota.max(u64::from(v.smss)) } else { quota }
    }

    fn on_sent(&mut self, bytes: u32, _smss: u32) {
        self.sent += u64::from(bytes);
    }
}

pub static ENTRY: Entry<dyn Reduction> = Entry {
    name: "proportional",
    about: "Bytes sent are proportional to bytes delivered.",
    source: "a test; RFC 9937 6",
    params: &[],
    build: |_| Box::new(Proportional::default()),
};
