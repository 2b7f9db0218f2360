//! The final verdicts on one direction, which depend on the whole capture, and its counts.

use ackclock_trace::LossClass;
use ackclock_units::Duration;

use crate::Cause;
use crate::habits::{Habits, probes};
use crate::half::{ExpiryRecord, Half};
use crate::near_receiver;
use crate::report::{Direction, Remedy, TimedOut, Timeout, View};
use crate::thresholds::THRESHOLDS;
use crate::what_if::{Evidence, evaluate};

/// The direction, and whether more was outstanding than is kept. `elsewhere` are the habits of the same host
/// over all its connections, `all` those of all hosts.
pub(crate) fn resolve(mut half: Half, elsewhere: Habits, all: Habits) -> (Direction, bool) {
    probes(&mut half, elsewhere, all);
    half.follow_end();
    let lacks = half.out.share.is_none() && lacks_what_was_lost(&half);
    let lasted = half.lasted();
    let mut out = half.out;
    let nearer_receiver = out.share.map_or(lacks, |share| share < THRESHOLDS.view.receiver_share);
    out.view = if nearer_receiver { View::Receiver } else { View::Sender };
    // The shortest timeout that is certain.
    let certain = half
        .verdicts
        .expiries
        .iter()
        .filter(|e| e.waited == e.waited_longer && e.of == TimedOut::Data)
        .map(|e| e.waited)
        .min();
    // A capture near the receiver lacks what was lost before it.
    let whole = out.view == View::Sender;
    let (mut chain, mut round, mut sure) = (None, 0, true);
    let mut of_probes = None;
    let mut rtos = vec![None; half.verdicts.expiries.len()];
    for (i, (e, slot)) in half.verdicts.expiries.iter().zip(&mut rtos).enumerate() {
        // One that is uncertain makes the rounds of all after it uncertain.
        sure = e.probe.certain && (sure || of_probes != Some(e.chain));
        of_probes = Some(e.chain);
        if half.verdicts.retransmissions[e.retransmission as usize].row.cause == Cause::TailLossProbe {
            continue;
        }
        round = if chain == Some(e.chain) { round + 1 } else { 1 };
        chain = Some(e.chain);
        if let Some(episode) = e.episode.and_then(|i| half.verdicts.episodes.get_mut(i as usize)) {
            episode.class = LossClass::NonCa;
            episode.rounds = episode.rounds.max(round);
            episode.outage |= e.state.outage;
        }
        let rto = if certain.is_some_and(|c| e.waited < c.mul_f64(THRESHOLDS.timer.part_of_certain)) {
            e.waited_longer
        } else {
            e.waited
        };
        *slot = Some(rto);
        let doubt = e.verdict.doubt.filter(|_| !acked_in_time(e, half.path.far));
        if let Some(why) = doubt.filter(|_| whole) {
            let row = &mut half.verdicts.retransmissions[e.retransmission as usize].row;
            row.evidence = format!(
                "{}; whether a longer timer would have avoided it is not certain: {why}",
                row.evidence
            );
        }
        let timeout = Timeout {
            at: e.at,
            frame: half.verdicts.retransmissions[e.retransmission as usize].row.frame,
            seq: e.seq,
            of: e.of,
            round,
            round_certain: sure && whole,
            rto,
            eifel_spurious: e.verdict.eifel_spurious,
            eifel_certain: doubt.is_none() && whole,
            outage: e.state.outage,
            remedy: None,
        };
        let alone = round == 1
            && half
                .verdicts
                .expiries
                .get(i + 1)
                .is_none_or(|next| next.chain != e.chain || next.verdict.eifel_spurious == Some(true));
        let needed = half.verdicts.retransmissions[e.retransmission as usize].row.needed != Some(false);
        let remedy = if alone && needed && e.verdict.eifel_spurious != Some(true) {
            remedy(e, rto, half.space.max > e.state.max)
        } else {
            None
        };
        let timeout = Timeout { remedy, ..timeout };
        out.timeouts.push(timeout);
    }
    // Near the receiver, retransmissions that were lost on the way are not captured, so that a what-if is not
    // possible.
    if let (Some(w), Some(request), View::Sender) =
        (&half.following.timers, &half.following.request, out.view)
    {
        let evidence = Evidence {
            retransmissions: &half.verdicts.retransmissions,
            expiries: &half.verdicts.expiries,
            rtos: &rtos,
            packets: out.data_packets,
            lasted,
        };
        out.what_if = evaluate(w, &request.timings, &evidence);
    }
    for a in &half.verdicts.retransmissions {
        let spurious = a.row.needed == Some(false);
        out.spurious_packets += if spurious { u64::from(a.row.packets) } else { 0 };
        if let Some(e) = a.episode.and_then(|i| half.verdicts.episodes.get_mut(i as usize)) {
            e.spurious += u32::from(spurious);
            e.losses += u32::from(!spurious);
            e.lost_bytes += if spurious { 0 } else { u64::from(a.row.len) };
            let lost = !(spurious && a.row.cause == Cause::TailLossProbe);
            // Holds unless something other than a spurious probe is found in it.
            e.nothing_lost = e.nothing_lost || !lost && e.retransmissions == 1;
        }
    }
    out.gaps =
        half.gaps.by_content(elsewhere.silences(), elsewhere.verdict(), all.together(), half.sent.identified);
    out.gaps_by_time = half.gaps.time;
    if out.view == View::Receiver {
        near_receiver::classes(&out.gaps, &mut half.verdicts.episodes);
        near_receiver::causes(
            &out.gaps,
            &half.verdicts.episodes,
            &mut half.verdicts.retransmissions,
            half.agreed.sack,
        );
        near_receiver::after_spurious_timeouts(
            out.reordered,
            &mut half.verdicts.episodes,
            &mut half.verdicts.retransmissions,
        );
        near_receiver::limits(out.stalled(), &mut out.limits);
    }
    for e in half.verdicts.episodes.iter().filter(|e| !e.nothing_lost) {
        match e.class {
            LossClass::Ca => out.ca_events += 1,
            LossClass::NonCa => out.non_ca_events += 1,
        }
        out.other_losses += e.retransmissions.saturating_sub(1);
    }
    out.episodes = half.verdicts.episodes;
    out.retransmissions = half.verdicts.retransmissions.into_iter().map(|a| a.row).collect();
    (out, half.overrun)
}

/// Whether the data was captured behind the place where it is lost, if the round trip to its sender was never
/// measured: of most retransmissions the original is not in the capture, by the numbers that it skipped or by
/// the identifications.
fn lacks_what_was_lost(half: &Half) -> bool {
    let of_data =
        half.verdicts.retransmissions.iter().filter(|r| r.row.cause.counts() && r.row.cause != Cause::Syn);
    let (seen, unseen) = of_data.fold((0, 0), |(seen, unseen), r| match r.row.original_seen {
        true => (seen + 1, unseen),
        false => (seen, unseen + 1),
    });
    unseen + half.gaps.lost_by_number() > seen
}

/// True if the reply to a retransmitted SYN came after one round trip, as known at the end of the connection:
/// neither earlier nor delayed.
fn acked_in_time(e: &ExpiryRecord, far: Option<Duration>) -> bool {
    let by = THRESHOLDS.doubt;
    let in_time = |(at, far): (Duration, Duration)| {
        at >= far / by.syn_part && at <= far.mul_f64(by.syn_rtts) + by.syn_margin
    };
    let took = e.verdict.covered_at.map(|(at, _)| at.since(e.at));
    e.of == TimedOut::Syn && e.verdict.eifel_spurious == Some(false) && took.zip(far).is_some_and(in_time)
}

/// What would have repaired the loss before this expiry, whose own retransmission arrived. `more`: the sender
/// had more to send.
fn remedy(e: &ExpiryRecord, rto: Duration, more: bool) -> Option<Remedy> {
    let heard = e.state.dup_acks;
    match () {
        () if e.of == TimedOut::Syn => None,
        // RFC 8985 §7.2, §7.3: the probe is due before the timeout, and its ack reports the loss.
        () if !e.state.news && !e.probe.no_other && e.probe.pto.is_some_and(|pto| pto < rto) => {
            Some(Remedy::Probe)
        }
        // RFC 5827 §3.1: fewer than four segments outstanding, nothing else to send, and all but one of them
        // reported.
        () if e.state.news
            && !more
            && (2..4).contains(&e.state.segments)
            && heard + 1 >= e.state.segments =>
        {
            Some(Remedy::EarlyRetransmit)
        }
        // RFC 3042 §2: the first two duplicate acks release new segments.
        () if e.state.news && more && (1..3).contains(&heard) => Some(Remedy::LimitedTransmit),
        () => None,
    }
}
