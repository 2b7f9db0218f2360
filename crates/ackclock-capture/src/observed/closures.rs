use ackclock_units::{Duration, Instant};

use super::Place;

/// How often and how long a receiver's window was closed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closures {
    /// How often.
    pub count: u32,
    /// How long, all together.
    pub total: Duration,
    /// The longest, and where that began.
    pub longest: Duration,
    /// See `longest`.
    pub longest_from: Place,
    /// Where the first began.
    pub first: Option<Place>,
    /// Where the current one began.
    since: Option<Place>,
}

impl Closures {
    /// Takes the window of an ack.
    pub(crate) fn offered(&mut self, closed: bool, here: Place) {
        match (closed, self.since) {
            (true, None) => {
                self.count = self.count.saturating_add(1);
                self.first.get_or_insert(here);
                self.since = Some(here);
            }
            (false, Some(from)) => self.ended(from, here.at),
            _ => {}
        }
    }

    fn ended(&mut self, from: Place, at: Instant) {
        let lasted = at.since(from.at);
        self.total += lasted;
        if lasted > self.longest {
            (self.longest, self.longest_from) = (lasted, from);
        }
        self.since = None;
    }

    /// Called at the end of the connection.
    pub(crate) fn finish(&mut self, end: Instant) {
        if let Some(from) = self.since {
            self.ended(from, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_are_counted_and_timed() {
        let here = |ms: u64, frame| Place { at: Instant::from_nanos(ms * 1_000_000), frame };
        let mut c = Closures::default();
        for (ms, closed) in
            [(0, false), (10, true), (15, true), (30, false), (40, true), (45, false), (90, true)]
        {
            c.offered(closed, here(ms, ms));
        }
        c.finish(here(140, 0).at);
        assert_eq!((c.count, c.total, c.longest), (3, Duration::from_millis(75), Duration::from_millis(50)));
        assert_eq!((c.first, c.longest_from), (Some(here(10, 10)), here(90, 90)));
    }
}
