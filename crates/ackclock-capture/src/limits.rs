//! What limited a sender at each moment.
//!
//! Between two events a sender waits for something. After an ack that leaves room in the receiver's window it
//! may send. If it sends at once, it had waited for that ack, and its congestion window was the limit;
//! otherwise it had nothing to send. A segment that is not full shows that its buffer is empty.

mod spans;

use ackclock_units::{Duration, Instant};

pub use self::spans::{Part, Span, Spans};
use crate::observed::Place;
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
    /// What it waited for before it might send.
    opened: Waits,
    /// The latest event.
    at: Option<Place>,
    spans: Spans,
    /// Times since the last progress; an expiry reassigns them to the timer.
    handshake: Pending,
    receiver: Pending,
    window: Pending,
    slow_start: Pending,
    /// While undecided: the first ack since which it may send, when it last sent, and whether that emptied
    /// its buffer.
    open_since: Option<Instant>,
    sent_at: Option<Instant>,
    drained: bool,
    /// How long it has not sent though it may, before the last progress and after it.
    open_before: Pending,
    open: Pending,
    /// The latest data of the other end that has reached it since it last sent.
    asked: Option<Place>,
    /// When all that it had sent was acknowledged.
    delivered: Option<Place>,
    /// Largest flight of the previous round trip and of this one; when it ends; for how many it has not
    /// grown; whether a loss was seen; and below which flight slow start after a timeout continues.
    rounds: (u64, u64),
    round_end: u64,
    flat: u32,
    lost: bool,
    below: u64,
}

/// Time that is not assigned yet, and where it began.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    time: Duration,
    from: Place,
}

impl Pending {
    fn add(&mut self, more: Self) {
        if self.time == Duration::ZERO {
            self.from = more.from;
        }
        self.time += more.time;
    }

    fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// What a sender may send after an event.
#[derive(Clone, Copy)]
pub(crate) struct SendState {
    pub at: Instant,
    /// The number of the packet that is the event.
    pub frame: u64,
    /// Room in the receiver's window is less than a segment.
    pub full: bool,
    pub repairing: bool,
    pub flight: u64,
    pub una: u64,
    pub max: u64,
}

/// So many round trips in a row without growth are no slow start.
const FLAT: u32 = 2;

/// How soon a sender reacts to an ack.
#[derive(Clone, Copy)]
pub(crate) struct Reaction {
    /// The longest time that it takes to send.
    pub prompt: Duration,
    /// How long its packets were on their way is not known: a pause after a full segment may be a delay.
    pub delays_unknown: bool,
}

impl Limits {
    /// Called when the connection begins; `opening` if its handshake is in the capture.
    pub fn begin(&mut self, here: Place, opening: bool) {
        if self.at.is_none() {
            self.at = Some(here);
            if !opening {
                self.waits = Waits::Open;
                self.open_since = Some(here.at);
            }
        }
    }

    fn pass(&mut self, here: Place) {
        let from = self.at.unwrap_or(here);
        let passed = Pending { time: here.at.since(from.at), from };
        if self.at.is_none_or(|before| here.at >= before.at) {
            self.at = Some(here);
        }
        let to = match self.waits {
            Waits::Handshake => &mut self.handshake,
            Waits::Receiver => &mut self.receiver,
            Waits::Window => &mut self.window,
            Waits::SlowStart => &mut self.slow_start,
            Waits::Open => &mut self.open,
        };
        to.add(passed);
    }

    /// Assigns the time since the last progress to what was waited for: no timer fired in it.
    fn close_interval(&mut self) {
        for (pending, part) in [
            (&mut self.handshake, Part::Handshake),
            (&mut self.receiver, Part::ReceiverWindow),
            (&mut self.window, Part::CongestionWindow),
            (&mut self.slow_start, Part::SlowStart),
        ] {
            let Pending { time, from } = pending.take();
            self.spans.add(part, time, from);
            self.spent.add(part, time);
        }
        self.open_before.add(self.open.take());
    }

    fn window(&self, s: &SendState) -> Waits {
        let slow = if self.lost { s.flight < self.below } else { self.flat < FLAT };
        if slow { Waits::SlowStart } else { Waits::Window }
    }

    fn opens(&mut self, at: Instant) {
        if self.waits != Waits::Open {
            (self.opened, self.waits, self.open_since) = (self.waits, Waits::Open, None);
        }
        self.open_since.get_or_insert(at);
    }

    /// Called when data of the other end has reached it.
    pub fn asked(&mut self, here: Place) {
        self.asked = Some(here);
    }

    /// Called for a cumulative ack, and when the receiver's window changes.
    pub fn acked(&mut self, s: &SendState, progress: bool, opening: bool) {
        self.pass(s.place());
        if progress {
            self.delivered = (s.una >= s.max).then_some(s.place());
            self.close_interval();
            if s.una >= self.round_end {
                // In slow start the window doubles with an ack for every segment, and grows by half with one
                // for every second.
                // Acks in a burst split a round trip: two without growth end it.
                let grown = self.rounds.1 * 4 >= self.rounds.0 * 5;
                self.flat = if grown { 0 } else { self.flat.saturating_add(1) };
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

    /// Takes the undecided time.
    fn undecided(&mut self) -> Pending {
        let mut all = self.open_before.take();
        all.add(self.open.take());
        all
    }

    /// It did not send for some time, although it might have: the part of it until the other end's data came
    /// was a wait for that, the rest is the application's.
    fn paused(&mut self, pause: Pending) {
        let asked = self.asked.filter(|asked| asked.at > pause.from.at);
        let awaited = asked.map_or(Duration::ZERO, |asked| asked.at.since(pause.from.at)).min(pause.time);
        self.spans.add(Part::Peer, awaited, pause.from);
        let rest = if asked.is_some() { Part::Answer } else { Part::Application };
        self.spans.add(rest, pause.time - awaited, asked.unwrap_or(pause.from));
        self.spent.application += pause.time;
    }

    /// It may no longer send and has not sent: the undecided time was the application's.
    fn leave(&mut self, to: Waits) {
        if self.waits == Waits::Open {
            let pause = self.undecided();
            self.paused(pause);
        }
        self.waits = to;
    }

    /// Called when new data is sent. `whole`: it fills a segment. Returns true if an ack made it leave.
    pub fn sent(&mut self, s: &SendState, whole: bool, reaction: Reaction) -> bool {
        let prompt = reaction.prompt;
        self.pass(s.place());
        self.rounds.1 = self.rounds.1.max(s.flight);
        if self.waits == Waits::Handshake {
            return false;
        }
        let burst = self.open_since.is_none() && self.sent_at.is_some_and(|sent| s.at.since(sent) <= prompt);
        let mut called_for = self.waits != Waits::Open;
        if !called_for && !burst {
            let waited = self.undecided();
            called_for = !self.drained
                && self
                    .open_since
                    .is_some_and(|since| reaction.delays_unknown || s.at.since(since) <= prompt);
            match (called_for, self.opened, self.window(s)) {
                (false, ..) => self.paused(waited),
                // The ack that made room took a moment longer than the shortest round trip.
                (true, Waits::Receiver, _) => self.receiver.add(waited),
                (true, _, Waits::SlowStart) => self.slow_start.add(waited),
                (true, ..) => self.window.add(waited),
            }
        }
        self.drained = !whole;
        self.waits = match () {
            () if s.full => self.end_burst(Waits::Receiver),
            () if whole && called_for => self.window(s),
            // Data not triggered by an ack shows nothing about its window: what follows the next ack will.
            () => Waits::Open,
        };
        if self.waits == Waits::Open {
            self.opened = Waits::Open;
        }
        (self.open_since, self.sent_at, self.asked) = (None, Some(s.at), None);
        called_for
    }

    /// Assigns the undecided time of a burst to the application.
    fn end_burst(&mut self, to: Waits) -> Waits {
        let pause = self.undecided();
        self.paused(pause);
        to
    }

    /// Called when the retransmission or probe timer has expired after `waited`.
    pub fn expired(&mut self, s: &SendState, waited: Duration) {
        self.pass(s.place());
        let mut since = Duration::ZERO;
        for part in
            [&mut self.open, &mut self.window, &mut self.slow_start, &mut self.receiver, &mut self.handshake]
        {
            // The rest was before the timer was set.
            since += part.take().time;
        }
        let waited = waited.min(since);
        self.spent.timeouts += waited;
        let from = Place { at: s.at.saturating_sub(waited), frame: s.frame };
        self.spans.add(Part::Timeouts, waited, from);
        let rest = Pending { time: since.saturating_sub(waited), from };
        if self.waits == Waits::Handshake {
            self.handshake.add(rest)
        } else {
            self.window.add(rest)
        }
        self.lost = true;
        self.below = (s.flight / 2).max(1);
        if self.waits != Waits::Handshake {
            if self.waits == Waits::Open {
                let pause = self.open_before.take();
                self.paused(pause);
            }
            self.waits = Waits::SlowStart;
        }
    }

    /// Called when a loss was repaired without a timeout: slow start is over.
    pub fn repaired(&mut self) {
        (self.lost, self.below) = (true, 0);
    }

    /// Called at the end of the connection or of the capture.
    pub fn finish(mut self, end: Instant) -> (Shares, Spans) {
        let frame = self.at.map_or(0, |at| at.frame);
        self.pass(Place { at: end, frame });
        self.close_interval();
        // Nothing was sent any more.
        let rest = self.open_before.take();
        let asked = self.asked.filter(|asked| asked.at > rest.from.at);
        let awaited = asked.map_or(Duration::ZERO, |asked| asked.at.since(rest.from.at)).min(rest.time);
        self.spans.add(Part::Peer, awaited, rest.from);
        let (from, rest_time) = (asked.unwrap_or(rest.from), rest.time - awaited);
        let delivery =
            self.delivered.map_or(Duration::ZERO, |delivered| delivered.at.since(from.at)).min(rest_time);
        self.spans.add(Part::Delivery, delivery, from);
        self.spans.add(Part::Idle, rest_time - delivery, self.delivered.unwrap_or(from));
        self.spent.application += rest.time;
        (self.spent, self.spans)
    }
}

impl SendState {
    fn place(&self) -> Place {
        Place { at: self.at, frame: self.frame }
    }
}

impl Shares {
    fn add(&mut self, part: Part, time: Duration) {
        *match part {
            Part::Handshake => &mut self.handshake,
            Part::SlowStart => &mut self.slow_start,
            Part::CongestionWindow => &mut self.congestion_window,
            Part::ReceiverWindow => &mut self.receiver_window,
            Part::Application | Part::Answer | Part::Peer | Part::Delivery | Part::Idle => {
                &mut self.application
            }
            Part::Timeouts => &mut self.timeouts,
        } += time;
    }
}
