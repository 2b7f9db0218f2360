//! The tables of captures, in addition to those of simulated runs.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::side::Side;
use crate::table::{Label, table};

table! {
    /// One direction of a captured connection, in the order of the connections; the client's comes first.
    ///
    /// Times are those of the capture's own clock. A packet is a packet on the wire: a captured frame of
    /// segmentation offload counts as several.
    "directions" DirectionRow {
        /// File that it was read from.
        file: Label, "";
        /// Number of the direction in its file: `2 n` for the client of connection `n`, `2 n + 1` for its
        /// server.
        connection: u32, "";
        /// Address and port of the data's sender.
        sender: Label, "";
        /// Address and port of its receiver.
        receiver: Label, "";
        /// True for the direction of the one that opened the connection.
        client: bool, "";
        /// First packet of the connection, either way.
        start: Instant, "s";
        /// Last packet of the connection, either way.
        end: Instant, "s";
        /// From the SYN to the ack of the SYN-ACK.
        handshake: Option<Duration>, "s";
        /// State of the connection at the end of the capture: `opening`, `refused`, `open`, `half-closed`,
        /// `closed` or
        /// `reset`.
        standing: &'static str, "";
        /// Where it was captured: `sender` (nearer to the data's sender) or `client` (nearer to its
        /// receiver).
        view: &'static str, "";
        /// Share of the least round-trip time that lies between the capture and the receiver; 1 for a capture
        /// at the sender.
        share: Option<f64>, "";
        /// Packets, acks included.
        packets: u64, "";
        /// Packets with payload.
        data_packets: u64, "";
        /// Captured frames that hold several packets (segmentation offload).
        super_segments: u64, "";
        /// Payload, repeated bytes included.
        bytes: u64, "B";
        /// Payload, each byte once.
        unique_bytes: u64, "B";
        /// Payload acknowledged cumulatively.
        bytes_acked: u64, "B";
        /// Data packets acknowledged cumulatively.
        packets_acked: u64, "";
        /// Packets that repeat payload, SYN or FIN.
        retransmitted_packets: u64, "";
        /// Payload that they repeat.
        retransmitted_bytes: u64, "B";
        /// Those of them that were spurious: an earlier copy had arrived.
        unneeded_packets: u64, "";
        /// Expiries of the retransmission timer, SYNs included.
        timeouts: u32, "";
        /// Highest backoff round.
        rounds: u32, "";
        /// Time that the timeouts waited, all together.
        stalled: Duration, "s";
        /// CA events: clock-preserving halvings (M-U1).
        ca_events: u32, "";
        /// Non-CA events: timeouts, failed recoveries (M-U1).
        non_ca_events: u32, "";
        /// Further retransmissions inside episodes (M-U1).
        other_losses: u32, "";
        /// Congestion signals per packet: `ca_events / packets_acked`; missing before the first packet is
        /// acknowledged.
        p: Option<f64>, "";
        /// True with fewer than four CA events: `p` is unreliable (M-F11).
        p_uncertain: bool, "";
        /// Most bytes outstanding.
        max_flight: u64, "B";
        /// Payload of a full packet.
        mss: u32, "B";
        /// Round-trip time samples from the capture to the receiver and back, by sequence and acknowledgment
        /// numbers (Karn's rule applied).
        rtt_samples: u64, "";
        /// The smallest.
        rtt_min: Option<Duration>, "s";
        /// Their mean.
        rtt_mean: Option<Duration>, "s";
        /// Their median.
        rtt_p50: Option<Duration>, "s";
        /// Their 95th percentile.
        rtt_p95: Option<Duration>, "s";
        /// Their 99th percentile.
        rtt_p99: Option<Duration>, "s";
        /// The largest.
        rtt_max: Option<Duration>, "s";
        /// Samples by timestamps.
        rtt_timestamps_samples: u64, "";
        /// Their mean.
        rtt_timestamps_mean: Option<Duration>, "s";
        /// Packets that arrived behind later ones.
        reordered: u64, "";
        /// Copies that the network made.
        network_duplicates: u64, "";
        /// Copies that the capture made, which are left out.
        capture_duplicates: u64, "";
        /// Bytes that were acknowledged but are not in the capture.
        missing_bytes: u64, "B";
        /// Duplicate acks that its sender got.
        dup_acks: u64, "";
        /// Time that the handshake took; this and the following add up to the connection's time.
        handshake_time: Duration, "s";
        /// Time in which it waited for acks in slow start.
        slow_start_time: Duration, "s";
        /// Time in which it waited for acks with its congestion window full, repairs included.
        congestion_window_time: Duration, "s";
        /// Time in which the receiver's window had no room for a segment.
        receiver_window_time: Duration, "s";
        /// Time in which it had nothing to send.
        application_time: Duration, "s";
        /// Time in which it waited for its retransmission timer or for a probe's.
        timeout_time: Duration, "s";
    }
}

table! {
    /// One retransmitted segment, or a probe.
    "retransmissions" RetransmissionRow {
        /// When it was seen.
        time: Instant, "s";
        /// Number of the direction in its file.
        connection: u32, "";
        /// Number of its packet in the file, from 1.
        frame: u64, "";
        /// Its first sequence number.
        seq: SeqNumber, "";
        /// The same counted from the first byte of the stream.
        offset: u64, "B";
        /// Its payload.
        len: u32, "B";
        /// Packets on the wire; 0 for probes of a closed window, keepalives and copies, which are no
        /// retransmissions.
        packets: u32, "";
        /// Why it was sent: `timeout`, `after-timeout`, `fast-retransmit`, `sack-retransmit`,
        /// `fack-retransmit`, `rack-retransmit`, `tail-loss-probe`, `syn`, `zero-window-probe`, `keepalive`,
        /// `copy`, or `unknown` if nothing in the capture explains it.
        kind: &'static str, "";
        /// False when it was spurious: an earlier copy had arrived; missing if unknown.
        needed: Option<bool>, "";
        /// True when an earlier copy is in the capture.
        original_seen: bool, "";
        /// The evidence for `kind`, in words.
        evidence: Label, "";
    }
}

table! {
    /// One retransmission timer in place of a captured sender's, for one direction: sums over its stalls.
    /// `as-run` is the sender itself.
    "what_if" WhatIfRow {
        /// Number of the direction in its file.
        connection: u32, "";
        /// The timer.
        timer: Label, "";
        /// Expiries.
        timeouts: u64, "";
        /// Those of them with the ack under way: a longer timer would have avoided them.
        spurious: u64, "";
        /// Those of them before acks triggered the retransmission.
        early: u64, "";
        /// Most expiries in a row.
        rounds: u32, "";
        /// Time that it waited when something was lost: the best estimate; exact for `as-run`.
        waited: Duration, "s";
        /// Its lower bound.
        waited_least: Duration, "s";
        /// Its upper bound.
        waited_most: Duration, "s";
        /// Lower bound for the same transfer made again with this timer: its losses are others, at the same
        /// rate. In nineteen of twenty cases, if losses are independent.
        rerun_least: Duration, "s";
        /// Upper bound of that.
        rerun_most: Duration, "s";
        /// Where the direction was captured: `sender`. Captures near the receiver have no rows: they lack
        /// retransmissions that were lost before them.
        view: &'static str, "";
    }
}

table! {
    /// One stall of a captured sender, from the first copy of a segment to its ack, with one timer or
    /// another.
    "stalls" StallRow {
        /// Number of the direction in its file.
        connection: u32, "";
        /// The timer; `as-run` is the sender itself.
        timer: Label, "";
        /// First copy of the segment that was waited for.
        begin: Instant, "s";
        /// When its sender received the ack; missing if it never did.
        end: Option<Instant>, "s";
        /// What was waited for: `syn` or `data`.
        of: &'static str, "";
        /// State of the path meanwhile: `alive` (packets were lost independently), `dead` (all were lost for
        /// some time), or `unknown`.
        path: &'static str, "";
        /// Expiries.
        timeouts: u64, "";
        /// Those of them with the ack under way.
        spurious: u64, "";
        /// Those of them before acks triggered the retransmission.
        early: u64, "";
        /// Time that the timer waited when something was lost: the best estimate; exact for `as-run`.
        waited: Duration, "s";
        /// Its lower bound.
        waited_least: Duration, "s";
        /// Its upper bound.
        waited_most: Duration, "s";
        /// From the first copy to the ack.
        response: Option<Duration>, "s";
    }
}

table! {
    /// One expiry of a retransmission timer.
    "timeouts" TimeoutRow {
        /// When its retransmission was seen, or when the silence ended.
        time: Instant, "s";
        /// Number of the direction in its file.
        connection: u32, "";
        /// Number of that packet in the file, from 1.
        frame: u64, "";
        /// First sequence number of the retransmission, or of the packet that ended the silence.
        seq: Option<SeqNumber>, "";
        /// What timed out: `syn` or `data` (a FIN counts as data).
        of: &'static str, "";
        /// Number among expiries without progress between them: 1 for the first.
        round: u32, "";
        /// False if the capture does not show whether this, or an earlier one, was a probe: `round` is the
        /// best guess then. Missing if inferred from a silence.
        round_certain: Option<bool>, "";
        /// The timeout that expired, backoff included; the length of the silence if inferred from one.
        rto: Duration, "s";
        /// True when it was spurious in the sense of Eifel: the ack of an earlier copy came after the expiry,
        /// so that a longer timer would have avoided it; missing if unknown.
        eifel_spurious: Option<bool>, "";
        /// False if the capture does not show which copy was acknowledged: `eifel_spurious` is the best guess
        /// then, or missing. Missing if inferred from a silence.
        eifel_certain: Option<bool>, "";
        /// True when a whole window was outstanding and none of it was acknowledged or SACKed (M-F11);
        /// missing if inferred from a silence.
        outage: Option<bool>, "";
        /// What would have repaired the loss before the timer did: `probe` (RFC 8985 7), `early-retransmit`
        /// (RFC 5827), `limited-transmit` (RFC 3042).
        remedy: Option<&'static str>, "";
        /// Where it was captured: `sender` or `client`.
        view: &'static str, "";
        /// The rule that infers it: `sent-again` (from a retransmission), or, in captures near the client,
        /// also `gap` and `gap-and-content` (from a silence). Several rules may infer the same timeout:
        /// choose one.
        rule: &'static str, "";
        /// True if the rule is the one that counts in `directions`, texts and figures: `sent-again` near the
        /// sender; near the client `gap-and-content`, and `sent-again` for SYNs.
        counts: bool, "";
    }
}

table! {
    /// One packet of a captured connection, in order of time within it; only if requested, and up to a limit.
    ///
    /// The first columns are those of `segments`, so that the same code reads both. Immediate copies by the
    /// network or the capture are left out. Offsets count bytes of the stream from its first one; a SYN,
    /// which lies before it, has 0.
    "packets" PacketRow {
        /// When it was seen.
        time: Instant, "s";
        /// Number of the direction that it travels in: `2 n` from the client of connection `n`, `2 n + 1`
        /// from its server.
        connection: u32, "";
        /// Number of the connection that it belongs to: half of the column `connection`, rounded down.
        flow: u32, "";
        /// End of it that sent the packet: `client` (`connection` is even) or `server`.
        side: Side, "";
        /// Always true: each packet is listed as sent by one end.
        sent: bool, "";
        /// What it is: `syn`, `new` (data or FIN), `ack`, `reset`, `late` (overtaken on its way), `duplicate`
        /// (a copy that the network made), `stray` (of an earlier connection on the same ports), or, for a
        /// retransmission, its kind in `retransmissions`; missing if it is not listed there for lack of room.
        kind: Option<&'static str>, "";
        /// Its first sequence number.
        seq: SeqNumber, "";
        /// Its payload.
        len: u32, "B";
        /// Its acknowledgment number.
        ack: SeqNumber, "";
        /// Its first byte, counted from the first byte of the stream.
        offset: u64, "B";
        /// Bytes of the other direction that it acknowledges (one more after a FIN); missing without an
        /// acknowledgment.
        acked: Option<u64>, "B";
        /// Flags of its header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256.
        flags: u32, "";
        /// Window that it offers, its scale applied; missing where the capture does not show the scale.
        window: Option<u64>, "B";
        /// SACK blocks, start and end of each after the other, as offsets of the other direction.
        sack: Vec<u64>, "B";
        /// Timestamp (RFC 7323).
        tsval: Option<u32>, "";
        /// Echo of the other end's.
        tsecr: Option<u32>, "";
        /// Packets on the wire: more than one for a super-segment of segmentation offload.
        packets: u32, "";
        /// True when it repeats payload, SYN or FIN.
        again: bool, "";
        /// Its number in the file, from 1.
        frame: u64, "";
    }
}
