//! Table of sent probes by number: what each carries, and its reply.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant};

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<T> {
    pub at: Instant,
    pub content: T,
    /// Its round-trip time, once its reply has arrived.
    pub rtt: Option<Duration>,
}

/// The probes sent last, with consecutive numbers. Older ones are forgotten, with or without a reply.
#[derive(Debug)]
pub(super) struct ProbeTable<T> {
    sent: VecDeque<Sent<T>>,
    first: u64,
}

/// The probe of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyMatch<T> {
    /// The first reply to this probe.
    First(Sent<T>),
    /// A further reply to a probe.
    Again,
    /// No such probe was sent, or it is forgotten.
    Unknown,
}

/// Number of probes in the table: several times the largest window that [`super::ProbeOptions`] allows.
pub(super) const MEMORY: usize = 65_536;

impl<T: Copy> ProbeTable<T> {
    pub fn new() -> Self {
        Self { sent: VecDeque::new(), first: 0 }
    }

    /// Adds a probe and returns its number.
    pub fn send(&mut self, at: Instant, content: T) -> u64 {
        if self.sent.len() == MEMORY {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(Sent { at, content, rtt: None });
        self.next() - 1
    }

    /// The number of the next probe.
    pub fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Handles a reply to probe `number` at `at`.
    pub fn on_reply(&mut self, at: Instant, number: u64) -> ReplyMatch<T> {
        let place = number.checked_sub(self.first).and_then(|n| usize::try_from(n).ok());
        match place.and_then(|n| self.sent.get_mut(n)) {
            Some(sent) if sent.rtt.is_none() => {
                sent.rtt = Some(at.since(sent.at));
                ReplyMatch::First(*sent)
            }
            Some(_) => ReplyMatch::Again,
            None => ReplyMatch::Unknown,
        }
    }

    /// The probes in the table from number `from` on.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Sent<T>> {
        self.sent.iter().skip(from.saturating_sub(self.first).min(MEMORY as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_reply_to_a_probe_counts() {
        let mut table = ProbeTable::new();
        assert_eq!([(); 3].map(|()| table.send(Instant::from_nanos(10), 'x')), [0, 1, 2]);
        let at = Instant::from_nanos(25);
        assert!(
            matches!(table.on_reply(at, 1), ReplyMatch::First(s) if s.rtt == Some(Duration::from_nanos(15)))
        );
        assert!(matches!(table.on_reply(at, 1), ReplyMatch::Again));
        for forged in [3, u64::MAX, 1 << 40] {
            assert!(matches!(table.on_reply(at, forged), ReplyMatch::Unknown));
        }
    }

    #[test]
    fn the_table_is_bounded_and_forgotten_probes_are_unknown() {
        let mut table = ProbeTable::new();
        for _ in 0..MEMORY + 10 {
            table.send(Instant::ZERO, ());
        }
        assert_eq!((table.sent.len(), table.next()), (MEMORY, MEMORY as u64 + 10));
        assert!(matches!(table.on_reply(Instant::ZERO, 9), ReplyMatch::Unknown));
        assert!(matches!(table.on_reply(Instant::ZERO, 10), ReplyMatch::First(_)));
        assert_eq!(table.since(0).count(), MEMORY);
        assert_eq!(table.since(MEMORY as u64).count(), 10);
        assert_eq!(table.since(u64::MAX).count(), 0);
    }
}
