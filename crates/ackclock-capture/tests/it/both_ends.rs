//! Captures of one transfer at both of its ends, with the identifications that Linux gives its packets
//! (`fixtures/README.md`): the results at either end, checked against what the sender's kernel counted and
//! against what reached the receiver.

use std::collections::HashSet;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{
    Analysis, CapturedSegment, Cause, Direction, Options, Report, Standing, TimeoutByRule, View,
};
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::Flags;

fn segments(name: &str) -> Vec<CapturedSegment> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("kernel-{name}.pcap.gz"));
    let mut packets = Packets::new(open(&path).unwrap()).unwrap();
    let mut seen = Vec::new();
    while let Some(p) = packets.next_packet().unwrap() {
        seen.extend(CapturedSegment::in_packet(&p));
    }
    seen
}

fn analysed(seen: &[CapturedSegment]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    seen.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
    analysis.finish()
}

/// When the timer of the data's sender expired in `timeouts-at-the-receiver` by its kernel's own record: ms
/// since the first packet that the receiver saw, and the half round trip between.
const EXPIRIES: [u64; 13] = [1216, 1888, 2468, 3616, 4512, 5120, 6944, 7724, 8320, 9508, 10816, 11428, 12612];
const SLACK: Duration = Duration::from_millis(75);

/// The direction of the data.
fn data(seen: &[CapturedSegment]) -> Direction {
    let mut report = analysed(seen);
    assert_eq!(report.connections.len(), 1);
    let [client, _] = report.connections.remove(0).directions;
    client
}

/// Identification, first sequence number and payload of the packets that `sent` has retransmitted.
fn retransmitted(sent: &[CapturedSegment]) -> Vec<(u16, SeqNumber, u32)> {
    let d = data(sent);
    let at: HashSet<Instant> = d.retransmissions.iter().filter(|r| r.packets > 0).map(|r| r.at).collect();
    sent.iter()
        .filter(|s| at.contains(&s.at) && s.segment.seq_len() > 0)
        .map(|s| (s.id, s.segment.seq, s.segment.len))
        .collect()
}

#[test]
fn retransmissions_of_the_senders_kernel_are_found_at_both_ends() {
    // `RetransSegs` of the sender, and whether its device did segmentation offload.
    for (name, counted, offload) in [("both-ends", 17, false), ("both-ends-offload", 137, true)] {
        let (sent, got) = (segments(&format!("{name}-sender")), segments(&format!("{name}-receiver")));
        let numbered =
            |seen: &[CapturedSegment]| seen.iter().filter(|s| s.id != 0).count() * 10 > seen.len() * 9;
        assert!(numbered(&sent) && numbered(&got), "{name}");
        let (at_sender, at_receiver) = (data(&sent), data(&got));
        assert_eq!((at_sender.retransmitted_packets, at_sender.view), (counted, View::Sender), "{name}");
        assert_eq!(at_sender.super_segments > 0, offload, "{name}");
        let came: HashSet<_> = got.iter().map(|s| (s.id, s.segment.seq, s.segment.len)).collect();
        let arrived: u64 = retransmitted(&sent)
            .iter()
            .filter(|s| came.contains(s))
            .map(|s| u64::from(s.2.div_ceil(1448)))
            .sum();
        assert!(arrived < counted, "{name}: some were lost");
        assert_eq!(
            (at_receiver.retransmitted_packets, at_receiver.view),
            (arrived, View::Receiver),
            "{name}"
        );
        assert_eq!((at_receiver.network_duplicates, at_receiver.missing_bytes), (0, 0), "{name}");
        // Both ends show the same losses.
        assert!(at_receiver.p().unwrap() > 0.0 || at_receiver.non_ca_events > 0, "{name}");
    }
}

#[test]
fn results_do_not_depend_on_identifications() {
    for (name, ends) in [("both-ends", ["sender", "receiver"]), ("both-ends-offload", ["sender", "receiver"])]
    {
        for end in ends {
            let seen = segments(&format!("{name}-{end}"));
            let count = |id: fn(u16) -> u16| {
                let d =
                    data(&seen.iter().map(|s| CapturedSegment { id: id(s.id), ..*s }).collect::<Vec<_>>());
                (d.retransmitted_packets, d.network_duplicates, d.reordered)
            };
            let (all, known) = (count(|_| 0), count(|id| id));
            assert_eq!(known, all, "{name} {end}: none");
            // RFC 6864 §4.1: any value is allowed if packets cannot be fragmented.
            assert_eq!(count(|_| 0x4000), all, "{name} {end}: all the same");
            assert_eq!(
                count(|id| id.wrapping_mul(40_503).rotate_left(7) | 1),
                all,
                "{name} {end}: without order"
            );
        }
    }
}

#[test]
fn an_original_behind_its_copy_is_late_and_no_copy() {
    // The first retransmission and what overtook its original, which arrives 5 ms after it.
    let mut seen = segments("both-ends-receiver");
    let before = data(&seen);
    let repair = before.retransmissions.iter().find(|r| !r.original_seen).unwrap();
    let place = seen.iter().position(|s| s.at == repair.at).unwrap();
    let next = place
        - seen[..place]
            .iter()
            .rev()
            .position(|s| s.src == seen[place].src && s.segment.seq == seen[place].segment.end())
            .unwrap()
        - 1;
    let mut original = CapturedSegment {
        id: seen[next].id - 1,
        at: seen[place].at + Duration::from_micros(300),
        ..seen[place]
    };
    original.segment.options.timestamps = seen[next].segment.options.timestamps;
    seen.insert(place + 1, original);
    seen.sort_by_key(|s| s.at);
    let after = data(&seen);
    assert_eq!(
        (after.retransmitted_packets, after.reordered),
        (before.retransmitted_packets, before.reordered + 1)
    );
}

#[test]
fn a_packet_may_fill_two_holes() {
    let mut seen = segments("both-ends-receiver");
    seen.retain(|s| s.segment.options.sack.as_slice().is_empty());
    let first = seen.iter().position(|s| s.segment.len == 1448).unwrap();
    let (client, start) = (seen[first].src, seen[first].segment.seq);
    let data_at = |n: u32| CapturedSegment {
        at: Instant::from_nanos(seen[first].at.as_nanos() + u64::from(n) * 1000),
        ..seen[first]
    };
    // Of five segments the second and the fourth are lost; both arrive with the third between them in one
    // frame.
    let mut made: Vec<CapturedSegment> = seen[..first].to_vec();
    for n in [0, 2, 4] {
        let mut s = data_at(n);
        (s.segment.seq, s.id) = (start + n * 1448, s.id + n as u16);
        made.push(s);
    }
    let mut s = data_at(900_000);
    (s.segment.seq, s.segment.len, s.id) = (start + 1448, 3 * 1448, s.id + 5);
    made.push(s);
    let mut ack = *seen.iter().find(|s| s.dst == client && s.segment.seq_len() == 0).unwrap();
    (ack.at, ack.segment.ack) = (s.at + Duration::from_micros(5), start + 5 * 1448);
    made.push(ack);
    let d = data(&made);
    assert_eq!((d.retransmitted_packets, d.missing_bytes, d.unique_bytes), (3, 0, 5 * 1448));
}

#[test]
fn a_reply_to_a_syn_from_an_earlier_connection_belongs_to_that_one() {
    // The client has forgotten a connection that its server has not, and opens one from the same port: Linux
    // replies with an ack of the earlier one, which the client resets (RFC 5961 §4.2), and the SYN is
    // retransmitted. `RetransSegs` are 1 and 0.
    let seen = segments("challenge");
    let report = analysed(&seen);
    let [_, c] = &report.connections[..] else { panic!("{report:?}") };
    let [client, server] = &c.directions;
    assert_eq!(
        (client.retransmitted_packets, client.of(Cause::Syn).count(), client.timeouts.len()),
        (1, 1, 1)
    );
    assert_eq!((server.retransmitted_packets, server.missing_bytes, server.unique_bytes), (0, 0, 3000));
    assert_eq!((c.standing, client.unique_bytes), (Standing::Closed, 3000));
    assert!(client.timeouts[0].rto < c.end.since(c.start));
    // Cut off before the end, the connection is open: the reset was for the earlier one.
    let cut = analysed(&seen[..seen.len() - 6]);
    assert_eq!(cut.connections[1].standing, Standing::Open);
}

#[test]
fn near_the_receiver_silences_count_and_retransmissions_do_not() {
    // Single segments, each in reply to the one before: if one is lost, its retransmission looks new.
    let seen = segments("timeouts-at-the-receiver");
    let d = data(&seen);
    assert_eq!(d.view, View::Receiver);
    let counted: Vec<_> = d.counted().collect();
    assert!(counted.iter().all(|t| t.rule == "gap-and-content") && counted.len() == d.gaps.len());
    // To within half a round trip and the scheduling delays of the emulator.
    let holds = |t: &TimeoutByRule, ms: u64| {
        let expired = seen[0].at + Duration::from_millis(ms);
        t.at.saturating_sub(t.rto + SLACK) <= expired && expired <= t.at + SLACK
    };
    assert!(EXPIRIES.iter().all(|ms| counted.iter().any(|t| holds(t, *ms))), "{counted:?}");
    let right = counted.iter().filter(|t| EXPIRIES.iter().any(|ms| holds(t, *ms))).count();
    assert_eq!((right, counted.len()), (6, 8), "two were probes: {counted:?}");
    assert!(d.timeouts_by_rule().count() > counted.len(), "the other rules are reported too");
    let row = &analysed(&seen).tables("", |_| true).directions[0];
    assert_eq!((row.timeouts as usize, row.stalled), (counted.len(), d.stalled()));
    assert_eq!((row.rounds, row.timeout_time), (counted.iter().map(|t| t.round).max().unwrap(), d.stalled()));
}

#[test]
fn silences_count_where_the_way_to_the_sender_was_never_measured() {
    // Without timestamps, handshake and end, no ack of the receiver's has a reply that shows its time.
    let mut seen = segments("timeouts-at-the-receiver");
    let whole = data(&seen);
    let server = seen.iter().find(|s| s.segment.flags == Flags::SYN).expect("a handshake").dst;
    seen.retain(|s| !s.segment.flags.any(Flags::SYN | Flags::FIN | Flags::RST));
    seen.iter_mut().for_each(|s| s.segment.options.timestamps = None);
    // Data of the server's own would be acknowledged.
    seen.retain(|s| s.segment.len == 0 || s.dst == server);
    let d = data(&seen);
    assert_eq!((d.share, d.view), (None, View::Receiver), "of {:?}", whole.share);
    assert!(d.counted().any(|t| t.rule == "gap-and-content"), "{:?}", d.gaps);
    assert!(d.stalled() > whole.stalled() / 2, "{:?} of {:?}", d.stalled(), whole.stalled());
}

#[test]
fn copies_after_a_delay_spike_are_not_taken_for_reordering_at_the_receiver() {
    // Its sender's kernel retransmitted 63 packets after one spurious timeout; nothing was lost or
    // reordered.
    let d = data(&segments("delay-spike-receiver"));
    assert_eq!((d.view, d.reordered), (View::Receiver, 0));
    assert_eq!((d.retransmitted_packets, d.spurious_packets), (63, 63));
    assert!(!d.massive_reordering());
    let timer = |cause| matches!(cause, Cause::Timeout | Cause::AfterTimeout);
    assert!(d.retransmissions.iter().all(|r| timer(r.cause)), "{:?}", d.retransmissions[0]);
    assert_eq!(d.ca_events, 0, "nothing was lost: {:?}", d.episodes);
}
