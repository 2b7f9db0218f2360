//! What arrives at a host: segments for its connections and listeners, and ICMP errors.

use ackclock_engine::{Connection, State};
use ackclock_units::Ecn;
use ackclock_wire::{FastOpen, Flags, IcmpError, Segment};

use super::flow::Flow;
use super::socket::{Socket, SocketKind};
use super::{Dialect, EngineHost, MAX_OPEN};
use crate::constants as c;
use crate::host::Ports;

impl EngineHost {
    pub(super) fn find(&self, ports: Ports) -> Option<usize> {
        // The newest first: an old connection in TIME-WAIT may have had the same ports.
        let alive = |f: &Flow| f.ports == ports && f.connection.state() != State::Closed;
        self.flows.iter().rposition(alive)
    }

    /// A segment arrives; `option`: that of Fast Open among its options.
    pub(super) fn receive(&mut self, ports: Ports, segment: &Segment, option: Option<FastOpen>, ecn: Ecn) {
        let mut found = self.find(ports);
        if self.freebsd.is_some_and(|host| host.drops(segment))
            || self.is_dropped_by_listener(found, ports, segment)
        {
            return;
        }
        if let Some(i) = found
            && self.flows[i].connection.may_be_replaced_by(segment)
            && self.listener(ports.local).is_some()
        {
            self.flows[i].connection.abort(self.now);
            found = None;
        }
        if let Some(i) = found.filter(|_| self.freebsd.is_some())
            && self.flows[i].connection.state() == State::TimeWait
        {
            self.receive_in_time_wait(i, segment);
            return;
        }
        let mut changed = *segment;
        let mut segment = segment;
        if segment.flags.has(Flags::URG) && segment.urgent == 0 && self.dialect == Dialect::Linux {
            // A pointer of 0 is the segment's first byte, as one of 1 is (`tcp_check_urg`); by RFC 9293 §3.8.5
            // nothing would be urgent.
            changed.urgent = 1;
            segment = &changed;
        }
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            let mut accepted = false;
            if found.is_none() {
                let opened = self.open_passively(ports, segment, option);
                (found, accepted) = (opened.map(|(i, _)| i), opened.is_some_and(|(_, accepts)| accepts));
                if found.is_none() && self.listener(ports.local).is_some() {
                    // No room: the peer will send it again (`tcp_conn_request`).
                    return;
                }
            }
            let of_freebsd = self.freebsd.is_some();
            let drops = found.is_some_and(|i| {
                let flow = &mut self.flows[i];
                let listens = flow.listener.is_some();
                !accepted && self.dialect.drops_text_of_syns(listens) || of_freebsd && flow.hold_text(segment)
            });
            if drops {
                changed.len = 0;
                segment = &changed;
            }
        }
        let Some(i) = found else {
            if self.freebsd.is_some_and(|host| host.is_silent(segment))
                && self.listener(ports.local).is_none()
            {
                return;
            }
            // What neither opens nor acknowledges is dropped where somebody listens (RFC 9293 §3.10.7.2).
            if segment.flags.any(Flags::ACK | Flags::SYN) || self.listener(ports.local).is_none() {
                self.refuse(ports, segment);
            }
            return;
        };
        if self.is_held_back(i, segment) {
            return;
        }
        self.flows[i].arrived(self.now, segment);
        let flow = &mut self.flows[i];
        if flow.connection.reads_ack_of(segment) {
            if !flow.expects(self.now, segment) {
                flow.release_more(self.now);
            }
            if flow.sending.is_some() && !flow.connection.brings_text_alone(segment) {
                // (`tcp_ack_probe`, `tcp_check_probe_timer`)
                flow.connection.restart_cork(self.now);
            }
        } else if let Some(sending) = &mut flow.sending {
            // What is dropped makes Linux send nothing that waits.
            sending.idle = true;
        }
        flow.learn_to_predict(self.now, segment);
        let unread = self.flows[i].connection.readable();
        let state = self.flows[i].connection.state();
        let begun = state == State::SynSent;
        self.flows[i].repeats_fin = self.freebsd.is_some() && !segment.flags.any(Flags::SYN | Flags::RST);
        self.flows[i].connection.handle_segment(self.now, segment, &[], ecn);
        if let Some(host) = self.freebsd {
            self.flows[i].take_held_text(self.now, segment);
            self.flows[i].settle_buffers(self.now, host.most());
            self.flows[i].note_reset(state, segment.flags.has(Flags::RST));
        }
        if begun && self.flows[i].connection.state() == State::Established {
            self.learn_from_syn_ack(i, segment, option);
        }
        if self.flows[i].connection.readable() > unread || segment.flags.has(Flags::FIN) {
            self.hear(i, c::POLLIN | c::POLLRDHUP);
        }
        self.run(i);
    }

    /// True for a segment that would establish a connection for which there is no room: the SYN-ACK is sent
    /// again later (`tcp_v4_syn_recv_sock`).
    pub(super) fn is_held_back(&self, i: usize, segment: &Segment) -> bool {
        let flow = &self.flows[i];
        let completes = segment.flags.has(Flags::ACK) && !segment.flags.any(Flags::SYN | Flags::RST);
        let socket =
            flow.listener.filter(|_| completes && !flow.established).and_then(|fd| self.sockets.get(&fd));
        matches!(socket.map(|s| &s.kind), Some(SocketKind::Listener(l)) if l.queue.is_full())
    }

    pub(super) fn receive_icmp(&mut self, ports: Ports, error: &IcmpError) {
        if let Some(i) = self.find(ports) {
            self.flows[i].noted(error);
            self.flows[i].connection.handle_icmp(self.now, error);
            self.run(i);
        }
    }

    /// Responds to a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    pub(super) fn refuse(&mut self, ports: Ports, segment: &Segment) {
        if let Some(segment) = Connection::reset_for(segment) {
            self.depart(&segment, None, Ecn::NotEct, ports);
        }
    }

    pub(super) fn listener(&self, port: u16) -> Option<i32> {
        let listens = |s: &Socket| matches!(s.kind, SocketKind::Listener(_)) && s.port == Some(port);
        self.sockets.iter().find(|(_, s)| listens(s)).map(|(fd, _)| *fd)
    }

    /// Makes the connection for a SYN, where somebody listens and has room. Returns whether its text is
    /// delivered.
    pub(super) fn open_passively(
        &mut self,
        ports: Ports,
        syn: &Segment,
        option: Option<FastOpen>,
    ) -> Option<(usize, bool)> {
        let fd = self.listener(ports.local)?;
        let (i, now) = (self.flows.len(), self.now);
        let socket = self.sockets.get_mut(&fd)?;
        let SocketKind::Listener(listener) = &mut socket.kind else { return None };
        if listener.queue.is_full() || i >= MAX_OPEN {
            return None;
        }
        let options = socket.options.clone();
        let verdict = self.fast_open.judge(syn, option, &options, &mut listener.fast_opens, now);
        if verdict.accepts {
            listener.queue.wait(i);
            listener.fast_opens.opening.push(i);
        } else {
            listener.queue.open();
        }
        let mut flow = self.make_flow(ports, options, self.accepts_ecn);
        flow.connection.listen();
        flow.listener = Some(fd);
        if verdict.accepts {
            flow.connection.accept_fast_open(verdict.answer);
            flow.established = true;
        } else if let Some(answer) = verdict.answer {
            flow.connection.offer_cookie(answer);
        }
        self.flows.push(flow);
        Some((i, verdict.accepts))
    }

    /// A client's SYN was acknowledged: notes what that says of the server.
    pub(super) fn learn_from_syn_ack(&mut self, i: usize, syn_ack: &Segment, answer: Option<FastOpen>) {
        let Some(attempt) = self.flows[i].connection.fast_open() else { return };
        // RFC 9293 §3.7.1: without an option it is 536 bytes over IPv4.
        let mss = syn_ack.options.mss.map_or(536, u32::from);
        self.fast_open.cache.learn(self.fast_open.remote, mss, answer, &attempt);
    }
}
