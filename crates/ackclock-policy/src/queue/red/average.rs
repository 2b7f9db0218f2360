use ackclock_units::{Duration, Instant};

/// The exponentially weighted average of the queue, corrected for idle time (Floyd & Jacobson 1993, section
/// 4).
#[derive(Debug)]
pub(super) struct Average {
    value: f64,
    w_q: f64,
    mean_packet_time: Duration,
    /// When the link became or will become idle; `None` while packets wait.
    idle_since: Option<Instant>,
}

impl Average {
    pub(super) fn new(w_q: f64, mean_packet_time: Duration) -> Self {
        Self { value: 0.0, w_q, mean_packet_time, idle_since: Some(Instant::ZERO) }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Updates the average with the queue's length at the arrival of a packet.
    pub(super) fn on_arrival(&mut self, length: f64, now: Instant) -> f64 {
        match self.idle_since {
            // As if that many packets of mean size had arrived at an empty queue while the link was idle.
            Some(since) if now > since => {
                let m = now.since(since).as_nanos() as f64 / self.mean_packet_time.as_nanos().max(1) as f64;
                self.value *= libm::pow(1.0 - self.w_q, m);
                // This idle time is not counted again if the packet is dropped.
                self.idle_since = Some(now);
            }
            _ => self.value += self.w_q * (length - self.value),
        }
        self.value
    }

    pub(super) fn on_queued(&mut self) {
        self.idle_since = None;
    }

    pub(super) fn on_empty(&mut self, at: Instant) {
        // A queue that is empty already keeps its idle time.
        self.idle_since.get_or_insert(at);
    }
}
