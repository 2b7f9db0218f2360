//! Routes of the present network namespace, by rtnetlink(7).

use std::io;
use std::net::Ipv4Addr;

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, Nla,
    NlasIterator,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;

/// Routes all addresses without a route of their own to a device.
pub(super) fn route_all_by(device: u32) -> io::Result<()> {
    let to_all =
        RouteMessage::new([rtnetlink::MAIN, rtnetlink::SCOPE_LINK, rtnetlink::UNICAST], None, device);
    Netlink::open()?.replace(&to_all)
}

/// Makes all addresses those of this namespace, except for one that is reached by a device.
///
/// Both routes are in the table of local addresses, where the kernel looks first: so its replies to pings,
/// resets and ICMP errors leave from whatever address was asked.
pub(super) fn own_all_but(other: Ipv4Addr, device: u32) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let neighbour = [rtnetlink::LOCAL_TABLE, rtnetlink::SCOPE_LINK, rtnetlink::UNICAST];
    netlink.replace(&RouteMessage::new(neighbour, Some(other), device))?;
    let own = [rtnetlink::LOCAL_TABLE, rtnetlink::SCOPE_HOST, rtnetlink::LOCAL];
    netlink.replace(&RouteMessage::new(own, None, if_nametoindex("lo")?))
}

/// Numbers of `linux/rtnetlink.h`.
mod rtnetlink {
    pub(super) const NEW_ROUTE: u16 = 24;
    pub(super) const GET_ROUTE: u16 = 26;
    /// `RT_TABLE_MAIN`, `RTN_UNICAST`.
    pub(super) const MAIN: u8 = 254;
    pub(super) const UNICAST: u8 = 1;
    /// `RT_TABLE_LOCAL`, `RTN_LOCAL`.
    pub(super) const LOCAL_TABLE: u8 = 255;
    pub(super) const LOCAL: u8 = 2;
    /// `RT_SCOPE_LINK`, `RT_SCOPE_HOST`.
    pub(super) const SCOPE_LINK: u8 = 253;
    pub(super) const SCOPE_HOST: u8 = 254;
    /// `RTPROT_STATIC`.
    pub(super) const STATIC: u8 = 4;
    /// `RTA_DST`.
    pub(super) const DESTINATION: u16 = 1;
    /// `RTA_OIF`.
    pub(super) const DEVICE: u16 = 4;
    /// `RTA_METRICS`.
    pub(super) const METRICS: u16 = 8;
    /// `RTA_DST`, `RTA_OIF`, `RTA_GATEWAY`, `RTA_PRIORITY`, `RTA_PREFSRC` and `RTA_TABLE`: what makes a route. The
    /// kernel reports more of it.
    pub(super) const OF_A_ROUTE: &[u16] = &[DESTINATION, 4, 5, 6, 7, 15];
    /// `RTAX_CC_ALGO`, whose value is a name.
    pub(super) const CC_ALGO: u16 = 16;
    /// Length of an `rtmsg`, and the places in it of table and type.
    pub(super) const HEADER: usize = 12;
    pub(super) const TABLE: usize = 4;
    pub(super) const TYPE: usize = 7;
}

/// A message about a route: an `rtmsg` and attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RouteMessage {
    kind: u16,
    bytes: Vec<u8>,
}

impl RouteMessage {
    /// A route of IPv4 by a device, of this table, scope and type: to one address, or to all.
    fn new([table, scope, kind]: [u8; 3], to: Option<Ipv4Addr>, device: u32) -> Self {
        let bits = if to.is_some() { 32 } else { 0 };
        let header = [libc::AF_INET as u8, bits, 0, 0, table, rtnetlink::STATIC, scope, kind, 0, 0, 0, 0];
        let mut attributes = vec![DefaultNla::new(rtnetlink::DEVICE, device.to_ne_bytes().to_vec())];
        attributes.extend(to.map(|to| DefaultNla::new(rtnetlink::DESTINATION, to.octets().to_vec())));
        Self { kind: rtnetlink::NEW_ROUTE, bytes: [&header[..], &emitted(&attributes)].concat() }
    }

    fn attributes(&self) -> Vec<DefaultNla> {
        let bytes = self.bytes.get(rtnetlink::HEADER..).unwrap_or_default();
        let all = NlasIterator::new(bytes).filter_map(Result::ok);
        all.map(|nla| DefaultNla::new(nla.kind(), nla.value().to_vec())).collect()
    }

    /// True for a route to other hosts, as connections take.
    fn is_to_hosts(&self) -> bool {
        let is = |place, value| self.bytes.get(place) == Some(&value);
        // The kernel's own routes of IPv6 multicast are unicast by type.
        let multicast = |a: &DefaultNla| {
            a.kind() == rtnetlink::DESTINATION && a.value_len() == 16 && value(a).first() == Some(&0xff)
        };
        self.kind == rtnetlink::NEW_ROUTE
            && is(rtnetlink::TABLE, rtnetlink::MAIN)
            && is(rtnetlink::TYPE, rtnetlink::UNICAST)
            && !self.attributes().iter().any(multicast)
    }

    /// The same route with a congestion control.
    pub(super) fn with_control(&self, name: &str) -> Self {
        let control = DefaultNla::new(rtnetlink::CC_ALGO, [name.as_bytes(), &[0]].concat());
        let metrics = DefaultNla::new(rtnetlink::METRICS, emitted(&[control]));
        let mut attributes = self.attributes();
        attributes.retain(|a| rtnetlink::OF_A_ROUTE.contains(&a.kind()));
        attributes.push(metrics);
        let header = self.bytes.get(..rtnetlink::HEADER).unwrap_or_default();
        Self { kind: rtnetlink::NEW_ROUTE, bytes: [header, &emitted(&attributes)].concat() }
    }
}

fn value(nla: &DefaultNla) -> Vec<u8> {
    let mut bytes = vec![0; nla.value_len()];
    nla.emit_value(&mut bytes);
    bytes
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

impl NetlinkSerializable for RouteMessage {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes);
    }
}

impl NetlinkDeserializable for RouteMessage {
    type Error = std::convert::Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Self::Error> {
        Ok(Self { kind: header.message_type, bytes: payload.to_vec() })
    }
}

/// A conversation with the kernel about routes.
pub(super) struct Netlink {
    socket: Socket,
    buffer: Vec<u8>,
}

/// More than a message of the kernel takes.
const LARGEST: usize = 64 << 10;

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, buffer: vec![0; LARGEST] })
    }

    pub(super) fn routes(&mut self) -> io::Result<Vec<RouteMessage>> {
        let all = RouteMessage { kind: rtnetlink::GET_ROUTE, bytes: vec![0; rtnetlink::HEADER] };
        self.send(&all, NLM_F_DUMP)?;
        let mut found = Vec::new();
        self.receive(|route| found.push(route))?;
        found.retain(RouteMessage::is_to_hosts);
        Ok(found)
    }

    pub(super) fn replace(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.send(route, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE)?;
        self.receive(|_| {})
    }

    fn send(&self, message: &RouteMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message.clone()));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Passes messages to `take` until the kernel says that there are no more, or that it is done.
    fn receive(&mut self, mut take: impl FnMut(RouteMessage)) -> io::Result<()> {
        loop {
            let size = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let mut rest = self.buffer.get(..size).unwrap_or_default();
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    // An acknowledgment is an error without a code.
                    NetlinkPayload::Error(e) => return e.code.map_or(Ok(()), |_| Err(e.to_io())),
                    NetlinkPayload::InnerMessage(inner) => take(inner),
                    _ => {}
                }
                // Messages are aligned to four bytes.
                let length = (message.header.length as usize).next_multiple_of(4).max(4);
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }
}
