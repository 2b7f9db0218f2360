use ackclock_units::Bytes;

use crate::{CongestionControl, Control, Entry, Feedback, Policy, SenderView, Window};

/// No congestion window.
#[derive(Debug)]
struct ReceiverOnly;

impl Policy for ReceiverOnly {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl CongestionControl for ReceiverOnly {
    fn start(&mut self, _v: &SenderView) -> Control {
        OPEN.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(..) | Feedback::Congestion(_) => OPEN.into(),
            f => v.default_window(&f).into(),
        }
    }
}

/// Larger than any advertised window, and far from overflow.
const OPEN: Window = Window { cwnd: 1 << 40, ssthresh: Bytes::MAX };

/// TCP before 1988.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "receiver-only",
    about: "No congestion window: sends whatever the receiver's window allows, as TCP did before 1988.",
    source: "Jacobson & Karels 1988 (J-A16)",
    params: &[],
    build: |_| Box::new(ReceiverOnly),
};
