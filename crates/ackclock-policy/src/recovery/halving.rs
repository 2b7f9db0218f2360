use ackclock_units::{Bytes, SeqNumber};

use crate::{AckInfo, Param, Params, SenderView, Window};

/// Rate-halving (M-A8): for one round trip from the first SACK on, one segment is sent for every two acks. It
/// begins before a loss is certain, and stops if nothing was lost.
#[derive(Debug)]
pub(super) struct Halving {
    bounds: bool,
    whole_segs: bool,
    active: bool,
    /// Allocated when rate-halving begins for the first time.
    round: Option<Box<Round>>,
}

/// The round trip in which the rate is halved.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The hole that began it.
    una: SeqNumber,
    /// `snd_nxt` at the first SACK; the round is over when the forward-most SACK reaches it.
    end: SeqNumber,
    /// Window at its beginning.
    cwnd: Bytes,
    /// Room in the window at its beginning, which is not halved.
    room: Bytes,
    /// Bytes counted for acks, in all and during the round trip itself.
    acked: Bytes,
    acked_in_time: Bytes,
    retransmitted: Bytes,
    /// A loss was detected, and the window is held.
    detected: bool,
    over: bool,
}

impl Round {
    fn new(v: &SenderView) -> Self {
        let (una, end, cwnd) = (v.snd_una, v.snd_nxt, v.window.cwnd);
        let room = cwnd.saturating_sub(v.flight_size);
        Self {
            una,
            end,
            cwnd,
            room,
            acked: 0,
            acked_in_time: 0,
            retransmitted: 0,
            detected: false,
            over: false,
        }
    }

    fn sent(&self, v: &SenderView) -> Bytes {
        self.retransmitted + u64::from(v.snd_nxt.bytes_since(self.end))
    }

    /// Bytes that the acks so far allow and that were not sent yet.
    fn credit(&self, v: &SenderView) -> Bytes {
        (self.room + self.acked / 2).saturating_sub(self.sent(v))
    }

    fn count(&mut self, bytes: Bytes, fack: SeqNumber) {
        self.acked += bytes;
        if !self.over {
            self.acked_in_time += bytes;
        }
        self.over |= fack >= self.end;
    }
}

impl Halving {
    /// Reads [`BOUNDS`] and [`WHOLE_SEGS`].
    pub fn new(p: &Params) -> Self {
        Self { bounds: p.flag("bounds"), whole_segs: p.flag("whole_segs"), active: false, round: None }
    }

    fn round(&mut self) -> Option<&mut Round> {
        self.round.as_deref_mut().filter(|_| self.active)
    }

    fn begin(&mut self, round: Round) -> &mut Round {
        self.active = true;
        let place = self.round.get_or_insert_with(|| Box::new(round));
        **place = round;
        place
    }

    /// An ack arrived while data up to `fack` is SACKed and nothing is known to be lost.
    pub fn suspect(&mut self, a: &AckInfo, fack: SeqNumber, v: &SenderView) {
        // When the hole that began the round was filled, the segments were only reordered. Another hole
        // begins another round.
        let same = self.round().is_some_and(|r| r.una == v.snd_una);
        let round = if same { self.round.as_deref_mut() } else { Some(self.begin(Round::new(v))) };
        // Data that the same ack acknowledges cumulatively has already made room.
        let least = if a.newly_acked > 0 { 0 } else { u64::from(v.smss) };
        if let Some(r) = round {
            r.count(a.newly_sacked.max(least), fack);
        }
    }

    /// A segment is lost.
    pub fn loss_detected(&mut self, v: &SenderView) {
        if let Some(r) = self.round() {
            r.detected = true;
            r.room = r.room.min(r.sent(v));
        }
    }

    /// Loss in a second window of data: another round, starting from the present window.
    pub fn restart(&mut self, v: &SenderView) {
        self.begin(Round { detected: true, room: 0, ..Round::new(v) });
    }

    /// An ack arrived during recovery. If acks were lost, it counts for all segments that it is the first to
    /// report.
    pub fn count(&mut self, a: &AckInfo, fack: SeqNumber, v: &SenderView) {
        if let Some(r) = self.round()
            && (a.has_sack || a.is_dup || a.newly_acked > 0)
        {
            r.count(a.delivered.max(u64::from(v.smss)), fack);
        }
    }

    /// `bytes` were retransmitted.
    pub fn on_retransmit(&mut self, bytes: u32) {
        if let Some(r) = self.round() {
            r.retransmitted += u64::from(bytes);
        }
    }

    /// Stops rate-halving, wherever the window is.
    pub fn stop(&mut self) {
        self.active = false;
    }

    /// Bytes that may be sent before a loss is certain; `None` when the rate is not being halved.
    pub fn quota(&mut self, in_flight: Bytes, v: &SenderView) -> Option<Bytes> {
        self.round().map(|r| r.credit(v).min(v.window.cwnd.saturating_sub(in_flight)))
    }

    /// The window reached so far, once a loss is certain. `repaired`: the episode is over. `None` when the
    /// window does not change.
    pub fn window(&mut self, in_flight: Bytes, repaired: bool, v: &SenderView) -> Option<Window> {
        let r = *self.round().filter(|r| r.detected)?;
        let smss = u64::from(v.smss);
        if !r.over && !repaired {
            let cwnd = (in_flight + r.credit(v)).min(r.cwnd).max(smss);
            return Some(Window { cwnd, ..v.window });
        }
        self.active = false;
        // Equation (15): lost segments elicited no acks.
        let mut cwnd = (r.acked_in_time + r.room) / 2;
        if self.whole_segs {
            cwnd -= cwnd % smss;
        }
        if self.bounds {
            cwnd = cwnd.min(r.cwnd / 2).max(2 * smss);
        }
        let cwnd = cwnd.max(smss);
        Some(Window { cwnd, ssthresh: cwnd.max(2 * smss) })
    }
}

/// How the window is reduced.
pub(super) const ADJUSTMENT: Param = Param::choice(
    "adjustment",
    "halve",
    &["halve", "rate-halving"],
    // M-A8
    "how the window is reduced: `halve`, at once by the window's own rule; `rate-halving`, during one round \
     trip in which one segment is sent for every two acks, to half of what was acknowledged in it",
);
/// Bounds on the window after rate-halving.
pub(super) const BOUNDS: Param = Param::flag(
    "bounds",
    true,
    // M-A11
    "keep the window after rate-halving between 2 segments and half of the window that it began with",
);
/// Rounding.
pub(super) const WHOLE_SEGS: Param = Param::flag(
    "whole_segs",
    true,
    // M-E15, M-X11
    "round the window after rate-halving down to whole segments",
);
