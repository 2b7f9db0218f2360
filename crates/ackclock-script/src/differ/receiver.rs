//! A receiver as the standards have it: what it reports is what has arrived.

use std::collections::VecDeque;

use ackclock_wire::Flags;

use super::conversation::Fate;
use crate::ast::{Tcp, TcpOption};

/// What arrives, and what is reported of it.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Segments that the host has sent and that have neither arrived nor been lost.
    on_the_way: VecDeque<Piece>,
    /// The one that arrived last.
    last: Option<Piece>,
    /// The next byte that is missing (RCV.NXT).
    next: u32,
    /// What has arrived beyond, the latest first (RFC 2018 §4).
    blocks: Vec<(u32, u32)>,
    /// What arrived last was there already (RFC 2883 §4).
    duplicate: Option<(u32, u32)>,
    /// What was acknowledged last, and the timestamp to echo (RFC 7323 §4.3: Last.ACK.sent, TS.Recent).
    acked: u32,
    recent: u32,
}

/// A segment as it travels.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u32,
    to: u32,
    stamp: Option<u32>,
}

/// What an ack reports.
pub(super) struct Report {
    pub ack: u32,
    pub blocks: Vec<(u32, u32)>,
    /// The timestamp to echo.
    pub echo: u32,
}

/// Most blocks beside timestamps (RFC 2018 §3).
const MOST_BLOCKS: usize = 3;

impl Receiver {
    pub(super) fn new() -> Self {
        Self {
            on_the_way: VecDeque::new(),
            last: None,
            next: 0,
            blocks: Vec::new(),
            duplicate: None,
            acked: 0,
            recent: 0,
        }
    }

    /// The host has sent a packet, whose segments carry `most` bytes.
    pub(super) fn hears(&mut self, tcp: &Tcp, list: &[TcpOption], most: u32) {
        let has = |flag: Flags| tcp.flags.bits & flag.0 != 0;
        let stamp = list.iter().find_map(|o| match o {
            TcpOption::Timestamps { val, .. } => Some(*val),
            _ => None,
        });
        let end = tcp.seq.wrapping_add(tcp.len + u32::from(has(Flags::SYN)) + u32::from(has(Flags::FIN)));
        if has(Flags::SYN) {
            // Where it is sent again, it says the same.
            self.next = self.next.max(end);
            self.recent = stamp.unwrap_or(0);
            return;
        }
        let mut from = tcp.seq;
        while from < end {
            let to = (from + most).min(end);
            // A FIN travels with the last byte.
            let to = if to + 1 == end && has(Flags::FIN) { end } else { to };
            self.on_the_way.push_back(Piece { from, to, stamp });
            from = to;
        }
        if tcp.seq == end {
            self.note_stamp(tcp.seq, stamp);
        }
    }

    /// RFC 7323 §4.3.
    fn note_stamp(&mut self, seq: u32, stamp: Option<u32>) {
        if let Some(stamp) = stamp.filter(|_| seq <= self.acked) {
            self.recent = self.recent.max(stamp);
        }
    }

    /// What becomes of what is on its way. False where nothing arrives.
    pub(super) fn arrives(&mut self, fate: Fate) -> bool {
        let piece = match fate {
            Fate::Nothing => return true,
            Fate::Lost(n) => {
                self.on_the_way.drain(..usize::from(n).min(self.on_the_way.len()));
                self.on_the_way.pop_front()
            }
            Fate::Later(n) => {
                let last = self.on_the_way.len().saturating_sub(1);
                self.on_the_way.remove(last.min(n.into()))
            }
            Fate::Through(n) => {
                // RFC 5681 §4.2: what is out of order, or fills a gap, is acknowledged at once.
                for _ in 1..n {
                    let follows = self.on_the_way.front().is_some_and(|p| p.from == self.next);
                    if !follows || !self.blocks.is_empty() || self.on_the_way.len() == 1 {
                        break;
                    }
                    self.on_the_way.pop_front().into_iter().for_each(|p| self.take(p));
                }
                self.on_the_way.pop_front()
            }
            Fate::Again => self.last,
        };
        piece.into_iter().for_each(|p| self.take(p));
        piece.is_some()
    }

    fn take(&mut self, piece: Piece) {
        (self.last, self.duplicate) = (Some(piece), None);
        self.note_stamp(piece.from, piece.stamp);
        let range = (piece.from, piece.to);
        let holder = self.blocks.iter().position(|(from, to)| *from <= piece.from && piece.to <= *to);
        if piece.to <= self.next || holder.is_some() {
            self.duplicate = Some(range);
            if let Some(i) = holder {
                self.blocks[..=i].rotate_right(1);
            }
        } else if piece.from <= self.next {
            self.next = piece.to;
            self.blocks.sort_unstable();
            for (from, to) in &self.blocks {
                if *from <= self.next {
                    self.next = self.next.max(*to);
                }
            }
            let next = self.next;
            self.blocks.retain(|(from, _)| *from > next);
        } else {
            let touches = |b: &(u32, u32)| b.0 <= range.1 && range.0 <= b.1;
            let whole =
                self.blocks.iter().filter(|b| touches(b)).fold(range, |a, b| (a.0.min(b.0), a.1.max(b.1)));
            self.blocks.retain(|b| !touches(b));
            self.blocks.insert(0, whole);
        }
    }

    /// The ack that is due now.
    pub(super) fn report(&mut self) -> Report {
        self.acked = self.next;
        let dsack = self.duplicate.take();
        let blocks = dsack.into_iter().chain(self.blocks.iter().copied()).take(MOST_BLOCKS).collect();
        Report { ack: self.next, blocks, echo: self.recent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{TcpFlags, TcpOptions};

    fn data(seq: u32, len: u32, flags: u16) -> Tcp {
        Tcp {
            flags: TcpFlags { bits: flags, ace: None },
            seq,
            any_seq: false,
            len,
            ack: Some(1),
            window: None,
            urgent: None,
            options: TcpOptions::List(Vec::new()),
        }
    }

    fn receiver(segments: u32) -> Receiver {
        let mut r = Receiver::new();
        r.hears(&data(0, 0, Flags::SYN.0), &[], 1000);
        r.hears(&data(1, segments * 1000, Flags::ACK.0), &[], 1000);
        r
    }

    fn after(r: &mut Receiver, fate: Fate) -> Option<(u32, Vec<(u32, u32)>)> {
        r.arrives(fate).then(|| r.report()).map(|report| (report.ack, report.blocks))
    }

    #[test]
    fn it_acknowledges_what_has_arrived() {
        let mut r = receiver(3);
        assert_eq!(after(&mut r, Fate::Through(2)), Some((2001, vec![])));
        assert_eq!(after(&mut r, Fate::Through(2)), Some((3001, vec![])));
        assert_eq!(after(&mut r, Fate::Through(2)), None, "nothing is on its way");
    }

    #[test]
    fn it_reports_what_lies_behind_a_gap_the_latest_first() {
        let mut r = receiver(8);
        assert_eq!(after(&mut r, Fate::Lost(1)), Some((1, vec![(1001, 2001)])));
        assert_eq!(after(&mut r, Fate::Later(1)), Some((1, vec![(3001, 4001), (1001, 2001)])));
        assert_eq!(after(&mut r, Fate::Lost(2)), Some((1, vec![(5001, 6001), (3001, 4001), (1001, 2001)])));
        r.hears(&data(1, 1000, Flags::ACK.0), &[], 1000);
        assert_eq!(after(&mut r, Fate::Later(9)), Some((2001, vec![(3001, 4001), (5001, 6001)])));
    }

    #[test]
    fn it_reports_what_it_had_already() {
        let mut r = receiver(3);
        assert_eq!(after(&mut r, Fate::Lost(1)), Some((1, vec![(1001, 2001)])));
        assert_eq!(after(&mut r, Fate::Again), Some((1, vec![(1001, 2001), (1001, 2001)])));
        assert_eq!(after(&mut r, Fate::Nothing), Some((1, vec![(1001, 2001)])));
    }

    #[test]
    fn a_fin_comes_with_the_last_byte() {
        let mut r = Receiver::new();
        r.hears(&data(0, 0, Flags::SYN.0), &[], 1000);
        r.hears(&data(1, 1000, (Flags::ACK | Flags::FIN).0), &[], 1000);
        assert_eq!(after(&mut r, Fate::Through(1)), Some((1002, vec![])));
    }
}
