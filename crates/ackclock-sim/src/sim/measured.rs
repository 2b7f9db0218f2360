//! Counting from a moment on, so that tables can leave out how flows began (M-U1).

use ackclock_engine::{Connection, Stats};
use ackclock_trace::LinkRow;
use ackclock_units::{Bytes, Count, Duration, Instant, since};

use super::{Measured, Simulation};
use crate::endpoint::{Before, Counting, Counts, Flow};

impl Flow {
    /// Its counters count from now on.
    #[cold]
    pub(super) fn begin_counting(&mut self, now: Instant) {
        for connection in self.ends.iter_mut().filter_map(|end| end.connection.as_mut()) {
            connection.reset_rtt_extremes();
        }
        let before = Before { at: now, counts: self.counts() };
        self.counting = Some(Box::new(Counting::From(Box::new(before))));
    }

    /// Bytes that a source of datagrams has sent, and of which the network has delivered; of a connection,
    /// what its client's application has written and read.
    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.ends[0].user.io.written, self.ends[0].user.io.read]
    }

    /// Responses of both ends since they were made, and the time that they took together.
    pub(super) fn responses(&self) -> (u32, Duration) {
        let all = self.ends.iter().filter_map(|end| Some(end.user.io.rare.as_ref()?.responses));
        all.fold((0, Duration::ZERO), |(count, sum), r| (count + r.count, sum + r.sum))
    }

    /// The counters of both ends since they were made.
    pub(super) fn stats(&self) -> [Stats; 2] {
        self.ends
            .each_ref()
            .map(|end| end.connection.as_ref().map(Connection::stats).cloned().unwrap_or_default())
    }

    /// What it has counted since it began.
    fn counts(&self) -> Counts {
        Counts {
            stats: self.stats(),
            sent: self.ends[0].sent.packets,
            datagram_bytes: self.datagram_bytes(),
            unneeded: self.ends.each_ref().map(|end| end.sent.unneeded),
            spurious_timeouts: self.ends.each_ref().map(|end| end.sent.spurious_timeouts),
            responses: self.responses(),
        }
    }

    /// What it has counted in a run that counts from `measured` on, and was last looked at at `now`; and from
    /// when on, if that has come.
    pub(super) fn counted(&self, measured: Measured, now: Instant) -> (Option<Instant>, Counts) {
        if let Some(Counting::From(before)) = self.counting.as_deref() {
            return (Some(before.at), self.counts().since(&before.counts));
        }
        let came = match measured {
            Measured::Whole => true,
            Measured::From(from) => from <= now,
            // Datagrams have no episodes.
            Measured::AfterEpisodes(_) => self.info.kind.stacks.is_none(),
        };
        if came { (Some(self.start), self.counts()) } else { (None, Counts::default()) }
    }
}

impl Simulation {
    /// When counting is still to begin.
    #[inline]
    pub(super) fn counting_begins(&self) -> Option<Instant> {
        match self.options.measured {
            Measured::From(from) if self.links_before.is_none() => Some(from),
            _ => None,
        }
    }

    /// The moment has come for every flow under way and every link.
    pub(super) fn begin_counting(&mut self) {
        let now = self.net.now;
        self.links_before = Some(self.links());
        self.net.links.iter_mut().for_each(|place| place.link.forget_longest_queue(now));
        self.flows.iter_mut().flatten().filter(|flow| !flow.ended).for_each(|flow| flow.begin_counting(now));
    }

    /// The table of links, of what was counted.
    pub(super) fn counted_links(&mut self) -> Vec<LinkRow> {
        let now = self.links();
        match (self.links_before.take(), self.counting_begins()) {
            (Some(before), _) => {
                now.iter().zip(&before).map(|(row, before)| link_since(row, before)).collect()
            }
            // The moment never came.
            (None, Some(_)) => now.iter().map(|row| link_since(row, row)).collect(),
            (None, None) => now,
        }
    }
}

/// What a link has seen since it stood as in `before`.
fn link_since(row: &LinkRow, before: &LinkRow) -> LinkRow {
    let observed = row.observed.saturating_sub(before.observed);
    let seconds = |d: Duration| d.as_secs_f64();
    // From averages over all of the time to one over the rest of it.
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
            dropped_early, dropped_wire, marked, duplicated, corrupted, reordered, retransmitted_packets,
            unique_bytes,
        }
        kept {
            run, stack, link, name, from, to, rate, delay, queue_max_packets, queue_max_bytes, queued_at_end,
            in_flight_at_end,
        }
        set {
            observed: observed,
            utilisation: row.utilisation.zip(before.utilisation).map(|(all, part)| mean(all, part)),
            queue_mean_packets: mean(row.queue_mean_packets, before.queue_mean_packets),
            queue_mean_bytes: queue_mean_bytes,
            queue_mean_delay: row
                .rate
                .map(|r| Duration::from_secs_f64(queue_mean_bytes * 8.0 / r.bits_per_sec().max(1) as f64)),
        }
    )
}
