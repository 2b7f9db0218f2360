//! What acks tell of segments sent again: whether that was needed, and whether a longer timer would have
//! avoided it.

use ackclock_units::{Duration, Instant};

use super::acks::NewAck;
use super::{Half, RetransmissionRecord};
use crate::Cause;
use crate::outstanding::Piece;
use crate::report::Retransmission;
use crate::thresholds::THRESHOLDS;

/// A verdict on an expiry that an ack which was held up on its way would turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    expiry: u32,
    /// An ack of so much that was sent before this moment was called forth by an earlier copy.
    end: u64,
    before: Option<Instant>,
    /// So was one that was sent before the ack with the duplicate SACK: it acknowledges less, or has an
    /// earlier timestamp.
    in_vain: Option<(u64, Option<u32>)>,
}

/// What an ack tells that covers a piece which was sent again.
struct Answer<'a> {
    new_ack: &'a NewAck,
    ack: u64,
    /// All that had been sent is acknowledged by it.
    whole: bool,
    /// Its echo, where that tells anything of this piece.
    tsecr: Option<u32>,
    sack: bool,
    syn: bool,
    fin: bool,
    samples: u64,
    /// The shortest round trip, the longest that is usual, and what clocks may be off.
    far: Option<Duration>,
    reach: Option<Duration>,
    slack: Duration,
    /// This copy, or a later one, arrived just when the ack was sent.
    called_forth: bool,
    /// The same, if it took as long as round trips may take at the most by their deviation (RFC 6298 §2).
    perhaps: bool,
    longest: Option<Duration>,
}

/// What it tells of one copy.
struct AckSigns {
    /// It is the oldest segment's, which calls forth an ack of its own; other acks may be delayed, and echo
    /// the first segment that they answer.
    own: bool,
    /// An earlier timestamp than its own is echoed.
    echo: Option<bool>,
    /// Echoed by a copy of its own, so that it arrived before the ack was sent, however soon that came.
    filled: bool,
    /// The ack came, or was sent, sooner than a round trip after it.
    soon: bool,
    before: bool,
    /// So much sooner that there is no doubt.
    doubtless: bool,
    /// A duplicate SACK of it comes with the ack.
    in_vain: bool,
    /// Nothing else can have called forth the ack, which its receiver may have held back.
    delayed: bool,
    /// More than it is acknowledged.
    past: bool,
}

/// The latest ack that covered what was sent again.
#[derive(Debug, Default)]
pub(super) struct Covered {
    at: Instant,
    /// It, and duplicates behind it that only copies can have called forth.
    answers: u32,
    /// It covered no other piece that was sent again.
    alone: bool,
    /// The expiries that it judged not to be spurious, and how many copies were sent later.
    pub expiries: Vec<(u32, u32)>,
}

impl Answer<'_> {
    /// How much sooner than the shortest round trip an ack must come, that another copy called it forth: with
    /// few samples, the path may be shorter than the shortest of them, and with one or two by any amount, as
    /// the ack of the first may have been lost. And how much leaves no doubt: packets differ in size.
    fn sooner(&self) -> (f64, f64) {
        let by = THRESHOLDS.acked;
        match self.samples {
            n if n < by.few_samples => (0.0, 0.0),
            n if n < by.enough_samples => by.sooner_with_few,
            _ => by.sooner,
        }
    }

    /// Takes copies from the latest to the earliest.
    fn signs(
        &mut self,
        a: &RetransmissionRecord,
        own: bool,
        first_again: Option<u32>,
        sent_at: Option<Instant>,
    ) -> AckSigns {
        let (new_ack, at, sent_again) = (self.new_ack, self.new_ack.at, a.row.at);
        let sent = first_again.filter(|_| a.episode.is_some() && !own).or(a.tsval);
        let echo = self.tsecr.zip(sent).map(|(echo, sent)| (echo.wrapping_sub(sent) as i32) < 0);
        let filled = own && new_ack.tsecr.is_some() && new_ack.tsecr == a.tsval;
        let (surely, doubtless) = self.sooner();
        let surely = if filled { 0.0 } else { surely };
        let before = |part: f64| {
            self.far
                .zip(new_ack.sent)
                .is_some_and(|(far, sent)| sent + self.slack < sent_again + far.mul_f64(part))
        };
        let soon = |part: f64| self.far.is_some_and(|far| at < sent_again + far.mul_f64(part));
        let least = at
            >= sent_again + self.far.map_or(Duration::ZERO, |far| far.mul_f64(THRESHOLDS.acked.own_ack_part));
        let by = |moment: Instant, longer: Duration| {
            self.reach.is_some_and(|reach| moment <= sent_again + reach + longer)
        };
        let in_time = !soon(surely)
            && !before(surely)
            && (filled || least)
            && by(new_ack.sent.unwrap_or(at), Duration::ZERO);
        self.called_forth |= in_time;
        let sent = new_ack.sent.unwrap_or(at);
        self.perhaps |=
            !soon(surely) && !before(surely) && self.longest.is_some_and(|l| sent <= sent_again + l);
        AckSigns {
            own,
            echo,
            filled,
            soon: soon(surely),
            before: before(surely),
            doubtless: (soon(doubtless) || before(doubtless)) && !self.fin
                || own && echo == Some(true) && self.samples >= THRESHOLDS.acked.enough_samples,
            in_vain: new_ack.dsack.is_some_and(|(s, e)| s < a.end && a.start < e),
            delayed: new_ack.pure
                && (filled || new_ack.tsecr.is_none())
                && least
                && sent_at <= Some(sent_again)
                && by(at, THRESHOLDS.acked.delayed_ack),
            past: self.ack > a.end,
        }
    }

    /// Whether a longer timer would have avoided the expiry, and why that is not certain: the first line that
    /// holds.
    fn verdict(&self, s: &AckSigns) -> (bool, Option<&'static str>) {
        let unless = |holds: bool, why| if holds { None } else { Some(why) };
        let in_time = self.called_forth || s.delayed;
        match s.echo {
            _ if s.soon || s.before => {
                (true, unless(s.doubtless, "its ack came little sooner than a round trip after it"))
            }
            // The copy arrived first, and another one behind it, whose ack overtook the copy's: an earlier
            // one, or one that the network made. What ends just where the window begins moves the timestamp
            // that is echoed, though (RFC 7323 §4.3).
            _ if s.in_vain && s.filled && s.past => {
                (!self.called_forth, Some("the network may have copied it"))
            }
            // A duplicate SACK with the very first ack: the one that the original called forth was lost, or
            // is late. An ack that no copy can have called forth was held up, or is not the first.
            _ if s.in_vain => {
                (false, unless(self.called_forth, "the ack that says that it arrived twice was held up"))
            }
            // So it is where SACK is not in use and the ack was sent just when a copy arrived: what lies
            // below the window moves no timestamp (RFC 7323 §4.3). Of more that had arrived the ack would
            // tell at once.
            Some(true) if !self.sack && self.called_forth => (
                !(s.past || self.whole),
                unless(
                    s.past || self.whole,
                    "the original's ack would have been the same, and may have come just then",
                ),
            ),
            // A duplicate SACK may say later that this copy arrived as well; until then, its own ack may be
            // lost, and that of the original before.
            Some(true) => (
                self.sack || !self.perhaps || !(s.past || self.whole),
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

impl Half {
    /// An ack covers a piece that was sent again: did an earlier copy bring it about?
    pub(super) fn judge_covered(&mut self, p: Piece, ack: u64, new_ack: &NewAck) {
        let at = new_ack.at;
        // Without SACK nobody says that a piece in the middle of what an ack covers had arrived before.
        let told = self.agreed.sack || p.start <= self.space.una || p.end >= ack;
        let by = THRESHOLDS.acked;
        let slack = new_ack.slack;
        let mut answer = Answer {
            new_ack,
            ack,
            whole: ack == self.space.max,
            // In TIME-WAIT Linux answers each FIN with the echo of the first one.
            tsecr: new_ack.tsecr.filter(|_| self.space.fin.is_none_or(|fin| p.end <= fin)),
            sack: self.agreed.sack,
            syn: self.space.syn == Some(p.start),
            fin: self.space.fin.is_some_and(|fin| p.end > fin),
            samples: self.out.rtt.count(),
            far: self.path.far,
            // How long after it was sent a copy is answered at the latest, short of more delay than usual.
            reach: self.path.far.map(|far| {
                far.max(self.path.smoothed.map_or(far, |r| r.srtt).mul_f64(by.own_ack_rtts)) + slack
            }),
            slack,
            called_forth: false,
            perhaps: false,
            longest: self.path.far.map(|far| {
                far.max(self.path.smoothed.map_or(far, |r| r.srtt + r.rttvar * by.deviations)) + slack
            }),
        };
        let now = &mut self.verdicts.covered;
        if now.at != at || now.answers == 0 {
            (now.at, now.answers, now.alone) = (at, 1, true);
            now.expiries.clear();
        } else {
            now.alone = false;
        }
        let mut later = 0;
        let mut next = p.again;
        while let Some(i) = next {
            let Some(a) = self.verdicts.retransmissions.get_mut(i as usize) else { return };
            next = a.before;
            if a.covered {
                continue;
            }
            a.covered = true;
            let own = p.start <= self.space.una && a.expiry.is_some();
            let signs = answer.signs(
                a,
                own,
                self.verdicts.open_episode.and_then(|open| open.tsval),
                self.sent.sent_at,
            );
            let why = match () {
                () if signs.echo == Some(true) => {
                    Some("its ack echoes an earlier timestamp: an earlier copy had arrived")
                }
                () if signs.soon => {
                    Some("its ack came sooner than a round trip: an earlier copy had arrived")
                }
                () if signs.before => Some(
                    "its ack was sent, by its timestamp, before this copy could arrive: an earlier copy had \
                     arrived",
                ),
                () => None,
            };
            if let Some(why) = why {
                needless(&mut a.row, why);
            } else if a.row.needed.is_none() && told {
                a.row.needed = Some(true);
            }
            if let Some(expiry) = a.expiry {
                self.judge_expiry(i, expiry, &answer, &signs, later);
            }
            later += 1;
        }
    }

    /// The same of the expiry behind a copy; `later` of it were sent since.
    fn judge_expiry(&mut self, again: u32, expiry: u32, answer: &Answer, signs: &AckSigns, later: u32) {
        let (Some(a), Some(e)) = (
            self.verdicts.retransmissions.get(again as usize),
            self.verdicts.expiries.get_mut(expiry as usize),
        ) else {
            return;
        };
        let new_ack = answer.new_ack;
        let (spurious, doubt) = answer.verdict(signs);
        (e.eifel_spurious, e.doubt) = (Some(spurious), doubt);
        e.filled = signs.filled;
        e.covered_at = Some((new_ack.at, answer.called_forth));
        if spurious {
            return;
        }
        if !answer.sack || answer.fin || signs.in_vain {
            self.verdicts.covered.expiries.push((expiry, later));
        }
        let (surely, _) = answer.sooner();
        let surely = if signs.filled { 0.0 } else { surely };
        let before =
            self.path.far.filter(|_| new_ack.sent.is_some()).map(|far| a.row.at + far.mul_f64(surely));
        // The last copy's arrival is what a duplicate SACK tells of.
        let in_vain = (signs.in_vain && later == 0).then_some((answer.ack, new_ack.tsval));
        self.verdicts.doubts.truncate(MOST_DOUBTS - 1);
        self.verdicts.doubts.insert(0, Doubt { expiry, end: a.end, before, in_vain });
    }

    /// An ack that moves nothing, by the clock of its sender from before a copy could arrive, was held up: it
    /// is the one that was taken for lost.
    pub(super) fn late(&mut self, ack: u64, tsval: Option<u32>, sent: Option<Instant>, slack: Duration) {
        let expiries = &mut self.verdicts.expiries;
        self.verdicts.doubts.retain(|d| {
            let sooner = sent.zip(d.before).is_some_and(|(sent, before)| sent + slack < before);
            let earlier = |told: Option<u32>| {
                tsval.zip(told).is_some_and(|(t, told)| (t.wrapping_sub(told) as i32) < 0)
            };
            let late =
                ack >= d.end && (sooner || d.in_vain.is_some_and(|(all, told)| ack < all || earlier(told)));
            if let Some(e) = expiries.get_mut(d.expiry as usize).filter(|_| late) {
                (e.eifel_spurious, e.doubt) = (Some(true), None);
            }
            !late
        });
    }

    /// A duplicate ack behind the one that covered a copy: another copy came, all of them held up on their
    /// way, perhaps.
    pub(super) fn duplicate_behind(&mut self, at: Instant, same_window: bool) {
        // Of what was sent upon that ack nothing can tell yet.
        let soon = self
            .path
            .far
            .is_some_and(|far| at.since(self.verdicts.covered.at) < far / THRESHOLDS.doubt.soon_part);
        let young = same_window
            && self
                .path
                .far
                .zip(self.sent.outstanding.front())
                .is_none_or(|(far, p)| at.since(p.first) < far.mul_f64(THRESHOLDS.doubt.young_part));
        if !soon && !young {
            self.verdicts.covered.expiries.clear();
            return;
        }
        self.verdicts.covered.answers += 1;
        let Covered { answers, alone, expiries, .. } = &self.verdicts.covered;
        for (place, later) in expiries {
            let Some(e) =
                self.verdicts.expiries.get_mut(*place as usize).filter(|e| e.eifel_spurious == Some(false))
            else {
                continue;
            };
            // The latest copies came last: this many of them were answered only now.
            let earlier = *answers >= later + 2;
            if soon && e.doubt.is_none() {
                (e.eifel_spurious, e.doubt) =
                    (Some(earlier || !alone), Some("another copy was acknowledged right behind it"));
            } else if e.doubt.is_some() && *alone && earlier {
                e.eifel_spurious = Some(true);
            }
        }
    }

    /// The receiver says that it got `start..end` twice (RFC 2883).
    pub(super) fn arrived_twice(&mut self, start: u64, end: u64, at: Instant) {
        // The latest retransmission of any of it of which this was not said yet.
        let of_it = |a: &RetransmissionRecord| {
            a.start < end
                && start < a.end
                && (a.row.cause.counts() || a.row.cause == Cause::Copy)
                && at > a.row.at
        };
        let look_back = self.verdicts.retransmissions.len().saturating_sub(LOOK_BACK);
        let recent = &mut self.verdicts.retransmissions[look_back..];
        let found =
            recent.iter().rposition(|a| of_it(a) && !a.twice).or_else(|| recent.iter().rposition(of_it));
        let Some(i) = found else {
            self.out.network_duplicates += 1;
            return;
        };
        let a = &mut recent[i];
        a.twice = true;
        if a.row.needed != Some(false) {
            needless(&mut a.row, "a duplicate SACK says that it arrived twice");
        }
        if let Some(e) =
            a.expiry.and_then(|e| self.verdicts.expiries.get_mut(e as usize)).filter(|_| a.covered)
        {
            // Acknowledged before, without a word of this copy: the original's ack came after the timer had
            // expired. But of a copy that filled the gap itself, or was answered just when it arrived, the
            // network may have made another one; that is likelier than an original that was held up just so
            // long.
            let in_time = e.covered_at.is_some_and(|(_, called_forth)| called_forth);
            let copied = e.filled
                || e.covered_at
                    .is_some_and(|(told, _)| in_time && at.since(told) < THRESHOLDS.doubt.copy_behind);
            if e.eifel_spurious != Some(true) || !copied {
                (e.eifel_spurious, e.doubt) =
                    (Some(!copied || !in_time), copied.then_some("the network may have copied it"));
            }
        }
    }
}

fn needless(row: &mut Retransmission, why: &str) {
    row.needed = Some(false);
    row.evidence = format!("{}; not needed: {why}", row.evidence);
}

/// How many retransmissions back a duplicate SACK is looked up.
const LOOK_BACK: usize = 2048;
/// Verdicts that are kept in doubt.
const MOST_DOUBTS: usize = 8;
