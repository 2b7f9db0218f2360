use ackclock_units::{Duration, Instant};

/// The smallest round-trip time of the recent past (RACK.min_RTT): what is told was measured no longer ago
/// than two spans, and everything of the last span counts. RFC 8985 §6.2 step 1 wants a windowed minimum,
/// which follows a connection to a longer path, and leaves the filter open.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    span: Duration,
    /// When the present span began.
    since: Instant,
    smallest: Option<Duration>,
    /// That of the span before.
    before: Option<Duration>,
}

impl MinRtt {
    pub fn over(span: Duration) -> Self {
        Self { span, since: Instant::ZERO, smallest: None, before: None }
    }

    /// Takes one sample.
    pub fn take(&mut self, rtt: Duration, now: Instant) {
        if now.since(self.since) >= self.span {
            let idle = now.since(self.since) >= self.span * 2;
            (self.before, self.smallest, self.since) = (self.smallest.filter(|_| !idle), None, now);
        }
        self.smallest = Some(self.smallest.map_or(rtt, |s| s.min(rtt)));
    }

    /// It; `None` before the first sample.
    pub fn get(&self) -> Option<Duration> {
        self.smallest.into_iter().chain(self.before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_path_is_believed_after_a_while() {
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
            m.take(ms(rtt), at(s));
            assert_eq!(m.get(), Some(ms(smallest)), "after {s} s");
        }
    }
}
