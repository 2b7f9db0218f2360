//! Round-trip times of the whole path as far as one capture shows them, and where packets waited.

use ackclock_units::Duration;

use super::{Connection, Direction, View};

/// Round trips from the data's sender to its receiver and back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoundTrips {
    /// The shortest.
    pub low: Duration,
    /// The median; missing where only the handshake shows one.
    pub median: Option<Duration>,
    /// What one in twenty exceeds.
    pub high: Option<Duration>,
    /// The longest.
    pub most: Option<Duration>,
    /// What shows them: `acks` of data, `echoes` of timestamps near the receiver, or the `handshake`.
    pub by: &'static str,
    /// Most bytes under way.
    pub under_way: Option<u64>,
    /// Of `high`, how long packets waited on the data's way, and on the acks'.
    pub there: Option<Duration>,
    /// See `there`.
    pub back: Option<Duration>,
}

/// Fewer samples show no distribution. Chosen, because the highest one in twenty is one of them.
const ENOUGH: u64 = 8;

impl Direction {
    /// The round trips of its path; `None` if the capture shows none. `c` is its connection.
    pub fn round_trips(&self, c: &Connection) -> Option<RoundTrips> {
        let other = c.directions.iter().find(|d| !std::ptr::eq(*d, self))?;
        let spread = match self.view {
            // One sample for each tick, as the echoes near the receiver: a burst does not count as many.
            View::Sender if self.rtt_timestamps.count() >= ENOUGH => &self.rtt_timestamps,
            View::Sender => &self.rtt,
            View::Receiver => &self.observed.echoes,
        };
        let enough = spread.count() >= ENOUGH;
        // The rest of the way, from the capture to the nearer end, is added at its shortest.
        let rest = match self.view {
            View::Sender => self.share.filter(|share| *share > 0.0).map_or(0.0, |share| 1.0 / share - 1.0),
            View::Receiver => {
                self.share.filter(|share| *share < 1.0).map_or(0.0, |share| 1.0 / (1.0 - share) - 1.0)
            }
        };
        let rest = spread.min().map_or(Duration::ZERO, |least| least.mul_f64(rest.min(1.0)));
        let whole = |d: Option<Duration>| d.map(|d| d + rest);
        let handshake = c.handshake.filter(|_| c.directions.iter().all(|d| d.timeouts.is_empty()));
        if !enough {
            let low = whole(spread.min()).into_iter().chain(handshake).min()?;
            let by = if spread.count() > 0 { "acks" } else { "handshake" };
            return Some(RoundTrips {
                low,
                by,
                median: None,
                high: None,
                most: None,
                under_way: None,
                there: None,
                back: None,
            });
        }
        let low = whole(spread.min()).into_iter().chain(handshake).min()?;
        let high = whole(spread.quantile(0.95))?;
        let rose = high.saturating_sub(low);
        let late = |d: &Self| {
            Some(&d.observed.late.spread).filter(|s| s.count() >= ENOUGH).and_then(|s| s.quantile(0.95))
        };
        let (there, back) = match self.view {
            View::Sender => {
                let back = late(other).map(|late| late.min(rose));
                (back.map(|back| rose - back), back)
            }
            View::Receiver => {
                let there = late(self).map(|late| late.min(rose));
                (there, there.map(|there| rose - there))
            }
        };
        Some(RoundTrips {
            low,
            median: whole(spread.quantile(0.5)),
            high: Some(high),
            most: whole(spread.max()),
            by: if self.view == View::Sender { "acks" } else { "echoes" },
            under_way: Some(match self.view {
                View::Sender => self.max_flight,
                View::Receiver => self.observed.echoed_flight,
            }),
            there,
            back,
        })
    }
}
