//! Near the data's receiver, timeouts are inferred from silences
//! ([`Direction::counted`](crate::Direction::counted)). Everything else that depends on timeouts follows
//! them: causes of retransmissions, classes of episodes, and the time for which timers limited the sender.

use ackclock_trace::LossClass;
use ackclock_units::Duration;

use crate::Cause;
use crate::cause::span;
use crate::gaps::Gap;
use crate::half::RetransmissionRecord;
use crate::report::{Episode, Shares};

/// Classifies episodes by the silences in them; `gaps` are in order of time.
pub(crate) fn classes(gaps: &[Gap], episodes: &mut [Episode]) {
    for e in episodes {
        let first = gaps.partition_point(|g| g.seen < e.began);
        let within = gaps[first..].iter().take_while(|g| e.ended.is_none_or(|end| g.seen <= end));
        (e.timeouts, e.rounds) = within.fold((0, 0), |(n, most), g| (n + 1, most.max(g.round)));
        e.class = if e.timeouts > 0 { LossClass::NonCa } else { LossClass::Ca };
        // What was outstanding and acknowledged at the sender is not known well enough.
        e.outage = false;
    }
}

/// A retransmission that ended a silence was sent by the timer. Those after it in the same episode were
/// released by acks after the timeout, all others by acks alone.
pub(crate) fn causes(gaps: &[Gap], episodes: &[Episode], records: &mut [RetransmissionRecord], sack: bool) {
    for a in records.iter_mut().filter(|a| a.row.cause.counts() && a.row.cause != Cause::Syn) {
        let row = &mut a.row;
        let behind = gaps.partition_point(|g| g.seen < row.at);
        let ended = gaps[behind..].iter().take_while(|g| g.seen == row.at).find(|g| g.seq == Some(row.seq));
        let began = a.episode.and_then(|i| episodes.get(i as usize)).map(|e| e.began);
        let before = gaps[..behind].last().filter(|g| began.is_some_and(|began| g.seen >= began));
        let (cause, why) = match (ended, before, row.cause) {
            (Some(gap), ..) => (Cause::Timeout, format!("it ended a silence of {}", span(gap.length))),
            (None, Some(gap), Cause::Timeout) => (
                Cause::AfterTimeout,
                format!("in the recovery from a timeout, which a silence of {} shows", span(gap.length)),
            ),
            (None, None, Cause::Timeout | Cause::AfterTimeout) => {
                let cause = if sack { Cause::Sack } else { Cause::Fast };
                (cause, "no silence before it shows a timeout: acks must have triggered it".to_owned())
            }
            _ => continue,
        };
        let spurious = row.evidence.find("; spurious: ").map(|at| row.evidence.split_off(at));
        (row.cause, row.evidence) = (cause, why + spurious.as_deref().unwrap_or_default());
    }
}

/// Copies of what had arrived, although the receiver saw (nearly) nothing out of order: acks have triggered
/// none of them. The sender's timer fired while packets or acks were delayed, and it went back to what was
/// outstanding then.
pub(crate) fn after_spurious_timeouts(
    reordered: u64,
    episodes: &mut [Episode],
    records: &mut [RetransmissionRecord],
) {
    let by_acks = |a: &RetransmissionRecord| {
        matches!(a.row.cause, Cause::Fast | Cause::Sack | Cause::Fack | Cause::Rack | Cause::Unknown)
    };
    let spurious =
        |a: &RetransmissionRecord| by_acks(a) && a.row.original_seen && a.row.needed == Some(false);
    // Where the network reorders, each late original elicits a spurious retransmission, or a few.
    if reordered * 2 >= records.iter().filter(|a| spurious(a)).count() as u64 {
        return;
    }
    // In an episode with a loss, acks may have triggered more than what was lost.
    let mut lost = vec![false; episodes.len()];
    for a in records.iter().filter(|a| a.row.cause.counts() && !spurious(a) && a.row.needed != Some(false)) {
        if let Some(lost) = a.episode.and_then(|i| lost.get_mut(i as usize)) {
            *lost = true;
        }
    }
    for a in records.iter_mut().filter(|a| spurious(a)) {
        if a.episode.and_then(|i| lost.get(i as usize)) == Some(&true) {
            continue;
        }
        if let Some(e) = a.episode.and_then(|i| episodes.get_mut(i as usize)) {
            e.class = LossClass::NonCa;
        }
        let row = &mut a.row;
        let spurious = row.evidence.find("; spurious: ").map(|at| row.evidence.split_off(at));
        row.cause = Cause::AfterTimeout;
        row.evidence = "its original had arrived, in order: no ack asked for it, so the sender's timer had \
                        fired while packets or acks were delayed"
            .to_owned()
            + spurious.as_deref().unwrap_or_default();
    }
}

/// Sets the time for which timers limited the sender to `stalled`. The difference is taken from, or added to,
/// the other shares.
pub(crate) fn limits(stalled: Duration, limits: &mut Shares) {
    let less = limits.timeouts.saturating_sub(stalled);
    limits.timeouts = limits.timeouts - less;
    limits.congestion_window += less;
    let mut more = stalled.saturating_sub(limits.timeouts);
    for part in [
        &mut limits.congestion_window,
        &mut limits.slow_start,
        &mut limits.application,
        &mut limits.receiver_window,
        &mut limits.handshake,
    ] {
        let taken = more.min(*part);
        *part = *part - taken;
        limits.timeouts += taken;
        more = more - taken;
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Instant;

    use super::*;

    #[test]
    fn the_shares_stay_the_whole_whatever_silences_add_or_take() {
        let ms = Duration::from_millis;
        let before = Shares {
            congestion_window: ms(50),
            application: ms(30),
            handshake: ms(20),
            timeouts: ms(100),
            ..Shares::default()
        };
        for (stalled, window, application) in [(40, 110, 30), (100, 50, 30), (140, 10, 30), (170, 0, 10)] {
            let mut after = before;
            limits(ms(stalled), &mut after);
            let whole = after.parts().iter().fold(Duration::ZERO, |sum, p| sum + p.1);
            assert_eq!(
                (whole, after.timeouts, after.congestion_window, after.application),
                (ms(200), ms(stalled), ms(window), ms(application))
            );
        }
    }

    #[test]
    fn an_episode_is_no_congestion_avoidance_where_a_silence_ended_in_it() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let gap = |seen: u64, round| Gap {
            from: at(seen - 300),
            length: Duration::from_millis(300),
            round,
            seen: at(seen),
            frame: 0,
            seq: None,
        };
        let episode = |began: u64, ended: Option<u64>| Episode {
            began: at(began),
            ended: ended.map(at),
            outage: true,
            timeouts: 7,
            ..Episode::default()
        };
        let mut episodes = [episode(100, Some(399)), episode(400, Some(900)), episode(950, None)];
        classes(&[gap(400, 1), gap(900, 2), gap(2000, 1)], &mut episodes);
        assert_eq!(
            episodes.map(|e| (e.class == LossClass::NonCa, e.timeouts, e.rounds)),
            [(false, 0, 0), (true, 2, 2), (true, 1, 1)]
        );
    }
}
