//! Counting from a given moment on, so that tables can leave out the start of flows (M-U1).

use ackclock_engine::{Connection, Stats};
use ackclock_policy::Playback;
use ackclock_trace::LinkRow;
use ackclock_units::{Bytes, Count, Duration, Instant};

use super::met::Met;
use super::options::MeasuredSpan;
use super::state::Simulation;
use crate::endpoint::{Baseline, Counting, Counts, Flow};
use crate::link::row_since;

impl Flow {
    /// Starts its counters now.
    #[cold]
    pub(super) fn begin_counting(&mut self, now: Instant) {
        for connection in self.ends.iter_mut().filter_map(|end| end.connection.as_mut()) {
            connection.reset_rtt_extremes();
        }
        let before = Baseline { at: now, counts: self.counts(now) };
        self.counting = Some(Box::new(Counting::From(Box::new(before))));
    }

    /// Bytes that a source of datagrams has sent, and those that the network has delivered; for a connection,
    /// bytes that the client's application has written and read.
    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.ends[0].user.io.written, self.ends[0].user.io.read]
    }

    /// Number of responses of both ends so far, and the sum of their times.
    pub(super) fn responses(&self) -> (u32, Duration) {
        let all = self.ends.iter().filter_map(|end| Some(end.user.io.rare.as_ref()?.responses));
        all.fold((0, Duration::ZERO), |(count, sum), r| (count + r.count, sum + r.sum))
    }

    /// What its client has played so far; `None` unless it plays a video.
    fn player(&self, now: Instant) -> Option<Playback> {
        self.ends[0].user.application.as_ref()?.playback(now)
    }

    /// What its client has played in the counted part of the run; `None` unless it plays a video.
    pub(super) fn playback(&self, measured: MeasuredSpan, now: Instant) -> Option<Playback> {
        self.player(now)?;
        Some(self.counted(measured, now).1.playback)
    }

    /// The connection counters of both ends so far.
    pub(super) fn stats(&self) -> [Stats; 2] {
        self.ends
            .each_ref()
            .map(|end| end.connection.as_ref().map(Connection::stats).cloned().unwrap_or_default())
    }

    /// All its counters so far.
    fn counts(&self, now: Instant) -> Counts {
        Counts {
            stats: self.stats(),
            sent: self.ends[0].sent.packets,
            datagram_bytes: self.datagram_bytes(),
            spurious_retransmissions: self.ends.each_ref().map(|end| end.sent.spurious_retransmissions),
            spurious_timeouts: self.ends.each_ref().map(|end| end.sent.spurious_timeouts),
            responses: self.responses(),
            playback: self.player(now).unwrap_or_default(),
        }
    }

    /// Its counters in a run that counts from `measured` on, as of `now`, and when counting began; `None`
    /// when it has not.
    pub(super) fn counted(&self, measured: MeasuredSpan, now: Instant) -> (Option<Instant>, Counts) {
        if let Some(Counting::From(before)) = self.counting.as_deref() {
            return (Some(before.at), self.counts(now).since(&before.counts));
        }
        let begun = match measured {
            MeasuredSpan::Whole => true,
            MeasuredSpan::From(from) => from <= now,
            // Datagrams have no episodes.
            MeasuredSpan::AfterEpisodes(_) => self.info.kind.stacks.is_none(),
        };
        if begun { (Some(self.start), self.counts(now)) } else { (None, Counts::default()) }
    }
}

impl Simulation {
    /// When counting will begin, if it has not.
    #[inline]
    pub(super) fn counting_begins(&self) -> Option<Instant> {
        match self.options.measured {
            MeasuredSpan::From(from) if self.links_before.is_none() => Some(from),
            _ => None,
        }
    }

    /// Starts the counters of every active flow and every link.
    pub(super) fn begin_counting(&mut self) {
        let now = self.net.now;
        self.links_before = Some(self.links());
        for place in &mut self.net.links {
            place.link.forget_longest_queue(now);
            place.link.restart_sojourns(now);
        }
        self.net.met.fill(Met::default());
        self.flows.iter_mut().flatten().filter(|flow| !flow.ended).for_each(|flow| flow.begin_counting(now));
    }

    /// The table of links, counted from the configured moment on.
    pub(super) fn counted_links(&mut self) -> Vec<LinkRow> {
        let now = self.links();
        match (self.links_before.take(), self.counting_begins()) {
            (Some(before), _) => {
                now.iter().zip(&before).map(|(row, before)| row_since(row, before)).collect()
            }
            // The run ended before counting began.
            (None, Some(_)) => now.iter().map(|row| row_since(row, row)).collect(),
            (None, None) => now,
        }
    }
}
