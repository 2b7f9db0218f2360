//! What leaves a host: what its connections send, and what they report to sockets.

use ackclock_engine::{AbortReason, ConnectionEvent};
use ackclock_units::{Ecn, Rng};
use ackclock_wire::{FastOpen, Flags, Segment};

use super::deferral::Deferral;
use super::options::SocketOptions;
use super::socket::SocketKind;
use super::{ENDED, EngineHost, bursts};
use crate::ast::{Tcp, TcpFlags, TcpOptions};
use crate::constants as c;
use crate::host::{Departure, Ports};

impl EngineHost {
    /// Sends what a connection has to send, and passes on what happened to it.
    pub(super) fn run(&mut self, i: usize) {
        let mut burst = Vec::new();
        let flow = &mut self.flows[i];
        if let Some(sending) = &mut flow.sending {
            sending.free(&flow.connection, flow.reordering.degree, self.now);
        }
        let (mut option, mut reported) = (None, false);
        let most = bursts::segments(&flow.connection, self.least_segments, self.now);
        let mut deferral = Deferral::new(most);
        loop {
            if let Some(sending) = &mut flow.sending {
                let keeps =
                    sending.idle || deferral.keeps(&flow.connection, sending, flow.shut_write, self.now);
                flow.connection.hold_new_data(keeps);
                flow.connection.fill_window(deferral.fills());
            }
            let Some(t) = flow.connection.poll_transmit(self.now) else { break };
            if let Some(sending) = &mut flow.sending {
                sending.left_at = Some(self.now);
            }
            reported |= flow.departed(self.now, &t);
            if t.segment.flags.has(Flags::SYN) {
                option = flow.connection.take_syn_option();
            }
            burst.push(t);
        }
        if deferral.fills_window() {
            flow.connection.note_full_window(self.now);
        }
        flow.connection.hold_new_data(false);
        flow.connection.fill_window(false);
        if let Some(sending) = &mut flow.sending {
            sending.idle = false;
        }
        let acked = flow.written.saturating_sub(flow.connection.unacked());
        reported |= flow.reports.acked(self.now, acked, &flow.options);
        if let Some(sending) = &mut flow.sending {
            let most = bursts::segments(&flow.connection, self.least_segments, self.now);
            sending.sent(&mut burst, flow.connection.smss(), most);
        }
        if reported {
            self.hear(i, c::POLLERR);
        }
        if self.flows[i].wants_room && self.is_writable(&self.flows[i]) {
            self.flows[i].wants_room = false;
            self.hear(i, c::POLLOUT);
        }
        let flow = &mut self.flows[i];
        let no_memory = flow.sending.as_ref().is_some_and(|s| s.waits);
        flow.stalls.note(&flow.connection, no_memory, self.now);
        let ports = flow.ports;
        let repeats_fin = self.flows[i].repeats_fin;
        for mut t in burst {
            if repeats_fin {
                self.flows[i].repeat_fin(&mut t.segment);
            }
            let option = option.filter(|_| t.segment.flags.has(Flags::SYN));
            self.depart(&t.segment, option, t.ecn, ports);
        }
        while let Some(event) = self.flows[i].connection.poll_event() {
            self.flows[i].took(event, self.now, self.dialect);
            match event {
                ConnectionEvent::Urgent => {
                    self.flows[i].note_urgent(self.now);
                    self.hear(i, c::POLLPRI);
                }
                ConnectionEvent::Established => self.hear(i, c::POLLOUT),
                ConnectionEvent::Finished => self.hear(i, c::POLLHUP),
                ConnectionEvent::Aborted(_) => {
                    self.hear(i, c::POLLIN | c::POLLOUT | c::POLLRDHUP | ENDED);
                }
                _ => {}
            }
            let over = matches!(event, ConnectionEvent::Aborted(_));
            if event != ConnectionEvent::Established && !over {
                continue;
            }
            if self.ends_fast_open(i, event) {
                continue;
            }
            // One that waits already and ends is accepted all the same, and has an error.
            let Some(fd) = self.flows[i].listener else { continue };
            let Some(SocketKind::Listener(listener)) = self.sockets.get_mut(&fd).map(|s| &mut s.kind) else {
                continue;
            };
            if !over {
                listener.queue.establish(i);
                self.hear_of(fd, c::POLLIN);
            } else if !self.flows[i].established {
                listener.queue.leave();
                self.flows[i].listener = None;
            }
        }
    }

    /// True where the event ends the handshake of a connection that waits to be accepted since its SYN, or
    /// was accepted before.
    pub(super) fn ends_fast_open(&mut self, i: usize, event: ConnectionEvent) -> bool {
        let accepted = self.flows[i].listener.is_none();
        for socket in self.sockets.values_mut() {
            let SocketKind::Listener(listener) = &mut socket.kind else { continue };
            if let Some(at) = listener.fast_opens.opening.iter().position(|o| *o == i) {
                listener.fast_opens.opening.remove(at);
                if event == ConnectionEvent::Aborted(AbortReason::Reset) && accepted {
                    listener.fast_opens.reset(self.now);
                }
                return true;
            }
        }
        false
    }

    pub(super) fn depart(&mut self, segment: &Segment, option: Option<FastOpen>, ecn: Ecn, ports: Ports) {
        let tcp = Tcp {
            flags: TcpFlags { bits: segment.flags.0, ace: None },
            seq: segment.seq.0,
            any_seq: false,
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack.0),
            window: Some(segment.window),
            urgent: segment.flags.has(Flags::URG).then_some(segment.urgent),
            options: TcpOptions::List(self.dialect.options(segment, option)),
        };
        let options = self.flows.iter().rfind(|f| f.ports == ports).map(|f| &f.options);
        let ip = match options {
            Some(options) => options.ip_fields(self.link, flow_label(self.seed, ports)),
            None => SocketOptions::new(self.keepalive_time).ip_fields(self.link, 0),
        };
        self.sent.push_back(Departure { at: self.now, tcp, ecn, ip, ports });
    }
}

/// The flow label of a connection, which is never zero (RFC 6437 §3).
fn flow_label(seed: u64, ports: Ports) -> u32 {
    let flow = u64::from(ports.local) << 16 | u64::from(ports.remote);
    (Rng::stream(seed, "flow label", flow).next_u64() as u32 & 0xf_ffff).max(1)
}
