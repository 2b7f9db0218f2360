//! Flows: their start, what happens at their endpoints, their end.

use ackclock_engine::{Connection, ConnectionEvent, State, Transmit};
use ackclock_policy::Wake;
use ackclock_trace::{Mask, SendKind};
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment};

use super::{DATAGRAM, DatagramPlace, FLOW, Simulation, WAKE};
use crate::endpoint::{End, Ending, Flow, FlowInfo, Io, Port};
use crate::error::SimError;
use crate::flow::{DatagramSpec, FlowSpec};

impl Simulation {
    /// Asks a source for its next flow and schedules the flow's start.
    pub(super) fn ask_source(&mut self, i: u32) {
        let place = &mut self.flow_sources[i as usize];
        let spec = place.source.next(self.now, &mut place.rng);
        place.idle = spec.is_none();
        let Some(spec) = spec else { return };
        let start = spec.start;
        place.next = Some(spec);
        if start < self.now {
            return self.fail(SimError::OutOfOrder { start_ns: start.as_nanos(), now_ns: self.now.as_nanos() });
        }
        self.schedule(start, FLOW | i);
    }

    pub(super) fn start_next(&mut self, i: u32) {
        if let Some(spec) = self.flow_sources[i as usize].next.take() {
            if let Err(error) = self.start_flow(spec, i) {
                return self.fail(error);
            }
        }
        self.ask_source(i);
    }

    fn start_flow(&mut self, spec: FlowSpec, source: u32) -> Result<(), SimError> {
        let there = self.routes.find(spec.client, spec.server)?;
        let back = self.routes.find(spec.server, spec.client)?;
        let slot = self.free_slot()?;
        let a = spec.access;
        self.ports[2 * slot as usize] = Port { up: a.client_up, down: a.client_down, route: there.0, hops: there.1, ..Port::IDLE };
        self.ports[2 * slot as usize + 1] = Port { up: a.server_up, down: a.server_down, route: back.0, hops: back.1, ..Port::IDLE };

        let number = self.started;
        self.started = number.checked_add(1).ok_or(SimError::TooMany("flows"))?;
        let trace = Mask(self.options.trace.0 | spec.trace.0);
        let end = |app, side: u64| End { app: Some(app), app_rng: Rng::stream(self.seed, "application", 2 * u64::from(number) + side), ..End::new() };
        let flow = Flow {
            ends: [end(spec.client_app, 0), end(spec.server_app, 1)],
            in_flight: 0,
            ended: false,
            info: FlowInfo {
                number,
                source,
                client: spec.client,
                server: spec.server,
                stacks: Some([spec.client_stack, spec.server_stack]),
                access: spec.access,
                start: self.now,
                group: spec.group,
                size: spec.size,
                trace,
            },
        };
        self.flows[slot as usize] = Some(flow);
        let now = self.now;
        self.make_connection(2 * slot).connect(now);
        self.pump(2 * slot);
        Ok(())
    }

    fn free_slot(&mut self) -> Result<u32, SimError> {
        if let Some(slot) = self.free_flows.pop() {
            return Ok(slot);
        }
        let slot = self.flows.len() as u32;
        // An endpoint's number has to fit beside the kind of an event.
        if slot >= super::INDEX / 2 {
            return Err(SimError::TooMany("flows"));
        }
        self.flows.push(None);
        self.ports.extend([Port::IDLE; 2]);
        Ok(slot)
    }

    /// Makes the connection of an endpoint.
    fn make_connection(&mut self, e: u32) -> &mut Connection {
        let flow = self.flows[e as usize / 2].as_mut().expect("an endpoint of a live flow");
        let side = e as usize & 1;
        let stack = &flow.info.stacks.as_ref().expect("datagrams have no connection")[side];
        let index = 2 * u64::from(flow.info.number) + side as u64;
        let mut rng = Rng::stream(self.seed, "connection", index);
        let iss = SeqNumber(rng.next_u64() as u32);
        let end = &mut flow.ends[side];
        end.sent.first_seq = iss + 1;
        let connection = end.connection.insert(Connection::counted(stack.config(), stack.policies(), iss, rng));
        if flow.info.trace != Mask::NONE {
            connection.set_trace(flow.info.trace);
        }
        connection
    }

    /// A packet reaches its endpoint.
    pub(super) fn deliver(&mut self, id: u32) {
        self.leave_last_link(id);
        let p = *self.pool.get(id);
        let (e, slot) = (p.from ^ 1, p.from / 2);
        let Some(flow) = self.flows[slot as usize].as_mut() else {
            return self.fail(SimError::Conservation("a packet outlived its flow".to_owned()));
        };
        flow.in_flight -= 1;
        let sender = &mut flow.ends[p.from as usize & 1];
        if p.is_corrupt() {
            // The checksum fails: as good as dropped, after every link.
            sender.packets.corrupted += 1;
            sender.sent.note_drop(&p, u8::MAX);
            self.pool.free(id);
            return self.settle(slot);
        }
        sender.packets.delivered += 1;
        sender.packets.delivered_bytes += u64::from(p.bytes);
        if flow.ended || p.is_datagram() {
            self.pool.free(id);
            return self.settle(slot);
        }
        let segment = self.pool.read(id);
        self.pool.free(id);

        // A reset that the first queue drops must not end the flow before it was pumped.
        self.busy = slot;
        let end = &mut flow.ends[e as usize & 1];
        if p.len > 0 {
            end.arrived.add(p.offset, p.end());
        }
        match &mut end.connection {
            Some(connection) if end.over.is_none() || connection.state() != State::Closed => {
                connection.handle_segment(self.now, &segment, &[], p.ecn());
                let stats = connection.stats();
                if p.len > 0 && stats.bytes_received > end.arrived.prefix {
                    let number = flow.info.number;
                    return self.fail(SimError::Conservation(format!("flow {number} delivered bytes that had not arrived")));
                }
                end.sent.dropped.forget_below(stats.bytes_acked);
            }
            None if e & 1 == 1 && segment.flags.any(Flags::SYN) && !segment.flags.any(Flags::ACK) => {
                let now = self.now;
                let connection = self.make_connection(e);
                connection.listen();
                connection.handle_segment(now, &segment, &[], p.ecn());
            }
            _ => self.refuse(e, &segment),
        }
        self.pump(e);
    }

    /// Answers a segment for which there is no connection (any more).
    fn refuse(&mut self, e: u32, segment: &Segment) {
        if let Some(reset) = Connection::reset_for(segment) {
            self.transmit(e, &Transmit { segment: reset, offset: 0, kind: SendKind::Reset, retransmission: false, ecn: Ecn::NotEct });
        }
    }

    /// A wake event of an endpoint has come.
    pub(super) fn wake(&mut self, e: u32) {
        let port = &mut self.ports[e as usize];
        if port.wake != self.now {
            return;
        }
        port.wake = Instant::FAR_FUTURE;
        let Some(flow) = self.flows[e as usize / 2].as_mut().filter(|f| !f.ended) else { return };
        let end = &mut flow.ends[e as usize & 1];
        let Some(connection) = &mut end.connection else { return };
        if connection.poll_timeout().is_some_and(|at| at <= self.now) {
            let before = connection.stats().timeouts;
            connection.handle_timeout(self.now);
            end.sent.timed_out |= connection.stats().timeouts > before;
        }
        self.pump(e);
    }

    /// Lets an endpoint do everything that it can do now, and schedules its next deadline.
    fn pump(&mut self, e: u32) {
        let (slot, side) = (e / 2, e as usize & 1);
        self.busy = slot;
        while self.run_application(slot, side) {}
        let now = self.now;
        loop {
            let Some(connection) = &mut self.end(slot, side).connection else { break };
            let transmit = connection.poll_transmit(now);
            let Some(t) = &transmit else { break };
            self.transmit(e, t);
        }
        self.busy = u32::MAX;
        let flow = self.flows[slot as usize].as_mut().expect("a flow ends between two events only");
        let end = &mut flow.ends[side];
        let Some(connection) = &mut end.connection else { return };
        if flow.info.trace != Mask::NONE {
            let from = self.trace.len();
            connection.drain_trace(&mut self.trace);
            let number = 2 * flow.info.number + side as u32;
            self.trace[from..].iter_mut().for_each(|event| event.connection = number);
        }
        let at = end.deadline();
        let over = flow.ends[0].over.is_some() || flow.ends[1].over.is_some();
        let port = &mut self.ports[e as usize];
        if at < port.wake {
            port.wake = at;
            self.schedule(at, WAKE | e);
        }
        if over {
            self.settle(slot);
        }
    }

    #[inline]
    fn end(&mut self, slot: u32, side: usize) -> &mut End {
        // `expect`: only a settled flow's place is emptied, and `busy` keeps this one from being settled.
        &mut self.flows[slot as usize].as_mut().expect("a flow ends between two events only").ends[side]
    }

    /// Reads the connection's events and calls the application where they concern it. True when it was called: then there may be more.
    fn run_application(&mut self, slot: u32, side: usize) -> bool {
        let now = self.now;
        let flow = self.flows[slot as usize].as_mut().expect("a flow ends between two events only");
        let start = flow.info.start;
        let end = &mut flow.ends[side];
        let Some(connection) = &mut end.connection else { return false };
        let mut call = matches!(end.wake, Some(Wake::At(at) | Wake::AckedOrAt(at)) if at <= now);
        call |= matches!(end.wake, Some(Wake::AckedOrAt(_))) && connection.stats().bytes_acked > end.io.seen_acked;
        let mut established = false;
        while let Some(event) = connection.poll_event() {
            match event {
                ConnectionEvent::Established => established = true,
                ConnectionEvent::Readable => call |= end.wake == Some(Wake::Readable),
                ConnectionEvent::Writable => call |= end.wake == Some(Wake::Writable),
                ConnectionEvent::Flushed => call |= end.wake == Some(Wake::Flushed),
                ConnectionEvent::Finished => end.over = end.over.or(Some(Ending { at: now, reason: None })),
                ConnectionEvent::Aborted(reason) => end.over = end.over.or(Some(Ending { at: now, reason: Some(reason) })),
            }
        }
        if !(call || established) {
            return false;
        }
        let Some(app) = &mut end.app else { return false };
        end.io.seen_acked = connection.stats().bytes_acked;
        // A transaction that begins as the connection opens has waited for the handshake too.
        let opened = established.then_some(start);
        for _ in 0..CALLS_AT_ONCE {
            let mut io = Io { now, opened, connection, state: &mut end.io, moved: false };
            let wake = app.on_wake(now, &mut io, &mut end.app_rng);
            let moved = io.moved;
            end.wake = Some(match wake {
                // Time must pass, or the run would not end.
                Wake::At(at) => Wake::At(at.max(now + Duration::from_nanos(1))),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(now + Duration::from_nanos(1))),
                other => other,
            });
            let ready = match wake {
                Wake::Readable => moved && (connection.readable() > 0 || connection.at_end()),
                Wake::Writable => moved && connection.writable() > 0,
                Wake::Flushed => connection.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::Done => false,
            };
            if !ready {
                break;
            }
        }
        true
    }

    /// Sends a segment, and judges it if it repeats one.
    fn transmit(&mut self, e: u32, t: &Transmit) {
        let flow = self.flows[e as usize / 2].as_mut().expect("a flow ends between two events only");
        let end = &mut flow.ends[e as usize & 1];
        let s = &t.segment;
        let (mut retransmission, mut seen) = (false, 0);
        if s.len > 0 {
            if s.seq.0.wrapping_sub(end.sent.first_seq.0) != t.offset as u32 {
                let number = flow.info.number;
                return self.fail(SimError::Conservation(format!("flow {number} numbered stream position {} as {}", t.offset, s.seq)));
            }
            (retransmission, seen) = end.sent.note_data(t.offset, t.offset + u64::from(s.len));
        } else if s.flags.any(Flags::SYN | Flags::FIN) {
            retransmission = end.sent.note_control(s.flags.any(Flags::SYN));
        }
        end.packets.sent += 1;
        flow.in_flight += 1;
        let id = self.pool.segment(e, t, retransmission, seen);
        self.depart(id);
    }

    /// A packet was duplicated on a wire.
    pub(super) fn duplicated(&mut self, copy: u32) {
        let from = self.pool.get(copy).from;
        if let Some(flow) = &mut self.flows[from as usize / 2] {
            flow.in_flight += 1;
            flow.ends[from as usize & 1].packets.duplicated += 1;
        }
    }

    /// A packet was dropped by a queue or lost on a wire.
    pub(super) fn lose(&mut self, id: u32) {
        let p = *self.pool.get(id);
        self.pool.free(id);
        let slot = p.from / 2;
        let Some(flow) = self.flows[slot as usize].as_mut() else {
            return self.fail(SimError::Conservation("a packet outlived its flow".to_owned()));
        };
        flow.in_flight -= 1;
        let sender = &mut flow.ends[p.from as usize & 1];
        sender.packets.dropped += 1;
        if !p.is_datagram() {
            sender.sent.note_drop(&p, p.hop.max(p.seen));
        }
        self.settle(slot);
    }

    /// Ends a flow when nothing can happen to it any more: both ends are done, or one is and the other waits for what cannot come. Frees the
    /// place of an ended flow with its last packet.
    fn settle(&mut self, slot: u32) {
        if self.busy == slot {
            return;
        }
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        if !flow.ended {
            let done = flow.ends.each_ref().map(|end| end.over.is_some());
            let quiet = || flow.in_flight == 0 && flow.ends.iter().all(|end| end.over.is_some() || end.deadline() == Instant::FAR_FUTURE);
            if !(done[0] && done[1] || (done[0] || done[1]) && quiet()) {
                return;
            }
            self.end_flow(slot);
        }
        let Some(flow) = &self.flows[slot as usize] else { return };
        if flow.ended && flow.in_flight == 0 {
            if let Err(error) = flow.check_packets() {
                return self.fail(error);
            }
            self.flows[slot as usize] = None;
            self.free_flows.push(slot);
        }
    }

    fn end_flow(&mut self, slot: u32) {
        let Some(flow) = &self.flows[slot as usize] else { return };
        if let Err(error) = flow.check_bytes() {
            return self.fail(error);
        }
        let row = self.flow_row(flow);
        self.rows.push(row);
        self.ended += 1;
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        flow.ended = true;
        let orderly = flow.is_orderly();
        for end in &mut flow.ends {
            (end.connection, end.app) = (None, None);
        }
        let (source, group) = (flow.info.source, flow.info.group.clone());
        let place = &mut self.flow_sources[source as usize];
        place.source.on_end(self.now, &group, orderly);
        if place.idle {
            self.ask_source(source);
        }
    }

    pub(super) fn add_datagrams(&mut self, spec: DatagramSpec) -> Result<(), SimError> {
        let route = self.routes.find(spec.from, spec.to)?;
        let slot = self.free_slot()?;
        self.ports[2 * slot as usize] = Port { up: spec.up, route: route.0, hops: route.1, ..Port::IDLE };
        self.ports[2 * slot as usize + 1] = Port { down: spec.down, ..Port::IDLE };
        self.flows[slot as usize] = Some(Flow { ends: [End::new(), End::new()], in_flight: 0, ended: false, info: FlowInfo::of_datagrams(&spec) });
        let rng = Rng::stream(self.seed, "datagrams", self.datagrams.len() as u64);
        self.datagrams.push(DatagramPlace { source: spec.source, rng, next_bytes: 0, flow: slot });
        self.ask_datagram_source(self.datagrams.len() as u32 - 1);
        Ok(())
    }

    fn ask_datagram_source(&mut self, i: u32) {
        let place = &mut self.datagrams[i as usize];
        let Some(next) = place.source.next(&mut place.rng) else { return };
        place.next_bytes = next.bytes;
        if next.at < self.now {
            return self.fail(SimError::OutOfOrder { start_ns: next.at.as_nanos(), now_ns: self.now.as_nanos() });
        }
        self.schedule(next.at, DATAGRAM | i);
    }

    pub(super) fn send_datagram(&mut self, i: u32) {
        let DatagramPlace { next_bytes, flow: slot, .. } = self.datagrams[i as usize];
        if let Some(flow) = &mut self.flows[slot as usize] {
            flow.in_flight += 1;
            flow.ends[0].packets.sent += 1;
            flow.ends[0].packets.sent_bytes += u64::from(next_bytes);
        }
        let id = self.pool.datagram(2 * slot, next_bytes);
        self.depart(id);
        self.ask_datagram_source(i);
    }
}

/// An application that asks again and again for what it already has waits for the next event after so many calls.
const CALLS_AT_ONCE: u32 = 64;
