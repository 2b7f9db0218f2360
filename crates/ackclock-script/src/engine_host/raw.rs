//! A host among packets in bytes and descriptors of others, rather than in the terms of scripts.

use std::net::{IpAddr, SocketAddr};

use ackclock_units::SeqNumber;
use ackclock_wire::{
    FastOpen, Flags, Options, Segment, Strictness, Transport, WireError, emit_tcp_raw, parse_icmp_error,
    parse_ip,
};

use super::socket::SocketKind;
use super::{EngineHost, info};
use crate::ast::TcpOptions;
use crate::code::TcpInfo;
use crate::host::{Departure, Ports};
use crate::layout;

impl EngineHost {
    /// A packet arrives, IP header first: a segment, or an ICMP error about one. What is neither is ignored.
    ///
    /// # Errors
    ///
    /// Bytes that are no packet.
    pub fn receive_packet(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let packet = parse_ip(bytes)?;
        match packet.transport {
            Transport::Tcp(tcp) => {
                let ports = Ports { local: tcp.dst_port, remote: tcp.src_port };
                let option = FastOpen::find_in_packet(bytes);
                if tcp.segment.flags.has(Flags::SYN) {
                    (self.fast_open.remote, self.fast_open.local) = (packet.src, packet.dst);
                }
                self.receive(ports, &tcp.segment, option, packet.ecn);
            }
            Transport::Other { .. } => {
                let error = parse_icmp_error(&packet, Strictness::FULL)?;
                self.receive_icmp(Ports { local: error.from.port(), remote: error.to.port() }, &error);
            }
            Transport::Udp(_) => {}
        }
        Ok(())
    }

    /// What `TCP_INFO` says of the connection of a descriptor; `None` where it has none.
    pub fn info_of(&mut self, fd: i32) -> Option<TcpInfo> {
        let SocketKind::Stream(i) = self.sockets.get(&fd)?.kind else { return None };
        Some(info::of(&mut self.flows[i], self.now))
    }

    /// The ports of the connection of a descriptor; `None` where it has none.
    pub fn ports_of(&self, fd: i32) -> Option<Ports> {
        let SocketKind::Stream(i) = self.sockets.get(&fd)?.kind else { return None };
        Some(self.flows[i].ports)
    }
}

impl Departure {
    /// Appends the packet to `out`, IP header first, with checksums and the options in the order of the dialect.
    ///
    /// # Errors
    ///
    /// Addresses of two families, or more than fits into a packet.
    pub fn emit(&self, local: IpAddr, remote: IpAddr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let tcp = &self.tcp;
        let segment = Segment {
            seq: SeqNumber(tcp.seq),
            ack: SeqNumber(tcp.ack.unwrap_or(0)),
            len: tcp.len,
            window: tcp.window.unwrap_or(0),
            flags: Flags(tcp.flags.bits),
            urgent: tcp.urgent.unwrap_or(0),
            options: Options::NONE,
        };
        let options = match &tcp.options {
            TcpOptions::List(list) => layout::write(list),
            TcpOptions::Any => Vec::new(),
        };
        let local = SocketAddr::new(local, self.ports.local);
        let remote = SocketAddr::new(remote, self.ports.remote);
        emit_tcp_raw(local, remote, &segment, &options, self.ecn, out, |_| {})
    }
}
