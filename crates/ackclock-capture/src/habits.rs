//! Whether the retransmission of a single segment was a tail loss probe or an expiry, derived from the waits
//! around it and from the other connections of its host.

use ackclock_units::Duration;

use crate::Cause;
use crate::gaps::Signs;
use crate::half::{ExpiryRecord, Half};
use crate::thresholds::THRESHOLDS;

/// How often a host certainly sent a tail loss probe, how often it certainly did not where one was due, and
/// whether its timer backs off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    probes: u32,
    never: u32,
    /// Expiries of single segments after twice the previous wait, and after the same.
    doubled: u32,
    linear: u32,
    /// Signs from silences before its data, as its receivers see them.
    silences: Signs,
}

impl Habits {
    /// Signs of how the timer of one direction backs off.
    pub(crate) fn backoff(half: &Half) -> Self {
        let mut habits = Self { silences: half.gaps.signs, ..Self::default() };
        for pair in half.verdicts.expiries.windows(2).filter(|p| {
            p[0].chain == p[1].chain && !p[0].probe.maybe && p[0].state.segments < THRESHOLDS.segments.thin
        }) {
            let grows = &(pair[1].waited.as_secs_f64() / pair[0].waited.as_secs_f64().max(1e-9));
            habits.doubled += u32::from(THRESHOLDS.backoff.doubled.contains(grows));
            habits.linear += u32::from(THRESHOLDS.backoff.same.contains(grows));
        }
        habits
    }

    /// Signs of one direction for or against probes, given in `self` how its host backs off.
    pub(crate) fn probing(self, half: &Half) -> Self {
        let probes =
            half.verdicts.retransmissions.iter().filter(|a| a.row.cause == Cause::TailLossProbe).count()
                as u32;
        let mut habits = Self { probes, ..Self::default() };
        for (i, e) in half.verdicts.expiries.iter().enumerate() {
            match by_timer(half, i, self.may_be_linear()) {
                Some(ProbeVerdict { probe: true, certain: true, .. }) => habits.probes += 1,
                Some(ProbeVerdict { probe: false, certain: true, .. }) => habits.never += 1,
                _ => habits.never += u32::from(e.probe.missing),
            }
        }
        habits
    }

    pub(crate) fn add(&mut self, other: Self) {
        (self.probes, self.never) = (self.probes + other.probes, self.never + other.never);
        (self.doubled, self.linear) = (self.doubled + other.doubled, self.linear + other.linear);
        self.silences.add(other.silences);
    }

    pub(crate) fn silences(self) -> Signs {
        self.silences
    }

    /// Linux backs off linearly if `tcp_thin_linear_timeouts` is set, for a whole host.
    fn may_be_linear(self) -> bool {
        self.linear > 0 || self.doubled == 0
    }

    /// Whether it probes; `None` without signs, or with as many for as against.
    pub(crate) fn verdict(self) -> Option<bool> {
        (self.probes != self.never).then_some(self.probes > self.never)
    }

    /// The same, or by silences if that is unknown.
    pub(crate) fn together(self) -> Option<bool> {
        self.verdict().or(self.silences.verdict())
    }

    /// The same together with what other hosts do, which weighs more than one sign and less than two.
    fn beside(self, others: Option<bool>) -> Option<bool> {
        let more = |probes| if others == Some(probes) { 3 } else { 0 };
        Self { probes: self.probes * 2 + more(true), never: self.never * 2 + more(false), ..self }.verdict()
    }

    /// The same if it is beyond doubt: probes are switched on and off for a whole host.
    fn plain_verdict(self) -> Option<bool> {
        let (more, less) = (self.probes.max(self.never), self.probes.min(self.never));
        self.verdict().filter(|_| less == 0 || more >= 3 && more >= 3 * less)
    }
}

/// Decides for each single segment retransmitted after a silence whether it is a tail loss probe or an
/// expiry.
pub(crate) fn probes(half: &mut Half, elsewhere: Habits, all: Habits) {
    let verdict: Vec<_> =
        (0..half.verdicts.expiries.len()).map(|i| by_timer(half, i, elsewhere.may_be_linear())).collect();
    let others = all.together();
    for (i, verdict) in verdict.into_iter().enumerate() {
        let e = &half.verdicts.expiries[i];
        if !e.probe.maybe {
            continue;
        }
        let guess = |probe, why| ProbeVerdict { probe, certain: false, why };
        let verdict = match (verdict.filter(|t| t.certain), elsewhere.plain_verdict()) {
            (Some(verdict), _) => verdict,
            // A wait that fits neither timer makes the habit of its host a guess.
            (None, Some(true)) => {
                ProbeVerdict { probe: true, certain: e.came_when_due(), why: "its host probes" }
            }
            (None, Some(false)) => {
                ProbeVerdict { probe: false, certain: e.fits_timer(), why: "its host does not probe" }
            }
            (None, None) => verdict
                .or_else(|| match elsewhere.beside(others)? {
                    true => Some(guess(true, "its host, or others in this capture, probe elsewhere")),
                    false => {
                        Some(guess(false, "its host, or others in this capture, do not probe elsewhere"))
                    }
                })
                .unwrap_or_else(|| match half.sent.identified && e.came_when_due() {
                    true => guess(true, "it came when a probe was due"),
                    false => guess(false, "it did not come when a probe is due"),
                }),
        };
        let (again, episode) = (e.retransmission as usize, e.episode);
        let row = &mut half.verdicts.retransmissions[again].row;
        row.cause = if verdict.probe { Cause::TailLossProbe } else { Cause::Timeout };
        let doubt = match verdict.certain {
            true => "",
            false if e.came_when_due() || e.fits_timer() => {
                ", which is not certain: the other would have come at the same time"
            }
            false => ", which is not certain: the wait fits neither a probe nor the timer",
        };
        row.evidence = format!("{}; {}{doubt}", row.evidence, verdict.why);
        half.verdicts.expiries[i].probe.certain = verdict.certain;
        if let Some(e) =
            episode.and_then(|e| half.verdicts.episodes.get_mut(e as usize)).filter(|_| !verdict.probe)
        {
            e.timeouts += 1;
        }
    }
}

/// Whether an expiry was a probe, and why.
#[derive(Clone, Copy, Debug)]
struct ProbeVerdict {
    probe: bool,
    /// The alternative is excluded.
    certain: bool,
    why: &'static str,
}

/// The verdict by the times of one expiry and of those around it. A timer that backs off doubles its wait;
/// the first expiry after a probe does not. Both waits of Linux are known approximately.
fn by_timer(half: &Half, i: usize, may_be_linear: bool) -> Option<ProbeVerdict> {
    let e = half.verdicts.expiries.get(i).filter(|e| e.probe.maybe)?;
    let after = |n: usize| half.verdicts.expiries.get(i + n).filter(|n| n.chain == e.chain);
    let (next, third) = (after(1), after(2));
    let verdict = |probe, certain, why| Some(ProbeVerdict { probe, certain, why });
    if half.sent.identified {
        // Without a valid sample since the last expiry, its backoff is still in force (RFC 6298 §5.7, Karn's
        // rule).
        let before = i
            .checked_sub(1)
            .and_then(|j| half.verdicts.expiries.get(j))
            .filter(|b| b.linux.samples == e.linux.samples && b.chain != e.chain);
        let linear: &[bool] = if may_be_linear { &[false, true] } else { &[false] };
        let fits = |probe: bool, linear: bool| {
            let factor = if linear { 1 } else { 2 };
            let known = match before {
                // A host that probes did so before too, and its wait then was not backed off.
                Some(b) if probe && b.probe.maybe => [Some(e.linux.timeout), Some(b.waited)],
                Some(b) => [Some(b.waited * factor), None],
                None => [Some(e.linux.timeout), None],
            };
            // Until the first sample after the handshake's, Linux may have a longer timeout, remembered from
            // earlier connections.
            let remembered = |wait: Option<Duration>| {
                wait.filter(|w| {
                    e.linux.samples == 0
                        || e.linux.samples == 1 && *w > e.linux.timeout.mul_f64(THRESHOLDS.backoff.earliest)
                })
            };
            let bases = known
                .into_iter()
                .chain([remembered(Some(e.waited)), remembered(next.filter(|_| probe).map(|n| n.waited))])
                .flatten();
            bases.into_iter().any(|base| {
                let (first, second) =
                    if probe { (e.linux.probe.min(base), base) } else { (base, base * factor) };
                is(e.waited, first)
                    && next.is_none_or(|n| is(n.waited, second))
                    && third.is_none_or(|t| is(t.waited, second * factor))
            })
        };
        let [probe, expiry] = [true, false].map(|probe| linear.iter().any(|l| fits(probe, *l)));
        match (probe, expiry) {
            (true, false) => {
                return verdict(
                    true,
                    true,
                    next.map_or("it came when a probe was due, and too soon for the timer", |_| SAME),
                );
            }
            (false, true) => {
                return verdict(
                    false,
                    true,
                    next.map_or("it came when the timer was due, and too late for a probe", |_| TWICE),
                );
            }
            _ => {}
        }
    }
    let next = next?;
    let grows = next.waited.as_secs_f64() / e.waited.as_secs_f64().max(1e-9);
    // If a probe is due well before the timeout, the timeout after it is longer than the probe's wait too.
    let same = e.linux.timeout <= e.probe_due().mul_f64(THRESHOLDS.backoff.near_probe);
    let by = THRESHOLDS.backoff;
    if by.doubled_after_probe.contains(&grows) && (same || !e.came_when_due()) {
        verdict(false, !half.sent.identified, TWICE)
    } else if by.same_after_probe.contains(&grows) && half.sent.identified {
        verdict(true, false, SAME)
    } else {
        None
    }
}

const SAME: &str = "the next one came after the same time: this was a probe, the next the first expiry";
const TWICE: &str = "the next one came after twice the time: this was an expiry, and the timer backed off";

/// True if a wait fits the one that is due. Ticks and a busy machine make it longer; a clock other than the
/// sender's may make it a little shorter.
fn is(wait: Duration, due: Duration) -> bool {
    let by = THRESHOLDS.backoff;
    wait >= due.mul_f64(by.earliest).saturating_sub(by.tick)
        && wait <= due.mul_f64(by.latest) + by.tick * by.late_ticks
}

/// True if a wait fits a timeout that was doubled any number of times (RFC 6298 §5.5).
fn fits_backed_off(wait: Duration, timeout: Duration) -> bool {
    let mut due = timeout;
    while due > Duration::ZERO && due <= wait * 2 {
        if is(wait, due) {
            return true;
        }
        due = due * 2;
    }
    false
}

impl ExpiryRecord {
    fn probe_due(&self) -> Duration {
        self.linux.probe.min(self.linux.timeout)
    }

    /// The wait fits the timeout, or one that is backed off from it. Before a sample, any does.
    fn fits_timer(&self) -> bool {
        self.linux.samples == 0 || fits_backed_off(self.waited, self.linux.timeout)
    }

    fn came_when_due(&self) -> bool {
        let by = THRESHOLDS.backoff;
        self.waited >= self.probe_due().mul_f64(by.probe_earliest)
            && self.waited <= self.probe_due().mul_f64(by.probe_latest) + by.tick * by.late_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_between_two_backoffs_fits_no_timer() {
        let ms = Duration::from_millis;
        for (wait, timeout, fits) in [
            (300, 300, true),
            (310, 300, true),
            (600, 300, true),
            (1200, 300, true),
            // Between twice the timeout and four times.
            (1070, 360, false),
            (900, 300, false),
            (200, 300, false),
            (300, 0, false),
        ] {
            assert_eq!(fits_backed_off(ms(wait), ms(timeout)), fits, "{wait} of {timeout} ms");
        }
    }
}
