use ackclock_units::Bytes;

use crate::{CongestionControl, Control, Entry, Feedback, Param, Policy, SenderView, Window};

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
    fn start(&mut self, v: &SenderView) -> Control {
        // A window holds at least one segment.
        Window { cwnd: self.cwnd.max(v.smss.into()), ..v.window }.into()
    }

    fn on(&mut self, _f: Feedback<'_>, v: &SenderView) -> Control {
        v.window.into()
    }
}

pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "fixed",
    about: "Holds one window whatever happens.",
    source: "an example",
    params: &[Param::bytes("cwnd", 14_600, 1..=1 << 30, "the window held")],
    build: |p| Box::new(Fixed { cwnd: p.bytes("cwnd") }),
};
