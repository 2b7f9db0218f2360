//! The tables that captures fill beside those of every world.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::table::{Label, table};

table! {
    /// One direction of a captured connection, in the order of the connections; the client's comes first.
    ///
    /// Times are those of the capture's own clock. A packet is a packet on the wire: a captured frame of segmentation offload counts as several.
    "directions" DirectionRow {
        /// File that it was read from.
        file: Label, "";
        /// Number of the direction in its file: `2 n` for the client of connection `n`, `2 n + 1` for its server.
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
        /// How the connection stands at the end: `opening`, `refused`, `open`, `half-closed`, `closed` or `reset`.
        standing: &'static str, "";
        /// From where it was seen: `sender` (nearer to the data's sender) or `client` (nearer to its receiver).
        view: &'static str, "";
        /// Share of the least round-trip time that lies between the capture and the receiver; 1 for a capture at the sender.
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
        /// Congestion signals per packet: `ca_events / packets_acked`; missing before the first packet is acknowledged.
        p: Option<f64>, "";
        /// True with fewer than four CA events: `p` means little (M-F11).
        p_uncertain: bool, "";
        /// Most bytes outstanding.
        max_flight: u64, "B";
        /// Payload of a full packet.
        mss: u32, "B";
        /// Round-trip time samples from the capture to the receiver and back, by sequence and acknowledgment numbers (Karn's rule applied).
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
        /// Why it was sent: `timeout`, `after-timeout`, `fast-retransmit`, `sack-retransmit`, `fack-retransmit`, `rack-retransmit`, `tail-loss-probe`,
        /// `syn`, `zero-window-probe` or `keepalive`.
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
    /// One expiry of a retransmission timer.
    "timeouts" TimeoutRow {
        /// When its retransmission was seen.
        time: Instant, "s";
        /// Number of the direction in its file.
        connection: u32, "";
        /// Its first sequence number.
        seq: SeqNumber, "";
        /// What timed out: `syn` or `data` (a FIN counts as data).
        of: &'static str, "";
        /// Expiries without progress: 1 for the first.
        round: u32, "";
        /// The timeout that the sender must have had, backoff included.
        rto: Duration, "s";
        /// True when a longer timer would have avoided it; missing where nothing tells.
        eifel_spurious: Option<bool>, "";
        /// True when a whole window was outstanding and nothing of it was heard of (M-F11).
        outage: bool, "";
        /// From where it was seen: `sender` or `client`.
        view: &'static str, "";
    }
}
