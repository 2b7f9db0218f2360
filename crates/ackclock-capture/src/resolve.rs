//! The sum under one direction: what could only be told at the end, and the counts.

use ackclock_trace::LossClass;
use ackclock_units::Duration;

use crate::Cause;
use crate::half::{Expiry, Half};
use crate::report::{Direction, TimedOut, Timeout, View};

/// The direction, and whether it exceeded what is kept.
pub(crate) fn resolve(mut half: Half) -> (Direction, bool) {
    probes(&mut half);
    let mut out = half.out;
    out.view = if out.share.is_some_and(|s| s < 0.5) { View::Receiver } else { View::Sender };
    // The shortest timeout of which there is no doubt.
    let certain = half.expiries.iter().filter(|e| e.waited == e.waited_longer && e.of == TimedOut::Data).map(|e| e.waited).min();
    let (mut chain, mut round) = (None, 0);
    for e in &half.expiries {
        if half.agains[e.again as usize].row.cause == Cause::TailLossProbe {
            continue;
        }
        round = if chain == Some(e.chain) { round + 1 } else { 1 };
        chain = Some(e.chain);
        if let Some(episode) = e.episode.and_then(|i| half.episodes.get_mut(i as usize)) {
            episode.class = LossClass::NonCa;
            episode.rounds = episode.rounds.max(round);
            episode.outage |= e.outage;
        }
        let rto = if certain.is_some_and(|c| e.waited < c.mul_f64(0.9)) { e.waited_longer } else { e.waited };
        let timeout = Timeout { at: e.at, seq: e.seq, of: e.of, round, rto, eifel_spurious: e.eifel_spurious, outage: e.outage };
        out.timeouts.push(timeout);
    }
    for a in &half.agains {
        let unneeded = a.row.needed == Some(false);
        out.unneeded_packets += if unneeded { u64::from(a.row.packets) } else { 0 };
        if let Some(e) = a.episode.and_then(|i| half.episodes.get_mut(i as usize)) {
            e.unneeded += u32::from(unneeded);
            e.losses += u32::from(!unneeded);
            e.lost_bytes += if unneeded { 0 } else { u64::from(a.row.len) };
            let lost = !(unneeded && a.row.cause == Cause::TailLossProbe);
            // Until something else than a probe in vain is found in it.
            e.nothing_lost = e.nothing_lost || !lost && e.retransmissions == 1;
        }
    }
    for e in half.episodes.iter().filter(|e| !e.nothing_lost) {
        match e.class {
            LossClass::Ca => out.ca_events += 1,
            LossClass::NonCa => out.non_ca_events += 1,
        }
        out.other_losses += e.retransmissions.saturating_sub(1);
    }
    out.episodes = half.episodes;
    out.retransmissions = half.agains.into_iter().map(|a| a.row).collect();
    (out, half.overrun)
}

/// A single segment that is sent again after a silence: a tail loss probe, or the timer's expiry? What else this sender did tells.
fn probes(half: &mut Half) {
    let spacing: Vec<_> = (0..half.expiries.len()).map(|i| by_spacing(&half.expiries[i], half.expiries.get(i + 1), half.identified)).collect();
    let surely = spacing.contains(&Some(true)) || half.agains.iter().any(|a| a.row.cause == Cause::TailLossProbe);
    let never = spacing.contains(&Some(false)) || half.expiries.iter().any(|e| e.unprobed);
    for (i, spaced) in spacing.into_iter().enumerate() {
        let e = &half.expiries[i];
        if !e.maybe_probe {
            continue;
        }
        let (probe, why) = match (spaced, surely, never) {
            (Some(true), ..) => (true, "the next one came after the same time: this was a probe, the next the first expiry"),
            (Some(false), ..) => (false, "the next one came after twice the time: this was an expiry, and the timer backed off"),
            (None, true, false) => (true, "this sender probes elsewhere"),
            (None, false, true) => (false, "this sender does not probe elsewhere"),
            _ if half.identified && e.came_when_due() => (true, "it came when a probe was due"),
            _ => (false, "it did not come when a probe is due"),
        };
        let (again, episode) = (e.again as usize, e.episode);
        let row = &mut half.agains[again].row;
        row.cause = if probe { Cause::TailLossProbe } else { Cause::Timeout };
        row.evidence = format!("{}; {why}", row.evidence);
        if let Some(e) = episode.and_then(|e| half.episodes.get_mut(e as usize)).filter(|_| !probe) {
            e.timeouts += 1;
        }
    }
}

/// What the time to the next one tells: a timer that backs off doubles it, one that follows a probe of the same length does not.
fn by_spacing(e: &Expiry, next: Option<&Expiry>, identified: bool) -> Option<bool> {
    let next = next.filter(|n| e.maybe_probe && n.chain == e.chain)?;
    let grows = next.waited.as_secs_f64() / e.waited.as_secs_f64().max(1e-9);
    // Where a probe is due well before the timeout, the timeout after it is longer than the probe's wait too.
    let same = e.probe_after.zip(e.timeout_after).is_some_and(|(probe, timeout)| timeout <= probe.mul_f64(1.2));
    match grows {
        1.6..2.6 if same || !e.came_when_due() => Some(false),
        0.8..1.35 if identified => Some(true),
        _ => None,
    }
}

impl Expiry {
    fn came_when_due(&self) -> bool {
        self.probe_after.is_some_and(|due| self.waited >= due.mul_f64(0.8) && self.waited <= due.mul_f64(1.35) + Duration::from_millis(12))
    }
}
