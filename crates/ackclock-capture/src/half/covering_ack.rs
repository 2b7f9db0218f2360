//! What one ack tells of the copies of a piece that it covers.

use ackclock_units::{Duration, Instant};

use super::RetransmissionRecord;
use super::acks::NewAck;
use crate::thresholds::THRESHOLDS;

/// What an ack tells that covers a piece which was retransmitted.
pub(super) struct CoveringAck<'a> {
    pub new_ack: &'a NewAck,
    pub ack: u64,
    /// All that had been sent is acknowledged by it.
    pub whole: bool,
    /// Its echo, where that tells anything of this piece.
    pub tsecr: Option<u32>,
    /// SACK is in use.
    pub sack: bool,
    /// The piece begins with a SYN, or holds a FIN.
    pub syn: bool,
    pub fin: bool,
    pub round_trips: RoundTrips,
    /// This copy, or a later one, arrived just when the ack was sent.
    pub copy_acked_in_time: bool,
    /// The same, if it took as long as round trips may take at the most by their deviation.
    pub copy_maybe_acked_in_time: bool,
}

/// Round trips to the receiver so far.
pub(super) struct RoundTrips {
    pub samples: u64,
    /// The shortest.
    pub least: Option<Duration>,
    /// The longest short of more delay than usual, and what clocks may be off.
    pub usual: Option<Duration>,
    /// The longest by their deviation, and what clocks may be off.
    pub longest: Option<Duration>,
}

/// What the ack tells of one copy.
pub(super) struct AckSigns {
    /// It is the oldest segment's, which is acknowledged at once; other acks may be delayed, and echo the
    /// first segment that they answer.
    pub own: bool,
    /// An earlier timestamp than its own is echoed.
    pub earlier_echo: Option<bool>,
    /// Its own timestamp is echoed: it arrived before the ack was sent, however soon that came.
    pub own_echo: bool,
    /// The ack came sooner than a round trip after it.
    pub came_soon: bool,
    /// By its timestamp, the ack was sent before it could arrive.
    pub sent_soon: bool,
    /// So much sooner that there is no doubt.
    pub surely_soon: bool,
    /// A duplicate SACK of it comes with the ack.
    pub dsacked: bool,
    /// The ack answers nothing else, and its receiver may have held it back.
    pub maybe_delayed: bool,
    /// More than it is acknowledged.
    pub acks_more: bool,
}

impl CoveringAck<'_> {
    /// How much sooner than the shortest round trip an ack must come to be another copy's: with
    /// few samples, the path may be shorter than the shortest of them, and with one or two by any amount, as
    /// the ack of the first may have been lost. And how much leaves no doubt: packets differ in size.
    pub(super) fn sooner(&self) -> (f64, f64) {
        let by = THRESHOLDS.acked;
        match self.round_trips.samples {
            n if n < by.few_samples => (0.0, 0.0),
            n if n < by.enough_samples => by.sooner_with_few,
            _ => by.sooner,
        }
    }

    /// What it tells of the copy `a`; copies come from the latest to the earliest. `first_tsval` is the first
    /// retransmission's in the episode, `sent_at` is when data was sent last.
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
        let before = |part: f64| {
            self.round_trips
                .least
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

    /// Whether a longer timer would have avoided the expiry, and why that is not certain: the first line that
    /// holds.
    pub(super) fn verdict(&self, s: &AckSigns) -> (bool, Option<&'static str>) {
        let unless = |holds: bool, why| if holds { None } else { Some(why) };
        let in_time = self.copy_acked_in_time || s.maybe_delayed;
        match s.earlier_echo {
            _ if s.came_soon || s.sent_soon => {
                (true, unless(s.surely_soon, "its ack came little sooner than a round trip after it"))
            }
            // The copy arrived first, and another one behind it, whose ack overtook the copy's: an earlier
            // one, or one that the network made. What ends just where the window begins moves the timestamp
            // that is echoed, though (RFC 7323 §4.3).
            _ if s.dsacked && s.own_echo && s.acks_more => {
                (!self.copy_acked_in_time, Some("the network may have copied it"))
            }
            // A duplicate SACK with the very first ack: the original's own was lost, or is late.
            // An ack that is no copy's was held up, or is not the first.
            _ if s.dsacked => (
                false,
                unless(self.copy_acked_in_time, "the ack that says that it arrived twice was held up"),
            ),
            // So it is where SACK is not in use and the ack was sent just when a copy arrived: what lies
            // below the window moves no timestamp (RFC 7323 §4.3). Of more that had arrived the ack would
            // tell at once.
            Some(true) if !self.sack && self.copy_acked_in_time => (
                !(s.acks_more || self.whole),
                unless(
                    s.acks_more || self.whole,
                    "the original's ack would have been the same, and may have come just then",
                ),
            ),
            // A duplicate SACK may say later that this copy arrived as well; until then, its own ack may be
            // lost, and that of the original before.
            Some(true) => (
                self.sack || !self.copy_maybe_acked_in_time || !(s.acks_more || self.whole),
                Some("an ack of it may have been lost"),
            ),
            // A SYN-ACK echoes the first SYN that came.
            Some(false) => (
                false,
                unless(
                    s.own && (self.sack || self.syn || in_time),
                    "its ack was held up, and without SACK nothing tells of another copy",
                ),
            ),
            // From TIME-WAIT a FIN is answered without SACK, and with the timestamp of the first one.
            None if self.fin || !self.sack => {
                (false, unless(in_time, "nothing tells which copy the ack answers, which was held up"))
            }
            None => (
                false,
                unless(
                    in_time,
                    "without timestamps nothing tells which copy the ack answers, which was held up",
                ),
            ),
        }
    }
}
