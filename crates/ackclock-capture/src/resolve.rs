//! The sum under one direction: what could only be told at the end, and the counts.

use ackclock_trace::LossClass;
use ackclock_units::Duration;

use crate::Cause;
use crate::gaps::Signs;
use crate::half::{Expiry, Half};
use crate::report::{Direction, Remedy, TimedOut, Timeout, View};
use crate::what_if::{Evidence, settle};

/// The direction, and whether it exceeded what is kept. `elsewhere` is what other connections of the same host show.
pub(crate) fn resolve(mut half: Half, elsewhere: Habits, all: Habits) -> (Direction, bool) {
    probes(&mut half, elsewhere, all);
    half.follow_end();
    let mut out = half.out;
    out.view = if out.share.is_some_and(|s| s < 0.5) { View::Receiver } else { View::Sender };
    // The shortest timeout of which there is no doubt.
    let certain = half.expiries.iter().filter(|e| e.waited == e.waited_longer && e.of == TimedOut::Data).map(|e| e.waited).min();
    let (mut chain, mut round) = (None, 0);
    let mut rtos = vec![None; half.expiries.len()];
    for (i, (e, told)) in half.expiries.iter().zip(&mut rtos).enumerate() {
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
        *told = Some(rto);
        let timeout = Timeout { at: e.at, seq: e.seq, of: e.of, round, round_certain: true, rto, eifel_spurious: e.eifel_spurious, eifel_certain: true, outage: e.outage, remedy: None };
        let alone = round == 1 && half.expiries.get(i + 1).is_none_or(|next| next.chain != e.chain || next.eifel_spurious == Some(true));
        let needed = half.agains[e.again as usize].row.needed != Some(false);
        let remedy = if alone && needed && e.eifel_spurious != Some(true) { remedy(e, rto, half.max > e.max) } else { None };
        let timeout = Timeout { remedy, ..timeout };
        out.timeouts.push(timeout);
    }
    // Near its receiver, retransmissions that were lost on the way are not seen, and nothing can be said of what others would have done.
    if let (Some(w), Some(asked), View::Sender) = (&half.what_if, &half.asked, out.view) {
        let evidence = Evidence { agains: &half.agains, expiries: &half.expiries, rtos: &rtos, packets: out.data_packets };
        out.what_if = settle(w, &asked.timings, &evidence);
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
    out.gaps = half.gaps.by_content(elsewhere.silences, elsewhere.verdict(), all.together(), half.identified);
    out.gaps_by_time = half.gaps.time;
    out.episodes = half.episodes;
    out.retransmissions = half.agains.into_iter().map(|a| a.row).collect();
    (out, half.overrun)
}

/// How often a sender was surely seen to send tail loss probes, and surely to do without.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    probes: u32,
    never: u32,
    /// What silences before its data tell, as its receivers see them.
    silences: Signs,
}

impl Habits {
    /// What one direction shows.
    pub(crate) fn of(half: &Half) -> Self {
        let mut habits =
            Self { probes: half.agains.iter().filter(|a| a.row.cause == Cause::TailLossProbe).count() as u32, never: 0, silences: half.gaps.signs };
        for i in 0..half.expiries.len() {
            match spaced(half, i) {
                Some(true) => habits.probes += 1,
                Some(false) => habits.never += 1,
                None => habits.never += u32::from(half.expiries[i].unprobed),
            }
        }
        habits
    }

    pub(crate) fn add(&mut self, other: Self) {
        (self.probes, self.never) = (self.probes + other.probes, self.never + other.never);
        self.silences.add(other.silences);
    }

    /// Whether it probes; missing where nothing tells, or as much for as against.
    fn verdict(self) -> Option<bool> {
        (self.probes != self.never).then_some(self.probes > self.never)
    }

    /// The same, or what silences tell.
    fn together(self) -> Option<bool> {
        self.verdict().or(self.silences.verdict())
    }

    /// The same together with what others do, which weighs more than one sign and less than two.
    fn beside(self, others: Option<bool>) -> Option<bool> {
        let more = |probes| if others == Some(probes) { 3 } else { 0 };
        Self { probes: self.probes * 2 + more(true), never: self.never * 2 + more(false), ..self }.verdict()
    }

    /// The same where it is beyond doubt.
    fn plain_verdict(self) -> Option<bool> {
        let (more, less) = (self.probes.max(self.never), self.probes.min(self.never));
        self.verdict().filter(|_| more >= 3 && more >= 3 * less)
    }
}

fn spaced(half: &Half, i: usize) -> Option<bool> {
    by_spacing(&half.expiries[i], half.expiries.get(i + 1), half.identified)
}

/// What would have repaired the loss before this expiry, whose own retransmission arrived. `more`: the sender had more to send.
fn remedy(e: &Expiry, rto: Duration, more: bool) -> Option<Remedy> {
    let heard = e.dup_acks;
    match () {
        () if e.of == TimedOut::Syn => None,
        // RFC 8985 §7.2, §7.3: the probe is due before the timeout and calls forth an ack.
        () if !e.news && !e.no_probe && e.pto.is_some_and(|pto| pto < rto) => Some(Remedy::Probe),
        // RFC 5827 §3.1: fewer than four segments outstanding, nothing else to send, and all but one of them heard of.
        () if e.news && !more && (2..4).contains(&e.outstanding) && heard + 1 >= e.outstanding => Some(Remedy::EarlyRetransmit),
        // RFC 3042 §2: the first two duplicate acks let new segments out.
        () if e.news && more && (1..3).contains(&heard) => Some(Remedy::LimitedTransmit),
        () => None,
    }
}

/// A single segment that is sent again after a silence: a tail loss probe, or the timer's expiry? What else this sender did tells.
fn probes(half: &mut Half, elsewhere: Habits, all: Habits) {
    let spacing: Vec<_> = (0..half.expiries.len()).map(|i| spaced(half, i)).collect();
    let (here, others) = (Habits::of(half).verdict(), all.together());
    for (i, spaced) in spacing.into_iter().enumerate() {
        let e = &half.expiries[i];
        if !e.maybe_probe {
            continue;
        }
        // Probes are switched on and off for a whole host.
        let (probe, why) = match spaced {
            Some(true) => (true, "the next one came after the same time: this was a probe, the next the first expiry"),
            Some(false) => (false, "the next one came after twice the time: this was an expiry, and the timer backed off"),
            _ if elsewhere.plain_verdict() == Some(true) => (true, "its host probes"),
            _ if elsewhere.plain_verdict() == Some(false) => (false, "its host does not probe"),
            _ if elsewhere.beside(others) == Some(true) => {
                (true, if here == Some(true) { "this sender probes elsewhere" } else { "its host, or others in this capture, probe elsewhere" })
            }
            _ if elsewhere.beside(others) == Some(false) => (
                false,
                if here == Some(false) {
                    "this sender does not probe elsewhere"
                } else {
                    "its host, or others in this capture, do not probe elsewhere"
                },
            ),
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
