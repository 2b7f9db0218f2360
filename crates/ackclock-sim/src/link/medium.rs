//! A medium that both directions of a link share: one transmits at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use ackclock_policy::{
    Admit, Backlog, Declaration, Dequeued, PacketId, PacketScheduler, Param, Policy, QueueDiscipline, Queued,
};
use ackclock_units::{Duration, Instant, Rng};

/// A medium shared by two links. While both have packets they take turns, packet by packet.
#[derive(Debug, Default)]
struct Medium {
    busy_until: Instant,
    /// The end that transmitted last.
    last: usize,
    waiting: [bool; 2],
}

/// One of the two ends of a shared medium.
#[derive(Clone, Debug)]
pub struct MediumEnd {
    medium: Arc<Mutex<Medium>>,
    end: usize,
    gap: Duration,
}

/// The time after which an end whose turn it is not asks again.
const MOMENT: Duration = Duration::from_nanos(1);

impl MediumEnd {
    /// The two ends of a new medium. It is idle for `gap` before each transmission.
    pub fn pair(gap: Duration) -> [Self; 2] {
        let medium = Arc::default();
        [0, 1].map(|end| Self { medium: Arc::clone(&medium), end, gap })
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// When this end, which has packets, may start to transmit: `now`, or when to ask again.
    pub(super) fn turn(&self, now: Instant) -> Instant {
        let mut medium = self.medium();
        // An end that waits asks at the very moment at which the medium becomes free.
        let others_turn = medium.last == self.end && medium.waiting[1 - self.end] && now == medium.busy_until;
        let at = if others_turn { now + MOMENT } else { now.max(medium.busy_until) };
        medium.waiting[self.end] = at > now;
        at
    }

    /// This end has nothing to transmit.
    pub(super) fn is_idle(&self) {
        self.medium().waiting[self.end] = false;
    }

    /// This end transmits until `until`.
    pub(super) fn occupies(&self, until: Instant) {
        let mut medium = self.medium();
        (medium.busy_until, medium.last) = (until, self.end);
    }

    pub(super) fn gap(&self) -> Duration {
        self.gap
    }
}

/// A first-in first-out queue that keeps its packets, for links whose departures are not known in advance.
#[derive(Debug)]
pub(super) struct Stored {
    /// Decides on admission; `None` for an unbounded queue.
    queue: Option<Box<dyn QueueDiscipline>>,
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Stored {
    pub(super) fn new(queue: Option<Box<dyn QueueDiscipline>>) -> Self {
        Self { queue, packets: VecDeque::new(), bytes: 0 }
    }
}

impl Policy for Stored {
    fn name(&self) -> &str {
        self.queue.as_ref().map_or("unbounded", |queue| queue.name())
    }
}

impl QueueDiscipline for Stored {
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit {
        let verdict = self.queue.as_mut().map_or(Admit::Take, |queue| queue.enqueue(p, now, rng));
        if matches!(verdict, Admit::Take | Admit::Mark) {
            self.packets.push_back(p);
            self.bytes += u64::from(p.bytes);
        }
        verdict
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u32, bytes: self.bytes }
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }
}

impl PacketScheduler for Stored {
    fn dequeue(&mut self, now: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        let first = self.packets.pop_front()?;
        self.bytes -= u64::from(first.bytes);
        if let Some(queue) = &mut self.queue {
            queue.dequeued(first.bytes, now);
        }
        Some(first.into())
    }
}

/// Keys of a shared medium.
pub(crate) const HALF_DUPLEX: Declaration = Declaration {
    kind: "element",
    name: "half_duplex",
    about: "Both directions of a link share one medium: one of them transmits at a time, at its own rate, \
            and while both have packets they take turns, packet by packet.",
    source: "",
    params: &[Param::duration(
        "gap",
        Duration::ZERO,
        Duration::ZERO..=Duration::from_secs(1),
        "time that the medium is idle before each transmission, as contention for Wi-Fi takes",
    )],
};
