//! Background probes (M-U5): small, evenly spaced packets before, during and after the test.

use ackclock_policy::replay::Distribution;
use ackclock_units::{Duration, Instant};

/// When a background probe was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Before the test.
    Before,
    /// During the test.
    During,
    /// After the test.
    After,
}

/// Round-trip times of background probes.
#[derive(Clone, Debug, Default)]
pub struct Background {
    /// Probes sent.
    pub sent: u64,
    /// Probes with a reply.
    pub answered: u64,
    /// Their round-trip times, seconds.
    pub rtt: Distribution,
    batch: (u32, f64),
    means: Vec<f64>,
}

/// Samples in a mean; the 200 samples of the register make ten means.
const BATCH: u32 = 20;
/// Largest number of means kept.
const MOST_MEANS: usize = 100_000;

impl Background {
    /// The median of the means of `BATCH` samples each, seconds; `None` before the first batch is full.
    pub fn median_of_means(&self) -> Option<f64> {
        let mut means = self.means.clone();
        means.sort_unstable_by(f64::total_cmp);
        let n = means.len();
        (n > 0).then(|| (means[(n - 1) / 2] + means[n / 2]) / 2.0)
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.answered += 1;
        self.rtt.add(rtt);
        self.batch = (self.batch.0 + 1, self.batch.1 + rtt);
        if self.batch.0 == BATCH {
            if self.means.len() < MOST_MEANS {
                self.means.push(self.batch.1 / f64::from(BATCH));
            }
            self.batch = (0, 0.0);
        }
    }
}

/// Schedules background probes and collects their round-trip times.
#[derive(Debug)]
pub(super) struct Pinger {
    interval: Duration,
    /// When the next one is due; `None` while none is to be sent.
    next: Option<Instant>,
    phase: When,
    /// Probes left in this phase.
    left: u64,
    pub before: Background,
    pub during: Background,
    pub after: Background,
}

impl Pinger {
    pub fn new(interval: Duration) -> Self {
        let [before, during, after] = [(); 3].map(|()| Background::default());
        Self { interval, next: None, phase: When::Before, left: 0, before, during, after }
    }

    /// Starts a phase of `count` probes.
    pub fn start(&mut self, now: Instant, phase: When, count: u64) {
        self.phase = phase;
        self.left = count;
        self.next = (count > 0).then_some(now);
    }

    /// Stops sending.
    pub fn stop(&mut self) {
        self.next = None;
        self.left = 0;
    }

    /// True when all probes of this phase are sent.
    pub fn is_done(&self) -> bool {
        self.next.is_none()
    }

    /// When the next one is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// The phase of the probe to send now, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<When> {
        let due = self.next.filter(|at| *at <= now)?;
        self.left -= 1;
        // Evenly spaced where the machine can keep up; missed probes are not sent in a burst.
        self.next = (self.left > 0).then(|| (due + self.interval).max(now));
        self.of(self.phase).sent += 1;
        Some(self.phase)
    }

    /// Records the reply to a probe of `phase`.
    pub fn on_reply(&mut self, phase: When, rtt: Duration) {
        self.of(phase).sample(rtt);
    }

    fn of(&mut self, phase: When) -> &mut Background {
        match phase {
            When::Before => &mut self.before,
            When::During => &mut self.during,
            When::After => &mut self.after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_evenly_spaced_and_their_means_have_a_median() {
        let (mut pinger, every) = (Pinger::new(Duration::from_millis(50)), Duration::from_millis(50));
        pinger.start(Instant::ZERO + every, When::Before, 60);
        let mut sent = Vec::new();
        while let Some(at) = pinger.poll_timeout() {
            assert_eq!(pinger.poll(at.saturating_sub(Duration::from_nanos(1))), None);
            assert_eq!(pinger.poll(at), Some(When::Before));
            sent.push(at);
            // Three batches: 1 ms, 2 ms and 9 ms.
            pinger.on_reply(When::Before, Duration::from_millis([1, 2, 9][(sent.len() - 1) / 20]));
        }
        assert!(pinger.is_done() && sent.windows(2).all(|w| w[1].since(w[0]) == every) && sent.len() == 60);
        assert!((pinger.before.median_of_means().expect("full batches") - 2e-3).abs() < 1e-12);
        assert!((pinger.before.rtt.mean().expect("samples") - 4e-3).abs() < 1e-12);
        assert_eq!((pinger.before.sent, pinger.before.answered, pinger.during.sent), (60, 60, 0));
        assert_eq!(pinger.during.median_of_means(), None);
    }

    #[test]
    fn missed_probes_are_not_sent_in_a_burst() {
        let mut pinger = Pinger::new(Duration::from_millis(50));
        pinger.start(Instant::ZERO, When::During, 100);
        let late = Instant::ZERO + Duration::from_secs(1);
        assert!(pinger.poll(late).is_some());
        assert_eq!(pinger.poll_timeout(), Some(late));
        assert!(pinger.poll(late).is_some());
        assert_eq!(pinger.poll_timeout(), Some(late + Duration::from_millis(50)));
    }
}
