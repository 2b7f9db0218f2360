//! What a run may hold in memory.

/// What a sent segment may add to the lists of its flow, in the engine and in the ground truth.
pub(super) const SEGMENT_IN_LISTS: u64 = 64;
/// What an event may add to an application's lists.
pub(super) const EVENT_IN_LISTS: u64 = 24;
/// Memory of a packet with its options and its entry in a queue.
pub(super) const PACKET: u64 = 120;

/// Largest number of events between two calls of `progress`: a few hundredths of a second.
pub(crate) const EVENTS_PER_SLICE: u64 = 100_000;

/// The memory limit of a run, and what was held when the flows were last added up.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) limit: u64,
    /// Memory of the flows' lists then.
    pub(super) lists: u64,
    /// Packets offered to links and events processed until then.
    pub(super) offered: u64,
    pub(super) processed: u64,
    /// What a single event may add: a window of the flow with the largest send buffer so far.
    pub(super) burst: u64,
}

impl Memory {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, lists: 0, offered: 0, processed: 0, burst: PACKET }
    }

    /// Notes the start of a flow whose window may hold this many segments.
    pub(super) fn on_flow(&mut self, segments: u64) {
        self.burst = self.burst.max(segments.saturating_mul(PACKET + SEGMENT_IN_LISTS));
    }
}
