//! When the application had data to send, as far as a capture shows it.

use ackclock_units::{Duration, SeqNumber};

use crate::{Event, Kind};

/// Silence after everything is acknowledged that shows that the application had nothing to send: longer than a
/// sender needs to respond, and than pacing holds a segment of any but the slowest paths.
const SILENCE: Duration = Duration::from_millis(5);

/// The ends of what was written at once: everything up to there was sent, all of it was acknowledged, and what
/// follows was sent after a silence only. Where nothing shows otherwise the application always had more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Periods {
    /// In order.
    ends: Vec<SeqNumber>,
    /// The same as numbers, sorted.
    sorted: Vec<u32>,
}

impl Periods {
    pub fn of(first: SeqNumber, events: &[Event]) -> Self {
        let mut ends = Vec::new();
        let (mut una, mut nxt) = (first, first);
        let mut idle_since = None;
        for event in events {
            match event.kind {
                Kind::Sent { range, .. } => {
                    let new = range.end > nxt;
                    if new
                        && nxt > first
                        && idle_since.is_some_and(|at| event.at.saturating_sub(at) > SILENCE)
                    {
                        ends.push(nxt);
                    }
                    if new {
                        (nxt, idle_since) = (range.end, None);
                    }
                }
                Kind::Ack { ack, .. } if ack > una && ack <= nxt => {
                    una = ack;
                    if una == nxt {
                        idle_since = Some(event.at);
                    }
                }
                Kind::Ack { .. } => {}
            }
        }
        ends.push(nxt);
        ends.dedup();
        let mut sorted: Vec<u32> = ends.iter().map(|end| end.0).collect();
        sorted.sort_unstable();
        Self { ends, sorted }
    }

    /// True when nothing was waiting beyond `seq`.
    pub fn ends_at(&self, seq: SeqNumber) -> bool {
        self.sorted.binary_search(&seq.0).is_ok()
    }

    /// The end of the period that number `i` is, in order.
    pub fn get(&self, i: usize) -> Option<SeqNumber> {
        self.ends.get(i).copied()
    }
}
