//! Where the clients of a source's flows wait for each other.

use super::state::Simulation;

/// The barrier of a source of flows. Its flows count from the beginning, started or not, until they end. A flow
/// is known by a number, `W` is what its world needs to call it.
#[derive(Debug)]
pub struct Barrier<W> {
    /// Flows that have not ended.
    members: u64,
    /// How often it has opened, and for how many flows the last time.
    opened: (u32, u64),
    /// The flows whose clients wait, in the order of arrival.
    waiting: Vec<(u32, W)>,
}

impl<W> Barrier<W> {
    /// The barrier of a source of this many flows.
    pub fn of(members: u64) -> Self {
        Self { members, opened: (0, 0), waiting: Vec::new() }
    }

    /// How often it has opened, and for how many flows the last time.
    pub fn rounds(&self) -> (u32, u64) {
        self.opened
    }

    /// The client of flow `number` waits.
    pub fn arrive(&mut self, number: u32, how: W) {
        self.waiting.push((number, how));
    }

    /// Flow `number` has ended, and is not waited for any more.
    pub fn leave(&mut self, number: u32) {
        self.members = self.members.saturating_sub(1);
        self.waiting.retain(|(waiting, _)| *waiting != number);
    }

    /// The flows that wait, if all do: it opens for them.
    pub fn open(&mut self) -> Option<Vec<(u32, W)>> {
        if self.waiting.is_empty() || (self.waiting.len() as u64) < self.members {
            return None;
        }
        let released = std::mem::take(&mut self.waiting);
        self.opened = (self.opened.0.saturating_add(1), released.len() as u64);
        Some(released)
    }

    /// Gives the memory of a list that was released back, for the next round.
    pub(super) fn reuse(&mut self, mut released: Vec<(u32, W)>) {
        if self.waiting.is_empty() {
            released.clear();
            self.waiting = released;
        }
    }

    /// Memory of its list, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<(u32, W)>()) as u64
    }
}

impl Simulation {
    /// The client of the flow in `slot` waits at its barrier.
    #[cold]
    pub(super) fn at_barrier(&mut self, slot: u32) {
        let Some(flow) = self.flows[slot as usize].as_ref().filter(|f| !f.ended) else { return };
        let (source, number) = (flow.info.kind.source, flow.number);
        self.flow_sources[source as usize].barrier.arrive(number, slot);
        self.release(source);
    }

    /// A flow of `source` has ended, and is not waited for any more.
    pub(super) fn leave_barrier(&mut self, source: u32, number: u32) {
        self.flow_sources[source as usize].barrier.leave(number);
        self.release(source);
    }

    /// Calls the clients that wait, if all do.
    fn release(&mut self, source: u32) {
        let Some(mut released) = self.flow_sources[source as usize].barrier.open() else { return };
        for (number, slot) in released.drain(..) {
            let flow = self.flows[slot as usize].as_mut().filter(|f| f.number == number && !f.ended);
            let Some(flow) = flow else { continue };
            flow.ends[0].user.release(self.net.now);
            flow.pump(2 * slot, &mut self.net, &mut self.trace);
            if flow.over {
                self.finish_flow(slot);
            }
        }
        self.flow_sources[source as usize].barrier.reuse(released);
    }
}
