use ackclock_units::{Duration, Instant};

/// The smallest round-trip time of the recent past (RACK.min_RTT), over all samples of the last span and none
/// older than two spans. RFC 8985 §6.2 step 1 calls for a windowed minimum, which adapts to a longer path,
/// and leaves the filter open.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    span: Duration,
    /// When the present span began.
    since: Instant,
    smallest: Option<Duration>,
    /// The smallest of the span before.
    before: Option<Duration>,
}

impl MinRtt {
    pub fn over(span: Duration) -> Self {
        Self { span, since: Instant::ZERO, smallest: None, before: None }
    }

    /// Adds a sample.
    pub fn add(&mut self, rtt: Duration, now: Instant) {
        if now.since(self.since) >= self.span {
            let idle = now.since(self.since) >= self.span * 2;
            (self.before, self.smallest, self.since) = (self.smallest.filter(|_| !idle), None, now);
        }
        self.smallest = Some(self.smallest.map_or(rtt, |s| s.min(rtt)));
    }

    /// The smallest round-trip time; `None` before the first sample.
    pub fn get(&self) -> Option<Duration> {
        self.smallest.into_iter().chain(self.before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_rises_after_a_span_on_a_longer_path() {
        let (mut m, at, ms) = (
            MinRtt::over(Duration::from_secs(10)),
            |s| Instant::ZERO + Duration::from_secs(s),
            Duration::from_millis,
        );
        assert_eq!(m.get(), None);
        for (s, rtt, smallest) in [
            (0, 50, 50),
            (5, 40, 40),
            (9, 90, 40),
            (12, 90, 40),
            (21, 90, 40),
            (22, 95, 90),
            (31, 95, 90),
            (32, 95, 95),
            (99, 120, 120),
        ] {
            m.add(ms(rtt), at(s));
            assert_eq!(m.get(), Some(ms(smallest)), "after {s} s");
        }
    }
}
