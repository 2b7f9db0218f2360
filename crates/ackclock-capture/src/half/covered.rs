//! Verdicts on retransmissions from the acks that cover them: whether each was spurious, and whether a longer
//! timer would have avoided an expiry.

use ackclock_units::{Duration, Instant};

use super::acks::NewAck;
use super::covering_ack::{AckSigns, CoveringAck, RoundTrips};
use super::third_step::OnlyCopy;
use super::{Half, RetransmissionRecord};
use crate::Cause;
use crate::outstanding::Piece;
use crate::report::Retransmission;
use crate::thresholds::THRESHOLDS;

/// A verdict on an expiry that a delayed ack may still change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    expiry: u32,
    /// An ack up to here that was sent before this moment is an earlier copy's.
    end: u64,
    before: Option<Instant>,
    /// So is one sent before the ack with the duplicate SACK: it acknowledges less, or has an earlier
    /// timestamp.
    dsack_ack: Option<(u64, Option<u32>)>,
}

/// The latest ack that covered a retransmission.
#[derive(Debug, Default)]
pub(super) struct Covered {
    at: Instant,
    /// The ack itself, and duplicates after it that only copies can have elicited.
    answers: u32,
    /// It covers no other retransmission.
    alone: bool,
    /// The expiries that it showed not to be spurious, with the number of copies sent later.
    pub expiries: Vec<(u32, u32)>,
}

impl Half {
    /// Called when an ack covers a retransmitted piece: decides whether it is an earlier copy's.
    pub(super) fn judge_covered(&mut self, p: Piece, ack: u64, new_ack: &NewAck) {
        let at = new_ack.at;
        // Without SACK, a piece in the middle of what an ack covers may have arrived before.
        let shows_need = self.agreed.sack || p.start <= self.space.una || p.end >= ack;
        let by = THRESHOLDS.acked;
        let slack = new_ack.slack;
        let mut covering = CoveringAck {
            new_ack,
            ack,
            whole: ack == self.space.max,
            // In TIME-WAIT Linux acknowledges every FIN with the echo of the first one.
            tsecr: new_ack.tsecr.filter(|_| self.space.fin.is_none_or(|fin| p.end <= fin)),
            sack: self.agreed.sack,
            syn: self.space.syn == Some(p.start),
            fin: self.space.fin.is_some_and(|fin| p.end > fin),
            round_trips: RoundTrips {
                samples: self.out.rtt.count(),
                least: self.path.far,
                // The latest time after which a copy is acknowledged.
                usual: self.path.far.map(|far| {
                    far.max(self.path.smoothed.map_or(far, |r| r.srtt).mul_f64(by.own_ack_rtts)) + slack
                }),
                longest: self.path.far.map(|far| {
                    far.max(self.path.smoothed.map_or(far, |r| r.srtt + r.rttvar * by.deviations)) + slack
                }),
            },
            copy_acked_in_time: false,
            copy_maybe_acked_in_time: false,
        };
        let now = &mut self.verdicts.covered;
        if now.at != at || now.answers == 0 {
            (now.at, now.answers, now.alone) = (at, 1, true);
            now.expiries.clear();
        } else {
            now.alone = false;
        }
        let mut later = 0;
        let mut next = p.retransmission;
        while let Some(i) = next {
            let Some(a) = self.verdicts.retransmissions.get_mut(i as usize) else { return };
            next = a.before;
            if a.covered {
                continue;
            }
            a.covered = true;
            let own = p.start <= self.space.una && a.expiry.is_some();
            let signs = covering.signs(
                a,
                own,
                self.verdicts.open_episode.and_then(|open| open.tsval),
                self.sent.sent_at,
            );
            let why = match () {
                () if signs.earlier_echo == Some(true) => {
                    Some("its ack echoes an earlier timestamp: an earlier copy had arrived")
                }
                () if signs.came_soon => {
                    Some("its ack came sooner than a round trip: an earlier copy had arrived")
                }
                () if signs.sent_soon => Some(
                    "its ack was sent, by its timestamp, before this copy could arrive: an earlier copy had \
                     arrived",
                ),
                () => None,
            };
            if let Some(why) = why {
                mark_spurious(&mut a.row, why);
            } else if a.row.needed.is_none() && shows_need {
                a.row.needed = Some(true);
            }
            if let Some(expiry) = a.expiry {
                self.judge_expiry(i, expiry, &covering, &signs, later);
            }
            later += 1;
        }
    }

    /// The same for the expiry that sent a copy; `later` copies were sent since.
    fn judge_expiry(
        &mut self,
        record: u32,
        expiry: u32,
        covering: &CoveringAck,
        signs: &AckSigns,
        later: u32,
    ) {
        let (Some(a), Some(e)) = (
            self.verdicts.retransmissions.get(record as usize),
            self.verdicts.expiries.get_mut(expiry as usize),
        ) else {
            return;
        };
        let new_ack = covering.new_ack;
        let (spurious, doubt) = covering.verdict(signs);
        (e.verdict.eifel_spurious, e.verdict.doubt) = (Some(spurious), doubt);
        e.verdict.filled = signs.own_echo;
        e.verdict.covered_at = Some((new_ack.at, covering.copy_acked_in_time));
        if spurious {
            return;
        }
        let alone = !signs.acks_more && !covering.syn && !covering.fin && !signs.dsacked;
        if alone && new_ack.tsecr.is_none() && e.state.max > a.end && self.heard.sacked.is_empty() {
            let (end, max, fired) = (a.end, e.state.max, e.at);
            self.verdicts.only_copy = Some(OnlyCopy { expiry, end, max, fired });
        }
        if !covering.sack || covering.fin || signs.dsacked {
            self.verdicts.covered.expiries.push((expiry, later));
        }
        let (surely, _) = covering.sooner();
        let surely = if signs.own_echo { 0.0 } else { surely };
        let before =
            self.path.far.filter(|_| new_ack.sent.is_some()).map(|far| a.row.at + far.mul_f64(surely));
        // A duplicate SACK reports the arrival of the last copy.
        let dsack_ack = (signs.dsacked && later == 0).then_some((covering.ack, new_ack.tsval));
        self.verdicts.doubts.truncate(MOST_DOUBTS - 1);
        self.verdicts.doubts.insert(0, Doubt { expiry, end: a.end, before, dsack_ack });
    }

    /// An ack of nothing new that its sender, by its clock, sent before a copy could arrive was delayed: it
    /// is the one that seemed lost.
    pub(super) fn late(&mut self, ack: u64, tsval: Option<u32>, sent: Option<Instant>, slack: Duration) {
        let expiries = &mut self.verdicts.expiries;
        self.verdicts.doubts.retain(|d| {
            let sooner = sent.zip(d.before).is_some_and(|(sent, before)| sent + slack < before);
            let earlier = |of_dsack: Option<u32>| {
                tsval.zip(of_dsack).is_some_and(|(t, dsack)| (t.wrapping_sub(dsack) as i32) < 0)
            };
            let late = ack >= d.end
                && (sooner || d.dsack_ack.is_some_and(|(all, tsval)| ack < all || earlier(tsval)));
            if let Some(e) = expiries.get_mut(d.expiry as usize).filter(|_| late) {
                (e.verdict.eifel_spurious, e.verdict.doubt) = (Some(true), None);
            }
            !late
        });
    }

    /// A duplicate ack after the one that covered a copy: another copy arrived, and all of them may have been
    /// delayed.
    pub(super) fn duplicate_behind(&mut self, at: Instant, same_window: bool) {
        // Too soon for any ack of what was sent in response to that ack.
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
            let Some(e) = self
                .verdicts
                .expiries
                .get_mut(*place as usize)
                .filter(|e| e.verdict.eifel_spurious == Some(false))
            else {
                continue;
            };
            // The latest copies arrive last: this many of them are acknowledged only now.
            let earlier = *answers >= later + 2;
            if soon && e.verdict.doubt.is_none() {
                (e.verdict.eifel_spurious, e.verdict.doubt) =
                    (Some(earlier || !alone), Some("another copy was acknowledged right behind it"));
            } else if e.verdict.doubt.is_some() && *alone && earlier {
                e.verdict.eifel_spurious = Some(true);
            }
        }
    }

    /// A duplicate SACK: `start..end` arrived twice (RFC 2883).
    pub(super) fn arrived_twice(&mut self, start: u64, end: u64, at: Instant) {
        // The latest retransmission of any part of it without a duplicate SACK so far.
        let of_it = |a: &RetransmissionRecord| {
            // An empty probe or keepalive lies just below the window, where RFC 2883 §4 reports one byte.
            a.start < end && start < a.end.max(a.start + 1) && at > a.row.at
        };
        let look_back = self.verdicts.retransmissions.len().saturating_sub(LOOK_BACK);
        let recent = &mut self.verdicts.retransmissions[look_back..];
        let found =
            recent.iter().rposition(|a| of_it(a) && !a.dsacked).or_else(|| recent.iter().rposition(of_it));
        let Some(i) = found else {
            self.out.network_duplicates += 1;
            return;
        };
        let a = &mut recent[i];
        a.dsacked = true;
        if matches!(a.row.cause, Cause::Keepalive | Cause::ZeroWindowProbe) {
            return;
        }
        if a.row.needed != Some(false) {
            mark_spurious(&mut a.row, "a duplicate SACK reports that it arrived twice");
        }
        if let Some(e) =
            a.expiry.and_then(|e| self.verdicts.expiries.get_mut(e as usize)).filter(|_| a.covered)
        {
            // It was acknowledged before, without a report of this copy: the original's ack came after the
            // timer had expired. But if this copy filled the gap itself, or was acknowledged when it arrived,
            // the network may have duplicated it; that is likelier than an original delayed by exactly this
            // time.
            let in_time = e.verdict.covered_at.is_some_and(|(_, answered)| answered);
            let copied = e.verdict.filled
                || e.verdict.covered_at.is_some_and(|(covered_at, _)| {
                    in_time && at.since(covered_at) < THRESHOLDS.doubt.copy_behind
                });
            if e.verdict.eifel_spurious != Some(true) || !copied {
                (e.verdict.eifel_spurious, e.verdict.doubt) =
                    (Some(!copied || !in_time), copied.then_some("the network may have copied it"));
            }
        }
    }
}

fn mark_spurious(row: &mut Retransmission, why: &str) {
    row.needed = Some(false);
    row.evidence = format!("{}; spurious: {why}", row.evidence);
}

/// How many retransmissions back a duplicate SACK is looked up.
const LOOK_BACK: usize = 2048;
/// Verdicts kept that a delayed ack may change.
const MOST_DOUBTS: usize = 8;
