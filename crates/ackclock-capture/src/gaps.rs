//! A sender's timeouts as its receiver sees them: silences. Two rules: that of B-U1, by time alone, and one that also looks at what ends the silence.

use ackclock_units::{Duration, Instant};

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

/// A gap must be longer than any least timeout in use (B-U1).
pub const LEAST: Duration = Duration::from_millis(200);
/// And longer than this many round trips (B-U1).
pub const ROUND_TRIPS: f64 = 1.2;
/// A further gap this much longer than the previous one shows backoff: it would double (the ratio is our choice, B-U1).
pub const RATIO: f64 = 1.5;

/// The rule of B-U1 with its three numbers: packet after packet, in order of time.
#[derive(Clone, Copy, Debug)]
pub struct ByTime {
    /// See [`LEAST`], [`ROUND_TRIPS`], [`RATIO`].
    pub least: Duration,
    /// See there.
    pub round_trips: f64,
    /// See there.
    pub ratio: f64,
    last: Option<Instant>,
    /// The gap right before the last packet, if it was a timeout.
    before: Option<Gap>,
}

impl Default for ByTime {
    fn default() -> Self {
        Self { least: LEAST, round_trips: ROUND_TRIPS, ratio: RATIO, last: None, before: None }
    }
}

impl ByTime {
    /// With other numbers than those of B-U1.
    pub fn new(least: Duration, round_trips: f64, ratio: f64) -> Self {
        Self { least, round_trips, ratio, ..Self::default() }
    }

    /// A packet from the sender, or the last transmission of what asks for one. `rtt` is the round-trip time, best that of the handshake.
    pub fn arrival(&mut self, at: Instant, rtt: Duration) -> Option<Gap> {
        let from = self.last.replace(at)?;
        let length = at.since(from);
        let gap = (length > self.least && length > rtt.mul_f64(self.round_trips)).then(|| {
            let further = self.before.filter(|b| length.as_secs_f64() >= self.ratio * b.length.as_secs_f64());
            Gap { from, length, round: further.map_or(1, |b| b.round + 1) }
        });
        self.before = gap;
        gap
    }

    /// The receiver sends what asks for more.
    pub fn asked(&mut self, at: Instant) {
        self.last = self.last.map(|_| at);
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
    /// Above zero: it was seen to probe where a probe is due. Below: to do without.
    probes: i32,
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
        let held_up = a.due.map_or(Duration::ZERO, |due| a.at.since(due));
        if held_up >= self.held_up {
            self.held_up = held_up;
        } else {
            self.held_up = held_up.max(self.held_up.mul_f64(0.75));
        }
        let this = Earlier { at: a.at, tsval: a.tsval };
        if a.content != Content::Nothing && !late {
            let found = if a.syn { None } else { self.judge(a) };
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
    fn judge(&mut self, a: &Arrival) -> Option<(Gap, bool)> {
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
        if silence <= LEAST || silence <= a.least.mul_f64(ROUND_TRIPS) {
            return None;
        }
        let numbered = self.last_id.is_some() && self.steps > 2 * self.leaps;
        let again = match a.content {
            // A probe, or data that others overtook.
            Content::Beyond => {
                self.probes += 1;
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
            self.probes -= 1;
        }
        // After a probe the timer runs its full length, which is about the probe's wait; after an expiry it runs twice as long. A shorter one shows
        // that the silence before held idle time.
        if let (Some(before), Some(last)) = (self.before.filter(|_| a.sack), self.content.last_mut()) {
            match silence.as_secs_f64() / before.length.as_secs_f64() {
                ..0.8 if tail => last.1 = true,
                1.6..2.6 if last.1 => self.probes -= 2,
                0.8..1.35 if last.1 => self.probes += 2,
                _ => {}
            }
        }
        let further = self.before.filter(|b| silence.as_secs_f64() >= RATIO * b.length.as_secs_f64());
        // Where its delay is known, the silence ends when it would have come without.
        let end = a.due.map_or(a.at, |due| due.min(a.at));
        let from = Instant::from_nanos(end.as_nanos().saturating_sub(silence.as_nanos()));
        Some((Gap { from, length: silence, round: further.map_or(1, |b| b.round + 1) }, maybe_probe))
    }

    /// What the second rule says in the end; `probing` is whether the sender's host is known to send tail loss probes, or not to.
    pub(crate) fn by_content(&self, probing: Option<bool>, numbered: bool) -> Vec<Gap> {
        let probes = match self.probes {
            n if n > 0 => true,
            n if n < 0 => false,
            _ => probing.unwrap_or(numbered),
        };
        self.content.iter().filter(|(_, maybe_probe)| !(probes && *maybe_probe)).map(|(gap, _)| *gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_gap_must_exceed_both_limits_and_grow_to_be_consecutive() {
        let run = |times: &[u64], rtt| {
            let mut rule = ByTime::default();
            times.iter().filter_map(|t| rule.arrival(Instant::ZERO + ms(*t), rtt)).map(|g| (g.length, g.round)).collect::<Vec<_>>()
        };
        assert_eq!(run(&[0, 200, 401, 600], ms(50)), [(ms(201), 1)]);
        assert_eq!(run(&[0, 300, 661], ms(300)), [(ms(361), 1)]);
        assert_eq!(run(&[0, 300, 750, 1800, 1801, 3000], ms(50)), [(ms(300), 1), (ms(450), 2), (ms(1050), 3), (ms(1199), 1)]);
        assert_eq!(run(&[0, 300, 700], ms(50)), [(ms(300), 1), (ms(400), 1)]);
    }

    /// Packets a millisecond apart, and then one after a silence of 300 ms.
    fn after_silence(content: Content, id_step: u16, asked: bool) -> usize {
        let mut gaps = Gaps::default();
        let rtt = ms(20);
        let arrival = |at, content, id| Arrival {
            at: Instant::ZERO + ms(at),
            content,
            syn: false,
            fin: false,
            id: Some(id),
            tsval: None,
            tick: ms(1),
            due: None,
            rtt,
            least: rtt,
            smoothed: rtt,
            sack: false,
        };
        for i in 0..10_u16 {
            gaps.arrival(&arrival(u64::from(i) + 1, Content::Next, 100 + i));
        }
        if asked {
            gaps.asked(Instant::ZERO + ms(250));
        }
        gaps.arrival(&arrival(310, content, 109 + id_step));
        gaps.by_content(None, true).len()
    }

    #[test]
    fn what_ends_a_silence_tells_a_timeout_from_an_idle_application() {
        assert_eq!(after_silence(Content::Next, 1, false), 0, "nothing was sent in between: the application had nothing to say");
        assert_eq!(after_silence(Content::Next, 4, false), 1, "three packets are missing");
        assert_eq!(after_silence(Content::Missing, 1, false), 1);
        assert_eq!(after_silence(Content::Known { newest: true }, 1, false), 1);
        assert_eq!(after_silence(Content::Beyond, 2, false), 0, "a probe");
        assert_eq!(after_silence(Content::Next, 4, true), 0, "it was asked for just before");
    }
}
