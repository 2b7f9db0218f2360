//! How each stall ended, and how it would have ended with another timer.

use ackclock_policy::{AS_RUN, Timing};
use ackclock_units::{Duration, Instant};

use super::attempts::{Attempt, Attempts};
use super::followers::Followers;
use super::rerun::bounds;
use super::stall::{Mark, Stall, on_wheel, rng};
use crate::counted::overlaps_once;
use crate::half::{ExpiryRecord, RetransmissionRecord};
use crate::report::{self, PathState, Stalled, TimedOut};
use crate::thresholds::THRESHOLDS;

/// What the evaluation of a direction's stalls is based on.
pub(crate) struct Evidence<'a> {
    pub retransmissions: &'a [RetransmissionRecord],
    pub expiries: &'a [ExpiryRecord],
    /// The timeout of each expiry; `None` for those that turned out to be probes.
    pub rtos: &'a [Option<Duration>],
    pub packets: u64,
    /// The time of the connection.
    pub lasted: Duration,
}

/// How a stall ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Nothing was lost: the ack of the first copy arrived.
    Spurious,
    /// The retransmission of this expiry, counted from 1, arrived.
    Timeout(u64),
    /// A fast retransmission, or a probe, arrived.
    Otherwise,
    /// Nothing arrived until the capture ended.
    Never,
}

/// A stall as it happened.
struct Case<'a> {
    stall: &'a Stall,
    end: End,
    path: PathState,
    /// When the copy that arrived was sent.
    repaired: Instant,
    /// When the last copy that did not arrive was sent.
    last_lost: Instant,
    /// Expiries: when, and how long each had waited.
    expiries: Vec<(Instant, Duration)>,
    probed: Option<Instant>,
    /// Acks had already reported the loss at the first expiry: with a longer timer they might have triggered
    /// the repair.
    repairing: bool,
    /// The data had arrived, and its ack was lost or delayed.
    ack_lost: bool,
    waited: Duration,
}

/// Returns a row for the sender as it ran, then one for each timer.
pub(crate) fn evaluate(w: &Followers, timings: &[Timing], e: &Evidence<'_>) -> Vec<report::WhatIf> {
    let lost =
        e.retransmissions.iter().filter(|a| a.row.needed != Some(false) && a.row.cause.counts()).count()
            as u64;
    let cases: Vec<Case<'_>> = w.stalls.iter().map(|s| Case::of(s, e, lost)).collect();
    let all = e
        .rtos
        .iter()
        .zip(e.expiries)
        .enumerate()
        .filter_map(|(i, (rto, x))| rto.map(|rto| (i as u32, rto, x)));
    // Expiries outside of stalls: their data was acknowledged, or there was no room for the stall. Their
    // waits are the same for every timer.
    let mut inside = vec![false; e.expiries.len()];
    for s in &w.stalls {
        inside[s.expiries.0 as usize..s.expiries.1 as usize].fill(true);
    }
    let outside =
        all.clone().filter(|(i, _, x)| x.verdict.eifel_spurious != Some(true) && !inside[*i as usize]);
    let apart = outside.fold(Duration::ZERO, |sum, (_, rto, _)| sum + rto);
    let mut run = report::WhatIf { timer: AS_RUN.to_owned(), ..report::WhatIf::default() };
    run.stalls = cases.iter().filter(|c| !c.expiries.is_empty()).map(Case::as_run).collect();
    run.sum(apart);
    (run.timeouts, run.spurious) = (
        all.clone().count() as u64,
        all.clone().filter(|(.., x)| x.verdict.eifel_spurious == Some(true)).count() as u64,
    );
    let ran = run.waited;
    let usual = run.stalls.first().map_or(Duration::ZERO, |s| s.waited / s.timeouts.max(1));
    bounds(&mut run, ran, e.lasted, usual);
    let mut rows = vec![run];
    let mut followers = w.followers.iter().enumerate();
    for timing in timings {
        let mut row = report::WhatIf { timer: timing.name().to_owned(), ..report::WhatIf::default() };
        let follower = timing.estimator.as_ref().and_then(|_| followers.next());
        row.stalls =
            cases.iter().filter_map(|c| c.with(timing, follower.map(|(i, _)| c.stall.marks[i]))).collect();
        row.sum(apart);
        if let Some((_, f)) = follower {
            (row.timeouts, row.spurious, row.rounds) =
                (row.timeouts + f.spurious, row.spurious + f.spurious, row.rounds.max(f.rounds));
        }
        let timeout = follower.map_or(usual, |(_, f)| f.estimator.rto());
        bounds(&mut row, ran, e.lasted, timeout);
        rows.push(row);
    }
    rows
}

impl report::WhatIf {
    fn sum(&mut self, apart: Duration) {
        (self.waited, self.waited_least, self.waited_most) = (apart, apart, apart);
        for s in &self.stalls {
            (self.waited, self.waited_least) = (self.waited + s.waited, self.waited_least + s.waited_least);
            self.waited_most += s.waited_most;
            (self.timeouts, self.spurious, self.early) =
                (self.timeouts + s.timeouts, self.spurious + s.spurious, self.early + s.early);
            self.rounds = self.rounds.max(s.timeouts.min(u64::from(u32::MAX)) as u32);
        }
    }
}

impl<'a> Case<'a> {
    fn of(stall: &'a Stall, e: &Evidence<'_>, lost: u64) -> Self {
        let range = stall.expiries.0 as usize..stall.expiries.1 as usize;
        let of_it = || range.clone().filter_map(|i| Some((e.expiries.get(i)?, e.rtos.get(i)?)));
        let expiries: Vec<_> = of_it().filter_map(|(x, rto)| rto.map(|rto| (x.at, rto))).collect();
        let mut copies = Vec::new();
        let mut next = stall.retransmission;
        while let Some(a) = next.and_then(|i| e.retransmissions.get(i as usize)) {
            copies.push(a);
            next = a.before;
        }
        copies.reverse();
        // The data had arrived, but its ack was lost, and no longer timer would have helped: the
        // retransmission elicited another ack.
        let ack_lost = of_it().any(|(x, _)| x.verdict.eifel_spurious == Some(false));
        let spurious = !ack_lost && copies.iter().all(|a| a.row.needed == Some(false));
        let heard = stall.heard.unwrap_or(Instant::FAR_FUTURE);
        // What was sent less than a round trip before the ack cannot have elicited it.
        let arrived = copies
            .iter()
            .rposition(|a| heard.since(a.row.at) >= stall.far.mul_f64(THRESHOLDS.view.own_ack_part))
            .filter(|_| stall.heard.is_some());
        let end = match arrived {
            _ if stall.heard.is_none() => End::Never,
            _ if spurious => End::Spurious,
            None => End::Spurious,
            Some(i) => match expiries.iter().position(|x| x.0 == copies[i].row.at) {
                Some(n) => End::Timeout(n as u64 + 1),
                None => End::Otherwise,
            },
        };
        let repaired = match (end, arrived) {
            (End::Timeout(_) | End::Otherwise, Some(i)) => copies[i].row.at,
            (End::Never, _) => expiries.last().map_or(stall.first, |x| x.0),
            _ => heard,
        };
        let last_lost = copies
            .iter()
            .map(|a| a.row.at)
            .chain([stall.first])
            .filter(|at| *at < repaired)
            .max()
            .unwrap_or(stall.first);
        let first = of_it().find(|(_, rto)| rto.is_some()).map(|(x, _)| x);
        let n = if let End::Timeout(n) = end { n } else { expiries.len() as u64 };
        let path = match first {
            Some(x) if x.state.news => PathState::Alive,
            Some(x) if n > 0 && (x.state.outage || n > 1) => {
                let together =
                    n - 1 + if x.state.outage { u64::from(x.state.segments).saturating_sub(1) } else { 0 };
                if by_chance(lost.saturating_sub(n), e.packets, together) {
                    PathState::Alive
                } else {
                    PathState::Dead
                }
            }
            _ => PathState::Unknown,
        };
        // If a whole window was lost, the newest segment was lost too.
        let last_lost =
            match stall.newest_lost.filter(|at| n == 1 && path == PathState::Dead && *at < repaired) {
                Some(at) => last_lost.max(at),
                None => last_lost,
            };
        let counted = expiries.iter().take(if end == End::Spurious { 0 } else { n as usize });
        let waited = if end == End::Otherwise { Duration::ZERO } else { overlaps_once(counted.copied()) };
        let probed = of_it()
            .find(|(x, rto)| rto.is_none() && expiries.first().is_none_or(|first| x.at < first.0))
            .map(|(x, _)| x.at);
        let repairing = first.is_some_and(|x| x.state.repairing);
        Self { stall, end, path, repaired, last_lost, expiries, probed, repairing, ack_lost, waited }
    }

    fn blank(&self) -> Stalled {
        Stalled {
            began: self.stall.first,
            ended: self.stall.heard,
            of: if self.stall.syn { TimedOut::Syn } else { TimedOut::Data },
            path: self.path,
            ..Stalled::default()
        }
    }

    fn as_run(&self) -> Stalled {
        let n = self.expiries.len() as u64;
        let spurious = match self.end {
            End::Spurious | End::Otherwise => n,
            End::Timeout(last) => n - last,
            End::Never => 0,
        };
        Stalled {
            timeouts: n,
            spurious,
            waited: self.waited,
            waited_least: self.waited,
            waited_most: self.waited,
            response: self.stall.heard.map(|h| h.since(self.stall.first)),
            ..self.blank()
        }
    }

    /// The same with another timer, whose state at the end was `mark`; without one, with another backoff
    /// after the sender's own first expiry.
    fn with(&self, timing: &Timing, mark: Option<Mark>) -> Option<Stalled> {
        let first = self.stall.first;
        let mut mark = match mark {
            Some(mark) => mark,
            None => {
                let (at, rto) = *self.expiries.first()?;
                Mark { deadline: at, rto, backed_off: 0, unrepaired: false, resends: Instant::ZERO }
            }
        };
        if let (true, Some((at, rto))) = (timing.is_linux() && mark.backed_off == 0, self.expiries.first()) {
            // The sender's own was set for the last time then, whatever set it.
            let set = at.saturating_sub(*rto);
            mark.deadline =
                on_wheel(true, set, set + timing.backoff.build().timeout(mark.rto, 0, &mut rng()));
        }
        if let Some(probe) = self.probed.filter(|p| timing.estimator.is_some() && *p <= mark.deadline) {
            // RFC 8985 §7.3: the probe restarted the timer.
            mark.deadline = probe + timing.backoff.build().timeout(mark.rto, mark.backed_off, &mut rng());
        }
        let mut attempts = Attempts::new(timing, mark, first, self.stall.syn, self.stall.flight);
        let blank = Stalled { response: self.stall.heard.map(|h| h.since(first)), ..self.blank() };
        let heard = self.stall.heard.unwrap_or(Instant::FAR_FUTURE);
        // It had fired spuriously before, and its recovery had already retransmitted this.
        if matches!(self.end, End::Timeout(_)) && first < mark.resends {
            let waited_most = self.repaired_by(&mut attempts, 1, blank).waited_most;
            return Some(Stalled { waited_most, response: None, ..blank });
        }
        match self.end {
            End::Otherwise if mark.unrepaired && self.expiries.is_empty() => {
                Some(self.repaired_by(&mut attempts, 1, blank))
            }
            End::Spurious => {
                let n = attempts.before(heard);
                (n > 0 || !self.expiries.is_empty()).then_some(Stalled { timeouts: n, spurious: n, ..blank })
            }
            End::Otherwise => {
                let (early, all) = (attempts.before(self.repaired), attempts.before(heard));
                // It waits at most for its timeout, which acks would have made spurious.
                let waited_most = if early > 0 { mark.rto } else { Duration::ZERO };
                (all > 0 || !self.expiries.is_empty()).then_some(Stalled {
                    timeouts: all,
                    spurious: all - early,
                    early,
                    waited_most,
                    ..blank
                })
            }
            // The rest of the path's state is unknown.
            End::Never => {
                let n = attempts.before(self.repaired + Duration::from_nanos(1));
                Some(Stalled {
                    timeouts: n,
                    waited: self.waited,
                    waited_least: self.waited,
                    waited_most: self.waited,
                    ..blank
                })
            }
            End::Timeout(n) => Some(self.repaired_by(&mut attempts, n, blank)),
        }
    }

    /// The stall with another timer if the sender's `n`-th retransmission arrived: which retransmission of
    /// this timer would have arrived, and when.
    fn repaired_by(&self, attempts: &mut Attempts, n: u64, blank: Stalled) -> Stalled {
        let first = self.stall.first;
        // One model: the path was dead until some moment between the last copy that was lost and the first
        // that arrived.
        // In a capture, the copy that arrived may have the time of one that did not.
        let soonest = attempts.from((self.last_lost + Duration::from_nanos(1)).min(self.repaired));
        let latest = attempts.from(self.repaired);
        // The other: losses were independent, and the n-th retransmission arrives, whenever it is sent.
        let counted = attempts.nth(n);
        let (best, least, most) = match self.path {
            PathState::Alive if n == 1 => (counted, counted, counted),
            PathState::Alive => (counted, earlier(counted, soonest), later(counted, latest)),
            PathState::Unknown | PathState::Dead => (
                attempts.from(likely_end(first, self.last_lost, self.repaired)),
                earlier(counted, soonest),
                later(counted, latest),
            ),
        };
        let waits = |a: Attempt| {
            let saved = self.repaired.since(a.at);
            (self.waited + a.at.since(self.repaired)).saturating_sub(saved)
        };
        // A longer timer may not have expired at all: acks had reported the loss, or another ack might have
        // followed the lost one.
        let longer = self.expiries.first().is_some_and(|x| attempts.nth(1).at > x.0 + attempts.step());
        let waited_least =
            if longer && (self.repairing || self.ack_lost) { Duration::ZERO } else { waits(least) };
        let trip = self.stall.heard.unwrap_or(self.repaired).since(self.repaired);
        // None if its ack came at once.
        let spurious = attempts.before(best.at + trip).saturating_sub(best.round);
        Stalled {
            timeouts: best.round + spurious,
            spurious,
            waited: waits(best),
            waited_least,
            waited_most: waits(most),
            response: Some((best.at + trip).since(first)),
            ..blank
        }
    }
}

fn earlier(a: Attempt, b: Attempt) -> Attempt {
    if a.at <= b.at { a } else { b }
}

fn later(a: Attempt, b: Attempt) -> Attempt {
    if a.at >= b.at { a } else { b }
}

/// When an outage ended that began at `from`, still lasted at `dead` and was over at `over`: the median if
/// outages have no typical length, so that one that has lasted for some time lasts twice as long with
/// probability one half. A loss without duration ends at once.
fn likely_end(from: Instant, dead: Instant, over: Instant) -> Instant {
    let (lasted, most) = (dead.since(from).as_secs_f64(), over.since(from).as_secs_f64());
    let likely = match lasted > 0.0 && most > 0.0 {
        true => Duration::from_secs_f64(2.0 / (1.0 / lasted + 1.0 / most)),
        false => Duration::from_nanos(1),
    };
    // It lies between the two, but for rounding.
    (from + likely).max(dead + Duration::from_nanos(1)).min(over)
}

/// True if independent losses at the rate of `lost` of `packets` would cause `again` further losses right
/// after one of them in at least one of twenty such connections. Outages are rarer than that.
fn by_chance(lost: u64, packets: u64, again: u64) -> bool {
    let share = lost as f64 / packets.max(1) as f64;
    lost as f64 * share.min(1.0).powi(again.min(64) as i32) >= THRESHOLDS.view.by_chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_lasts_twice_as_long_as_not() {
        let at = |s: u64| Instant::from_nanos(s * 1_000_000_000);
        assert_eq!(likely_end(at(10), at(13), at(17)), at(10) + Duration::from_secs_f64(4.2));
        assert!(likely_end(at(10), at(10), at(17)) < at(11), "a loss without length");
        // Known to have lasted a second, and not known when it ended: a median of two.
        let late = likely_end(at(0), at(1), at(1_000_000)).as_secs_f64();
        assert!((late - 2.0).abs() < 1e-4, "{late}");
        let close = Instant::from_nanos(1_234_567_891);
        assert_eq!(likely_end(at(0), close, close), close, "rounding does not carry it beyond its end");
        assert_eq!(likely_end(at(1), at(1), at(1)), at(1));
    }

    #[test]
    fn chance_explains_what_the_rest_of_the_losses_would_bring() {
        assert!(by_chance(20, 200, 1), "two of twenty retransmissions");
        assert!(!by_chance(20, 200, 3) && !by_chance(4, 1000, 1) && !by_chance(0, 0, 1));
    }
}
