//! The tables of simulated runs.

use ackclock_units::{Duration, Instant, Rate, SeqNumber};

use crate::LossClass;
use crate::captured::{DirectionRow, PacketRow, RetransmissionRow, StallRow, TimeoutRow, WhatIfRow};
use crate::exchanges::{ExchangeRow, PlaybackRow, RoundRow};
use crate::series::{FlowSeriesRow, LinkSeriesRow};
use crate::side::Side;
use crate::table::{Cell, CellValue, ColumnKind, Label, Row, Table, cell, table};

/// The state of a flow at the end of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// Everything was transferred and closed in order.
    Finished,
    /// The connection ended in another way.
    Failed,
    /// It was still open when the run ended.
    #[default]
    Unfinished,
}

impl Outcome {
    /// The word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
        }
    }
}

impl LossClass {
    /// The word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ca => "ca",
            Self::NonCa => "non-ca",
        }
    }
}

cell!(Outcome, Text, Text, StringArray, |x| x.word());
cell!(LossClass, Text, Text, StringArray, |x| x.word());

/// All tables.
pub const TABLES: &[Table] = &[
    FlowRow::TABLE,
    LinkRow::TABLE,
    FlowSeriesRow::TABLE,
    LinkSeriesRow::TABLE,
    ExchangeRow::TABLE,
    RoundRow::TABLE,
    PlaybackRow::TABLE,
    SampleRow::TABLE,
    EpisodeRow::TABLE,
    SegmentRow::TABLE,
    StateRow::TABLE,
    DirectionRow::TABLE,
    RetransmissionRow::TABLE,
    TimeoutRow::TABLE,
    PacketRow::TABLE,
    WhatIfRow::TABLE,
    StallRow::TABLE,
];

table! {
    /// One flow: a TCP connection or a stream of datagrams.
    ///
    /// Counters are those of the data sender (`sender`) unless their meaning says otherwise, and so are
    /// responses; they count from `measured_from` on, which is the end of `warmup` where the scenario has
    /// one. A time is missing if it was not reached before the end of the run.
    "flows" FlowRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack under test.
        stack: Label, "";
        /// Number of the flow in its run, in the order of starting.
        flow: u32, "";
        /// Group of the workload that it belongs to.
        group: Label, "";
        /// Transport: `tcp` or `udp`.
        protocol: &'static str, "";
        /// Node that opened it.
        client: Label, "";
        /// Node that it was opened to.
        server: Label, "";
        /// End that sends most of the data, whose counters these are: `client` or `server`.
        sender: Side, "";
        /// When the application opened it.
        start: Instant, "s";
        /// When the client's handshake was complete.
        established: Option<Instant>, "s";
        /// When it finished or failed.
        end: Option<Instant>, "s";
        /// From when on its counters count: its start, or later where the scenario has `measure_from` or
        /// `measure_after`. Missing when that has not come: then it has counted nothing.
        measured_from: Option<Instant>, "s";
        /// Application bytes to transfer, as the workload drew them; missing for unlimited flows.
        size: Option<u64>, "B";
        /// From opening (or from the request, on a connection already open) to the last byte of the response;
        /// the mean when there were several.
        response_time: Option<Duration>, "s";
        /// Responses completed.
        responses: u32, "";
        /// State at the end of the run: `finished`, `failed` or `unfinished`.
        outcome: Outcome, "";
        /// Why it failed: `refused`, `reset`, `syn-timeout`, `timeout`, `unreachable`, `keepalive-timeout`,
        /// `false-ack` or `local`.
        reason: Option<&'static str>, "";
        /// Segments sent, acks and retransmissions included.
        segments_sent: u64, "";
        /// Segments with payload sent, retransmissions included.
        data_segments_sent: u64, "";
        /// Segments with payload retransmitted.
        retransmitted_segments: u64, "";
        /// Payload sent, retransmissions included.
        bytes_sent: u64, "B";
        /// Payload retransmitted.
        retransmitted_bytes: u64, "B";
        /// Payload acknowledged cumulatively.
        bytes_acked: u64, "B";
        /// Payload delivered in order to the other end's application.
        bytes_delivered: u64, "B";
        /// Expiries of the retransmission timer, SYNs included.
        timeouts: u32, "";
        /// The same by backoff round: first expiries, second in a row, and so on; the last collects the rest.
        timeouts_by_round: [u32; 8], "";
        /// Expiries of the other end's retransmission timer (requests, and the client's SYNs).
        peer_timeouts: u32, "";
        /// SYN and SYN-ACK retransmissions of both ends.
        syn_retransmissions: u32, "";
        /// Spurious retransmissions: the original had arrived or was still to arrive, as the receiver saw it
        /// (B-A4).
        unneeded_retransmissions: u64, "";
        /// Spurious timeouts: the segment that timed out was not lost.
        spurious_timeouts: u32, "";
        /// Tail loss probes sent, new data or old (RFC 8985 7).
        tail_loss_probes: u32, "";
        /// Loss recoveries entered on acks.
        fast_recoveries: u32, "";
        /// Congestion-avoidance events: clock-preserving halvings (M-U1).
        ca_events: u32, "";
        /// Non-CA events: timeouts, failed recoveries, further window cuts (M-U1).
        non_ca_events: u32, "";
        /// Further retransmissions inside episodes (M-U1).
        other_losses: u32, "";
        /// Downward adjustments of its window: halvings, collapses, ECN reductions, those that were taken
        /// back included.
        window_cuts: u32, "";
        /// Window reductions on ECN echoes.
        ecn_reductions: u32, "";
        /// Data segments acknowledged cumulatively.
        segments_acked: u64, "";
        /// Congestion signals per segment: `ca_events / segments_acked` (M-U1); missing before the first
        /// segment is acknowledged.
        p: Option<f64>, "";
        /// Segments that the other end reported as arrived twice (duplicate SACKs, RFC 2883).
        dsacks_received: Option<u64>, "";
        /// Reorderings that its kernel detected: a segment acknowledged after later ones without having been
        /// retransmitted. This and the next four columns are a kernel's alone (TCP_INFO): missing in simulations.
        reorderings: Option<u64>, "";
        /// Segments that the other end reported as marked Congestion Experienced.
        delivered_ce: Option<u64>, "";
        /// Time in which it had data to send or waited for acknowledgments.
        busy_time: Option<Duration>, "s";
        /// Time of that in which the receiver's window kept it from sending.
        receiver_limited_time: Option<Duration>, "s";
        /// Time of that in which it had sent all of its send buffer, in which the application waited for room.
        buffer_limited_time: Option<Duration>, "s";
        /// Smallest round-trip time sample.
        rtt_min: Option<Duration>, "s";
        /// Mean of all round-trip time samples.
        rtt_mean: Option<Duration>, "s";
        /// Largest round-trip time sample.
        rtt_max: Option<Duration>, "s";
        /// Round-trip time samples taken.
        rtt_samples: u64, "";
        /// Payload delivered in order per time, from `measured_from` to its end or to the end of the run.
        goodput: Option<Rate>, "bit/s";
        /// Challenge ACKs sent by both ends (RFC 5961).
        challenge_acks: u32, "";
        /// Round-trip time of its path without queues and without time to send, as the topology has it.
        path_rtt: Option<Duration>, "s";
        /// Packets of the sender that its path dropped: queues, policers and faults of all links; missing where
        /// counting has not begun, and if not counted.
        dropped_packets: Option<u64>, "";
        /// Mean time that the sender's packets waited in queues, those of all links of the path together.
        /// Missing, as the next one, unless the scenario has `series`.
        queue_delay_mean: Option<Duration>, "s";
        /// The longest wait of one of its packets in one queue.
        queue_delay_max: Option<Duration>, "s";
    }
}

table! {
    /// One link in one direction, with the queue in front of it.
    ///
    /// Counters count from the scenario's `warmup` or `measure_from` on, from the beginning without.
    /// Conservation, from the beginning: `packets_offered = packets + dropped_queue + queued_at_end`, and
    /// `packets + duplicated = delivered + corrupted + dropped_wire + in_flight_at_end`; from a later moment
    /// on, what was queued or in flight then is missing on the left.
    "links" LinkRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack under test.
        stack: Label, "";
        /// Number of the link in its run.
        link: u32, "";
        /// Its name.
        name: Label, "";
        /// Node at its beginning.
        from: Label, "";
        /// Node at its end.
        to: Label, "";
        /// Its rate; missing for a link of pure delay.
        rate: Option<Rate>, "bit/s";
        /// Its propagation delay.
        delay: Duration, "s";
        /// Time over which it was observed.
        observed: Duration, "s";
        /// Packets that arrived at its queue.
        packets_offered: u64, "";
        /// Bytes that arrived at its queue, headers included.
        bytes_offered: u64, "B";
        /// Packets put on the wire.
        packets: u64, "";
        /// Bytes put on the wire, headers included.
        bytes: u64, "B";
        /// Segments or datagrams with payload among them.
        data_packets: u64, "";
        /// Packets that arrived whole at the other end.
        delivered: u64, "";
        /// Packets that the queue, or a policer before it, dropped, for one of the causes of the next six
        /// columns.
        dropped_queue: u64, "";
        /// Those of them that an active queue dropped before it was full; missing if the queue does not count
        /// them.
        dropped_early: Option<u64>, "";
        /// Those of them that found the queue full; missing if not counted.
        dropped_full: Option<u64>, "";
        /// Those of them that were in the queue and made room for another packet; missing if not counted.
        dropped_pushed_out: Option<u64>, "";
        /// Those of them that were in the queue and were shed as it chose what to send next; missing if not
        /// counted.
        dropped_shed: Option<u64>, "";
        /// Those of them that exceeded the rate of a policer; missing if not counted.
        dropped_policed: Option<u64>, "";
        /// Those of them that were larger than the link carries; missing if not counted.
        dropped_oversized: Option<u64>, "";
        /// Packets lost on the wire, by the causes of the next two columns.
        dropped_wire: u64, "";
        /// Those of them that were lost by the `loss` of the link's `schedule`; missing if not counted.
        dropped_schedule: Option<u64>, "";
        /// Those of them that each of the link's `faults` lost, one number for each in the order of the scenario.
        dropped_by_fault: Vec<u64>, "";
        /// Packets that the queue marked Congestion Experienced.
        marked: u64, "";
        /// Those of them that were marked as they left the queue, not as they arrived; missing if not
        /// counted.
        marked_leaving: Option<u64>, "";
        /// Copies that a fault added.
        duplicated: u64, "";
        /// Packets that a fault damaged, so that the receiver throws them away.
        corrupted: u64, "";
        /// Packets that a fault delayed behind later ones, or in a batch; missing if not counted.
        reordered: Option<u64>, "";
        /// Data packets put on the wire that repeat bytes sent before; missing if not counted.
        retransmitted_packets: Option<u64>, "";
        /// Payload bytes put on the wire, repeated ones not counted: goodput at this link (B-U2); missing if
        /// not counted.
        unique_bytes: Option<u64>, "B";
        /// Share of the time in which it was sending, waits for a shaper or an opportunity of its trace included.
        utilisation: Option<f64>, "";
        /// Time-average of the queue, the packet in service not counted.
        queue_mean_packets: f64, "packets";
        /// The same in bytes.
        queue_mean_bytes: f64, "B";
        /// The same as a delay: the bytes over the rate (M-U2); missing where the rate varies or is shaped, for
        /// which `series` gives sojourn times.
        queue_mean_delay: Option<Duration>, "s";
        /// Mean of the sojourn times: from a packet's arrival at the queue until it goes into service, one
        /// value for each packet that did. Missing, as the next four, unless the scenario has `series`, and
        /// for a link of pure delay.
        sojourn_mean: Option<Duration>, "s";
        /// Half of these packets waited at most so long; at most 0.8 % off, as the next two.
        sojourn_median: Option<Duration>, "s";
        /// 95 % of them waited at most so long.
        sojourn_p95: Option<Duration>, "s";
        /// 99 % of them waited at most so long.
        sojourn_p99: Option<Duration>, "s";
        /// The longest of them.
        sojourn_max: Option<Duration>, "s";
        /// Longest queue; missing if only bytes are counted.
        queue_max_packets: Option<u32>, "packets";
        /// Largest queue.
        queue_max_bytes: u64, "B";
        /// Packets in the queue when the run ended, the one in service included.
        queued_at_end: u32, "packets";
        /// Packets on the wire when the run ended.
        in_flight_at_end: u32, "packets";
    }
}

table! {
    /// The sender's state whenever a round-trip time was sampled or the window changed.
    "samples" SampleRow {
        /// When it happened.
        time: Instant, "s";
        /// Number of the connection in its run.
        connection: u32, "";
        /// Number of its flow, as in the table of flows: half of `connection`, rounded down.
        flow: u32, "";
        /// End of the flow that the row is about: `client` (`connection` is even) or `server`.
        side: Side, "";
        /// The sample; missing in a row that a window change made.
        rtt: Option<Duration>, "s";
        /// Smoothed round-trip time.
        srtt: Option<Duration>, "s";
        /// Smoothed deviation.
        rttvar: Option<Duration>, "s";
        /// Retransmission timeout before backoff.
        rto: Option<Duration>, "s";
        /// Congestion window.
        cwnd: Option<u64>, "B";
        /// Slow-start threshold; missing while it is unbounded.
        ssthresh: Option<u64>, "B";
        /// Bytes in the network, as the sender estimates them.
        pipe: Option<u64>, "B";
    }
}

table! {
    /// One loss episode of a sender, from the first sign to its repair (M-U1).
    "episodes" EpisodeRow {
        /// Number of the connection in its run.
        connection: u32, "";
        /// Number of its flow, as in the table of flows: half of `connection`, rounded down.
        flow: u32, "";
        /// End of the flow that the row is about: `client` (`connection` is even) or `server`.
        side: Side, "";
        /// `ca` (clock-preserving halving) or `non-ca` (timeout, failed recovery, further window cut).
        class: LossClass, "";
        /// When it began.
        begin: Instant, "s";
        /// When everything outstanding at its beginning was acknowledged.
        end: Option<Instant>, "s";
        /// Highest sequence number sent when it began.
        recovery_point: SeqNumber, "";
        /// Expiries of the retransmission timer in it.
        timeouts: u32, "";
        /// Highest backoff round reached: 1 for a single expiry, 2 for two in a row.
        rounds: u32, "";
        /// Ranges declared lost in it.
        losses: u32, "";
        /// Bytes declared lost in it.
        lost_bytes: u64, "B";
        /// Segments retransmitted in it.
        retransmissions: u32, "";
        /// True when it turned out that nothing had been lost.
        spurious: bool, "";
    }
}

table! {
    /// A value of a policy's private state, whenever it changed.
    "state" StateRow {
        /// When it happened.
        time: Instant, "s";
        /// Number of the connection in its run.
        connection: u32, "";
        /// Number of its flow, as in the table of flows: half of `connection`, rounded down.
        flow: u32, "";
        /// End of the flow that the row is about: `client` (`connection` is even) or `server`.
        side: Side, "";
        /// The kind of policy: `estimator`, `recovery` or `window`.
        policy: &'static str, "";
        /// What the policy calls it.
        name: &'static str, "";
        /// Its value from then on, in the policy's own unit.
        value: f64, "";
    }
}

table! {
    /// One segment that a connection sent or accepted.
    "segments" SegmentRow {
        /// When it happened.
        time: Instant, "s";
        /// Number of the connection in its run.
        connection: u32, "";
        /// Number of its flow, as in the table of flows: half of `connection`, rounded down.
        flow: u32, "";
        /// End of the flow that the row is about: `client` (`connection` is even) or `server`.
        side: Side, "";
        /// True when it was sent, false when it was received.
        sent: bool, "";
        /// Why it was sent: `syn`, `new`, `copy`, `fast-retransmit`, `timeout-retransmit`, `tail-loss-probe`,
        /// `window-probe`, `keepalive`, `ack` or `reset`.
        kind: Option<&'static str>, "";
        /// Its first sequence number.
        seq: SeqNumber, "";
        /// Its payload.
        len: u32, "B";
        /// Its acknowledgment number.
        ack: SeqNumber, "";
    }
}
