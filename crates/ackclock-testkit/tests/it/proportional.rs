//! The examples of RFC 9937 §8: proportional rate reduction beside the window of RFC 6675, ack by ack.

use ackclock_testkit::timeline::{OURS, Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};

const LEN: u32 = 1000;

/// What each ack of a flight of 20 segments lets go: segments by number, from 20 on new ones.
fn sent_on(acks: Vec<Seg>, reduction: &str, whole_segs: bool) -> Vec<Vec<u32>> {
    let setup = Setup::default().with_policies(|s| {
        s.recovery = choose("sack");
        s.reduction = choose(reduction);
        if whole_segs {
            s.reduction.set("whole_segs", "true").expect("declared");
        }
        s.window.set("initial_window", "segments").expect("declared");
        s.window.set("initial_segs", "20").expect("declared");
    });
    let mut t = Timeline::connected(&setup, seg("S.").ack(1).mss(1000).sack_permitted(true));
    t.write(200_000);
    assert_eq!(t.take_sent().len(), 20);
    acks.into_iter()
        .zip(100..)
        .map(|(ack, at)| {
            t.inject(at, ack);
            t.take_sent().into_iter().map(|(_, s)| (s.seq.0 - OURS - 1) / LEN).collect()
        })
        .collect()
}

/// The same where segment 0 of the flight is lost: 19 acks are for the rest of it, two for what limited
/// transmit has sent, and the last is for the retransmission and acknowledges everything up to there.
fn sent_per_ack(reduction: &str, whole_segs: bool) -> Vec<Vec<u32>> {
    let mut acks: Vec<Seg> = (1..22).map(|i| seg(".").ack(1).sack(1 + LEN, 1 + LEN * (i + 1))).collect();
    acks.push(seg(".").ack(1 + LEN * 22));
    sent_on(acks, reduction, whole_segs)
}

/// The number of segments after each ack.
fn counts(sent: &[Vec<u32>]) -> Vec<usize> {
    sent.iter().map(Vec::len).collect()
}

/// What a row of the figures lets go.
fn room(cwnd: [usize; 5], inflight: [usize; 5]) -> Vec<usize> {
    cwnd.iter().zip(inflight).map(|(c, i)| c - i).collect()
}

#[test]
fn a_single_loss_as_in_the_rfc() {
    // RFC 9937 §8, example 1. The rows of PRR are cwnd and inflight after each ack and before what it lets
    // go, so that their difference is what is sent.
    let cwnd = [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 10];
    let inflight = [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9];
    let expected: Vec<usize> = cwnd.iter().zip(inflight).map(|(c, i)| c - i).collect();
    let sent = sent_per_ack("prr", true);
    // At the ack of segment 19 inflight is the threshold, so that §6.2 lets `ssthresh - inflight` go, which is
    // nothing. The example has a segment here and none at the next ack; the sums are equal.
    let held: Vec<usize> = (1..)
        .zip(counts(&sent))
        .map(|(ack, n)| match ack {
            19 => n + 1,
            20 => n - 1,
            _ => n,
        })
        .collect();
    assert_eq!(held, expected);
    assert_eq!(sent[2], [0], "the third is the retransmission");
    // RFC 6675 falls silent until half of the flight is acknowledged: cwnd 10, inflight 18 down to 10.
    let cwnd = [20, 20, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10];
    let inflight = [19, 19, 18, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];
    let mut expected: Vec<usize> = cwnd.iter().zip(inflight).map(|(c, i)| usize::max(*c, i) - i).collect();
    expected[2] = 1;
    let sent = sent_per_ack("at-once", false);
    assert_eq!(counts(&sent), expected);
    assert_eq!(sent[2], [0], "the third is the fast retransmit, which is sent in any case");
}

#[test]
fn a_burst_of_losses_is_repaired_by_conserved_packets() {
    // RFC 9937 §8, figure 2: the first 15 of 20 segments are lost, and 5 acks return. They acknowledge nothing
    // new and are no safe acks (§6.2). The rows are cwnd, inflight and what is sent after each ack.
    let acks = || (15..20).map(|i| seg(".").ack(1).sack(1 + LEN * 15, 1 + LEN * (i + 1))).collect();
    let (cwnd, inflight) = ([20, 20, 5, 5, 5], [19, 19, 4, 4, 4]);
    let sent = sent_on(acks(), "prr", true);
    assert_eq!(sent, [vec![20], vec![21], vec![0], vec![1], vec![2]], "N, N, R, R, R");
    assert_eq!(counts(&sent), room(cwnd, inflight));
    // RFC 6675 sends six retransmissions at once: N, N, 6R, R, R.
    let (cwnd, inflight) = ([20, 20, 10, 10, 10], [19, 19, 4, 9, 9]);
    let sent = sent_on(acks(), "at-once", false);
    assert_eq!(sent, [vec![20], vec![21], (0..6).collect(), vec![6], vec![7]]);
    assert_eq!(counts(&sent), room(cwnd, inflight));
}

#[test]
fn bytes_let_the_first_segment_go_an_ack_later() {
    // RFC 9937 §6.2 counts in bytes; its examples are in segments, which round up. Only whole segments are
    // sent, so what the fifth ack would let go waits for the sixth.
    let bytes = counts(&sent_per_ack("prr", false));
    let segments = counts(&sent_per_ack("prr", true));
    assert_eq!(bytes.iter().sum::<usize>(), segments.iter().sum());
    assert_eq!((&segments[2..7], &bytes[2..7]), (&[1, 0, 1, 0, 1][..], &[1, 0, 0, 1, 0][..]));
}
