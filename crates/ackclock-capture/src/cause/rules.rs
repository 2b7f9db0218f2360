//! The causes of retransmissions as a table: the first rule whose test holds names the cause.

use super::{Cause, Situation, evidence};
use crate::thresholds::THRESHOLDS;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub cause: Cause,
    /// It may be a timeout or a tail loss probe. Which of them is decided at the end, from what else the
    /// sender and its host do.
    pub maybe_probe: bool,
    test: fn(&Situation) -> bool,
    /// The evidence in words.
    pub evidence: fn(&Situation) -> String,
}

const fn rule(cause: Cause, test: fn(&Situation) -> bool, evidence: fn(&Situation) -> String) -> Rule {
    Rule { cause, maybe_probe: false, test, evidence }
}

/// In order: first rules about the segment itself, then timers, which require time in which nothing else can
/// have released it, then acks.
const RULES: &[Rule] = &[
    rule(Cause::Syn, |s| s.segment.replies_to_syn, evidence::syn_ack),
    rule(Cause::Syn, |s| s.segment.syn, evidence::syn),
    // RFC 9293 §3.8.6.1.
    rule(Cause::ZeroWindowProbe, |s| s.segment.tiny && s.acks.window_closed, evidence::zero_window_probe),
    // RFC 9293 §3.8.4.
    rule(Cause::Keepalive, is_keepalive, evidence::keepalive),
    rule(Cause::Unknown, is_ack_with_fin, evidence::ack_with_fin),
    // Already acknowledged: the ack was lost after it passed the capture, or was on its way to the sender.
    rule(Cause::Timeout, |s| s.segment.below && is_silent(s), evidence::timer),
    // The timer retransmits the oldest segment (RFC 6298 §5.4), a probe the newest (RFC 8985 §7.3).
    rule(
        Cause::TailLossProbe,
        |s| s.timer_fits() && s.segment.tail && !s.segment.head && !s.sender.before_probes,
        evidence::timer,
    ),
    // If a single segment is outstanding, a probe and the timer send the same.
    Rule {
        cause: Cause::Timeout,
        maybe_probe: true,
        test: |s| is_timers(s) && may_probe(s),
        evidence: evidence::timer,
    },
    rule(Cause::Timeout, is_timers, evidence::timer),
    // No ack triggered it and no timer is that short: a probe on a path of microseconds (which waits two
    // ticks), or one sent when the timer would have fired, which would have retransmitted the oldest segment.
    rule(
        Cause::TailLossProbe,
        |s| {
            is_early_tail(s)
                && !s.sender.before_probes
                && (!s.segment.head || s.acks.sack && !s.sender.probed)
        },
        evidence::timer,
    ),
    rule(Cause::Timeout, is_early_tail, evidence::timer),
    rule(Cause::Timeout, is_repeated_by_timer, evidence::timer),
    rule(Cause::Timeout, is_without_reaction, evidence::timer),
    rule(Cause::AfterTimeout, |s| s.sender.after_timeout, evidence::after_timeout),
    // RFC 5681 §3.2.
    rule(
        Cause::Fast,
        |s| !s.sender.recovering && s.acks.duplicates >= THRESHOLDS.segments.dup_thresh,
        evidence::duplicate_acks,
    ),
    // RFC 8985 §6.2: its last copy was overtaken too.
    rule(Cause::Rack, |s| s.segment.repeated && s.acks.overtaken, evidence::overtaken_again),
    // RFC 6675 §4, IsLost.
    rule(Cause::Sack, |s| s.acks.sacked_above >= s.loss_bytes(), evidence::sack),
    // Mathis and Mahdavi, "Forward acknowledgement" (1996).
    rule(Cause::Fack, |s| s.acks.highest_sack > s.loss_bytes(), evidence::highest_sack),
    rule(Cause::Rack, |s| s.acks.sacked_above > 0 && s.segment.repeated, evidence::overtaken_again),
    // RFC 8985 §6.2.
    rule(Cause::Rack, |s| s.acks.sacked_above > 0 || s.acks.overtaken && s.acks.sack, evidence::overtaken),
    // RFC 6582 §3.2 step 3.
    rule(Cause::Fast, |s| s.sender.recovering && s.acks.advanced, evidence::partial_ack),
    // RFC 5827 §3.1: with less than four segments outstanding, fewer duplicate acks are enough.
    rule(Cause::Fast, |s| s.acks.duplicates > 0, evidence::duplicate_acks),
    rule(Cause::Unknown, |_| true, evidence::unknown),
];

/// The rule that names the cause.
pub(crate) fn rule_for(s: &Situation) -> &'static Rule {
    RULES.iter().find(|rule| (rule.test)(s)).expect("the last rule holds always")
}

fn is_keepalive(s: &Situation) -> bool {
    // All is acknowledged, and it is the last byte of that.
    s.segment.tiny
        && s.segment.below
        && s.segment.tail
        && s.elapsed.quiet.is_none_or(|quiet| quiet >= THRESHOLDS.probe.keepalive)
}

/// Data has just come, sooner after the FIN than a kernel's usual timeout: some systems repeat a FIN that is not
/// acknowledged in each ack.
fn is_ack_with_fin(s: &Situation) -> bool {
    s.segment.bare_fin
        && s.elapsed.data.is_some_and(|since| since <= THRESHOLDS.reaction.at_once)
        && s.elapsed.set < THRESHOLDS.timer.usual
}

/// For as long as a timer takes, nothing was sent, or nothing heard and no timer set.
fn is_silent(s: &Situation) -> bool {
    let (news, set) = (s.elapsed.news, s.elapsed.set);
    s.elapsed.sent.is_none_or(|sent| sent.min(news.max(set)) >= s.least_timeout())
}

/// The timer fired for the oldest segment. Short of a kernel's usual timeout it was RACK's timer, where
/// something sent later was acknowledged before.
fn is_timers(s: &Situation) -> bool {
    let rack = s.sender.kernel && s.acks.sack && s.acks.overtaken && s.elapsed.set < THRESHOLDS.timer.usual;
    s.timer_fits() && s.segment.head && !rack
}

/// A sender that probes might have probed with it. With SACK, a duplicate ack without a block means nothing:
/// it was overtaken by the one before.
fn may_probe(s: &Situation) -> bool {
    s.acks.sack
        && s.acks.sacked_above == 0
        && !s.sender.probed
        && !s.sender.before_probes
        && !s.segment.repeated
        && s.segment.sole
        && !s.sender.recovering
}

/// The newest segment, sooner than any timer fires and without an ack that called for it.
fn is_early_tail(s: &Situation) -> bool {
    !s.segment.below
        && !s.timer_is_due()
        && s.segment.tail
        && s.nothing_lost()
        && !s.sender.recovering
        && s.unprompted()
}

/// The oldest segment once more, where nothing shows that its last copy was lost too; or that was known for
/// long, and the sender did nothing about it.
///
/// While SACKs arrive, senders know more than the capture shows (PRR, RACK's own clock): only a usual
/// timeout's time is taken for one.
fn is_repeated_by_timer(s: &Situation) -> bool {
    let usual = s.elapsed.set >= THRESHOLDS.timer.usual;
    let long = if s.acks.sack && !s.nothing_lost() { usual } else { s.timer_is_due() };
    let ignored = s.elapsed.overtaken.is_some_and(|since| s.is_late(since)) && usual;
    !s.segment.below
        && s.segment.head
        && s.segment.repeated
        && long
        && !s.follows_ack()
        && (!s.acks.overtaken || ignored)
}

/// Three duplicate acks and no answer to the third nor to the last, or fewer: the timer.
fn is_without_reaction(s: &Situation) -> bool {
    let least = s.least_timeout();
    let due = if s.sender.kernel { THRESHOLDS.timer.usual.max(least) } else { least };
    let unanswered = match s.elapsed.third {
        Some(third) => s.is_late(third) && s.elapsed.news > THRESHOLDS.reaction.at_once,
        None => s.acks.duplicates == 0 || !s.segment.sole && s.acks.duplicates < 2,
    };
    !s.segment.below
        && s.segment.head
        && !s.sender.after_timeout
        && s.acks.sacked_above == 0
        && !(s.acks.advanced && s.sender.recovering)
        && s.elapsed.progress >= due
        && !s.follows_ack()
        && unanswered
}

#[cfg(test)]
mod tests {
    use ackclock_units::Duration;

    use super::super::{AcksReceived, Elapsed, Resent, SenderState};
    use super::*;

    #[test]
    fn the_newest_segment_is_not_the_timers_while_an_older_one_is_outstanding() {
        let ms = Duration::from_millis;
        for (probed, head, cause) in [
            (false, false, Cause::TailLossProbe),
            (true, false, Cause::TailLossProbe),
            (false, true, Cause::TailLossProbe),
            (true, true, Cause::Timeout),
        ] {
            let soon = Situation {
                segment: Resent { head, tail: true, ..Resent::default() },
                elapsed: Elapsed {
                    set: ms(50),
                    progress: ms(50),
                    news: ms(600),
                    sent: Some(ms(50)),
                    ..Elapsed::default()
                },
                acks: AcksReceived { sack: true, ..AcksReceived::default() },
                sender: SenderState {
                    rtt: Some((ms(80), ms(10))),
                    kernel: true,
                    linux_timeout: ms(300),
                    probed,
                    ..SenderState::default()
                },
            };
            assert_eq!(rule_for(&soon).cause, cause, "probed before: {probed}, the oldest too: {head}");
        }
    }

    /// The oldest segment once more, a second after the timer was set and `news` ms after an ack.
    fn again_after(news_us: u64) -> Situation {
        let long = Duration::from_secs(1);
        Situation {
            segment: Resent { head: true, tail: true, sole: true, repeated: true, ..Resent::default() },
            elapsed: Elapsed {
                set: long,
                progress: long,
                news: Duration::from_micros(news_us),
                sent: Some(long),
                ..Elapsed::default()
            },
            sender: SenderState {
                rtt: Some((Duration::from_millis(80), Duration::from_millis(10))),
                ..SenderState::default()
            },
            ..Situation::default()
        }
    }

    #[test]
    fn what_follows_an_ack_at_once_is_not_the_timers() {
        assert_eq!(rule_for(&again_after(50_000)).cause, Cause::Timeout);
        for news in [0, 65, 400] {
            let mut s = again_after(news);
            (s.sender.recovering, s.acks.advanced) = (true, true);
            assert_eq!(rule_for(&s).cause, Cause::Fast, "a partial ack {news} us before");
            (s.acks.duplicates, s.segment.sole, s.sender.recovering) = (3, false, false);
            assert_eq!(rule_for(&s).cause, Cause::Fast, "the third duplicate {news} us before");
        }
    }

    #[test]
    fn a_fin_that_is_repeated_in_an_ack_is_not_the_timers() {
        for (set, data, cause) in [
            (80, Some(200), Cause::Unknown),
            (80, Some(5000), Cause::Timeout),
            (80, None, Cause::Timeout),
            (250, Some(200), Cause::Timeout),
        ] {
            let mut s = again_after(1_000_000);
            s.segment.bare_fin = true;
            (s.elapsed.set, s.elapsed.sent) = (Duration::from_millis(set), Some(Duration::from_millis(set)));
            s.sender.rtt = Some((Duration::from_millis(30), Duration::from_millis(5)));
            s.elapsed.data = data.map(Duration::from_micros);
            assert_eq!(rule_for(&s).cause, cause, "{set} ms after the one before, data {data:?} us ago");
        }
    }

    #[test]
    fn hosts_from_before_probes_send_none() {
        for (head, then, now) in
            [(false, Cause::Unknown, Cause::TailLossProbe), (true, Cause::Timeout, Cause::Timeout)]
        {
            let mut s = again_after(1_000_000);
            (s.segment.head, s.segment.repeated, s.segment.sole) = (head, false, head);
            s.acks.sack = true;
            assert_eq!(rule_for(&s).cause, now);
            assert_eq!(rule_for(&s).maybe_probe, head, "a single segment may be either");
            s.sender.before_probes = true;
            assert_eq!((rule_for(&s).cause, rule_for(&s).maybe_probe), (then, false));
        }
    }

    #[test]
    fn a_fast_retransmit_has_a_duplicate_ack() {
        let mut s = Situation::default();
        assert_eq!(rule_for(&s).cause, Cause::Unknown);
        s.acks.duplicates = 1;
        assert_eq!(rule_for(&s).cause, Cause::Fast, "early retransmit");
    }

    #[test]
    fn every_situation_has_a_cause() {
        assert_eq!(rule_for(&Situation::default()).cause, Cause::Unknown);
        assert!((RULES.last().expect("rules").test)(&Situation::default()));
    }
}
