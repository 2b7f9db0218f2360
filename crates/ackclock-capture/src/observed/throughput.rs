use ackclock_units::{Duration, Instant};

/// Payload over time, in intervals that grow with the connection.
#[derive(Clone, Debug)]
pub struct Throughput {
    /// When the first interval began.
    pub start: Option<Instant>,
    /// Their length.
    pub width: Duration,
    /// Payload in each, bytes.
    pub bytes: Vec<u64>,
}

impl Default for Throughput {
    fn default() -> Self {
        Self { start: None, width: LEAST, bytes: Vec::new() }
    }
}

/// The first width.
const LEAST: Duration = Duration::from_millis(1);
/// Intervals kept.
const MOST: usize = 64;

impl Throughput {
    pub(crate) fn add(&mut self, at: Instant, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let passed = at.since(*self.start.get_or_insert(at));
        // Widths are this one, doubled several times: a shift is cheaper than a division for each packet.
        let narrow = |time: Duration| time.as_nanos() / LEAST.as_nanos();
        let mut place = narrow(passed) >> narrow(self.width).trailing_zeros();
        while place >= MOST as u64 {
            self.width = self.width * 2;
            self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
            place /= 2;
        }
        let place = place as usize;
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, 0);
        }
        self.bytes[place] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_and_lose_nothing() {
        let mut t = Throughput::default();
        for ms in 0..100_000_u64 {
            t.add(Instant::from_nanos(5_000_000 + ms * 1_000_000), 3);
            assert!(t.bytes.len() <= MOST);
        }
        assert_eq!(t.bytes.iter().sum::<u64>(), 300_000);
        assert_eq!((t.width, t.bytes[0]), (Duration::from_millis(2048), 3 * 2048));
        t.add(Instant::FAR_FUTURE, 1);
        assert_eq!(t.bytes.iter().sum::<u64>(), 300_001);
    }
}
