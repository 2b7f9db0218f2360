use ackclock_units::Bytes;

use crate::{AckInfo, Congestion, CongestionControl, Entry, Param, Policy, SenderView, Window};

#[derive(Debug)]
struct Fixed {
    cwnd: Bytes,
}

impl Policy for Fixed {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for Fixed {
    fn start(&mut self, v: &SenderView) -> Window {
        // A window holds at least one segment.
        Window { cwnd: self.cwnd.max(v.smss.into()), ..v.window }
    }

    fn on_ack(&mut self, _a: &AckInfo, v: &SenderView) -> Window {
        v.window
    }

    fn on_congestion(&mut self, _c: Congestion, v: &SenderView) -> Window {
        v.window
    }
}

pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "fixed",
    about: "Holds one window whatever happens.",
    source: "an example",
    params: &[Param::bytes("cwnd", 14_600, 1..=1 << 30, "the window held")],
    build: |p| Box::new(Fixed { cwnd: p.bytes("cwnd") }),
};
