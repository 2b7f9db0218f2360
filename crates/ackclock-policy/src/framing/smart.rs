use crate::{Entry, Frame, Framing, Param, Policy, SenderView};

/// Keeps the number of segments in flight up by making them smaller.
#[derive(Debug)]
struct Smart {
    segments: u64,
}

impl Policy for Smart {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Framing for Smart {
    fn frame(&mut self, v: &SenderView) -> Frame {
        // What will be in flight once everything that may leave has left.
        let flight = v.flight_size.saturating_add(v.unsent).min(v.window.cwnd).min(v.rwnd);
        let most = flight.div_ceil(self.segments).clamp(1, u64::from(v.smss));
        Frame { most: most as u32, copies: 1 }
    }
}

/// TCP Smart Framing.
pub(crate) const ENTRY: Entry<dyn Framing> = Entry {
    name: "smart",
    about: "TCP Smart Framing: while fewer than four full segments would be in flight, data is cut into \
            smaller ones so that four are. A packet that is sent alone becomes four; segments grow with the \
            window. They count as full ones, so Nagle's algorithm does not hold them back.",
    source: "I-A8, I-E15, I-F11; where the paper has the window below four segments, here it is the part of \
             it that is used, so that a single packet is cut whatever the window",
    params: &[Param::count("segments", 4, 1..=64, "segments in flight to come to")],
    build: |p| Box::new(Smart { segments: p.count("segments") }),
};
