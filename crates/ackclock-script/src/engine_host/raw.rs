//! A host among packets in bytes and descriptors of others, rather than in the terms of scripts.

use std::net::{IpAddr, SocketAddr};

use ackclock_units::SeqNumber;
use ackclock_wire::{
    FastOpen, Flags, Options, Segment, Strictness, Transport, WireError, emit_tcp_raw, internet_checksum,
    parse_icmp_error, parse_ip,
};

use super::socket::SocketKind;
use super::{EngineHost, info};
use crate::ast::TcpOptions;
use crate::code::TcpInfo;
use crate::host::{Departure, IpFields, Ports};
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

impl IpFields {
    /// Writes the fields into an IP header without options whose ECN field is set (RFC 791 §3.1, RFC 8200
    /// §3).
    fn write(&self, packet: &mut [u8]) {
        match packet {
            [first, tos, _, _, _, _, _, _, ttl, _, sum_high, sum_low, ..] if *first >> 4 == 4 => {
                *tos = *tos & 3 | self.dscp << 2;
                (*ttl, *sum_high, *sum_low) = (self.hops, 0, 0);
                let sum = internet_checksum(&packet[..20]);
                packet[10..12].copy_from_slice(&sum);
            }
            [first, second, high, low, _, _, _, hops, ..] if *first >> 4 == 6 => {
                let label = self.flow_label.unwrap_or(0);
                let class = u32::from(self.dscp) << 2 | u32::from(*second >> 4 & 3);
                let word = 6 << 28 | class << 20 | label & 0xf_ffff;
                [*first, *second, *high, *low] = word.to_be_bytes();
                *hops = self.hops;
            }
            _ => {}
        }
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
        let start = out.len();
        emit_tcp_raw(local, remote, &segment, &options, self.ecn, out, |_| {})?;
        self.ip.write(&mut out[start..]);
        Ok(())
    }
}
