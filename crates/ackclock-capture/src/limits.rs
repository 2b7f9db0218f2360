//! What limited a sender at each moment.
//!
//! Between two events a sender waits for something. After an ack that leaves room in the receiver's window it
//! may send. If it sends at once, it had waited for that ack, and its congestion window was the limit;
//! otherwise it had nothing to send. A segment that is not full shows that its buffer is empty.

use ackclock_units::{Duration, Instant};

use crate::report::Shares;

/// What a sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Waits {
    /// The end of the handshake.
    #[default]
    Handshake,
    /// Room in the receiver's window.
    Receiver,
    /// Acks: its congestion window is full.
    Window,
    /// The same, while the window grows in slow start.
    SlowStart,
    /// It may send. The next segment shows whether it waited for acks or had nothing to send.
    Open,
}

/// What has limited a sender so far.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    spent: Shares,
    waits: Waits,
    at: Option<Instant>,
    /// Times since the last progress; an expiry reassigns them to the timer.
    handshake: Duration,
    receiver: Duration,
    window: Duration,
    slow_start: Duration,
    /// While undecided: the first ack since which it may send, when it last sent, and whether that emptied
    /// its buffer.
    open_since: Option<Instant>,
    sent_at: Option<Instant>,
    drained: bool,
    /// How long it has not sent though it may, before the last progress and after it.
    open_before: Duration,
    open: Duration,
    /// Largest flight of the previous round trip and of this one; when it ends; whether it grows; whether a
    /// loss was seen; and below which flight slow start after a timeout continues.
    rounds: (u64, u64),
    round_end: u64,
    growing: bool,
    lost: bool,
    below: u64,
}

/// What a sender may send after an event.
#[derive(Clone, Copy)]
pub(crate) struct SendState {
    pub at: Instant,
    /// Room in the receiver's window is less than a segment.
    pub full: bool,
    pub repairing: bool,
    pub flight: u64,
    pub una: u64,
    pub max: u64,
}

impl Limits {
    /// Called when the connection begins; `opening` if its handshake is in the capture.
    pub fn begin(&mut self, at: Instant, opening: bool) {
        if self.at.is_none() {
            self.at = Some(at);
            if !opening {
                self.waits = Waits::Open;
                self.open_since = Some(at);
            }
        }
    }

    fn pass(&mut self, at: Instant) {
        let passed = self.at.map_or(Duration::ZERO, |before| at.since(before));
        self.at = self.at.max(Some(at));
        let to = match self.waits {
            Waits::Handshake => &mut self.handshake,
            Waits::Receiver => &mut self.receiver,
            Waits::Window => &mut self.window,
            Waits::SlowStart => &mut self.slow_start,
            Waits::Open => &mut self.open,
        };
        *to += passed;
    }

    /// Assigns the time since the last progress to what was waited for: no timer fired in it.
    fn close_interval(&mut self) {
        self.spent.handshake += std::mem::take(&mut self.handshake);
        self.spent.receiver_window += std::mem::take(&mut self.receiver);
        self.spent.congestion_window += std::mem::take(&mut self.window);
        self.spent.slow_start += std::mem::take(&mut self.slow_start);
        self.open_before += std::mem::take(&mut self.open);
    }

    fn window(&self, s: &SendState) -> Waits {
        let slow = if self.lost { s.flight < self.below } else { self.growing };
        if slow { Waits::SlowStart } else { Waits::Window }
    }

    fn opens(&mut self, at: Instant) {
        if self.waits != Waits::Open {
            (self.waits, self.open_since) = (Waits::Open, None);
        }
        self.open_since.get_or_insert(at);
    }

    /// Called for a cumulative ack, and when the receiver's window changes.
    pub fn acked(&mut self, s: &SendState, progress: bool, opening: bool) {
        self.pass(s.at);
        if progress {
            self.close_interval();
            if s.una >= self.round_end {
                // In slow start the window doubles with an ack for every segment, and grows by half with one
                // for every second.
                self.growing = self.rounds.1 * 4 >= self.rounds.0 * 5;
                (self.rounds, self.round_end) = ((self.rounds.1, s.flight), s.max);
            }
            if self.lost && s.flight >= self.below {
                self.below = 0;
            }
        }
        match self.waits {
            Waits::Handshake if !(progress && opening) => {}
            _ if s.full => self.leave(Waits::Receiver),
            _ if s.repairing => self.leave(self.window(s)),
            _ => self.opens(s.at),
        }
    }

    /// It may no longer send and has not sent: the undecided time was the application's.
    fn leave(&mut self, to: Waits) {
        if self.waits == Waits::Open {
            self.spent.application += std::mem::take(&mut self.open_before) + std::mem::take(&mut self.open);
        }
        self.waits = to;
    }

    /// Called when new data is sent. `whole`: it fills a segment. `prompt`: the longest time that a sender
    /// takes to send after an ack.
    pub fn sent(&mut self, s: &SendState, whole: bool, prompt: Duration) {
        self.pass(s.at);
        self.rounds.1 = self.rounds.1.max(s.flight);
        if self.waits == Waits::Handshake {
            return;
        }
        let burst = self.open_since.is_none() && self.sent_at.is_some_and(|sent| s.at.since(sent) <= prompt);
        let mut called_for = self.waits != Waits::Open;
        if !called_for && !burst {
            let waited = std::mem::take(&mut self.open_before) + std::mem::take(&mut self.open);
            called_for = !self.drained && self.open_since.is_some_and(|since| s.at.since(since) <= prompt);
            match (called_for, self.window(s)) {
                (false, _) => self.spent.application += waited,
                (true, Waits::SlowStart) => self.slow_start += waited,
                (true, _) => self.window += waited,
            }
        }
        self.drained = !whole;
        self.waits = match () {
            () if s.full => self.end_burst(Waits::Receiver),
            () if whole && called_for => self.window(s),
            // Data not triggered by an ack shows nothing about its window: what follows the next ack will.
            () => Waits::Open,
        };
        (self.open_since, self.sent_at) = (None, Some(s.at));
    }

    /// Assigns the undecided time of a burst to the application.
    fn end_burst(&mut self, to: Waits) -> Waits {
        self.spent.application += std::mem::take(&mut self.open_before) + std::mem::take(&mut self.open);
        to
    }

    /// Called when the retransmission or probe timer has expired after `waited`.
    pub fn expired(&mut self, s: &SendState, waited: Duration) {
        self.pass(s.at);
        let since = self.handshake + self.receiver + self.window + self.slow_start + self.open;
        let waited = waited.min(since);
        self.spent.timeouts += waited;
        for part in
            [&mut self.open, &mut self.window, &mut self.slow_start, &mut self.receiver, &mut self.handshake]
        {
            // The rest was before the timer was set.
            *part = Duration::ZERO;
        }
        let rest = since.saturating_sub(waited);
        if self.waits == Waits::Handshake {
            self.handshake += rest
        } else {
            self.window += rest
        }
        self.lost = true;
        self.below = (s.flight / 2).max(1);
        if self.waits != Waits::Handshake {
            if self.waits == Waits::Open {
                self.spent.application += std::mem::take(&mut self.open_before);
            }
            self.waits = Waits::SlowStart;
        }
    }

    /// Called when a loss was repaired without a timeout: slow start is over.
    pub fn repaired(&mut self) {
        (self.lost, self.below) = (true, 0);
    }

    /// Called at the end of the connection or of the capture.
    pub fn finish(mut self, end: Instant) -> Shares {
        self.pass(end);
        self.close_interval();
        self.spent.application += self.open_before;
        self.spent
    }
}
