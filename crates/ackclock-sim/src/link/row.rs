//! A link in the tables.

use ackclock_trace::{Label, LinkRow, LinkSeriesRow};
use ackclock_units::{Bytes, Duration, Instant, Rate, since};

use super::counters::LinkCounters;
use super::sojourn::DelayHistogram;
use super::state::Link;

/// What names a link in the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkLabels {
    /// The run.
    pub run: Label,
    /// The stack under test; empty where it is not one for all flows.
    pub stack: Label,
    /// Its number in the run.
    pub link: u32,
    /// Its name.
    pub name: Label,
    /// The node at its beginning.
    pub from: Label,
    /// The node at its end.
    pub to: Label,
}

/// What came out at the far end of a link, which only its world knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// Packets that have left it at its far end, damaged ones and copies included.
    pub over: u64,
    /// Damaged packets among them.
    pub corrupted: u64,
    /// Packets put on the wire that repeat bytes sent before; `None` if not counted.
    pub repeated: Option<u64>,
    /// Payload put on the wire, repeated bytes not counted; `None` if not counted.
    pub unique_bytes: Option<Bytes>,
}

impl Link {
    /// Its row in the table of links, counted from the beginning of the run until `now`.
    pub fn row(&mut self, now: Instant, labels: LinkLabels, passed: Passed) -> LinkRow {
        let observed = now.since(Instant::ZERO);
        let (c, queued, losses) = (self.counters(now), self.queued(now), self.wire_losses(now));
        let seconds = observed.as_nanos().max(1) as f64;
        let queue_mean_bytes = c.byte_ns as f64 / seconds;
        let (rate, delay) = (self.rate(), self.delay());
        let steady = !self.has_transmitter();
        let sojourns = self.sojourns(now);
        let sojourn = |q| sojourns.and_then(|s| s.quantile(q));
        LinkRow {
            run: labels.run,
            stack: labels.stack,
            link: labels.link,
            name: labels.name,
            from: labels.from,
            to: labels.to,
            rate,
            delay,
            observed,
            packets_offered: c.offered,
            bytes_offered: c.offered_bytes,
            packets: c.served,
            bytes: c.served_bytes,
            data_packets: c.served_data,
            delivered: passed.over - passed.corrupted,
            dropped_queue: c.queue_drops,
            dropped_early: Some(c.early_drops),
            dropped_full: Some(c.full_drops()),
            dropped_pushed_out: Some(c.pushed_out),
            dropped_shed: Some(c.shed),
            dropped_policed: Some(c.policed),
            dropped_oversized: Some(c.oversized),
            dropped_wire: c.fault_drops,
            dropped_schedule: Some(losses.by_schedule),
            dropped_by_fault: losses.by_fault,
            marked: c.marked,
            marked_leaving: Some(c.marked_leaving),
            duplicated: c.duplicated,
            corrupted: passed.corrupted,
            reordered: Some(c.delayed),
            retransmitted_packets: passed.repeated,
            unique_bytes: passed.unique_bytes,
            utilisation: rate.map(|_| c.busy.as_nanos() as f64 / seconds),
            queue_mean_packets: c.packet_ns as f64 / seconds,
            queue_mean_bytes,
            queue_mean_delay: rate
                .filter(|_| steady)
                .map(|r| Duration::from_secs_f64(queue_mean_bytes * 8.0 / r.bits_per_sec().max(1) as f64)),
            sojourn_mean: sojourns.and_then(DelayHistogram::mean),
            sojourn_median: sojourn(0.5),
            sojourn_p95: sojourn(0.95),
            sojourn_p99: sojourn(0.99),
            sojourn_max: sojourns.and_then(DelayHistogram::max),
            queue_max_packets: Some(c.max_backlog_packets),
            queue_max_bytes: c.max_backlog,
            queued_at_end: queued.packets,
            in_flight_at_end: (c.served + c.duplicated - c.fault_drops - passed.over) as u32,
        }
    }

    /// Its row in the table of links over time, for the `interval` that ends `now`. `before` holds its
    /// counters at the beginning of the interval, and then those at its end.
    pub fn series_row(
        &mut self,
        now: Instant,
        labels: LinkLabels,
        interval: Duration,
        before: &mut LinkCounters,
    ) -> LinkSeriesRow {
        let (c, backlog) = (self.counters(now), self.backlog(now));
        let b = std::mem::replace(before, c);
        let sojourns = self.take_recent_sojourns(now).filter(|s| s.count > 0);
        let seconds = interval.as_nanos().max(1) as f64;
        LinkSeriesRow {
            run: labels.run,
            link: labels.link,
            name: labels.name,
            time: now,
            interval,
            queue_packets: backlog.packets,
            queue_bytes: backlog.bytes,
            sojourn_mean: sojourns.map(|s| s.sum / s.count),
            sojourn_max: sojourns.map(|s| s.max),
            packets_offered: c.offered - b.offered,
            packets: c.served - b.served,
            bytes: c.served_bytes - b.served_bytes,
            throughput: rate_over(c.served_bytes - b.served_bytes, interval),
            utilisation: self.rate().map(|_| (c.busy - b.busy).as_nanos() as f64 / seconds),
            dropped_full: c.full_drops() - b.full_drops(),
            dropped_early: c.early_drops - b.early_drops,
            dropped_pushed_out: c.pushed_out - b.pushed_out,
            dropped_shed: c.shed - b.shed,
            dropped_policed: c.policed - b.policed,
            dropped_oversized: c.oversized - b.oversized,
            dropped_wire: c.fault_drops - b.fault_drops,
            marked: c.marked - b.marked,
            marked_leaving: c.marked_leaving - b.marked_leaving,
        }
    }
}

/// Bytes per time, with at least a nanosecond of it.
pub fn rate_over(bytes: Bytes, interval: Duration) -> Rate {
    let ns = u128::from(interval.as_nanos().max(1));
    Rate::from_bits_per_sec(u64::try_from(u128::from(bytes) * 8_000_000_000 / ns).unwrap_or(u64::MAX))
}

/// The row of a link with what it counted since `before`, an earlier row of it.
pub fn row_since(row: &LinkRow, before: &LinkRow) -> LinkRow {
    let observed = row.observed.saturating_sub(before.observed);
    let seconds = |d: Duration| d.as_secs_f64();
    // From the averages over the whole time and over the first part, the average over the rest.
    let mean = |all: f64, part: f64| {
        if observed.is_zero() {
            0.0
        } else {
            ((all * seconds(row.observed) - part * seconds(before.observed)) / seconds(observed)).max(0.0)
        }
    };
    let queue_mean_bytes = mean(row.queue_mean_bytes, before.queue_mean_bytes);
    since!(LinkRow { row, before }
        counted {
            packets_offered, bytes_offered, packets, bytes, data_packets, delivered, dropped_queue,
            dropped_early, dropped_full, dropped_pushed_out, dropped_shed, dropped_policed,
            dropped_oversized, dropped_wire, dropped_schedule, dropped_by_fault, marked, marked_leaving,
            duplicated, corrupted, reordered, retransmitted_packets, unique_bytes,
        }
        kept {
            run, stack, link, name, from, to, rate, delay, sojourn_mean, sojourn_median, sojourn_p95,
            sojourn_p99, sojourn_max, queue_max_packets, queue_max_bytes, queued_at_end, in_flight_at_end,
        }
        set {
            observed: observed,
            utilisation: row.utilisation.zip(before.utilisation).map(|(all, part)| mean(all, part)),
            queue_mean_packets: mean(row.queue_mean_packets, before.queue_mean_packets),
            queue_mean_bytes: queue_mean_bytes,
            queue_mean_delay: row
                .rate
                .filter(|_| row.queue_mean_delay.is_some())
                .map(|r| Duration::from_secs_f64(queue_mean_bytes * 8.0 / r.bits_per_sec().max(1) as f64)),
        }
    )
}
