//! What acks tell of segments sent again: whether that was needed, and whether a longer timer would have avoided it.

use ackclock_units::{Duration, Instant};

use super::acks::Heard;
use super::{Again, Half};
use crate::Cause;
use crate::report::Retransmission;
use crate::sent::Piece;

/// A verdict on an expiry that an ack which was held up on its way would turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    expiry: u32,
    /// An ack of so much that was sent before this moment was called forth by an earlier copy.
    end: u64,
    before: Option<Instant>,
    /// So was one that was sent before the ack with the duplicate SACK: it acknowledges less, or has an earlier timestamp.
    in_vain: Option<(u64, Option<u32>)>,
}

impl Half {
    /// An ack covers a piece that was sent again: did an earlier copy bring it about?
    pub(super) fn judge_covered(&mut self, p: Piece, ack: u64, heard: &Heard) {
        let at = heard.at;
        // Without SACK nobody says that a piece in the middle of what an ack covers had arrived before.
        let told = self.sack_agreed || p.start <= self.una || p.end >= ack;
        // In TIME-WAIT Linux answers each FIN with the echo of the first one.
        let tsecr = heard.tsecr.filter(|_| self.fin.is_none_or(|fin| p.end <= fin));
        // With few samples, the path may be shorter than the shortest of them, and with one or two by any amount: the ack of the first may have been lost.
        let surely = match self.out.rtt.count() {
            0..3 => 0.0,
            3..8 => 0.6,
            _ => 0.9,
        };
        // A tick at either end, and what else a clock may be off.
        let slack = self.peer_clock.tick() * 2 + Duration::from_millis(1);
        // When the ack was sent, and how long after it was sent a copy is answered at the latest, short of more delay than usual.
        let answered = heard.sent.unwrap_or(at);
        let reach = self.far.map(|far| far.max(self.smoothed.map_or(far, |r| r.srtt).mul_f64(1.25)) + slack);
        let mut called_forth = false;
        // How much sooner than the shortest round trip leaves no doubt: packets differ in size, and of few samples the shortest is not the path's.
        let doubtless = match self.out.rtt.count() {
            0..3 => 0.0,
            3..8 => 0.3,
            _ => 0.6,
        };
        if self.covered_now.0 != at {
            self.covered_now.1.clear();
        }
        let fin = self.fin.is_some_and(|fin| p.end > fin);
        let syn = self.syn == Some(p.start);
        let mut next = p.again;
        let first_again = self.episode_tsval;
        while let Some(i) = next {
            let Some(a) = self.agains.get_mut(i as usize) else { return };
            next = a.before;
            if a.covered {
                continue;
            }
            a.covered = true;
            // The oldest segment's copies call forth acks of their own; other acks may be delayed, and echo the first segment that they answer.
            let own = p.start <= self.una && a.expiry.is_some();
            let sent = first_again.filter(|_| a.episode.is_some() && !own).or(a.tsval);
            let echo = tsecr.zip(sent).map(|(echo, sent)| (echo.wrapping_sub(sent) as i32) < 0);
            // Echoed by a copy of its own, so that it arrived before the ack was sent, however soon that came.
            let filled = own && heard.tsecr.is_some() && heard.tsecr == a.tsval;
            let surely = if filled { 0.0 } else { surely };
            let soon = self.far.is_some_and(|far| at.since(a.row.at) < far.mul_f64(surely));
            let before = self.far.zip(heard.sent).is_some_and(|(far, sent)| sent + slack < a.row.at + far.mul_f64(surely));
            let why = match () {
                () if echo == Some(true) => Some("its ack echoes an earlier timestamp: an earlier copy had arrived"),
                () if soon => Some("its ack came sooner than a round trip: an earlier copy had arrived"),
                () if before => Some("its ack was sent, by its timestamp, before this copy could arrive: an earlier copy had arrived"),
                () => None,
            };
            if let Some(why) = why {
                needless(&mut a.row, why);
            } else if a.row.needed.is_none() && told {
                a.row.needed = Some(true);
            }
            // This copy, or a later one, arrived just when the ack was sent.
            let least = self.far.map_or(Duration::ZERO, |far| far.mul_f64(0.8));
            called_forth |= !soon && !before && (filled || at >= a.row.at + least) && reach.is_some_and(|reach| answered <= a.row.at + reach);
            let Some((place, e)) = a.expiry.and_then(|e| Some((e, self.expiries.get_mut(e as usize)?))) else { continue };
            // A duplicate SACK with the very first ack: the one that the original called forth was lost, or is late. So it is where SACK is not in use and
            // the ack was sent just when a copy arrived: what lies below the window moves no timestamp (RFC 7323 §4.3).
            let in_vain = heard.in_vain.is_some_and(|(s, e)| s < a.end && a.start < e);
            let doubled = in_vain || echo == Some(true) && !self.sack_agreed && called_forth;
            let earliest = self.far.map(|far| a.row.at + far.mul_f64(doubtless));
            let sooner = earliest.is_some_and(|earliest| at < earliest || heard.sent.is_some_and(|sent| sent + slack < earliest));
            let doubtless = sooner && !fin || own && echo == Some(true) && self.out.rtt.count() >= 8;
            // Nothing else can have called forth an ack on its own, which its receiver may have held back.
            let delayed = heard.pure
                && (filled || heard.tsecr.is_none())
                && at >= a.row.at + least
                && self.sent_at <= Some(a.row.at)
                && reach.is_some_and(|reach| at <= a.row.at + reach + DELAYED_ACK);
            let unless = |holds: bool, why| if holds { None } else { Some(why) };
            let (spurious, doubt) = match echo {
                _ if soon || before => (true, unless(doubtless, "its ack came little sooner than a round trip after it")),
                // The copy arrived first, and another one behind it, whose ack overtook the copy's: an earlier one, or one that the network made. What ends
                // just where the window begins moves the timestamp that is echoed, though (RFC 7323 §4.3).
                _ if in_vain && filled && ack > a.end => (true, Some("the network may have copied it")),
                // An ack that no copy can have called forth was held up, or is not the first.
                _ if in_vain && !called_forth => (false, Some("the ack that says that it arrived twice was held up")),
                _ if in_vain => (false, None),
                // Of more that had arrived the ack would tell at once.
                _ if doubled => {
                    (false, unless(ack > a.end || ack == self.max, "the original's ack would have been the same, and may have come just then"))
                }
                // A duplicate SACK may say later that this copy arrived as well; until then, its own ack may be lost, and that of the original before.
                Some(true) => (true, Some("an ack of it may have been lost")),
                // A SYN-ACK echoes the first SYN that came.
                Some(false) => (
                    false,
                    unless(
                        own && (self.sack_agreed || syn || called_forth || delayed),
                        "its ack was held up, and without SACK nothing tells of another copy",
                    ),
                ),
                // From TIME-WAIT a FIN is answered without SACK, and with the timestamp of the first one.
                None if fin || !self.sack_agreed => {
                    (false, unless(called_forth || delayed, "nothing tells which copy the ack answers, which was held up"))
                }
                None => (false, unless(called_forth || delayed, "without timestamps nothing tells which copy the ack answers, which was held up")),
            };
            (e.eifel_spurious, e.doubt) = (Some(spurious), doubt);
            e.filled = filled;
            if (!self.sack_agreed || fin || in_vain) && !spurious && doubt.is_none() {
                self.covered_now.0 = at;
                self.covered_now.1.push(place);
            }
            e.covered_at = Some((at, called_forth));
            // The last copy's arrival is what it tells of.
            let latest = in_vain && Some(i) == p.again;
            if !spurious {
                self.doubts.truncate(MOST_DOUBTS - 1);
                let before = self.far.filter(|_| heard.sent.is_some()).map(|far| a.row.at + far.mul_f64(surely));
                self.doubts.insert(0, Doubt { expiry: place, end: a.end, before, in_vain: latest.then_some((ack, heard.tsval)) });
            }
        }
    }

    /// An ack that moves nothing, by the clock of its sender from before a copy could arrive, was held up: it is the one that was taken for lost.
    pub(super) fn late(&mut self, ack: u64, tsval: Option<u32>, sent: Option<Instant>) {
        let slack = self.peer_clock.tick() * 2 + Duration::from_millis(1);
        let expiries = &mut self.expiries;
        self.doubts.retain(|d| {
            let sooner = sent.zip(d.before).is_some_and(|(sent, before)| sent + slack < before);
            let earlier = |told: Option<u32>| tsval.zip(told).is_some_and(|(t, told)| (t.wrapping_sub(told) as i32) < 0);
            let late = ack >= d.end && (sooner || d.in_vain.is_some_and(|(all, told)| ack < all || earlier(told)));
            if let Some(e) = expiries.get_mut(d.expiry as usize).filter(|_| late) {
                (e.eifel_spurious, e.doubt) = (Some(true), None);
            }
            !late
        });
    }

    /// A duplicate ack right behind the one that covered a copy: another copy came with it, all of them held up on their way, perhaps.
    pub(super) fn duplicate_behind(&mut self, at: Instant) {
        let (covered, places) = &mut self.covered_now;
        // Of what was sent upon that ack nothing can tell yet.
        let soon = self.far.is_some_and(|far| at.since(*covered) < far / 2);
        for place in places.drain(..).filter(|_| soon) {
            let Some(e) = self.expiries.get_mut(place as usize) else { continue };
            (e.eifel_spurious, e.doubt) = (Some(true), Some("another copy was acknowledged right behind it"));
        }
    }

    /// The receiver says that it got `start..end` twice (RFC 2883).
    pub(super) fn arrived_twice(&mut self, start: u64, end: u64, at: Instant) {
        // The latest retransmission of any of it of which this was not said yet.
        let of_it = |a: &Again| a.start < end && start < a.end && (a.row.cause.counts() || a.row.cause == Cause::Copy) && at > a.row.at;
        let look_back = self.agains.len().saturating_sub(LOOK_BACK);
        let recent = &mut self.agains[look_back..];
        let found = recent.iter().rposition(|a| of_it(a) && !a.twice).or_else(|| recent.iter().rposition(of_it));
        let Some(i) = found else {
            self.out.network_duplicates += 1;
            return;
        };
        let a = &mut recent[i];
        a.twice = true;
        if a.row.needed != Some(false) {
            needless(&mut a.row, "a duplicate SACK says that it arrived twice");
        }
        if let Some(e) = a.expiry.and_then(|e| self.expiries.get_mut(e as usize)).filter(|_| a.covered) {
            // Acknowledged before, without a word of this copy: the original's ack came after the timer had expired. But of a copy that filled the gap
            // itself, or was answered just when it arrived, the network may have made another one.
            let copied = e.filled || e.covered_at.is_some_and(|(told, called_forth)| called_forth && at.since(told) < AT_ONCE);
            if e.eifel_spurious != Some(true) || !copied {
                (e.eifel_spurious, e.doubt) = (Some(true), copied.then_some("the network may have copied it"));
            }
        }
    }
}

fn needless(row: &mut Retransmission, why: &str) {
    row.needed = Some(false);
    row.evidence = format!("{}; not needed: {why}", row.evidence);
}

/// What receivers hold the ack of a single segment back for: Linux 40 ms, and a tick or two.
const DELAYED_ACK: Duration = Duration::from_millis(50);
/// How many retransmissions back a duplicate SACK is looked up.
const LOOK_BACK: usize = 2048;
/// Verdicts that are kept in doubt.
const MOST_DOUBTS: usize = 8;
/// In which the ack of a packet follows that of its copy.
const AT_ONCE: Duration = Duration::from_millis(2);
