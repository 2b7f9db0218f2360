//! What connections have done by given moments.

use ackclock_policy::Playback;
use ackclock_units::{Bytes, Duration};

use crate::TcpCounts;
use crate::sockets::TcpState;

/// The state of one end of a connection at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The kernel's counters.
    pub(crate) counts: Option<TcpCounts>,
    /// Bytes read by the application.
    pub(crate) read: Bytes,
    /// What it has played, if it plays a video.
    pub(crate) playback: Option<Playback>,
}

/// The state of a sender, as of one of the moments at regular intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Number of the moment, from 1 on.
    pub(crate) moment: u64,
    /// Number of the connection.
    pub(crate) number: usize,
    pub(crate) counts: TcpCounts,
    pub(crate) state: TcpState,
    pub(crate) read: Bytes,
}

/// When connections are looked at, relative to the start of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    /// Moments at which all connections are looked at, in order.
    pub(crate) at: Vec<Duration>,
    /// The interval at which samples are taken.
    pub(crate) every: Option<Duration>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// For each of [`Moments::at`] that came before the end, all connections that were open then, by number.
    pub(crate) snapshots: Vec<Vec<Option<Snapshot>>>,
    /// When each of them was taken, which may be a little later.
    pub(crate) taken_at: Vec<Duration>,
    /// In order of time, then of number.
    pub(crate) samples: Vec<Sample>,
}

/// Decides when connections are looked at.
#[derive(Debug, Default)]
pub(super) struct Watching {
    moments: Moments,
    samples: u64,
    pub(super) taken: Taken,
}

/// What is due at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Snapshot,
    /// The n-th sample.
    Sample(u64),
}

impl Watching {
    pub(super) fn of(moments: Moments) -> Self {
        Self { moments, ..Self::default() }
    }

    /// The next moment.
    pub(super) fn next(&self) -> Option<Duration> {
        let snapshot = self.moments.at.get(self.taken.snapshots.len()).copied();
        let sample = self.moments.every.map(|every| every * (self.samples + 1));
        [snapshot, sample].into_iter().flatten().min()
    }

    /// What is due by `now`, one thing at a time.
    pub(super) fn due(&mut self, now: Duration) -> Option<Due> {
        let at = self.next().filter(|at| *at <= now)?;
        if self.moments.at.get(self.taken.snapshots.len()) == Some(&at) {
            return Some(Due::Snapshot);
        }
        self.samples += 1;
        Some(Due::Sample(self.samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_and_none_is_left_out() {
        let ms = Duration::from_millis;
        let mut watching = Watching::of(Moments { at: vec![ms(0), ms(25), ms(30)], every: Some(ms(10)) });
        let mut seen = Vec::new();
        for now in [0, 5, 24, 31] {
            while let Some(due) = watching.due(ms(now)) {
                if due == Due::Snapshot {
                    watching.taken.snapshots.push(Vec::new());
                }
                seen.push((now, due));
            }
        }
        let (snapshot, sample) = (Due::Snapshot, Due::Sample);
        let expected = [
            (0, snapshot),
            (24, sample(1)),
            (24, sample(2)),
            (31, snapshot),
            (31, snapshot),
            (31, sample(3)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(watching.next(), Some(ms(40)));
    }
}
