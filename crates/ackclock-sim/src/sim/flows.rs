//! Flows: start, events at their endpoints, end.

use std::sync::Arc;

use ackclock_engine::{Connection, State, Transmit, User};
use ackclock_policy::Wake;
use ackclock_trace::{Event, Mask, SendKind};
use ackclock_units::{Ecn, Instant, Rng, SeqNumber, mostly, seldom};
use ackclock_wire::{Flags, Segment};

use super::options::MeasuredSpan;
use super::path::Net;
use super::sending::transmit;
use super::state::{FlowSourceState, Simulation};
use crate::endpoint::{Counting, End, Flow, FlowInfo, FlowKind, IoState, Port};
use crate::error::SimError;
use crate::event::{AT_BARRIER, FLOW, INDEX, WAKE};
use crate::flow::{FlowSpec, StackFactory, application_stream};

impl Simulation {
    /// Gets the next flow from a source and schedules its start.
    pub(super) fn schedule_flow(&mut self, i: u32) {
        let place = &mut self.flow_sources[i as usize];
        let now = self.net.now;
        let spec = place.source.next(now, &mut place.rng);
        place.idle = spec.is_none();
        let Some(spec) = spec else { return };
        let start = spec.start;
        place.next = Some(spec);
        if start < now {
            return self
                .net
                .fail(SimError::OutOfOrder { start_ns: start.as_nanos(), now_ns: now.as_nanos() });
        }
        self.net.schedule(start, FLOW | i);
    }

    #[inline(never)]
    pub(super) fn start_next(&mut self, i: u32) {
        let Some(spec) = self.flow_sources[i as usize].next.take() else { return };
        match self.start_flow(spec, i) {
            Ok(()) => self.schedule_flow(i),
            Err(error) => self.net.fail(error),
        }
    }

    fn start_flow(&mut self, spec: FlowSpec, source: u32) -> Result<(), SimError> {
        let there = self.net.routes.find(spec.client, spec.server)?;
        let back = self.net.routes.find(spec.server, spec.client)?;
        let slot = self.free_slot()?;
        let a = spec.access;
        self.net.attach(2 * slot, (a.client_up, a.client_down), there)?;
        self.net.attach(2 * slot + 1, (a.server_up, a.server_down), back)?;

        let segments =
            |stack: &dyn StackFactory| stack.config().snd_buf / u64::from(stack.config().mss.max(1));
        self.memory.on_flow(segments(&*spec.client_stack).max(segments(&*spec.server_stack)));
        let number = self.started;
        self.started = number.checked_add(1).ok_or(SimError::TooMany("flows", u64::from(u32::MAX)))?;
        let seed = self.seeds.next(&spec.group);
        let end =
            |app, side: u64| End::new(User::new(app, IoState::default()), application_stream(seed, side));
        let stacks = Some([spec.client_stack, spec.server_stack]);
        let kind = FlowKind { source, client: spec.client, server: spec.server, stacks, group: spec.group };
        let flow = Flow {
            ended: false,
            over: false,
            trace: Mask(self.options.trace.0 | spec.trace.0),
            number,
            start: self.net.now,
            counting: match self.options.measured {
                MeasuredSpan::AfterEpisodes(n) if n > 0 => Some(Box::new(Counting::After(n))),
                _ => None,
            },
            ends: [end(spec.client_app, 0), end(spec.server_app, 1)],
            info: FlowInfo::new(self.flow_sources[source as usize].kind_of(kind), spec.size, seed),
        };
        let flow = self.flows[slot as usize].insert(flow);
        flow.open(0).connect(self.net.now);
        flow.pump(2 * slot, &mut self.net, &mut self.trace);
        Ok(())
    }

    pub(super) fn free_slot(&mut self) -> Result<u32, SimError> {
        if let Some(slot) = self.free_flows.pop() {
            return Ok(slot);
        }
        let slot = self.flows.len() as u32;
        // An endpoint's number must fit beside the kind of an event.
        if slot >= INDEX / 2 {
            return Err(SimError::TooMany("flows at a time", u64::from(INDEX / 2)));
        }
        self.flows.push(None);
        self.net.ports.extend([Port::IDLE; 2]);
        Ok(slot)
    }

    /// Handles a packet that has reached its endpoint, or, if `wakes`, the wake event of endpoint `i`. Both end
    /// in the same copy of what an endpoint sends next: with a second one, paced senders, which alternate
    /// between the two, do not fit the cache of instructions.
    #[inline(always)]
    pub(super) fn deliver(&mut self, i: u32, wakes: bool) {
        let net = &mut self.net;
        let (e, flow) = if seldom(wakes) {
            let Some(flow) = Flow::woken(&mut self.flows, net, i) else { return };
            (i, flow)
        } else {
            let id = i;
            let p = net.pool.get(id);
            let (from, offset, stop, len, ecn) = (p.from, p.offset(), p.end(), p.len, p.ecn());
            let (hop, corrupt, datagram) = (p.hop, p.is_corrupt(), p.is_datagram());
            net.leave_link(from, hop, corrupt);
            let (e, slot) = (from ^ 1, from / 2);
            let Some(flow) = self.flows[slot as usize].as_mut() else {
                return net.fail(SimError::Conservation("a packet outlived its flow".to_owned()));
            };
            if seldom(corrupt | flow.ended | datagram) {
                return self.discard(id, slot);
            }
            let [client, server] = &mut flow.ends;
            let (sender, end) = if from & 1 == 0 { (client, server) } else { (server, client) };
            sender.sent.leave();
            let segment = net.pool.take(id, sender.sent.first_seq);
            if len > 0 {
                end.arrived.add(offset, stop);
            }
            match &mut end.connection {
                Some(connection)
                    if mostly(!flow.over)
                        || end.user.io.over().is_none()
                        || connection.state() != State::Closed =>
                {
                    connection.handle_segment(net.now, &segment, &[], ecn);
                    let stats = connection.stats();
                    if len > 0 && stats.bytes_received > end.arrived.prefix {
                        let number = flow.number;
                        return net.fail(SimError::Conservation(format!(
                            "flow {number} delivered bytes that had not arrived"
                        )));
                    }
                    end.sent.dropped.forget_below(stats.bytes_acked);
                    if let Some(Counting::After(n)) = flow.counting.as_deref()
                        && connection.ended_episodes() >= *n
                    {
                        flow.begin_counting(net.now);
                        [2 * slot, 2 * slot + 1].into_iter().for_each(|e| net.forget_met(e));
                    }
                }
                None if seldom(e & 1 == 1)
                    && segment.flags.any(Flags::SYN)
                    && !segment.flags.any(Flags::ACK) =>
                {
                    flow.begin_server(net.now, &segment, ecn);
                }
                _ => flow.refuse(e, &segment, net),
            }
            (e, flow)
        };
        flow.pump_here(e, net, &mut self.trace);
        if seldom(flow.over) {
            self.finish_flow(e / 2);
        }
    }

    /// Handles a packet of flow `slot` that reaches its endpoint but no connection: it is damaged, a
    /// datagram, or arrives after the flow's end.
    #[inline(never)]
    fn discard(&mut self, id: u32, slot: u32) {
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        let pool = &mut self.net.pool;
        let p = *pool.get(id);
        let sender = &mut flow.ends[p.from as usize & 1];
        if p.is_corrupt() {
            // The checksum fails: it counts as dropped after the last link.
            sender.sent.leave();
            sender.sent.note_drop(&p, u8::MAX, &mut sender.user.io.rare);
            pool.free(id);
        } else {
            let bytes = pool.bytes(id);
            sender.sent.leave();
            pool.free(id);
            if p.is_datagram() {
                sender.user.io.read += u64::from(bytes);
                self.receive_datagram(p.from, p.offset(), bytes);
            }
        }
        self.finish_flow(slot);
    }

    /// Notifies the flows of packets that the network has dropped and duplicated.
    #[cold]
    pub(super) fn notify_flows(&mut self) {
        while let Some(from) = self.net.copied.pop() {
            if let Some(flow) = &mut self.flows[from as usize / 2] {
                flow.ends[from as usize & 1].sent.copy();
            }
        }
        while let Some(id) = self.net.lost.pop() {
            let p = *self.net.pool.get(id);
            self.net.pool.free(id);
            let slot = p.from / 2;
            self.net.met_by(p.from).dropped += 1;
            let Some(flow) = self.flows[slot as usize].as_mut() else {
                return self.net.fail(SimError::Conservation("a packet outlived its flow".to_owned()));
            };
            let sender = &mut flow.ends[p.from as usize & 1];
            sender.sent.leave();
            if !p.is_datagram() {
                let passed = p.hop.max(p.seen);
                if sender.sent.note_drop(&p, passed, &mut sender.user.io.rare) {
                    self.net.pool.lower_seen_of_copies(&p, passed);
                }
            }
            if flow.over {
                self.finish_flow(slot);
            }
        }
    }

    /// Ends a flow when no event of it can follow: both ends are done, or one is done, nothing is in flight
    /// and the other has no timer. Frees the slot of an ended flow once its last packet has left the network.
    #[inline(never)]
    pub(super) fn finish_flow(&mut self, slot: u32) {
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        if !flow.ended {
            let done = flow.ends.each_ref().map(|end| end.over().is_some());
            let nothing_pending = || {
                flow.in_flight() == 0
                    && flow
                        .ends
                        .iter()
                        .all(|end| end.over().is_some() || end.deadline() == Instant::FAR_FUTURE)
            };
            if !(done[0] && done[1] || (done[0] || done[1]) && nothing_pending()) {
                return;
            }
            self.end_flow(slot);
        }
        if self.flows[slot as usize].as_ref().is_some_and(|f| f.ended && f.in_flight() == 0) {
            self.flows[slot as usize] = None;
            self.free_flows.push(slot);
        }
    }

    fn end_flow(&mut self, slot: u32) {
        let Some(flow) = &self.flows[slot as usize] else { return };
        if let Err(error) = flow.check_bytes() {
            return self.net.fail(error);
        }
        let row = self.flow_row(slot, flow);
        self.rows.push(row);
        self.ended += 1;
        self.note_end_in_series(slot);
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        flow.ended = true;
        let (orderly, number) = (flow.is_orderly(), flow.number);
        self.taken.take(flow, self.options.measured, self.net.now);
        for end in &mut flow.ends {
            (end.connection, end.user.application) = (None, None);
        }
        let (source, group) = (flow.info.kind.source, flow.info.kind.group.clone());
        let place = &mut self.flow_sources[source as usize];
        place.source.on_end(self.net.now, &group, orderly);
        if place.idle {
            self.schedule_flow(source);
        }
        self.leave_barrier(source, number);
    }
}

impl FlowSourceState {
    /// Returns `kind`, shared with the previous flow when that was of the same kind.
    fn kind_of(&mut self, kind: FlowKind) -> Arc<FlowKind> {
        match &self.kind {
            Some(last) if last.is(&kind) => Arc::clone(last),
            _ => Arc::clone(self.kind.insert(Arc::new(kind))),
        }
    }
}

impl Flow {
    /// The flow of endpoint `e`, which is due to be woken, after its timers have fired; `None` when there is
    /// nothing to do.
    #[inline(never)]
    fn woken<'a>(flows: &'a mut [Option<Self>], net: &mut Net, e: u32) -> Option<&'a mut Self> {
        let port = &mut net.ports[e as usize];
        if port.wake != net.now {
            return None;
        }
        port.wake = Instant::FAR_FUTURE;
        let flow = flows[e as usize / 2].as_mut().filter(|f| !f.ended)?;
        let end = &mut flow.ends[e as usize & 1];
        let connection = end.connection.as_mut()?;
        if connection.poll_timeout().is_some_and(|at| at <= net.now) {
            let before = connection.stats().timeouts;
            connection.handle_timeout(net.now);
            end.sent.timed_out |= connection.stats().timeouts > before;
        }
        Some(flow)
    }

    /// Creates the connection of one end.
    #[inline(never)]
    fn open(&mut self, side: usize) -> &mut Connection {
        // `expect`: only flows with connections are opened.
        let stack = &self.info.kind.stacks.as_ref().expect("datagrams have no connection")[side];
        let mut rng = Rng::stream(self.info.seed, "connection", side as u64);
        let iss = SeqNumber(rng.next_u64() as u32);
        let end = &mut self.ends[side];
        end.sent.first_seq = iss + 1;
        let connection =
            end.connection.insert(Connection::counted(stack.config(), stack.policies(), iss, rng));
        if self.trace != Mask::NONE {
            connection.set_trace(self.trace);
        }
        connection
    }

    /// Creates the server's connection on the first SYN.
    #[inline(never)]
    fn begin_server(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let connection = self.open(1);
        connection.listen();
        connection.handle_segment(now, segment, &[], ecn);
    }

    /// Responds to a segment for which there is no connection, with a reset where one is due.
    #[cold]
    fn refuse(&mut self, e: u32, segment: &Segment, net: &mut Net) {
        if let Some(reset) = Connection::reset_for(segment) {
            let t = Transmit {
                segment: reset,
                offset: 0,
                kind: SendKind::Reset,
                retransmission: false,
                ecn: Ecn::NotEct,
            };
            self.ends[e as usize & 1].sent.send();
            net.send(e, &t, false, 0);
        }
    }

    /// As [`Flow::pump_here`], not inlined, for rare callers.
    #[inline(never)]
    pub(super) fn pump(&mut self, e: u32, net: &mut Net, trace: &mut Vec<Event>) {
        self.pump_here(e, net, trace);
    }

    /// Runs the application of an endpoint, sends what the connection may send now, and schedules the next
    /// deadline.
    #[inline(always)]
    fn pump_here(&mut self, e: u32, net: &mut Net, trace: &mut Vec<Event>) {
        let now = net.now;
        let [client, server] = &mut self.ends;
        let end = if e & 1 == 0 { client } else { server };
        let eager = end.connection.as_ref().is_some_and(Connection::sends_eagerly);
        if seldom(eager) {
            end.send_early(self.number, e, net);
        }
        let mut called = end.run_application(now, self.start, true);
        let was_called = called;
        loop {
            if seldom(eager) {
                end.send_early(self.number, e, net);
            }
            let Some(connection) = &mut end.connection else { return };
            while let Some(t) = connection.poll_transmit(now) {
                if !transmit((&mut end.sent, &mut end.user.io.rare), &t, (self.number, e), net) {
                    return;
                }
            }
            // When the application was not called and there are no events, another call would change nothing.
            if mostly(!called & !connection.has_events()) {
                break;
            }
            called = end.run_application_again(now, self.start);
            if !called {
                break;
            }
        }
        if seldom(was_called) && end.user.waits_for() == Some(Wake::Barrier) && e & 1 == 0 {
            net.schedule(now, FLOW | AT_BARRIER | (e / 2));
        }
        self.over |= end.over().is_some();
        let at = end.deadline();
        if at < net.ports[e as usize].wake {
            net.ports[e as usize].wake = at;
            net.schedule(at, WAKE | e);
        }
        if seldom(self.trace != Mask::NONE) {
            let from = trace.len();
            if let Some(connection) = &mut end.connection {
                connection.drain_trace(trace);
            }
            let number = 2 * self.number + (e & 1);
            trace[from..].iter_mut().for_each(|event| event.connection = number);
        }
    }
}
