use crate::{Entry, Frame, Framing, Param, Policy, SenderView};

/// Sends a packet that is alone several times, back to back.
#[derive(Debug)]
struct Diversity {
    copies: u32,
}

impl Policy for Diversity {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Framing for Diversity {
    fn frame(&mut self, v: &SenderView) -> Frame {
        let alone = v.unsent <= u64::from(v.smss);
        Frame { most: v.smss, copies: if alone { self.copies } else { 1 } }
    }
}

/// The paper's third approach.
pub(crate) const ENTRY: Entry<dyn Framing> = Entry {
    name: "diversity",
    about: "Sends a segment several times at once when no other waits and the window holds all of them. The \
            sender expects a duplicate ack for each copy, which counts as no sign of loss; one that has not \
            come after a retransmission timeout means that a copy was lost, and the window is reduced. A \
            segment whose copies were all lost times out, and what is resent is sent once. Its receiver \
            needs `+ack-every`.",
    source: "I-A7, I-E13, I-X5; the paper does not say how long a duplicate ack is waited for, nor what \
             becomes of segments sent while others are outstanding: with SACK, whose receivers tell what was \
             a duplicate, they are copied too, and without it they are not",
    params: &[Param::count("copies", 2, 1..=16, "k, how often a segment is sent that is alone")],
    build: |p| Box::new(Diversity { copies: p.count("copies") as u32 }),
};
