use crate::{Entry, Frame, Framing, Policy, SenderView};

/// Full-sized segments, as TCP normally sends.
#[derive(Debug)]
struct Full;

impl Policy for Full {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Framing for Full {
    fn frame(&mut self, v: &SenderView) -> Frame {
        Frame { most: v.smss, copies: 1 }
    }

    fn is_default(&self) -> bool {
        true
    }
}

/// Full segments.
pub(crate) const ENTRY: Entry<dyn Framing> = Entry {
    name: "full",
    about: "Sends full-sized segments, one copy of each.",
    source: "RFC 9293 3.7.1, RFC 5681 2 (SMSS)",
    params: &[],
    build: |_| Box::new(Full),
};
