use ackclock_units::{SeqNumber, SeqRange};

use super::for_all;
use crate::harness::{ReferenceScoreboard, ack, view};
use crate::{
    AckInfo, EpisodeVerdict, Phase, Registry, SenderView, SpuriousTimeout, SuspectEpisode, SuspectTimeout,
    TimeoutVerdict, Window,
};

/// A timeout is undone only on an ack that reports something new, and the restored window is bounded by the
/// one before and by what is in flight.
pub fn verdicts_depend_on_what_arrived(registry: &Registry) {
    for_all::<dyn SpuriousTimeout>(registry, |c, rng| {
        let mut undo = c.build();
        for _ in 0..50 {
            // Twenty segments of 1000 bytes; the first has been retransmitted.
            let start = SeqNumber(rng.next_u64() as u32);
            let mut b = ReferenceScoreboard::of(start, 24, 1000);
            let before = Window { cwnd: 20_000, ssthresh: 1000 * (2 + rng.below(100)) };
            let v = SenderView {
                snd_una: start,
                timestamps: rng.chance(0.5),
                sack: rng.chance(0.5),
                window: before,
                initial_window: 4000,
                ..view()
            };
            let v =
                SenderView { phase: [Phase::Open, Phase::Recovery, Phase::Loss][rng.below(3) as usize], ..v };
            if !undo.on_rto(&v) {
                continue;
            }
            let t = SuspectTimeout {
                window: before,
                flight_size: 20_000,
                recover: start + 20_000,
                retransmitted_to: start + 1000,
                acks_original: None,
                sent_once_arrived: false,
                dsack_seen: false,
            };
            let mut una = 0;
            for _ in 0..30 {
                let newly = if rng.chance(0.5) { rng.below(u64::from(24 - una) + 1) as u32 } else { 0 };
                una += newly;
                b.acknowledge(start + una * 1000);
                let block = u64::from(una) + rng.below(25 - u64::from(una)).min(23);
                let newly_sacked = if v.sack && rng.chance(0.3) && block < 24 {
                    b.sack(SeqRange::new(start + block as u32 * 1000, start + block as u32 * 1000 + 1000))
                } else {
                    0
                };
                let a = ack((start + una * 1000).0, u64::from(newly) * 1000);
                let a = AckInfo {
                    newly_sacked,
                    is_dup: newly == 0 && (newly_sacked > 0 || !v.sack),
                    ece: rng.chance(0.1),
                    ..a
                };
                let flight_size = u64::from(24 - una) * 1000;
                let window = Window { cwnd: 1000, ssthresh: 10_000 };
                let v = SenderView {
                    snd_una: a.ack,
                    phase: Phase::Loss,
                    window,
                    unsent: rng.below(3000),
                    rwnd: rng.below(40_000),
                    flight_size,
                    ..v
                };
                let t = SuspectTimeout {
                    acks_original: (v.timestamps && newly > 0).then(|| rng.chance(0.5)),
                    sent_once_arrived: (newly > 0 || newly_sacked > 0) && rng.chance(0.5),
                    ..t
                };
                match undo.on_ack(&a, &t, &b, &v) {
                    TimeoutVerdict::Unknown | TimeoutVerdict::Repair => {}
                    TimeoutVerdict::Genuine => break,
                    TimeoutVerdict::SendNew { segments } => {
                        // A number is of whole segments; by the congestion window any data will do.
                        let least = if segments == u32::MAX { 1 } else { 1000 };
                        assert!(
                            v.unsent >= least && v.flight_size + least <= v.rwnd && segments > 0,
                            "no new data to send: {c:?}"
                        );
                    }
                    TimeoutVerdict::Spurious => {
                        assert!(newly > 0 || newly_sacked > 0, "{a:?} reports nothing new: {c:?}");
                        let resumed = undo.resume(&a, &t, &v);
                        assert!(
                            resumed.cwnd <= before.cwnd.max(flight_size + 4000)
                                && resumed.cwnd >= 1000.min(flight_size.max(newly_sacked)),
                            "{c:?}"
                        );
                        assert!(
                            resumed.ssthresh >= before.ssthresh.min(window.ssthresh),
                            "{resumed:?}: {c:?}"
                        );
                        break;
                    }
                }
            }
        }
    });
}

/// An episode is undone only when every segment that was retransmitted in it has been reported as a duplicate,
/// or a timestamp shows that an original has arrived; never when what is reported was not retransmitted.
pub fn episodes_are_undone_by_evidence_alone(registry: &Registry) {
    for_all::<dyn SpuriousTimeout>(registry, |c, rng| {
        for _ in 0..50 {
            let mut undo = c.build();
            if !undo.examines_episodes() {
                return;
            }
            let (start, phases) = (SeqNumber(rng.next_u64() as u32), [Phase::Recovery, Phase::Loss]);
            let mut b = ReferenceScoreboard::of(start, 24, 1000);
            let segment = |i: u32| SeqRange::new(start + i * 1000, start + (i + 1) * 1000);
            let mut v = SenderView { snd_una: start, snd_nxt: start + 24_000, sack: true, ..view() };
            undo.on_episode(&b, &v);
            v.phase = phases[rng.below(2) as usize];
            let (mut una, mut sent, mut reported) = (0, [false; 24], [false; 24]);
            for _ in 0..40 {
                let i = rng.below(24) as u32;
                if i >= una && !sent[i as usize] && rng.chance(0.4) {
                    b.retransmit(segment(i).start, v.now);
                    undo.on_retransmit(segment(i), &v);
                    sent[i as usize] = true;
                }
                let newly = if rng.chance(0.5) { rng.below(u64::from(24 - una) + 1) as u32 / 4 } else { 0 };
                una += newly;
                v.snd_una = start + una * 1000;
                b.acknowledge(v.snd_una);
                let duplicate = rng.below(24) as u32;
                // A receiver reports what it has, and no more than once for each retransmission.
                let known = sent[duplicate as usize] && !reported[duplicate as usize] && duplicate < una;
                let dsack = (known && rng.chance(0.8)).then(|| segment(duplicate));
                if dsack.is_some() {
                    reported[duplicate as usize] = true;
                }
                let e = SuspectEpisode {
                    window: v.window,
                    start,
                    recover: start + 24_000,
                    acks_original: rng.chance(0.1).then(|| rng.chance(0.3)),
                };
                let a = AckInfo { dsack, has_sack: true, ..ack(v.snd_una.0, u64::from(newly) * 1000) };
                match undo.on_episode_ack(&a, &e, &b, &v) {
                    EpisodeVerdict::Unknown => {}
                    EpisodeVerdict::Genuine => break,
                    EpisodeVerdict::Spurious | EpisodeVerdict::AllLate | EpisodeVerdict::Reported => {
                        let all = sent.iter().zip(&reported).all(|(sent, reported)| sent == reported);
                        let some = sent.contains(&true);
                        assert!(
                            e.acks_original == Some(true) || (all && some),
                            "{sent:?} retransmitted, {reported:?} reported: {c:?}"
                        );
                        break;
                    }
                }
            }
        }
    });
}
