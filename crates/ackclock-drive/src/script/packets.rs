//! Packets between the script's numbers and those on the wire.
//!
//! The script's own sequence numbers are on the wire as they are written. The kernel's begin at its initial
//! sequence number, which its first SYN of a connection shows.

use ackclock_script::ast::{Tcp, TcpFlags, TcpOption, TcpOptions};
use ackclock_script::{CLIENT_PORT, Departure, IpFields, Ports, SERVER_PORT, read_options, write_options};
use ackclock_units::{Duration, Ecn, Instant, SeqNumber};
use ackclock_wire::{Flags, Segment, Transport, emit_tcp_raw, parse_ip};

use super::{KernelHost, addresses};
use crate::Clock;
use crate::linux::wait;

/// Segments that leave within this time of the first one have left together: the kernel cuts a burst into
/// segments just before the device.
const TOGETHER: Duration = Duration::from_millis(1);

/// How long the device is watched for the rest of a burst.
const REST: Duration = Duration::from_micros(100);

/// A connection as its packets show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) ports: Ports,
    /// The kernel's initial sequence number; zero before its SYN.
    pub(super) iss: u32,
    /// What the script has acknowledged, in its own numbers.
    pub(super) acked: u32,
    /// The handshake goes on.
    opening: bool,
    /// The kernel and the script have sent a FIN.
    closed: (bool, bool),
}

/// Data that left, as far as segments followed each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    ports: Ports,
    end: u32,
    at: Instant,
}

impl Flow {
    fn new(ports: Ports) -> Self {
        Self { ports, iss: 0, acked: 0, opening: true, closed: (false, false) }
    }
}

impl KernelHost {
    /// The latest connection with these ports.
    pub(super) fn flow(&self, ports: Ports) -> Option<&Flow> {
        self.flows.iter().rfind(|f| f.ports == ports)
    }

    /// The same, made where there is none.
    pub(super) fn flow_mut(&mut self, ports: Ports) -> &mut Flow {
        let i = self.flows.iter().rposition(|f| f.ports == ports).unwrap_or(self.flows.len());
        if i == self.flows.len() {
            self.flows.push(Flow::new(ports));
        }
        &mut self.flows[i]
    }

    /// The ports of a packet for which the script names none.
    pub(super) fn next_ports(&self, opens: bool) -> Ports {
        match self.flows.last() {
            // A SYN opens another connection where another socket was made since the latest one.
            Some(f) if !opens || self.flows.len() > self.flows_before_socket => f.ports,
            _ => {
                let others = u16::try_from(self.flows.len()).unwrap_or(0);
                Ports { local: SERVER_PORT, remote: CLIENT_PORT.saturating_add(others) }
            }
        }
    }

    /// The packet of a segment that the script writes.
    pub(super) fn packet(&mut self, ports: Ports, tcp: &Tcp, ecn: Ecn) -> Result<Vec<u8>, String> {
        let syn = tcp.flags.bits & Flags::SYN.0 != 0;
        if syn && self.flow(ports).is_some_and(|f| f.closed == (true, true)) {
            *self.flow_mut(ports) = Flow::new(ports);
        }
        let known = self.flow(ports).is_some();
        let iss = self.flow(ports).map_or(0, |f| f.iss);
        if known || syn {
            let flow = self.flow_mut(ports);
            if let Some(ack) = tcp.ack {
                flow.opening = false;
                flow.acked = ack;
            }
            flow.closed.1 |= tcp.flags.bits & Flags::FIN.0 != 0;
            flow.opening &= tcp.flags.bits & Flags::RST.0 == 0;
        }
        let mut list = match &tcp.options {
            TcpOptions::List(list) => list.clone(),
            TcpOptions::Any => Vec::new(),
        };
        for option in &mut list {
            if let TcpOption::Sack(blocks) = option {
                for (from, to) in blocks {
                    (*from, *to) = (from.wrapping_add(iss), to.wrapping_add(iss));
                }
            }
        }
        // ECE, CWR and AE are bits 0, 1 and 2 of the counter (RFC 9768 §3.2).
        let counter = u16::from(tcp.flags.ace.unwrap_or(0)) << 6;
        let segment = Segment {
            seq: SeqNumber(tcp.seq),
            ack: SeqNumber(tcp.ack.map_or(0, |ack| ack.wrapping_add(iss))),
            len: tcp.len,
            window: tcp.window.unwrap_or(0),
            flags: Flags(tcp.flags.bits | counter),
            urgent: tcp.urgent.unwrap_or(0),
            ..Segment::default()
        };
        let mut packet = Vec::new();
        let [to, from] = addresses::of_packets(self.link, [ports.local, ports.remote]);
        emit_tcp_raw(from, to, &segment, &write_options(&list), ecn, &mut packet, |_| {})
            .map_err(|e| e.to_string())?;
        Ok(packet)
    }

    /// Hands a packet to the kernel.
    pub(super) fn deliver(&self, packet: &[u8]) -> Result<(), String> {
        self.tun.send(packet).map(drop).map_err(|e| format!("the device does not take the packet: {e}"))
    }

    /// Takes what has left from the device; returns when the last of it left.
    pub(super) fn collect(&mut self, clock: &Clock) -> Option<Instant> {
        use std::os::fd::AsFd as _;
        let mut latest = None;
        loop {
            let mut data = false;
            while let Ok(n) = self.tun.recv(&mut self.buffer) {
                let at = clock.now();
                let packet = std::mem::take(&mut self.buffer);
                if let Some(departure) = packet.get(..n).and_then(|p| self.departure(p, at)) {
                    latest = Some(departure.at);
                    data |= departure.tcp.len > 0;
                    self.sent.push_back(departure);
                }
                self.buffer = packet;
            }
            let rest = Some(clock.now() + REST);
            if !data || !wait::wait(clock, [self.tun.as_fd()], rest)[0] {
                return latest;
            }
        }
    }

    /// A packet that left in the script's numbers; `None` for what is no TCP.
    fn departure(&mut self, packet: &[u8], at: Instant) -> Option<Departure> {
        let parsed = parse_ip(packet).ok()?;
        let Transport::Tcp(view) = parsed.transport else { return None };
        let ports = Ports { local: view.src_port, remote: view.dst_port };
        let segment = &view.segment;
        if segment.flags.has(Flags::SYN) {
            let flow = self.flow_mut(ports);
            if flow.iss != segment.seq.0 {
                *flow = Flow { iss: segment.seq.0, ..Flow::new(ports) };
            }
        }
        let iss = self.flow(ports).map_or(0, |f| f.iss);
        if segment.flags.has(Flags::FIN) && self.flow(ports).is_some() {
            self.flow_mut(ports).closed.0 = true;
        }
        let tcp = Tcp {
            flags: TcpFlags { bits: segment.flags.0, ace: None },
            // A reset for what belongs to no connection has the number 0 (RFC 9293 §3.10.7.1).
            seq: if segment.flags.has(Flags::RST) && segment.seq.0 == 0 {
                0
            } else {
                segment.seq.0.wrapping_sub(iss)
            },
            any_seq: false,
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack.0),
            window: Some(segment.window),
            urgent: segment.flags.has(Flags::URG).then_some(segment.urgent),
            options: TcpOptions::List(read_options(option_bytes(packet))),
        };
        let at = self.together(ports, &tcp, at);
        Some(Departure { at, tcp, ecn: parsed.ecn, ip: ip_fields(packet), ports })
    }

    /// When a segment left: together with the one that it continues, or by itself.
    fn together(&mut self, ports: Ports, tcp: &Tcp, at: Instant) -> Instant {
        let continued = self
            .burst
            .filter(|b| tcp.len > 0 && (b.ports, b.end) == (ports, tcp.seq) && at.since(b.at) < TOGETHER);
        let at = continued.map_or(at, |b| b.at);
        self.burst = (tcp.len > 0).then(|| Burst { ports, end: tcp.seq.wrapping_add(tcp.len), at });
        at
    }
}

/// Fields of the IP header of a packet that was parsed (RFC 791 §3.1, RFC 8200 §3).
fn ip_fields(packet: &[u8]) -> IpFields {
    match packet {
        [a, b, c, d, _, _, _, hops, ..] if a >> 4 == 6 => {
            let word = u32::from_be_bytes([*a, *b, *c, *d]);
            IpFields { dscp: (word >> 22 & 0x3f) as u8, hops: *hops, flow_label: Some(word & 0xf_ffff) }
        }
        [_, tos, _, _, _, _, _, _, ttl, ..] => IpFields { dscp: tos >> 2, hops: *ttl, flow_label: None },
        _ => IpFields { dscp: 0, hops: 0, flow_label: None },
    }
}

/// The options of a packet that was parsed as TCP (RFC 791 §3.1, RFC 8200 §3, RFC 9293 §3.1); none where it
/// has extension headers.
fn option_bytes(packet: &[u8]) -> &[u8] {
    /// A TCP header without options, bytes.
    const HEADER: usize = 20;
    /// A header of IPv6, bytes, and its number of the header that follows.
    const IPV6_HEADER: usize = 40;
    const NEXT_HEADER: usize = 6;
    let ip = match packet.first().map_or(0, |b| b >> 4) {
        6 if packet.get(NEXT_HEADER).is_none_or(|next| *next != 6) => return &[],
        6 => IPV6_HEADER,
        _ => packet.first().map_or(0, |b| usize::from(b & 15) * 4),
    };
    let Some(offset) = packet.get(ip + 12) else { return &[] };
    packet.get(ip + HEADER..ip + usize::from(offset >> 4) * 4).unwrap_or_default()
}
