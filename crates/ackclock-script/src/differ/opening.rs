//! Handshakes of random conversations.

use super::conversation::{Ack, Op, Segment};
use super::generate::{ACK, CWR, ECE, FIN, Generator, PSH, RST, SYN, URG};

impl Generator {
    fn syn(&self, flags: u16) -> Segment {
        self.plain(flags)
    }

    /// The peer opens the connection.
    pub(super) fn passive_opening(&mut self) {
        let syn = self.syn(if self.ecn { SYN | ECE | CWR } else { SYN });
        if self.odd() {
            self.stray();
        }
        if self.odd() {
            let len = self.pick(&[0, 100]);
            let flags = self.pick(&[SYN | FIN, SYN | RST, SYN | ACK, SYN | URG, SYN | PSH, ACK | FIN]);
            self.inject(Segment { len, ..self.syn(flags) });
        }
        self.inject(syn.clone());
        if self.odd() {
            match self.rng.below(6) {
                0 => self.inject(syn),
                1 => self.inject(Segment { ack: Ack::Beyond(5), ..self.plain(ACK) }),
                2 => self.inject(self.plain(RST)),
                3 => self.inject(Segment { offset: 1000, ..self.plain(RST) }),
                4 => self.inject(Segment { len: 500, ..self.plain(ACK | PSH) }),
                _ => self.inject(self.plain(ACK | FIN)),
            }
        }
        let len = if self.rng.chance(0.15) { self.len() } else { 0 };
        self.inject(Segment { len, ..self.plain(ACK) });
        self.call(Op::Accept);
    }

    /// The peer answers the host, which opens the connection.
    pub(super) fn active_opening(&mut self) {
        let flags = if self.ecn { SYN | ACK | ECE } else { SYN | ACK };
        if self.odd() {
            match self.rng.below(7) {
                0 => self.inject(Segment { ack: Ack::Beyond(1), ..self.syn(flags) }),
                1 => self.inject(Segment { ack: Ack::Same, ..self.syn(flags) }),
                2 => self.inject(self.syn(SYN)),
                3 => self.inject(self.plain(ACK)),
                4 => self.inject(self.plain(RST)),
                5 => self.inject(self.plain(RST | ACK)),
                _ => self.inject(Segment { flags: ACK | FIN, ..self.plain(ACK) }),
            }
        }
        let len = if self.odd() { 200 } else { 0 };
        self.inject(Segment { len, ..self.syn(flags) });
        self.call(Op::Error);
    }
}
