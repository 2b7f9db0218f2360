//! Random conversations with a peer that keeps to the standards: the network loses, reorders and duplicates what the
//! host sends, and the peer reports what has arrived (RFC 9293 §3.10.7.4, RFC 2018 §4, RFC 2883 §4, RFC 7323 §4.3).

use ackclock_units::Rng;

use super::conversation::{Ack, Conversation, Fate, Op, Segment, SocketOption};
use super::generate::{ACK, FIN, Generator, PSH};
use crate::constants as c;

/// Conversation number `index` of the seed, with a peer that never contradicts itself.
pub fn generate_sound(seed: u64, index: u64) -> Conversation {
    Generator::new(Rng::stream(seed, "sound conversation", index), true).conversation()
}

impl Generator {
    /// One or more steps that belong together.
    pub(super) fn sound_turn(&mut self, wanted: usize) {
        let late = self.steps.len() + 3 >= wanted;
        match self.rng.below(100) {
            0..=24 => self.write(),
            25..=44 => self.in_order(),
            45..=62 => self.loses(),
            63..=72 => self.reorders(),
            73..=76 => self.report(Fate::Again),
            77..=86 => self.peers_data(),
            87..=90 => {
                let len = self.pick(&[1, 1000, 100_000]);
                self.call(Op::Read(len));
            }
            91..=93 => {
                let option = self.pick(&[
                    SocketOption::NoDelay(true),
                    SocketOption::NoDelay(false),
                    SocketOption::QuickAck(true),
                ]);
                self.call(Op::Set(option));
            }
            _ if late => self.ends(),
            _ => self.write(),
        }
    }

    fn report(&mut self, fate: Fate) {
        self.inject(Segment { ack: Ack::Arrived(fate), ..self.plain(ACK) });
    }

    fn in_order(&mut self) {
        for _ in 0..self.pick(&[1, 2, 3, 5]) {
            let n = self.pick(&[1, 1, 2, 2, 3]);
            self.report(Fate::Through(n));
        }
    }

    fn loses(&mut self) {
        if self.rng.chance(0.6) {
            let n = self.pick(&[2, 4, 6, 10]);
            self.call(Op::Write(n * self.mss, false));
        }
        let n = self.pick(&[1, 1, 1, 2, 3, 5, 200]);
        self.report(Fate::Lost(n));
        for _ in 0..self.pick(&[0, 1, 2, 3, 5, 8]) {
            self.report(Fate::Through(1));
        }
    }

    fn reorders(&mut self) {
        if self.rng.chance(0.6) {
            let n = self.pick(&[2, 4, 6, 10]);
            self.call(Op::Write(n * self.mss, false));
        }
        for _ in 0..self.pick(&[1, 1, 2, 3]) {
            let n = self.pick(&[1, 1, 2, 3, 5]);
            self.report(Fate::Later(n));
        }
        for _ in 0..self.pick(&[1, 2, 4]) {
            self.report(Fate::Through(1));
        }
    }

    /// The peer sends data, of which some arrives late or twice.
    fn peers_data(&mut self) {
        let len = self.len();
        let n = i64::from(len);
        let fate = self.pick(&[Fate::Nothing, Fate::Through(1), Fate::Through(2)]);
        let data = Segment { ack: Ack::Arrived(fate), len, flags: ACK | PSH, ..self.plain(ACK) };
        match self.rng.below(8) {
            0 => {
                // The second of two segments comes first.
                self.inject(Segment { offset: n, ..data.clone() });
                self.inject(Segment { ack: Ack::Arrived(Fate::Nothing), ..data });
            }
            1 => {
                self.inject(data.clone());
                // Its ack was lost.
                self.inject(Segment { offset: -n, ack: Ack::Arrived(Fate::Nothing), ..data });
            }
            _ => self.inject(data),
        }
    }

    fn ends(&mut self) {
        match self.rng.below(4) {
            0 => self.call(Op::Close),
            1 => self.call(Op::Shutdown(c::SHUT_WR)),
            2 => self.inject(Segment { ack: Ack::Arrived(Fate::Nothing), ..self.plain(FIN | ACK) }),
            _ => self.report(Fate::Through(1)),
        }
    }
}
