//! The tables that captures fill beside those of every world.

use ackclock_units::{Duration, Instant, SeqNumber};

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
        /// How the connection stands at the end: `opening`, `refused`, `open`, `half-closed`, `closed` or
        /// `reset`.
        standing: &'static str, "";
        /// From where it was seen: `sender` (nearer to the data's sender) or `client` (nearer to its
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
        /// Those of them that were not needed.
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
        /// True with fewer than four CA events: `p` means little (M-F11).
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
        /// Bytes that were acknowledged and are not in the capture.
        missing_bytes: u64, "B";
        /// Duplicate acks that its sender got.
        dup_acks: u64, "";
        /// Time in which the handshake held it back; this and the following add up to the connection's time.
        handshake_time: Duration, "s";
        /// Time in which it waited for acks while its window opened by slow start.
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
    /// One segment that was sent again, or a probe.
    "retransmissions" RetransmissionRow {
        /// When it was seen.
        time: Instant, "s";
        /// Number of the direction in its file.
        connection: u32, "";
        /// Its first sequence number.
        seq: SeqNumber, "";
        /// The same counted from the first byte of the stream.
        offset: u64, "B";
        /// Its payload.
        len: u32, "B";
        /// Packets on the wire; 0 for probes of a closed window and keepalives, which repeat nothing.
        packets: u32, "";
        /// Why it was sent: `timeout`, `after-timeout`, `fast-retransmit`, `sack-retransmit`,
        /// `fack-retransmit`, `rack-retransmit`, `tail-loss-probe`, `syn`, `zero-window-probe`, `keepalive`
        /// or `copy`.
        kind: &'static str, "";
        /// False when an earlier copy had arrived; missing where nothing tells.
        needed: Option<bool>, "";
        /// True when an earlier copy is in the capture.
        original_seen: bool, "";
        /// Why we think so.
        evidence: Label, "";
    }
}

table! {
    /// One retransmission timer in the place of a captured sender's, for one direction: sums over its stalls.
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
        /// Those of them before acks would have called for the retransmission.
        early: u64, "";
        /// Most expiries in a row.
        rounds: u32, "";
        /// Time that it waited for what was lost, the best estimate; exact for `as-run`.
        waited: Duration, "s";
        /// The least that it can have been.
        waited_least: Duration, "s";
        /// The most.
        waited_most: Duration, "s";
        /// From where the direction was seen: `sender`. From near the receiver nothing can be said of other
        /// timers.
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
        /// When its sender heard the ack, as it was; missing where it never did.
        end: Option<Instant>, "s";
        /// What was waited for: `syn` or `data`.
        of: &'static str, "";
        /// What the path did meanwhile: `alive` (packets were lost singly), `dead` (all were lost for some
        /// time), or `unknown`.
        path: &'static str, "";
        /// Expiries.
        timeouts: u64, "";
        /// Those of them with the ack under way.
        spurious: u64, "";
        /// Those of them before acks would have called for the retransmission.
        early: u64, "";
        /// Time that the timer waited for what was lost, the best estimate; exact for `as-run`.
        waited: Duration, "s";
        /// The least that it can have been.
        waited_least: Duration, "s";
        /// The most.
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
        /// Its first sequence number; that of the packet that ended the silence where that tells of it.
        seq: Option<SeqNumber>, "";
        /// What timed out: `syn` or `data` (a FIN counts as data).
        of: &'static str, "";
        /// Expiries without progress: 1 for the first.
        round: u32, "";
        /// False where the capture leaves open whether a probe or an expiry came before, or whether this is
        /// one: `round` is the best guess then. Missing where a silence tells of it.
        round_certain: Option<bool>, "";
        /// The timeout that the sender must have had, backoff included; the length of the silence where that
        /// tells of it.
        rto: Duration, "s";
        /// True when a longer timer would have avoided it; missing where nothing tells.
        eifel_spurious: Option<bool>, "";
        /// False where the capture leaves open which copy was acknowledged: `eifel_spurious` is the best
        /// guess then, or missing. Missing where a silence tells of it.
        eifel_certain: Option<bool>, "";
        /// True when a whole window was outstanding and nothing of it was heard of (M-F11); missing where a
        /// silence tells of it.
        outage: Option<bool>, "";
        /// What would have repaired the loss before the timer did: `probe` (RFC 8985 7), `early-retransmit`
        /// (RFC 5827), `limited-transmit` (RFC 3042).
        remedy: Option<&'static str>, "";
        /// From where it was seen: `sender` or `client`.
        view: &'static str, "";
        /// What tells of it: `sent-again` (a retransmission), or, seen from the client's side, also `gap` and
        /// `gap-and-content` (a silence), which may tell of the same one: choose one rule.
        rule: &'static str, "";
        /// True where the rule is the one that counts, in `directions`, texts and figures: `sent-again` from
        /// the sender's side; from the client's side `gap-and-content`, and `sent-again` of a SYN.
        counts: bool, "";
    }
}

table! {
    /// One packet of a captured connection, in order of time within it; only where it was asked for, and only
    /// the first of very many.
    ///
    /// The first columns are those of `segments`, so that what reads one reads the other. Copies that the
    /// network or the capture made at once are left out. Offsets count bytes of the stream from its first
    /// one; what lies before it (a SYN) has 0.
    "packets" PacketRow {
        /// When it was seen.
        time: Instant, "s";
        /// Number of the direction that it travels in: `2 n` from the client of connection `n`, `2 n + 1`
        /// from its server.
        connection: u32, "";
        /// Always true: what one end received is what the other one sent.
        sent: bool, "";
        /// What it is: `syn`, `new` (data or FIN), `ack`, `reset`, `late` (overtaken on its way), `duplicate`
        /// (a copy that the network made), `stray` (of an earlier connection on the same ports), or, where it
        /// was sent again, the kind that it has in `retransmissions`; missing where too many are listed
        /// there.
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
    }
}
