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
        // What will be in flight once everything that may be sent is sent.
        let flight = v.flight_size.saturating_add(v.unsent).min(v.window.cwnd).min(v.rwnd);
        let most = flight.div_ceil(self.segments).clamp(1, u64::from(v.smss));
        Frame { most: most as u32, copies: 1 }
    }
}

/// TCP Smart Framing.
pub(crate) const ENTRY: Entry<dyn Framing> = Entry {
    name: "smart",
    about: "TCP Smart Framing: while fewer than four full segments would be in flight, cuts data into \
            smaller ones so that four are. A single packet is sent as four segments; segments grow with the \
            window. They count as full-sized, so that Nagle's algorithm does not hold them back.",
    source: "Mondal & Kuzmanovic 2007 (I-A8, I-E15, I-F11); the paper's condition is a window below four \
             segments, here it is the used \
             part of the window, so that a single packet is cut whatever the window",
    params: &[Param::count("segments", 4, 1..=64, "number of segments in flight to aim for")],
    build: |p| Box::new(Smart { segments: p.count("segments") }),
};
