//! Where each of the things that limit a sender began, and where it held longest.

use ackclock_units::Duration;

use crate::observed::Place;

/// What limits a sender. Its application's part is in four: what it did by itself, how long it took to
/// answer, waits for the other end's data, and time after the last data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// See [`Shares`](crate::Shares).
    Handshake,
    /// See [`Shares`](crate::Shares).
    SlowStart,
    /// See [`Shares`](crate::Shares).
    CongestionWindow,
    /// See [`Shares`](crate::Shares).
    ReceiverWindow,
    /// It sent nothing, and then did without the other end's data.
    Application,
    /// It had the other end's data, and sent later.
    Answer,
    /// It sent again only after the other end had sent data.
    Peer,
    /// What it sent last was on its way.
    Delivery,
    /// It sent nothing any more.
    Idle,
    /// See [`Shares`](crate::Shares).
    Timeouts,
}

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// All of its time.
    pub total: Duration,
    /// Where it first began.
    pub first: Option<Place>,
    /// The longest without another one between.
    pub longest: Duration,
    /// Where that began.
    pub longest_from: Place,
}

/// All of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spans {
    parts: [Span; Part::ALL.len()],
    run: Option<(Part, Place, Duration)>,
}

impl Part {
    /// In the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Handshake,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Application,
        Self::Answer,
        Self::Peer,
        Self::Delivery,
        Self::Idle,
        Self::Timeouts,
    ];

    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow_start",
            Self::CongestionWindow => "congestion_window",
            Self::ReceiverWindow => "receiver_window",
            Self::Application => "application",
            Self::Answer => "answer",
            Self::Peer => "peer",
            Self::Delivery => "delivery",
            Self::Idle => "idle",
            Self::Timeouts => "timeouts",
        }
    }
}

impl Spans {
    /// Each with its name.
    pub fn parts(&self) -> impl Iterator<Item = (Part, &Span)> {
        Part::ALL.into_iter().zip(&self.parts)
    }

    /// Adds a time that began at `from`. Times come in their order.
    pub(crate) fn add(&mut self, part: Part, time: Duration, from: Place) {
        if time == Duration::ZERO {
            return;
        }
        let (began, run) = match self.run {
            Some((of, began, run)) if of == part => (began, run + time),
            _ => (from, time),
        };
        self.run = Some((part, began, run));
        let span = &mut self.parts[part as usize];
        span.total += time;
        span.first.get_or_insert(from);
        if run > span.longest {
            (span.longest, span.longest_from) = (run, began);
        }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Instant;

    use super::*;

    #[test]
    fn what_is_not_interrupted_is_one_span() {
        let ms = Duration::from_millis;
        let from = |n: u64| Place { at: Instant::from_nanos(n * 1_000_000), frame: n };
        let mut spans = Spans::default();
        for (part, time, at) in [
            (Part::Handshake, 10, 1),
            (Part::ReceiverWindow, 20, 10),
            (Part::Handshake, 0, 30),
            (Part::ReceiverWindow, 30, 30),
            (Part::Peer, 5, 60),
            (Part::ReceiverWindow, 40, 65),
        ] {
            spans.add(part, ms(time), from(at));
        }
        let span = spans.parts[Part::ReceiverWindow as usize];
        assert_eq!((span.total, span.longest), (ms(90), ms(50)));
        assert_eq!((span.first, span.longest_from), (Some(from(10)), from(10)));
        assert!(spans.parts().all(|(part, _)| Part::ALL[part as usize] == part));
    }
}
