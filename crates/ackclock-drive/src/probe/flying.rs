//! Probes that were sent, by number: what each carries, and what became of it.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant};

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<T> {
    pub at: Instant,
    pub load: T,
    /// Its round trip, once it came back.
    pub rtt: Option<Duration>,
}

/// The probes sent last. Numbers are given one after the other; older ones are forgotten, answered or not.
#[derive(Debug)]
pub(super) struct Flying<T> {
    sent: VecDeque<Sent<T>>,
    first: u64,
}

/// What the number of a reply says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<T> {
    /// Its probe comes back for the first time.
    First(Sent<T>),
    /// It was back already.
    Again,
    /// No such probe, or one that is forgotten.
    Unknown,
}

/// Probes remembered: several windows of the largest size that [`super::ProbeOptions`] allows.
pub(super) const MEMORY: usize = 65_536;

impl<T: Copy> Flying<T> {
    pub fn new() -> Self {
        Self { sent: VecDeque::new(), first: 0 }
    }

    /// Enters a probe; its number.
    pub fn send(&mut self, at: Instant, load: T) -> u64 {
        if self.sent.len() == MEMORY {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(Sent { at, load, rtt: None });
        self.next() - 1
    }

    /// The number of the next probe.
    pub fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// A reply to probe `number` came at `at`.
    pub fn answer(&mut self, at: Instant, number: u64) -> Found<T> {
        let place = number.checked_sub(self.first).and_then(|n| usize::try_from(n).ok());
        match place.and_then(|n| self.sent.get_mut(n)) {
            Some(sent) if sent.rtt.is_none() => {
                sent.rtt = Some(at.since(sent.at));
                Found::First(*sent)
            }
            Some(_) => Found::Again,
            None => Found::Unknown,
        }
    }

    /// Those remembered, from number `from` on.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Sent<T>> {
        self.sent.iter().skip(from.saturating_sub(self.first).min(MEMORY as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_comes_back_once() {
        let mut flying = Flying::new();
        assert_eq!([(); 3].map(|()| flying.send(Instant::from_nanos(10), 'x')), [0, 1, 2]);
        let at = Instant::from_nanos(25);
        assert!(matches!(flying.answer(at, 1), Found::First(s) if s.rtt == Some(Duration::from_nanos(15))));
        assert!(matches!(flying.answer(at, 1), Found::Again));
        for forged in [3, u64::MAX, 1 << 40] {
            assert!(matches!(flying.answer(at, forged), Found::Unknown));
        }
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_is_unknown() {
        let mut flying = Flying::new();
        for _ in 0..MEMORY + 10 {
            flying.send(Instant::ZERO, ());
        }
        assert_eq!((flying.sent.len(), flying.next()), (MEMORY, MEMORY as u64 + 10));
        assert!(matches!(flying.answer(Instant::ZERO, 9), Found::Unknown));
        assert!(matches!(flying.answer(Instant::ZERO, 10), Found::First(_)));
        assert_eq!(flying.since(0).count(), MEMORY);
        assert_eq!(flying.since(MEMORY as u64).count(), 10);
        assert_eq!(flying.since(u64::MAX).count(), 0);
    }
}
