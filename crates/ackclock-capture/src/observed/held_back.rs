use ackclock_units::{Duration, Instant};

use super::Place;
use crate::thresholds::THRESHOLDS;

/// Small segments that were sent as soon as a delayed ack of another small segment arrived: Nagle's rule (RFC
/// 9293 §3.7.4) had held them back, and the receiver's delayed ack (RFC 5681 §4.2) made that long.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeldBack {
    /// How many.
    pub count: u32,
    /// How long they waited after the small segment before them, all together: with the rule off, both had
    /// left at once.
    pub total: Duration,
    /// The longest, and the segment that waited.
    pub longest: Duration,
    /// See `longest`.
    pub longest_at: Place,
    /// The first segment that waited.
    pub first: Option<Place>,
    /// The last segment sent, if it was small, and where it ends.
    small: Option<(Place, u64)>,
    /// A delayed ack of all that was outstanding came, and when the small segment was sent.
    acked: Option<(Place, Instant)>,
}

impl HeldBack {
    /// Called when new data ending at `end` is sent; `whole`: it fills a segment. `prompt`: the longest time
    /// between an ack and what it releases, as seen here.
    pub(crate) fn sent(&mut self, here: Place, end: u64, whole: bool, prompt: Duration) {
        let acked = self.acked.take().filter(|_| !whole);
        if let Some((_, sent)) = acked.filter(|(ack, _)| here.at.since(ack.at) <= prompt) {
            let waited = here.at.since(sent);
            self.count = self.count.saturating_add(1);
            self.total += waited;
            self.first.get_or_insert(here);
            if waited > self.longest {
                (self.longest, self.longest_at) = (waited, here);
            }
        }
        self.small = (!whole).then_some((here, end));
    }

    /// Called for an ack of everything below `una`; `alone`: nothing else is outstanding, and it carries no
    /// data. `far`: the shortest round trip to the receiver.
    pub(crate) fn acked(&mut self, here: Place, una: u64, alone: bool, far: Duration) {
        let Some((sent, _)) = self.small.filter(|(_, end)| *end <= una) else { return };
        self.small = None;
        let late = here.at.since(sent.at).saturating_sub(far);
        self.acked = (alone && late >= THRESHOLDS.acked.is_delayed).then_some((here, sent.at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_a_delayed_ack_at_once_was_held_back() {
        let here = |ms: u64| Place { at: Instant::from_nanos(ms * 1_000_000), frame: ms };
        let ms = Duration::from_millis;
        let run = |ack: u64, next: u64, whole: bool, alone: bool| {
            let mut h = HeldBack::default();
            h.sent(here(0), 100, false, ms(3));
            h.acked(here(ack), 100, alone, ms(20));
            h.sent(here(next), 200, whole, ms(3));
            (h.count, h.total)
        };
        assert_eq!(run(60, 61, false, true), (1, ms(61)));
        assert_eq!(run(22, 23, false, true), (0, Duration::ZERO), "its ack came at once");
        assert_eq!(run(60, 90, false, true), (0, Duration::ZERO), "the application wrote later");
        assert_eq!(run(60, 61, true, true), (0, Duration::ZERO), "the rule holds no full segment back");
        assert_eq!(run(60, 61, false, false), (0, Duration::ZERO), "a reply");
    }
}
