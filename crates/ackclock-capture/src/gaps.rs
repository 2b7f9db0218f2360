//! A sender's timeouts as its receiver sees them: silences. Two rules: that of B-U1, by time alone, and one that also looks at what ends the silence.

mod by_time;
#[cfg(test)]
mod tests;

use ackclock_units::{Duration, Instant};

pub use by_time::{ByTime, LEAST, RATIO, ROUND_TRIPS};

/// A silence that shows a timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gap {
    /// When it began.
    pub from: Instant,
    /// How long it was.
    pub length: Duration,
    /// 1 for a timeout; more for consecutive ones, which show backoff.
    pub round: u32,
}

/// By which rule a timeout was inferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GapRule {
    /// By time alone (B-U1).
    Time,
    /// By time, and by what the packet after the silence is.
    Content,
}

impl GapRule {
    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Time => "gap",
            Self::Content => "gap-and-content",
        }
    }
}

/// What a packet is to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// No payload.
    Nothing,
    /// What comes next.
    Next,
    /// What comes next, when a later packet's sequence number has told that it was sent before; `newest` where that told of nothing later.
    Overdue { newest: bool },
    /// Something beyond what comes next.
    Beyond,
    /// What was missing while later data was there already.
    Missing,
    /// What was there already; `newest` where nothing later was.
    Known { newest: bool },
}

/// A packet from the sender as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Instant,
    pub content: Content,
    /// A SYN: silences around it are none of these.
    pub syn: bool,
    /// A FIN: nothing comes after it.
    pub fin: bool,
    /// Its identification, if it has one.
    pub id: Option<u16>,
    /// Its timestamp, the tick of the sender's clock, and when it would have come without more delay than the least.
    pub tsval: Option<u32>,
    pub tick: Duration,
    pub due: Option<Instant>,
    /// The round-trip time of the handshake, the least that was seen, and the most that its sender may hold for it.
    pub rtt: Duration,
    pub least: Duration,
    pub smoothed: Duration,
    /// Whether SACK was agreed on.
    pub sack: bool,
}

impl Arrival {
    /// Time between an earlier packet and this one, by the sender's clock where it tells: a delay on the way is no silence, and a retransmission
    /// that comes together with what it overtook is sent after one.
    fn silence(&self, since: &Earlier) -> Duration {
        let ticks = self.tsval.zip(since.tsval).map(|(now, then)| now.wrapping_sub(then)).filter(|ticks| *ticks < 1 << 30);
        ticks.map_or(self.at.since(since.at), |ticks| self.tick * u64::from(ticks))
    }
}

/// A packet that came before.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    at: Instant,
    tsval: Option<u32>,
}

/// Both rules over one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    by_time: ByTime,
    /// The latest packet, the latest with data, and the one after which something that is overdue must have been sent.
    any: Option<Earlier>,
    data: Option<Earlier>,
    overdue: Option<Earlier>,
    skipped: bool,
    /// By how much packets were held up lately.
    held_up: Duration,
    /// The receiver's first data of its own since then.
    asked_at: Option<Instant>,
    last_id: Option<u16>,
    /// Packets that were sent since the latest one and did not come, by the numbers that are left out.
    left_out: u32,
    /// How often numbers followed each other closely, and how often not.
    steps: u32,
    leaps: u32,
    before: Option<Gap>,
    /// Whether it was seen to probe where a probe is due, or to do without.
    pub signs: Signs,
    pub time: Vec<Gap>,
    /// With them, whether each may have been a tail loss probe.
    pub content: Vec<(Gap, bool)>,
}

/// Gaps kept for each rule and direction.
const MOST_GAPS: usize = 4096;
/// Numbers left out in a row that losses explain.
const FEW: u16 = 2000;

impl Gaps {
    /// The next packet's sequence number tells that data was sent before it and did not come.
    pub(crate) fn skips(&mut self) {
        if !self.skipped {
            (self.overdue, self.skipped) = (self.any, true);
        }
    }

    /// The receiver sends data: a request.
    pub(crate) fn asked(&mut self, at: Instant) {
        if self.asked_at.is_none() {
            self.asked_at = Some(at);
            self.by_time.asked(at);
        }
    }

    /// False where no packet at this moment can end a silence.
    pub(crate) fn may_end(&self, at: Instant, tsval: Option<u32>, tick: Duration) -> bool {
        let long = |since: &Earlier| {
            let ticks = tsval.zip(since.tsval).map_or(0, |(now, then)| now.wrapping_sub(then));
            at.since(since.at) > LEAST || tick * u64::from(ticks) > LEAST
        };
        self.any.iter().chain(&self.data).chain(&self.overdue).any(long)
    }

    /// A packet comes from the sender.
    pub(crate) fn arrival(&mut self, a: &Arrival) {
        if !a.syn
            && let Some(gap) = self.by_time.arrival(a.at, a.rtt)
            && self.time.len() < MOST_GAPS
        {
            self.time.push(gap);
        }
        let mut late = false;
        self.left_out = 0;
        if let (Some(id), Some(last)) = (a.id, self.last_id) {
            match id.wrapping_sub(last) {
                0 | 0xff00.. => late = true,
                step @ 1..FEW => {
                    self.steps += 1;
                    self.left_out = u32::from(step) - 1;
                }
                _ => self.leaps += 1,
            }
        }
        // What packets are held up on the way, the sender counts into its round-trip times.
        let (held_up, before) = (a.due.map_or(Duration::ZERO, |due| a.at.since(due)), self.held_up);
        if held_up >= self.held_up {
            self.held_up = held_up;
        } else {
            self.held_up = held_up.max(self.held_up.mul_f64(0.75));
        }
        let this = Earlier { at: a.at, tsval: a.tsval };
        if a.content != Content::Nothing && !late {
            let found = if a.syn { None } else { self.judge(a, before) };
            self.before = found.map(|f| f.0);
            if self.content.len() < MOST_GAPS {
                self.content.extend(found);
            }
            (self.data, self.asked_at, self.overdue, self.skipped) = (Some(this), None, Some(this), false);
        }
        if !late {
            self.any = Some(this);
            self.last_id = a.id.or(self.last_id);
        }
    }

    /// Whether a timeout ended the silence before this packet, and whether it may have been a tail loss probe all the same.
    fn judge(&mut self, a: &Arrival, held_up: Duration) -> Option<(Gap, bool)> {
        let silence = match (a.content, self.asked_at) {
            // What comes next cannot be overdue before it was asked for.
            (Content::Next, Some(asked)) => a.at.since(asked.max(self.any?.at)),
            (Content::Next, None) => a.silence(&self.any?),
            (Content::Overdue { .. }, asked) => {
                let since = self.overdue?;
                asked.filter(|asked| *asked > since.at).map_or(a.silence(&since), |asked| a.at.since(asked))
            }
            _ => a.silence(&self.data?),
        };
        // Acks may have told of the loss of what others overtook, as late as packets are held up on the way; nothing tells of the last one's.
        let last = matches!(a.content, Content::Next | Content::Known { newest: true } | Content::Overdue { newest: true });
        let round_trip = if last { a.least } else { a.least + held_up };
        if silence <= LEAST || silence <= round_trip.mul_f64(ROUND_TRIPS) {
            return None;
        }
        let numbered = self.last_id.is_some() && self.steps > 2 * self.leaps;
        let again = match a.content {
            // A probe, or data that others overtook.
            Content::Beyond => {
                self.signs.note(true, 1);
                false
            }
            Content::Missing | Content::Known { .. } | Content::Overdue { .. } => true,
            // Sent before, and lost: its number is one that was left out. Without numbers nothing tells it from data that was written later.
            Content::Next => numbered && self.left_out > 0,
            Content::Nothing => false,
        };
        if !again {
            return None;
        }
        let tail = match a.content {
            Content::Next => self.left_out == 1 || a.fin,
            Content::Known { newest } | Content::Overdue { newest } => newest,
            _ => false,
        };
        // A probe comes after two round trips and the wait for a delayed ack (RFC 8985 §7.2; Linux allows 200 ms for that), an expiry after a lost
        // probe no sooner than after twice that.
        let soon = silence < ((a.smoothed + self.held_up) * 2 + LEAST).mul_f64(1.6);
        // Only one probe is sent.
        let maybe_probe = a.sack && tail && soon && self.before.is_none();
        if a.sack && soon && matches!(a.content, Content::Known { newest: false } | Content::Overdue { newest: false }) {
            self.signs.note(false, 1);
        }
        // After a probe the timer runs its full length, which is about the probe's wait; after an expiry it runs twice as long. A shorter one shows
        // that the silence before held idle time.
        let repeated = a.sack && matches!(a.content, Content::Known { .. });
        if let (Some(before), Some(last)) = (self.before.filter(|_| repeated), self.content.last_mut()) {
            match silence.as_secs_f64() / before.length.as_secs_f64() {
                ..0.8 if tail => last.1 = true,
                1.6..2.6 if last.1 => self.signs.note(false, 2),
                0.8..1.35 if last.1 => self.signs.note(true, 2),
                _ => {}
            }
        }
        if a.sack && self.left_out == 2 && self.before.is_none() {
            self.count_lost(silence, a.least.max(a.rtt));
        }
        let further = self.before.filter(|b| silence.as_secs_f64() >= RATIO * b.length.as_secs_f64());
        // Where its delay is known, the silence ends when it would have come without.
        let end = a.due.map_or(a.at, |due| due.min(a.at));
        let from = Instant::from_nanos(end.as_nanos().saturating_sub(silence.as_nanos()));
        Some((Gap { from, length: silence, round: further.map_or(1, |b| b.round + 1) }, maybe_probe))
    }

    /// Two were sent before what ended this silence, and lost. Where both were sent in it, the first was a probe, which is due no later than the timeout, and
    /// the silence lasted two timeouts at most; or an expiry, which doubled the next, and it lasted three at least. A timeout lies between the round-trip
    /// time with Linux's least, 200 ms, and RFC 6298's after the first sample, three round-trip times.
    fn count_lost(&mut self, silence: Duration, rtt: Duration) {
        let (least, most) = (rtt + LEAST, (rtt + LEAST).max(rtt * 3));
        let (probed, expired) = (silence < (most * 2).mul_f64(1.15), silence > (least * 3).mul_f64(0.9));
        // Shorter ones held one of them alone.
        if silence > least.mul_f64(1.7) && probed != expired {
            self.signs.note(probed, 2);
        }
    }

    /// What the second rule says in the end. `host` is what all silences of its host tell, `probing` whether that is known otherwise to send tail loss
    /// probes, or not to.
    pub(crate) fn by_content(&self, host: Signs, probing: Option<bool>, numbered: bool) -> Vec<Gap> {
        let probes = host.verdict().or(self.signs.verdict()).or(probing).unwrap_or(numbered);
        self.content.iter().filter(|(_, maybe_probe)| !(probes && *maybe_probe)).map(|(gap, _)| *gap).collect()
    }
}

/// What silences tell of whether their sender sends tail loss probes: signs for it, and against it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    probes: u32,
    none: u32,
}

impl Signs {
    fn note(&mut self, probes: bool, weight: u32) {
        let count = if probes { &mut self.probes } else { &mut self.none };
        *count = count.saturating_add(weight);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.note(true, other.probes);
        self.note(false, other.none);
    }

    /// Whether it probes, where that is plain.
    fn verdict(self) -> Option<bool> {
        let (more, less) = (self.probes.max(self.none), self.probes.min(self.none));
        (more > 2 * less).then_some(self.probes > self.none)
    }
}
