//! Where the clients of a source's flows wait for each other.

use super::state::Simulation;

/// The barrier of a source of flows. Its flows count from the beginning, started or not, until they end.
#[derive(Debug)]
pub(super) struct Barrier {
    /// Flows that have not ended.
    members: u64,
    /// How often it has opened, and for how many flows the last time.
    opened: (u32, u64),
    /// The flows whose clients wait: slot and number, in the order of arrival.
    waiting: Vec<(u32, u32)>,
}

impl Barrier {
    /// The barrier of a source of this many flows.
    pub(super) fn of(members: u64) -> Self {
        Self { members, opened: (0, 0), waiting: Vec::new() }
    }

    /// How often it has opened, and for how many flows the last time.
    pub(super) fn rounds(&self) -> (u32, u64) {
        self.opened
    }

    /// Memory of its list, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<(u32, u32)>()) as u64
    }
}

impl Simulation {
    /// The client of the flow in `slot` waits at its barrier.
    #[cold]
    pub(super) fn at_barrier(&mut self, slot: u32) {
        let Some(flow) = self.flows[slot as usize].as_ref().filter(|f| !f.ended) else { return };
        let (source, number) = (flow.info.kind.source, flow.number);
        self.flow_sources[source as usize].barrier.waiting.push((slot, number));
        self.release(source);
    }

    /// A flow of `source` has ended, and is not waited for any more.
    pub(super) fn leave_barrier(&mut self, source: u32, number: u32) {
        let barrier = &mut self.flow_sources[source as usize].barrier;
        barrier.members = barrier.members.saturating_sub(1);
        if !barrier.waiting.is_empty() {
            barrier.waiting.retain(|(_, waiting)| *waiting != number);
            self.release(source);
        }
    }

    /// Calls the clients that wait, if all do.
    fn release(&mut self, source: u32) {
        let barrier = &mut self.flow_sources[source as usize].barrier;
        if barrier.waiting.is_empty() || (barrier.waiting.len() as u64) < barrier.members {
            return;
        }
        let mut released = std::mem::take(&mut barrier.waiting);
        barrier.opened = (barrier.opened.0.saturating_add(1), released.len() as u64);
        for (slot, number) in released.drain(..) {
            let flow = self.flows[slot as usize].as_mut().filter(|f| f.number == number && !f.ended);
            let Some(flow) = flow else { continue };
            flow.ends[0].user.release(self.net.now);
            flow.pump(2 * slot, &mut self.net, &mut self.trace);
            if flow.over {
                self.finish_flow(slot);
            }
        }
        // Keeps the list's memory for the next round.
        let waiting = &mut self.flow_sources[source as usize].barrier.waiting;
        if waiting.is_empty() {
            *waiting = released;
        }
    }
}
