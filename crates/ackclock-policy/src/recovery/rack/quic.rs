//! When QUIC declares a packet lost (RFC 9002 §6.1), over segments of TCP.

use ackclock_units::{Duration, SeqNumber};

use crate::{Param, ScoreboardView, SenderView, SentSegment, Transmission};

/// The thresholds of time and of packets.
pub(super) const THRESHOLDS: Param = Param::choice(
    "thresholds",
    "rfc8985",
    &["rfc8985", "rfc9002"],
    "when a segment is lost of which one sent later was delivered: as `rfc8985` has it, after a round trip and \
     a reordering window that adapts; or as QUIC has it (`rfc9002` 6.1), after 9/8 of a round trip, or when \
     `dup_thresh` segments sent later overtook it",
);

/// kTimeThreshold, 9/8 (RFC 9002 §6.1.2).
const TIME_THRESHOLD: (u64, u64) = (9, 8);
/// kGranularity (RFC 9002 §6.1.2, Appendix A.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// Segments looked at, at most. With more between, of which most were just retransmitted, time decides.
const MOST_EXAMINED: u32 = 64;

/// max(kTimeThreshold * max(smoothed_rtt, latest_rtt), kGranularity) (RFC 9002 §6.1.2).
pub(super) fn loss_delay(v: &SenderView) -> Duration {
    let rtt = v.rtt.map_or(Duration::ZERO, |rtt| rtt.srtt.max(rtt.latest));
    (rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1).max(GRANULARITY)
}

/// True when `n` transmissions after that of `s`, and none after `latest`, are on the scoreboard below `fack`,
/// the highest number delivered (RFC 9002 §6.1.1). A packet of QUIC has a number for each transmission; here
/// those of segments below `s` are not counted, and of each segment only the last one, so that a segment is
/// never lost too early by this.
pub(super) fn is_overtaken(
    n: u32,
    s: SentSegment,
    latest: Transmission,
    fack: SeqNumber,
    b: &dyn ScoreboardView,
    v: &SenderView,
) -> bool {
    let (mut end, mut left) = (fack, n);
    for _ in 0..MOST_EXAMINED.max(n) {
        if left == 0 || end <= s.range.end || end <= v.snd_una {
            break;
        }
        let Some(other) = b.segment(end - 1) else { break };
        let sent = other.transmission();
        if sent.is_after(s.transmission()) {
            left -= u32::from(!sent.is_after(latest));
        } else if other.transmissions == 1 {
            // Those below it were sent for the first time before it.
            break;
        }
        end = other.range.start;
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use ackclock_units::SeqRange;

    use super::*;
    use crate::harness::Sender;
    use crate::{LossRecovery, Phase, Registry, Rtt};

    const MS: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_millis(100);

    fn quic() -> Box<dyn LossRecovery> {
        let mut choice = Registry::builtin().choose::<dyn LossRecovery>("rack").expect("built in");
        choice.set("thresholds", "rfc9002").expect("declared");
        choice.build()
    }

    /// `n` segments are outstanding, sent a millisecond apart, the first a round trip ago.
    fn sender(n: u32) -> Sender {
        let mut s = Sender::with(quic(), true, SeqNumber(0xffff_f000), 0);
        s.v.window.cwnd = u64::from(n) * 1000;
        for _ in 0..n {
            s.v.unsent = 1000;
            s.wait(MS, RTT);
            assert_eq!(s.send().len(), 1);
        }
        s.wait(RTT - MS * u64::from(n - 1), RTT);
        s
    }

    fn sack(s: &mut Sender, from: u32, to: u32) -> usize {
        let (una, block) = (s.v.snd_una, SeqRange::new(s.seq(from), s.seq(to)));
        s.ack(una, &[block]);
        s.marked.len()
    }

    fn deadline(s: &Sender) -> Duration {
        s.recovery.deadline().expect("a timer").since(s.v.now)
    }

    #[test]
    fn a_segment_is_lost_after_nine_eighths_of_a_round_trip() {
        // §6.1.2: 112.5 ms after it was sent.
        let mut s = sender(10);
        assert_eq!(sack(&mut s, 1, 2), 0);
        assert_eq!(deadline(&s), RTT / 8);
        let first = s.v.snd_una;
        assert_eq!(s.reach_deadline().expect("a timer")[0], first);
        assert_eq!(s.v.phase, Phase::Recovery);
    }

    #[test]
    fn the_larger_of_the_smoothed_and_the_latest_round_trip_counts() {
        let mut v = sender(1).v;
        for (srtt, latest, delay) in [(80, 160, 180_000), (160, 80, 180_000), (0, 0, 1000)] {
            let (srtt, latest) = (MS * srtt, MS * latest);
            v.rtt = Some(Rtt { srtt, latest, rttvar: MS, min_rtt: MS });
            assert_eq!(loss_delay(&v), Duration::from_micros(delay), "{srtt} {latest}");
        }
    }

    #[test]
    fn three_segments_overtake_whatever_was_reordered_before() {
        // §6.1.1: kPacketThreshold is 3.
        let mut s = sender(10);
        assert_eq!(sack(&mut s, 1, 3), 0);
        assert_eq!(sack(&mut s, 3, 4), 1);
        // The original arrives after all: RACK would wait for longer from now on (RFC 8985 §6.2 step 4).
        let mut s = sender(10);
        sack(&mut s, 1, 3);
        let to = s.seq(3);
        s.ack(to, &[]);
        assert_eq!(s.v.phase, Phase::Open);
        assert_eq!(sack(&mut s, 1, 3), 0);
        assert_eq!(sack(&mut s, 3, 4), 1);
    }

    #[test]
    fn packets_are_counted_in_the_order_of_their_transmission_not_by_those_delivered() {
        // The sixth is delivered, so that the first three have been overtaken by three; two have not.
        let mut s = sender(10);
        assert_eq!(sack(&mut s, 5, 6), 1, "one range");
        assert_eq!(s.marked, [SeqRange::new(s.seq(0), s.seq(3))]);
        // The timer is that of the first that is left (Appendix A.10), sent 3 ms after the first one.
        assert_eq!(deadline(&s), RTT / 8 + MS * 3);
    }

    #[test]
    fn a_lost_retransmission_is_overtaken_by_new_data() {
        let mut s = sender(10);
        sack(&mut s, 1, 10);
        (s.v.unsent, s.v.window.cwnd) = (5000, 30_000);
        let sent = s.send();
        assert_eq!((sent[0], sent.len()), (s.v.snd_una, 6));
        s.wait(RTT, RTT);
        assert_eq!(sack(&mut s, 10, 12), 0, "two were sent after it and delivered");
        assert_eq!(sack(&mut s, 12, 13), 1);
        assert_eq!(s.marked, [SeqRange::new(s.seq(0), s.seq(1))]);
    }
}
