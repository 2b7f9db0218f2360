//! What an ack policy gets to know that follows more than arrivals in order.

use ackclock_policy::{AckAction, ArrivedSegment, ReceiverEvent, ReceiverView};
use ackclock_units::{Instant, SeqRange, seldom};

use super::{Connection, State};
use crate::timer::Timer;

impl Connection {
    /// Notifies an ack policy that follows events, and does what it decides.
    #[inline(always)]
    pub(super) fn ack_event(&mut self, now: Instant, event: ReceiverEvent) {
        if seldom(self.rare.is_some_and(|r| r.ack_events)) {
            self.follow(now, event);
        }
    }

    /// In a function of its own, since few ack policies follow events and many places notify them.
    #[inline(never)]
    fn follow(&mut self, now: Instant, event: ReceiverEvent) {
        let action = self.decision_on(now, event);
        self.apply_ack_action(now, action);
    }

    #[inline(never)]
    fn decision_on(&mut self, now: Instant, event: ReceiverEvent) -> AckAction {
        let v = ReceiverView {
            now,
            srtt: self.estimator.rtt().map(|rtt| rtt.srtt),
            rto: Some(self.timeout),
            mss: self.config.mss,
            window_shrinks: self.offered(self.free_space()) < self.rcv_window() + self.unacked.bytes,
            window_opens: self.window_opens(),
            gap: self.receive.has_gap(),
            unread: self.receive.readable(),
        };
        let p = self.ack_pending();
        self.ack.get_mut().on_event(event, &p, &v)
    }

    /// Text arrived in order, and no gap was or is there.
    #[inline(never)]
    pub(super) fn follow_arrival(&mut self, now: Instant, arrival: ArrivedSegment) {
        if self.state == State::SynReceived {
            // The SYN-ACK acknowledges it.
            self.pending.ack = true;
            return;
        }
        self.rare.make_mut().ack_by_policy = !self.pending.ack;
        self.ack_event(now, ReceiverEvent::Arrived(arrival));
    }

    /// Text arrived above a gap, filled all or part of one, or repeated other text in part. `delivered`: the
    /// bytes that are now in order.
    #[cold]
    pub(super) fn follow_out_of_order(&mut self, arrival: ArrivedSegment, delivered: u32) {
        self.rare.make_mut().ack_by_policy = false;
        if delivered == 0 && self.sack_on && self.dsack.is_none() {
            self.ack_event(arrival.now, ReceiverEvent::OutOfOrder(arrival));
        } else {
            // Acknowledged at once (RFC 5681 §4.2).
            self.pending.ack = true;
            if delivered > 0 {
                self.ack_event(arrival.now, ReceiverEvent::Arrived(arrival));
            }
        }
    }

    /// Text for `range`, above a gap, is about to be placed: the block that it belongs to will be reported
    /// first, and those before it move towards the end of what fits into an ack.
    #[cold]
    pub(super) fn follow_displaced(&mut self, now: Instant, range: SeqRange) {
        let displaced = self.receive.blocks_before(range);
        if displaced > 0 && self.decision_on(now, ReceiverEvent::Displaced(displaced)) == AckAction::Now {
            self.acknowledge_first(now);
        }
    }

    /// The peer's FIN arrived in order in ESTABLISHED. Its ack may wait for ours, and then so does that of
    /// the text before it, unless something else than the policy wants it at once.
    #[cold]
    pub(super) fn follow_fin(&mut self, now: Instant) {
        let by_policy = std::mem::take(&mut self.rare.make_mut().ack_by_policy);
        match self.decision_on(now, ReceiverEvent::Fin) {
            AckAction::By(at) if at > now => {
                self.pending.ack &= !by_policy;
                self.timers.arm(Timer::Ack, at);
            }
            action => self.apply_ack_action(now, action),
        }
    }

    /// The ack of the peer's SYN-ACK may wait for what the application sends.
    #[inline]
    pub(super) fn follow_syn_ack(&mut self, now: Instant) {
        if self.rare.is_some_and(|r| r.ack_events)
            && let AckAction::By(at) = self.decision_on(now, ReceiverEvent::SynAck)
            && at > now
        {
            self.pending.ack = false;
            self.timers.arm(Timer::Ack, at);
        }
    }

    /// The application has read `n` bytes.
    #[inline(never)]
    pub(super) fn follow_read(&mut self, now: Instant, n: u64) {
        self.resize_buffer(now, n);
        self.ack_event(now, ReceiverEvent::Read);
    }

    /// Acknowledges at once from now on, or lets acks wait for replies of the application, for as long as an
    /// ack policy that knows both sees fit (`TCP_QUICKACK` of Linux). Others ignore it.
    pub fn set_quick_acks(&mut self, now: Instant, quick: bool) {
        self.ack_event(now, ReceiverEvent::Quick(quick));
    }
}
