use std::net::SocketAddr;

use ackclock_engine::{Connection, Transmit};
use ackclock_units::{Ecn, Instant};
use ackclock_wire::{
    IcmpError, IpPacket, Options, Segment, Strictness, Transport, emit_tcp, emit_tcp_with, parse_icmp_error,
    parse_ip,
};

/// A connection with its two addresses: receives and sends whole IP packets.
#[derive(Debug)]
pub struct Endpoint {
    /// The connection.
    pub connection: Connection,
    /// The address and port of this side.
    pub local: SocketAddr,
    /// The address and port of the peer.
    pub remote: SocketAddr,
}

impl Endpoint {
    /// Receives a packet from the network; false when it is discarded: not a whole, undamaged TCP packet of
    /// this connection.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) -> bool {
        let Ok(packet) = parse_ip(bytes) else { return false };
        let Transport::Tcp(tcp) = packet.transport else { return false };
        if packet.endpoints() != (self.remote, self.local) {
            return false;
        }
        self.connection.handle_segment(now, &tcp.segment, tcp.payload, packet.ecn);
        true
    }

    /// Receives an ICMP error; false when the packet is no ICMP error, or is about another connection.
    pub fn receive_icmp(&mut self, now: Instant, bytes: &[u8]) -> bool {
        let Some(error) = icmp_of(bytes) else { return false };
        let ours = (error.from, error.to) == (self.local, self.remote);
        if ours {
            self.connection.handle_icmp(now, &error);
        }
        ours
    }

    /// The next packet to send. Checks that parsing it returns the same segment.
    pub fn next_packet(&mut self, now: Instant) -> Option<(Transmit, Vec<u8>)> {
        let t = self.connection.poll_transmit(now)?;
        let mut bytes = Vec::new();
        let copy = |out: &mut [u8]| self.connection.copy_payload(t.offset, out);
        emit_tcp_with(self.local, self.remote, &t.segment, t.ecn, &mut bytes, copy)
            .unwrap_or_else(|e| panic!("{e}: {:?}", t.segment));
        let packet = parse_ip(&bytes).unwrap_or_else(|e| panic!("{e}: {:?}", t.segment));
        let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP: {packet:?}") };
        assert_eq!(
            (tcp.segment, packet.ecn, packet.endpoints()),
            (t.segment, t.ecn, (self.local, self.remote)),
            "parses to the segment that was sent"
        );
        Some((t, bytes))
    }
}

/// `segment` and `payload` as a whole IP packet.
pub fn packet(src: SocketAddr, dst: SocketAddr, segment: &Segment, payload: &[u8], ecn: Ecn) -> Vec<u8> {
    let mut bytes = Vec::new();
    emit_tcp(src, dst, segment, payload, ecn, &mut bytes).unwrap_or_else(|e| panic!("{e}: {segment:?}"));
    bytes
}

/// The segment of a packet; `None` when it is not a whole, undamaged TCP packet.
pub fn segment_of(bytes: &[u8]) -> Option<Segment> {
    match parse_ip(bytes) {
        Ok(IpPacket { transport: Transport::Tcp(tcp), .. }) => Some(tcp.segment),
        _ => None,
    }
}

/// The ICMP error in a packet; `None` when it is not a whole, undamaged one.
pub(crate) fn icmp_of(bytes: &[u8]) -> Option<IcmpError> {
    parse_ip(bytes).and_then(|packet| parse_icmp_error(&packet, Strictness::FULL)).ok()
}

/// The byte at `position` of the stream that `side` sends: every part of it differs from its neighbours and
/// from the other side's.
pub fn pattern(side: usize, position: u64) -> u8 {
    let x = (position + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (side as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    (x ^ (x >> 29)).to_le_bytes()[4]
}

/// A segment as tcpdump prints it, with relative sequence numbers.
pub(crate) fn line(s: &Segment, seq_base: u32, ack_base: u32) -> String {
    let (seq, ack) = (s.seq.0.wrapping_sub(seq_base), s.ack.0.wrapping_sub(ack_base));
    let mut text =
        format!("{:?} {seq}:{}({}) ack {ack} win {}", s.flags, seq.wrapping_add(s.len), s.len, s.window);
    let o = &s.options;
    if *o != Options::default() {
        let sack: Vec<_> = o
            .sack
            .as_slice()
            .iter()
            .map(|b| (b.start.0.wrapping_sub(ack_base), b.end.0.wrapping_sub(ack_base)))
            .collect();
        text += &format!(
            " mss {:?} scale {:?} sackOK {} ts {:?} sack {sack:?}",
            o.mss, o.window_scale, o.sack_permitted, o.timestamps
        );
    }
    text
}
