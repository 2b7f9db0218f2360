//! Results about a direction so far.

use std::sync::Arc;

use ackclock_units::{Instant, SeqNumber};

use super::covered::{Covered, Doubt};
use super::records::{ExpiryRecord, RetransmissionRecord};
use super::space::SequenceSpace;
use super::third_step::OnlyCopy;
use crate::report::Episode;
use crate::wanted::KnownCauses;

/// Verdicts on a direction: retransmissions, expiries and loss episodes so far.
#[derive(Debug)]
pub(crate) struct Verdicts {
    pub(crate) retransmissions: Vec<RetransmissionRecord>,
    pub(crate) expiries: Vec<ExpiryRecord>,
    pub(crate) episodes: Vec<Episode>,
    /// The current episode.
    pub(super) open_episode: Option<OpenEpisode>,
    /// Verdicts on expiries that a delayed ack may change.
    pub(super) doubts: Vec<Doubt>,
    /// Expiries that were judged by the latest ack.
    pub(super) covered: Covered,
    /// The expiry whose copy alone the latest cumulative ack covered.
    pub(super) only_copy: Option<OnlyCopy>,
    /// There is room for more retransmissions.
    pub(crate) may_list: bool,
    /// Causes that need not be derived.
    pub(super) known: Arc<KnownCauses>,
}

/// An episode that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenEpisode {
    /// Its place in the list.
    pub index: u32,
    /// It ends when everything below is acknowledged.
    pub end: u64,
    /// Timestamp of its first retransmission.
    pub tsval: Option<u32>,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self {
            retransmissions: Vec::new(),
            expiries: Vec::new(),
            episodes: Vec::new(),
            open_episode: None,
            doubts: Vec::new(),
            covered: Covered::default(),
            only_copy: None,
            may_list: true,
            known: Arc::default(),
        }
    }
}

impl Verdicts {
    /// The current episode.
    pub(super) fn episode(&self) -> Option<&Episode> {
        self.open_episode.and_then(|open| self.episodes.get(open.index as usize))
    }

    /// Lists a retransmission, and returns its place; `None` where there is no room.
    pub(super) fn list(&mut self, record: RetransmissionRecord) -> Option<u32> {
        self.may_list.then(|| {
            self.retransmissions.push(record);
            self.retransmissions.len() as u32 - 1
        })
    }

    /// Counts a retransmission in the current episode, or begins one (M-U1).
    pub(super) fn count_in_episode(&mut self, at: Instant, space: &SequenceSpace, tsval: Option<u32>) {
        if self.open_episode.is_none() && space.flight() > 0 {
            self.episodes.push(Episode {
                began: at,
                flight: space.flight(),
                recovery_point: SeqNumber(space.max as u32),
                ..Episode::default()
            });
            let index = self.episodes.len() as u32 - 1;
            self.open_episode = Some(OpenEpisode { index, end: space.max, tsval });
        }
        if let Some(e) = self.open_episode.and_then(|open| self.episodes.get_mut(open.index as usize)) {
            e.retransmissions += 1;
        }
    }

    /// Ends the episode if everything that was outstanding is acknowledged; true if it did.
    pub(super) fn end_episode(&mut self, ack: u64, at: Instant) -> bool {
        let Some(open) = self.open_episode.filter(|open| ack >= open.end) else { return false };
        if let Some(e) = self.episodes.get_mut(open.index as usize) {
            e.ended = Some(at);
        }
        self.open_episode = None;
        true
    }
}
