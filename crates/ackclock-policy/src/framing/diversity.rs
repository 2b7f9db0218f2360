use crate::{Entry, Frame, Framing, Param, Policy, SenderView};

/// Sends several copies of a single packet, back to back.
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
    about: "Sends several copies of a segment at once when no other data waits and the window has room for \
            all of them. The sender expects a duplicate ack for each copy, which does not count as a sign of \
            loss; if one has not arrived after a retransmission timeout, a copy was lost, and the window is \
            reduced. A segment whose copies were all lost times out, and its retransmission is sent once. \
            The receiver needs `+ack-every`.",
    source: "Mondal & Kuzmanovic 2007 (I-A7, I-E13, I-X5); the paper leaves open how long the sender waits \
             for a duplicate ack, and \
             whether segments sent while others are outstanding are copied: here they are with SACK, whose \
             receivers report duplicates, and not without it",
    params: &[Param::count("copies", 2, 1..=16, "k, number of copies of a segment when no other data waits")],
    build: |p| Box::new(Diversity { copies: p.count("copies") as u32 }),
};
