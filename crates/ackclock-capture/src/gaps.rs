//! A sender's timeouts as its receiver sees them: as silences. There are two rules: that of B-U1, by time
//! alone, and one that also considers what ends the silence.

mod arrival;
mod by_acks;
mod by_time;
mod copies;
mod found;
mod numbering;
mod signs;
#[cfg(test)]
mod tests;

use ackclock_units::{Duration, Instant, SeqNumber};

use arrival::Earlier;
pub(crate) use arrival::{Arrival, Content, Ending};
pub use by_time::{ByTime, LEAST, RATIO, ROUND_TRIPS};
use found::Found;
use numbering::Numbering;
pub(crate) use signs::Signs;

use crate::thresholds::THRESHOLDS;

/// A silence that indicates a timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gap {
    /// When it began.
    pub from: Instant,
    /// How long it was.
    pub length: Duration,
    /// 1 for a timeout; more for consecutive ones, which show backoff.
    pub round: u32,
    /// When the packet that ended it was seen: later than the end of the silence if it was delayed on its
    /// way.
    pub seen: Instant,
    /// The number of that packet in the file, from 1.
    pub frame: u64,
    /// First sequence number of that packet, where it is known.
    pub seq: Option<SeqNumber>,
}

/// The rule by which a timeout was inferred.
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

/// The word for a timeout inferred from a retransmission, not from a silence.
pub const SENT_AGAIN: &str = "sent-again";

/// The latest packets.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    any: Option<Earlier>,
    /// The timestamp that it echoed.
    heard: Option<u32>,
    /// It was a SYN.
    after_syn: bool,
    /// The latest with data, and when the one before that came.
    data: Option<Earlier>,
    data_before: Option<Instant>,
    /// Copies sent in the silence before it.
    copies: u32,
    /// The packet after which something that is now overdue was sent, and whether anything is.
    overdue: Option<Earlier>,
    skipped: bool,
    /// No request of the receiver can have made its sender send that. Known with the first packet that shows it.
    unasked: Option<bool>,
    /// When something other than the next data last arrived, and the end of what had been sent then: until that
    /// is acknowledged, its sender may be in a recovery, in which it does not probe.
    repeated: Option<(Instant, u64)>,
}

/// By how much packets are delayed on the way.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    held_up: Duration,
    /// The same a round trip ago, which its sender can know by now, and since when.
    held_up_before: Duration,
    since: Option<Instant>,
}

/// What ended a silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndedBy {
    /// The retransmission timer.
    Timer,
    /// That, or a tail loss probe.
    Either,
    /// A probe: it came too soon for the timer.
    Probe,
}

/// What the receiver sent of its own: first, and last, if that was sent again.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: Instant,
    last: Instant,
}

impl Asked {
    fn note(asked: &mut Option<Self>, at: Instant) {
        asked.get_or_insert(Self { first: at, last: at }).last = at;
    }
}

/// Both rules over one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    by_time: ByTime,
    /// When the first packet arrived: no silence is known to have begun before.
    first_at: Option<Instant>,
    latest: Latest,
    delay: Delay,
    numbering: Numbering,
    /// What the receiver has sent of its own since the latest data: data, and its FIN.
    request: Option<Asked>,
    close: Option<Asked>,
    /// The receiver has sent something that was not acknowledged: its sender may have sent acks that were lost.
    to_acknowledge: bool,
    /// Packets of it since its sender's latest, each of which may have elicited an ack that was lost.
    elicited: u32,
    /// The silence right before the latest data.
    before: Option<Gap>,
    /// Signs that its sender probes where a probe is due, or does not.
    pub signs: Signs,
    /// The silences that each rule found.
    pub time: Vec<Gap>,
    content: Vec<Found>,
}

/// Gaps kept for each rule and direction.
const MOST_GAPS: usize = 4096;

impl Gaps {
    /// Called before a packet whose sequence number shows that data was sent before it and did not arrive.
    pub(crate) fn skips(&mut self) {
        if !self.latest.skipped {
            (self.latest.overdue, self.latest.skipped) = (self.latest.any, true);
        }
    }

    /// Called when the receiver sends data: a request.
    pub(crate) fn on_request(&mut self, at: Instant) {
        if self.request.is_none() {
            self.by_time.on_request(at);
        }
        self.to_acknowledge = true;
        self.elicited += 1;
        Asked::note(&mut self.request, at);
    }

    /// Called when the receiver closes its half: many applications close theirs upon that.
    pub(crate) fn on_close(&mut self, at: Instant) {
        self.to_acknowledge = true;
        self.elicited += 1;
        Asked::note(&mut self.close, at);
    }

    /// Packets before the latest one were lost, by the identifications that were skipped.
    pub(crate) fn left_out(&self) -> bool {
        self.numbering.left_out > 0
    }

    /// Its sender numbers its packets: identifications show which was sent first.
    pub(crate) fn numbered(&self) -> bool {
        self.numbering.counts()
    }

    /// False if no packet at this moment can end a silence.
    pub(crate) fn may_end(&self, at: Instant, tsval: Option<u32>, tick: Duration) -> bool {
        let long = |since: &Earlier| {
            let ticks = tsval.zip(since.tsval).map_or(0, |(now, then)| now.wrapping_sub(then));
            at.since(since.at) > LEAST || tick * u64::from(ticks) > LEAST
        };
        // The earliest of the three: the latest data is no later than `overdue`, and that no later than
        // `any`.
        self.latest
            .data
            .as_ref()
            .or(self.latest.overdue.as_ref())
            .or(self.latest.any.as_ref())
            .is_some_and(long)
    }

    /// Takes a packet from the sender; `ending` if it may end a silence.
    pub(crate) fn arrival(&mut self, a: &Arrival, ending: Option<&Ending>) {
        self.first_at.get_or_insert(a.at);
        if !a.syn
            && let Some(gap) = self.by_time.arrival(a.at, a.rtt)
            && self.time.len() < MOST_GAPS
        {
            self.time.push(Gap { seq: Some(a.seq), frame: a.frame, ..gap });
        }
        let late = self.numbering.note(a.id);
        // Delays on the way are part of the sender's round-trip times.
        let before = self.delay.held_up;
        if let Some(due) = a.due {
            if self.delay.since.is_none_or(|since| a.at.since(since) >= a.rtt) {
                (self.delay.held_up_before, self.delay.since) = (self.delay.held_up, Some(a.at));
            }
            self.delay.held_up = a.at.since(due).max(self.delay.held_up - self.delay.held_up / 4);
        }
        let this = Earlier { at: a.at, tsval: a.tsval };
        // Unless it was sent long after all data that arrived, although before an ack that overtook it.
        let overtaken = |e: &Ending| {
            e.unprompted && self.latest.data.is_some_and(|data| a.silence(&data, e.tick) > LEAST)
        };
        let late = late && !ending.is_some_and(overtaken);
        if self.latest.skipped && self.latest.unasked.is_none() {
            self.latest.unasked = Some(self.is_unasked(a));
        }
        if a.content != Content::Nothing && !late {
            let found = ending.filter(|_| !a.syn).and_then(|e| self.judge(a, e, before));
            self.before = found.map(|f| f.0);
            self.latest.copies = self.copies(a);
            if self.content.len() < MOST_GAPS {
                let by_number = a.content == Content::Next;
                let timer = found.filter(|(_, by)| *by != EndedBy::Probe);
                self.content.extend(timer.map(|(gap, by)| Found {
                    gap,
                    maybe_probe: by == EndedBy::Either,
                    by_number,
                }));
            }
            self.latest.data_before = self.latest.data.map(|data| data.at);
            if a.content != Content::Next {
                self.latest.repeated = Some((a.at, a.highest));
            }
            (self.request, self.close) = (None, None);
            (self.latest.data, self.latest.overdue, self.latest.skipped) = (Some(this), Some(this), false);
            self.latest.unasked = None;
        }
        self.to_acknowledge &= !a.acks_all;
        if !late {
            (self.latest.any, self.latest.heard) = (Some(this), a.tsecr);
            self.elicited = 0;
            self.latest.after_syn = a.syn;
            if a.id.is_some() {
                self.numbering.set_last(a.id, a.packets);
            }
        }
    }

    /// The silence before this packet if a timer of its sender ended it, and which.
    fn judge(&mut self, a: &Arrival, e: &Ending, held_up: Duration) -> Option<(Gap, EndedBy)> {
        let close = self.close.filter(|_| e.fin);
        let asked_after = |since: Earlier| {
            [self.request, close]
                .into_iter()
                .flatten()
                .filter(|asked| asked.first > since.at)
                .min_by_key(|asked| asked.first)
        };
        // No data can be due before the request for it.
        let (since, asked) = match a.content {
            Content::Next => (self.latest.any?, asked_after(self.latest.any?)),
            Content::Overdue { .. } if self.latest.unasked == Some(true) => (self.latest.overdue?, None),
            Content::Overdue { .. } => (self.latest.overdue?, asked_after(self.latest.overdue?)),
            _ => (self.latest.data?, None),
        };
        let silence = asked.map_or(a.silence(&since, e.tick), |asked| a.at.since(asked.first));
        let repair = !matches!(a.content, Content::Next | Content::Overdue { .. });
        let silence = if repair { silence.max(e.unanswered) } else { silence };
        // If its delay is known, the silence ends when it would have arrived without it. The clocks of other
        // hosts cannot be relied on, so the bounds hold in any case.
        let end = a.due.map_or(a.at, |due| due.min(a.at));
        let silence = silence.min(end.since(self.first_at?));
        let repeats = matches!(a.content, Content::Missing | Content::Known { .. } | Content::Overdue { .. });
        // Acks may have reported the loss of what later packets overtook, delayed by as much as packets are
        // on the way. Nothing reports the loss of the last packet.
        let last = matches!(
            a.content,
            Content::Next | Content::Known { newest: true } | Content::Overdue { newest: true }
        );
        // They did not if the sender had received nothing since the previous packet, or no report of a loss.
        let unprompted = repeats && (e.unprompted || a.tsecr.is_some() && a.tsecr == self.latest.heard);
        let round_trip = if last || unprompted { e.least } else { e.least + held_up };
        if silence <= LEAST || silence <= round_trip.mul_f64(ROUND_TRIPS) || self.by_acks(a, e) {
            return None;
        }
        let too_soon = self.too_soon(e);
        if too_soon && !last {
            return None;
        }
        let numbered = self.numbered();
        let sent_before = match a.content {
            // Sent before, and lost: it took an identification that was skipped. Without identifications, it
            // cannot be distinguished from data that was written later.
            Content::Next => numbered && self.copies(a) > 0,
            // A probe, or data that others overtook.
            Content::Beyond => {
                self.signs.note(true, 1);
                false
            }
            _ => repeats,
        };
        if !sent_before {
            return None;
        }
        // If the receiver has sent nothing to acknowledge, every identification that was skipped is a copy's.
        // The first is sent by a probe, which Linux plans no later than the timeout
        // (`tcp_schedule_loss_probe`), the second by the timer (RFC 8985 §7.3).
        let copies = self.copies(a);
        let counted = self.numbering.counts_alone() && !self.to_acknowledge;
        let tail = match a.content {
            Content::Next => copies == 1 || e.fin && !counted,
            Content::Known { newest } => newest && (copies == 1 || !counted),
            Content::Overdue { newest } => newest,
            _ => false,
        };
        let first = counted && copies == 1 && !matches!(a.content, Content::Overdue { .. });
        // What was lost once is sent again by a probe first. A request that was sent again may not have arrived
        // before: then its sender was idle until that.
        let lost_once = a.content == Content::Next && self.copies(a) == 1;
        let waited = asked.filter(|_| lost_once).map_or(silence, |asked| a.at.since(asked.last).min(silence));
        // A probe is due after two round trips and the wait for a delayed ack (RFC 8985 §7.2; Linux allows 200
        // ms for that, and its timers are late by up to an eighth), counted from the last ack, which may have
        // come a round trip after the latest data had left.
        let held_up = self.delay.held_up_before;
        let probe_due = (e.smoothed + held_up) * 3 + LEAST;
        let soon = waited < probe_due.mul_f64(THRESHOLDS.silence.probe_late);
        // No probes are sent in a recovery (Linux sends them in its open state only), and only one at a time.
        let began = a.at.saturating_sub(silence);
        // An ack of all that was sent before the last repair ends the recovery. The echoed timestamp shows
        // whether its sender had that ack; without it, a request that came after the repair does, or a round
        // trip later.
        let recovering = |trips: u32| {
            self.latest.repeated.is_some_and(|(again, highest)| match e.knew {
                0 => {
                    asked.is_none_or(|asked| asked.first < again)
                        && again + e.smoothed * u64::from(trips) > began
                }
                knew => knew < highest,
            })
        };
        let maybe_probe = e.sack && tail && (soon || first) && self.before.is_none() && !recovering(1);
        // If the latest data also came after a silence, it may have been a probe with new data.
        let lone = self
            .latest
            .data
            .zip(self.latest.data_before)
            .is_none_or(|(data, before)| data.at.since(before) > e.smoothed.mul_f64(ROUND_TRIPS));
        if e.sack
            && soon
            && !lone
            && !recovering(2)
            && matches!(a.content, Content::Known { newest: false } | Content::Overdue { newest: false })
        {
            self.signs.note(false, 1);
        }
        // After a probe the timer runs for its full timeout, which is about the probe's wait; after an expiry
        // it runs twice as long. A shorter wait shows that the previous silence included idle time.
        let repeated = e.sack && matches!(a.content, Content::Known { .. });
        let found = self.content.last_mut().filter(|found| Some(found.gap) == self.before);
        if let (Some(before), Some(last)) = (self.before.filter(|_| repeated), found) {
            let grows = &(silence.as_secs_f64() / before.length.as_secs_f64());
            if *grows < THRESHOLDS.silence.shorter && tail && self.latest.copies == 1 {
                last.maybe_probe = true;
            } else if THRESHOLDS.backoff.doubled_after_probe.contains(grows) && last.maybe_probe {
                self.signs.note(false, 2);
            } else if THRESHOLDS.backoff.same_after_probe.contains(grows) && last.maybe_probe {
                self.signs.note(true, 2);
            }
        }
        if e.sack
            && tail
            && numbered
            && self.before.is_none()
            && let Some(probed) = self.count_lost(a, e, silence)
        {
            self.signs.note(probed, 2);
        }
        let further = self.before.filter(|b| silence.as_secs_f64() >= RATIO * b.length.as_secs_f64());
        let from = end.saturating_sub(silence);
        Some((
            Gap {
                from,
                length: silence,
                round: further.map_or(1, |b| b.round + 1),
                seen: a.at,
                frame: a.frame,
                seq: Some(a.seq),
            },
            match () {
                () if too_soon => EndedBy::Probe,
                () if maybe_probe => EndedBy::Either,
                () => EndedBy::Timer,
            },
        ))
    }
}
