//! Unacknowledged datagrams and the reports of their receivers.

use ackclock_trace::{Event, EventKind, Mask, SendKind};
use ackclock_units::{Duration, Rng, SeqNumber};

use super::state::{DatagramSourceState, Simulation, TRACED_DATAGRAMS};
use crate::endpoint::Flow;
use crate::error::SimError;
use crate::event::DATAGRAM;
use crate::flow::{DatagramSpec, GapReceiver};

impl Simulation {
    pub(super) fn add_datagrams(&mut self, spec: DatagramSpec) -> Result<(), SimError> {
        let route = self.net.routes.find(spec.from, spec.to)?;
        let back = if spec.reports.is_some() { self.net.routes.find(spec.to, spec.from)? } else { (0, 0) };
        let slot = self.free_slot()?;
        self.net.attach(2 * slot, (spec.up, Duration::ZERO), route)?;
        self.net.attach(2 * slot + 1, (spec.back, spec.down), back)?;
        self.flows[slot as usize] = Some(Flow::of_datagrams(&spec, self.datagrams.len() as u32));
        let rng = Rng::stream(self.seed, "datagrams", self.datagrams.len() as u64);
        self.datagrams.push(DatagramSourceState {
            source: spec.source,
            rng,
            next_bytes: 0,
            flow: slot,
            reports: spec.reports,
            receiver: GapReceiver::default(),
        });
        self.schedule_datagram(self.datagrams.len() as u32 - 1);
        Ok(())
    }

    fn schedule_datagram(&mut self, i: u32) {
        let place = &mut self.datagrams[i as usize];
        let Some(next) = place.source.next(&mut place.rng) else { return };
        place.next_bytes = next.bytes;
        let now = self.net.now;
        if next.at < now {
            return self
                .net
                .fail(SimError::OutOfOrder { start_ns: next.at.as_nanos(), now_ns: now.as_nanos() });
        }
        self.net.schedule(next.at, DATAGRAM | i);
    }

    #[inline(never)]
    pub(super) fn send_datagram(&mut self, i: u32) {
        let DatagramSourceState { next_bytes, flow: slot, .. } = self.datagrams[i as usize];
        let mut number = 0;
        if let Some(flow) = &mut self.flows[slot as usize] {
            flow.ends[0].sent.send();
            flow.ends[0].user.io.written += u64::from(next_bytes);
            number = flow.ends[0].sent.packets;
        }
        self.trace_datagram(i, number, next_bytes, true);
        let id = self.net.pool.datagram(2 * slot, next_bytes, number);
        self.net.depart(id, 2 * slot);
        self.schedule_datagram(i);
    }

    /// Handles a datagram at its receiver, or a report at its source.
    pub(super) fn receive_datagram(&mut self, from: u32, number: u64, bytes: u32) {
        let slot = from / 2;
        let Some(i) = self.flows[slot as usize].as_ref().map(|flow| flow.info.kind.source) else { return };
        if from & 1 == 1 {
            self.trace_datagram(i, number, bytes, false);
            return self.datagrams[i as usize].source.on_report(number);
        }
        let place = &mut self.datagrams[i as usize];
        let Some(bytes) = place.reports else { return };
        let Some(missing) = place.receiver.arrived(number) else { return };
        if let Some(flow) = &mut self.flows[slot as usize] {
            flow.ends[1].sent.send();
            flow.ends[1].user.io.written += u64::from(bytes);
        }
        let id = self.net.pool.datagram(2 * slot + 1, bytes, missing);
        self.net.depart(id, 2 * slot + 1);
    }

    /// Traces a sent datagram, or a report that reaches its source, as a segment; a report has the sequence
    /// number of the datagram that it names. Connections of flows are numbered first, and
    /// [`Simulation::finish`] renumbers those of datagrams once their count is known.
    fn trace_datagram(&mut self, i: u32, number: u64, bytes: u32, sent: bool) {
        if !self.options.trace.any(Mask::PACKETS) {
            return;
        }
        // Sequence numbers as if the datagrams were one stream.
        let payload = self.datagrams[i as usize].next_bytes.saturating_sub(UDP_HEADERS);
        let (seq, ack) = (SeqNumber((number.wrapping_sub(1) as u32).wrapping_mul(payload)), SeqNumber(0));
        let len = bytes.saturating_sub(UDP_HEADERS);
        let kind = if sent {
            EventKind::Sent { kind: SendKind::New, seq, len, ack }
        } else {
            EventKind::Received { seq, len, ack }
        };
        self.trace.push(Event { at: self.net.now, connection: TRACED_DATAGRAMS | (2 * i), kind });
    }
}

/// Headers of IP and UDP (RFC 791 §3.1, RFC 768).
const UDP_HEADERS: u32 = 28;
