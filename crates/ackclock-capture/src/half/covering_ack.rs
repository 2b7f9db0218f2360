//! Which copy of a retransmitted piece an ack covers, derived from its timing, echo and duplicate SACK.

use ackclock_units::{Duration, Instant};

use super::RetransmissionRecord;
use super::acks::NewAck;
use crate::thresholds::THRESHOLDS;

/// An ack that covers a retransmitted piece.
pub(super) struct CoveringAck<'a> {
    pub new_ack: &'a NewAck,
    pub ack: u64,
    /// It acknowledges everything that was sent.
    pub whole: bool,
    /// Its echo, unless that says nothing about this piece.
    pub tsecr: Option<u32>,
    /// SACK is in use.
    pub sack: bool,
    /// The piece begins with a SYN, or holds a FIN.
    pub syn: bool,
    pub fin: bool,
    pub round_trips: RoundTrips,
    /// The ack was sent when this copy, or a later one, arrived, judging by the usual round-trip time.
    pub copy_acked_in_time: bool,
    /// The same, judging by the longest round-trip time that the deviation allows.
    pub copy_maybe_acked_in_time: bool,
}

/// Round trips to the receiver so far.
pub(super) struct RoundTrips {
    pub samples: u64,
    /// The shortest.
    pub least: Option<Duration>,
    /// The longest without unusual delay, plus clock error.
    pub usual: Option<Duration>,
    /// The longest by their deviation, plus clock error.
    pub longest: Option<Duration>,
}

/// Signs about one copy.
pub(super) struct AckSigns {
    /// The copy is of the oldest segment, which is acknowledged at once. Acks of others may be delayed, and
    /// echo the first segment that they acknowledge.
    pub own: bool,
    /// The ack echoes an earlier timestamp than the copy's.
    pub earlier_echo: Option<bool>,
    /// The ack echoes the copy's timestamp: the copy arrived before the ack was sent, however short that
    /// time.
    pub own_echo: bool,
    /// The ack was seen less than a round trip after it.
    pub came_soon: bool,
    /// By its timestamp, the ack was sent before the copy could arrive.
    pub sent_soon: bool,
    /// So much sooner that it is beyond doubt.
    pub surely_soon: bool,
    /// The ack carries a duplicate SACK of it.
    pub dsacked: bool,
    /// The ack covers no later data, and may be a delayed ack.
    pub maybe_delayed: bool,
    /// The ack covers more than the copy.
    pub acks_more: bool,
}

impl CoveringAck<'_> {
    /// Parts of the shortest round trip within which an ack must be an earlier copy's: probably, and beyond
    /// doubt. With few samples, the path may be shorter than the shortest of them, and with one or two by any
    /// amount, as the ack of the first may have been lost. Packets also differ in size.
    pub(super) fn sooner(&self) -> (f64, f64) {
        let by = THRESHOLDS.acked;
        match self.round_trips.samples {
            n if n < by.few_samples => (0.0, 0.0),
            n if n < by.enough_samples => by.sooner_with_few,
            _ => by.sooner,
        }
    }

    /// The signs about the copy `a`. It is called for the latest copy first. `first_tsval` is the timestamp
    /// of the episode's first retransmission, `sent_at` is when data was last sent.
    pub(super) fn signs(
        &mut self,
        a: &RetransmissionRecord,
        own: bool,
        first_tsval: Option<u32>,
        sent_at: Option<Instant>,
    ) -> AckSigns {
        let (new_ack, at, resent_at) = (self.new_ack, self.new_ack.at, a.row.at);
        let sent = first_tsval.filter(|_| a.episode.is_some() && !own).or(a.tsval);
        let echo = self.tsecr.zip(sent).map(|(echo, sent)| (echo.wrapping_sub(sent) as i32) < 0);
        let filled = own && new_ack.tsecr.is_some() && new_ack.tsecr == a.tsval;
        let (surely, doubtless) = self.sooner();
        let surely = if filled { 0.0 } else { surely };
        // Beside the receiver the capture itself shows which came first. An end that paces data stamps its
        // acks a few milliseconds ahead (the departure time of the segment that carries them).
        let before = |part: f64| {
            self.round_trips
                .least
                .filter(|far| *far >= new_ack.slack)
                .zip(new_ack.sent)
                .is_some_and(|(far, sent)| sent + new_ack.slack < resent_at + far.mul_f64(part))
        };
        let soon = |part: f64| self.round_trips.least.is_some_and(|far| at < resent_at + far.mul_f64(part));
        let least = at
            >= resent_at
                + self
                    .round_trips
                    .least
                    .map_or(Duration::ZERO, |far| far.mul_f64(THRESHOLDS.acked.own_ack_part));
        let by = |moment: Instant, longer: Duration| {
            self.round_trips.usual.is_some_and(|reach| moment <= resent_at + reach + longer)
        };
        let in_time = !soon(surely)
            && !before(surely)
            && (filled || least)
            && by(new_ack.sent.unwrap_or(at), Duration::ZERO);
        self.copy_acked_in_time |= in_time;
        let sent = new_ack.sent.unwrap_or(at);
        self.copy_maybe_acked_in_time |= !soon(surely)
            && !before(surely)
            && self.round_trips.longest.is_some_and(|l| sent <= resent_at + l);
        AckSigns {
            own,
            earlier_echo: echo,
            own_echo: filled,
            came_soon: soon(surely),
            sent_soon: before(surely),
            surely_soon: (soon(doubtless) || before(doubtless)) && !self.fin
                || own && echo == Some(true) && self.round_trips.samples >= THRESHOLDS.acked.enough_samples,
            dsacked: new_ack.dsack.is_some_and(|(s, e)| s < a.end && a.start < e),
            maybe_delayed: new_ack.pure
                && (filled || new_ack.tsecr.is_none())
                && least
                && sent_at <= Some(resent_at)
                && by(at, THRESHOLDS.acked.delayed_ack),
            acks_more: self.ack > a.end,
        }
    }

    /// Whether a longer timer would have avoided the expiry, and the reason if that is not certain. The first
    /// arm that matches decides.
    pub(super) fn verdict(&self, s: &AckSigns) -> (bool, Option<&'static str>) {
        let unless = |holds: bool, why| if holds { None } else { Some(why) };
        let in_time = self.copy_acked_in_time || s.maybe_delayed;
        match s.earlier_echo {
            _ if s.came_soon || s.sent_soon => {
                (true, unless(s.surely_soon, "its ack came only a little sooner than a round trip after it"))
            }
            // This copy arrived first and another after it, whose ack overtook this copy's: the original, or
            // one that the network made. A segment that ends where the window begins still updates the echoed
            // timestamp (RFC 7323 §4.3).
            _ if s.dsacked && s.own_echo && s.acks_more => {
                (!self.copy_acked_in_time, Some("the network may have copied it"))
            }
            // A duplicate SACK with the first ack seen: the original's own ack was lost, or is late. If the
            // ack does not fit the time of any copy, it was delayed, or is not the first.
            _ if s.dsacked => {
                (false, unless(self.copy_acked_in_time, "the ack with its duplicate SACK was delayed"))
            }
            // The same holds if SACK is not in use and the ack was sent when a copy arrived: a segment below
            // the window does not update the echoed timestamp (RFC 7323 §4.3). Had more arrived before, the
            // ack would cover it.
            Some(true) if !self.sack && self.copy_acked_in_time => (
                !(s.acks_more || self.whole),
                unless(
                    s.acks_more || self.whole,
                    "the original's ack would have been identical, and may have come at that time",
                ),
            ),
            // A later duplicate SACK may report that this copy arrived too. Until then, both its own ack and
            // the original's may have been lost.
            Some(true) => (
                self.sack || !self.copy_maybe_acked_in_time || !(s.acks_more || self.whole),
                Some("an ack of it may have been lost"),
            ),
            // A SYN-ACK echoes the first SYN that arrived.
            Some(false) => (
                false,
                unless(
                    s.own && (self.sack || self.syn || in_time),
                    "its ack was delayed, and without SACK other copies are not reported",
                ),
            ),
            // In TIME-WAIT, a FIN is acknowledged without SACK and with the timestamp of the first FIN.
            None if self.fin || !self.sack => {
                (false, unless(in_time, "the ack was delayed, and may be that of any copy"))
            }
            None => (
                false,
                unless(in_time, "the ack was delayed, and without timestamps may be that of any copy"),
            ),
        }
    }
}
