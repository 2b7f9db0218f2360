//! Deliveries and delivery rates, recorded only for senders whose policies need them.

use ackclock_policy::{Deliveries, LostSegment, RateSample, Transmission};
use ackclock_units::{Duration, Instant, mostly, seldom};

use super::OutstandingSegments;
use super::rates::Rates;
use super::sent::Sent;

/// Measurements that few senders need.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// What was delivered since it was last taken.
    deliveries: Option<Deliveries>,
    pub(super) rates: Option<Rates>,
}

impl OutstandingSegments {
    /// Records from now on which transmissions are delivered, for [`OutstandingSegments::take_deliveries`].
    pub fn record_deliveries(&mut self) {
        self.measured.get_or_insert_default().deliveries.get_or_insert_default();
    }

    /// True when deliveries or delivery rates are kept.
    #[inline]
    pub fn is_measured(&self) -> bool {
        seldom(self.measured.is_some())
    }

    /// True when deliveries are kept.
    #[inline]
    pub fn keeps_deliveries(&self) -> bool {
        seldom(self.measured.is_some()) && self.measured.as_ref().is_some_and(|m| m.deliveries.is_some())
    }

    /// When the lowest segment was sent that was SACKed since they were last taken, and sent once.
    #[cold]
    pub fn first_sacked(&self) -> Option<Instant> {
        self.measured.as_ref()?.deliveries.as_ref()?.lowest_sacked_once.map(|t| t.xmit_ts)
    }

    /// The transmissions delivered since the last call; `None` unless they are recorded.
    pub fn take_deliveries(&mut self) -> Option<Deliveries> {
        self.measured.as_mut()?.deliveries.as_mut().map(std::mem::take)
    }

    /// Measures delivery rates from now on, for [`OutstandingSegments::rate_sample`]. Nothing may be
    /// outstanding.
    pub fn measure_rates(&mut self) {
        self.measured.get_or_insert_default().rates.get_or_insert_with(Rates::new);
    }

    /// True when delivery rates are measured.
    #[inline]
    pub fn keeps_rates(&self) -> bool {
        seldom(self.measured.is_some()) && self.measured.as_ref().is_some_and(|m| m.rates.is_some())
    }

    /// The delivery rate sample of this ack, if there is a reliable one.
    #[cold]
    pub fn rate_sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        self.rates()?.sample(now, min_rtt)
    }

    /// Keeps from now on what was marked lost, for [`OutstandingSegments::take_losses`]. Rates are measured.
    pub fn record_losses(&mut self) {
        if let Some(rates) = self.rates() {
            rates.record_losses();
        }
    }

    /// Segments marked lost since the last call. The list is to be given back.
    pub fn take_losses(&mut self) -> Vec<LostSegment> {
        self.rates().map(Rates::take_losses).unwrap_or_default()
    }

    /// Gives back the list of [`OutstandingSegments::take_losses`], whose memory is used again.
    pub fn return_losses(&mut self, list: Vec<LostSegment>) {
        if let Some(rates) = self.rates() {
            rates.return_losses(list);
        }
    }

    /// True when the segment sent last was application-limited.
    pub fn sent_app_limited(&mut self) -> bool {
        self.rates().is_some_and(|rates| rates.is_app_limited())
    }

    /// The application has written less than the window allows, with `in_flight` bytes in the network.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        if let Some(rates) = self.rates() {
            rates.mark_app_limited(in_flight);
        }
    }

    #[inline]
    pub(super) fn rates(&mut self) -> Option<&mut Rates> {
        if mostly(self.measured.is_none()) {
            return None;
        }
        self.measured.as_mut()?.rates.as_mut()
    }

    /// The last segment is sent, or segment `again` retransmitted.
    #[cold]
    #[inline(never)]
    pub(super) fn measure_departure(&mut self, again: Option<usize>, now: Instant) {
        let outstanding = match (self.sent.front(), self.sent.back()) {
            (Some(first), Some(last)) => last.end().bytes_since(first.seq),
            _ => 0,
        };
        let in_flight = self.in_network(outstanding, 0);
        let len = again.map_or(self.sent.back(), |i| self.sent.get(i)).map_or(0, Sent::len);
        if let Some(rates) = self.rates() {
            match again {
                Some(i) => rates.retransmit(i, now, in_flight, len),
                None => rates.push(now, in_flight, len),
            }
        }
    }

    /// `bytes` of segment `i`, which is `s`, were delivered. `whole`: that is all of it. `acked`:
    /// cumulatively.
    #[inline]
    pub(super) fn delivered(&mut self, i: usize, s: &Sent, bytes: u32, whole: bool, acked: bool) {
        if seldom(self.measured.is_some()) {
            self.measure_delivery(i, *s, bytes, whole, acked);
        }
    }

    /// Out of line, since few policies need it.
    #[cold]
    #[inline(never)]
    fn measure_delivery(&mut self, i: usize, s: Sent, bytes: u32, whole: bool, acked: bool) {
        let sent_at = s.sent_at(self.epoch);
        let Some(measured) = self.measured.as_deref_mut() else { return };
        let last = Transmission { xmit_ts: sent_at, end_seq: s.end() };
        if let Some(deliveries) = measured.deliveries.as_mut().filter(|_| whole) {
            deliveries.add(last, s.transmissions() == 1, acked);
        }
        if let Some(rates) = measured.rates.as_mut() {
            rates.deliver(i, bytes, whole, last, s.transmissions() == 1);
        }
    }
}
