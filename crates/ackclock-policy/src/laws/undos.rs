use ackclock_units::{SeqNumber, SeqRange};

use super::for_all;
use crate::harness::{ReferenceScoreboard, ack, view};
use crate::{AckInfo, Phase, Registry, SenderView, SpuriousTimeout, SuspectTimeout, TimeoutVerdict, Window};

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
                    ..t
                };
                match undo.on_ack(&a, &t, &b, &v) {
                    TimeoutVerdict::Unknown => {}
                    TimeoutVerdict::Genuine => break,
                    TimeoutVerdict::SendNew { segments } => {
                        assert!(
                            v.unsent >= 1000 && v.flight_size + 1000 <= v.rwnd && segments > 0,
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
