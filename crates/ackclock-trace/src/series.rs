//! The tables of a run over time: the state of flows and links at regular moments.

use ackclock_units::{Duration, Instant, Rate};

use crate::side::Side;
use crate::table::{Label, table};

table! {
    /// A flow over time: one row for each flow and each interval of the scenario's `series` in which it was
    /// active.
    ///
    /// Counters and rates of a row cover the interval that ends at `time`, `interval` long, in which the flow
    /// may have begun or ended; windows and the smoothed round-trip time are those at `time`, or at the
    /// flow's end. Rows cover the whole run, whatever `warmup` is.
    "flow_series" FlowSeriesRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Label of the stack under test.
        stack: Label, "";
        /// End of the interval.
        time: Instant, "s";
        /// Its length.
        interval: Duration, "s";
        /// Number of the flow in its run.
        flow: u32, "";
        /// Group of the workload that it belongs to.
        group: Label, "";
        /// Transport: `tcp` or `udp`.
        protocol: &'static str, "";
        /// End that has sent most of the data so far, whose numbers these are: `client` or `server`.
        sender: Side, "";
        /// Congestion window.
        cwnd: Option<u64>, "B";
        /// Slow-start threshold; missing while it is unbounded.
        ssthresh: Option<u64>, "B";
        /// Bytes in the network, as the sender estimates them.
        pipe: Option<u64>, "B";
        /// Smoothed round-trip time.
        srtt: Option<Duration>, "s";
        /// Smoothed mean deviation of it.
        rttvar: Option<Duration>, "s";
        /// Retransmission timeout in force, backoff included.
        rto: Option<Duration>, "s";
        /// Rate at which it paces; missing without pacing. A kernel tells one also where it only sizes bursts by it.
        pacing_rate: Option<Rate>, "bit/s";
        /// Mean of the round-trip times sampled in the interval.
        rtt: Option<Duration>, "s";
        /// Payload sent, retransmissions included.
        bytes_sent: u64, "B";
        /// Payload retransmitted.
        retransmitted_bytes: u64, "B";
        /// Payload delivered in order to the other end's application.
        bytes_delivered: u64, "B";
        /// Payload that arrived at the other end for the first time, in order or not.
        bytes_arrived: u64, "B";
        /// `bytes_delivered` over `interval`. After a repaired loss what had waited behind it is delivered at
        /// once, so that this can exceed the rate of the path.
        goodput: Rate, "bit/s";
        /// `bytes_arrived` over `interval`.
        throughput: Rate, "bit/s";
    }
}

table! {
    /// A link over time: one row for each link and each interval of the scenario's `series`.
    ///
    /// Counters, rates, means and maxima of a row cover the interval that ends at `time`, `interval` long;
    /// `queue_packets` and `queue_bytes` are those at `time`. Rows cover the whole run, whatever `warmup` is.
    "link_series" LinkSeriesRow {
        /// Label of the run that it belongs to.
        run: Label, "";
        /// Number of the link in its run.
        link: u32, "";
        /// Its name.
        name: Label, "";
        /// End of the interval.
        time: Instant, "s";
        /// Its length.
        interval: Duration, "s";
        /// Packets in the queue, the one in service not counted.
        queue_packets: u32, "packets";
        /// The same in bytes.
        queue_bytes: u64, "B";
        /// Mean of the sojourn times in the queue of the packets that went into service; missing without any.
        sojourn_mean: Option<Duration>, "s";
        /// The longest of them.
        sojourn_max: Option<Duration>, "s";
        /// Packets that arrived at the queue.
        packets_offered: u64, "";
        /// Packets put on the wire.
        packets: u64, "";
        /// Bytes put on the wire, headers included.
        bytes: u64, "B";
        /// `bytes` over `interval`.
        throughput: Rate, "bit/s";
        /// Share of the time in which it was sending; missing for a link of pure delay.
        utilisation: Option<f64>, "";
        /// Packets that found the queue full.
        dropped_full: u64, "";
        /// Packets that the queue refused although there was room.
        dropped_early: u64, "";
        /// Packets in the queue that made room for another one.
        dropped_pushed_out: u64, "";
        /// Packets in the queue that were shed as it chose what to send next.
        dropped_shed: u64, "";
        /// Packets that exceeded the rate of a policer.
        dropped_policed: u64, "";
        /// Packets that were larger than the link carries.
        dropped_oversized: u64, "";
        /// Packets lost on the wire by a fault.
        dropped_wire: u64, "";
        /// Packets that the queue marked Congestion Experienced.
        marked: u64, "";
        /// Those of them that were marked as they left the queue, not as they arrived.
        marked_leaving: u64, "";
    }
}
