//! Counting from a moment on, so that tables can leave out how flows began (M-U1).

use ackclock_engine::{Connection, Stats};
use ackclock_trace::LinkRow;
use ackclock_units::{Bytes, Duration, Instant};

use super::{Measured, Simulation};
use crate::endpoint::{Before, Counting, Flow};

/// What a flow has counted: since when, and the counters of both ends.
pub(super) struct Counted {
    pub(super) from: Option<Instant>,
    pub(super) stats: [Stats; 2],
    /// Packets that its client has sent.
    pub(super) sent: u64,
    /// Sent and delivered.
    pub(super) datagram_bytes: [Bytes; 2],
    pub(super) unneeded: [u64; 2],
    pub(super) spurious_timeouts: [u32; 2],
    /// Responses, and the time that they took together.
    pub(super) responses: (u32, Duration),
}

impl Flow {
    /// Its counters count from now on.
    #[cold]
    pub(super) fn begin_counting(&mut self, now: Instant) {
        for connection in self.ends.iter_mut().filter_map(|end| end.connection.as_mut()) {
            connection.forget_rtt_extremes();
        }
        let before = Before {
            at: now,
            stats: self.stats(),
            sent: self.ends[0].sent.packets,
            datagram_bytes: self.datagram_bytes(),
            unneeded: self.ends.each_ref().map(|end| end.sent.unneeded),
            spurious_timeouts: self.ends.each_ref().map(|end| end.sent.spurious_timeouts),
            responses: self.responses(),
        };
        self.counting = Some(Box::new(Counting::From(Box::new(before))));
    }

    /// Bytes that a source of datagrams has sent, and of which the network has delivered; of a connection,
    /// what its client's application has written and read.
    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.ends[0].user.books.written, self.ends[0].user.books.read]
    }

    /// Responses of both ends since they were made, and the time that they took together.
    pub(super) fn responses(&self) -> (u32, Duration) {
        let all = self.ends.iter().filter_map(|end| Some(end.user.books.rare.as_ref()?.responses));
        all.fold((0, Duration::ZERO), |(count, sum), r| (count + r.count, sum + r.sum))
    }

    /// The counters of both ends since they were made.
    pub(super) fn stats(&self) -> [Stats; 2] {
        self.ends
            .each_ref()
            .map(|end| end.connection.as_ref().map(Connection::stats).cloned().unwrap_or_default())
    }

    /// What it has counted in a run that counts from `measured` on, and was last looked at at `now`.
    pub(super) fn counted(&self, measured: Measured, now: Instant) -> Counted {
        let nothing = Counted {
            from: None,
            stats: [Stats::default(), Stats::default()],
            sent: 0,
            datagram_bytes: [0; 2],
            unneeded: [0; 2],
            spurious_timeouts: [0; 2],
            responses: (0, Duration::ZERO),
        };
        let ends = |f: fn(&crate::endpoint::End) -> u64| self.ends.each_ref().map(f);
        let stats = self.stats();
        let unneeded = ends(|end| end.sent.unneeded);
        let spurious = self.ends.each_ref().map(|end| end.sent.spurious_timeouts);
        let bytes = self.datagram_bytes();
        let responses = self.responses();
        if let Some(Counting::From(b)) = self.counting.as_deref() {
            let since = |side: usize| stats[side].since(&b.stats[side]);
            return Counted {
                from: Some(b.at),
                stats: [since(0), since(1)],
                sent: self.ends[0].sent.packets - b.sent,
                datagram_bytes: [bytes[0] - b.datagram_bytes[0], bytes[1] - b.datagram_bytes[1]],
                unneeded: [unneeded[0] - b.unneeded[0], unneeded[1] - b.unneeded[1]],
                spurious_timeouts: [
                    spurious[0] - b.spurious_timeouts[0],
                    spurious[1] - b.spurious_timeouts[1],
                ],
                responses: (responses.0 - b.responses.0, responses.1 - b.responses.1),
            };
        }
        let came = match measured {
            Measured::Whole => true,
            Measured::From(from) => from <= now,
            // Datagrams have no episodes.
            Measured::AfterEpisodes(_) => self.info.kind.stacks.is_none(),
        };
        if !came {
            return nothing;
        }
        let sent = self.ends[0].sent.packets;
        Counted {
            from: Some(self.start),
            stats,
            sent,
            datagram_bytes: bytes,
            unneeded,
            spurious_timeouts: spurious,
            responses,
        }
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
            (Some(before), _) => now.iter().zip(&before).map(|(row, before)| since(row, before)).collect(),
            // The moment never came.
            (None, Some(_)) => now.iter().map(|row| since(row, row)).collect(),
            (None, None) => now,
        }
    }
}

/// What a link has seen since it stood as in `before`.
fn since(row: &LinkRow, before: &LinkRow) -> LinkRow {
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
    let less = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a - b);
    let queue_mean_bytes = mean(row.queue_mean_bytes, before.queue_mean_bytes);
    LinkRow {
        observed,
        packets_offered: row.packets_offered - before.packets_offered,
        bytes_offered: row.bytes_offered - before.bytes_offered,
        packets: row.packets - before.packets,
        bytes: row.bytes - before.bytes,
        data_packets: row.data_packets - before.data_packets,
        delivered: row.delivered - before.delivered,
        dropped_queue: row.dropped_queue - before.dropped_queue,
        dropped_early: less(row.dropped_early, before.dropped_early),
        dropped_wire: row.dropped_wire - before.dropped_wire,
        marked: row.marked - before.marked,
        duplicated: row.duplicated - before.duplicated,
        corrupted: row.corrupted - before.corrupted,
        reordered: less(row.reordered, before.reordered),
        retransmitted_packets: less(row.retransmitted_packets, before.retransmitted_packets),
        unique_bytes: less(row.unique_bytes, before.unique_bytes),
        utilisation: row.utilisation.zip(before.utilisation).map(|(all, part)| mean(all, part)),
        queue_mean_packets: mean(row.queue_mean_packets, before.queue_mean_packets),
        queue_mean_bytes,
        queue_mean_delay: row
            .rate
            .map(|r| Duration::from_secs_f64(queue_mean_bytes * 8.0 / r.bits_per_sec().max(1) as f64)),
        ..row.clone()
    }
}
