//! The congestion control of a namespace whose system does not allow it as a default there.
//!
//! Linux lets a namespace other than the first choose its default among those of
//! `net.ipv4.tcp_allowed_congestion_control` alone, a list of the whole machine. A route may have any that is
//! available (`RTAX_CC_ALGO`), and every connection over it has that one, whoever opens it.

use std::io;

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, Nla,
    NlasIterator,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// The name of the parameter.
pub(super) const KEY: &str = "net.ipv4.tcp_congestion_control";

/// Gives every route of the present namespace this congestion control.
pub(super) fn set_on_routes(name: &str) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    for route in netlink.routes()? {
        netlink.replace(&route.with_control(name))?;
    }
    Ok(())
}

/// Numbers of `linux/rtnetlink.h`.
mod rtnetlink {
    pub(super) const NEW_ROUTE: u16 = 24;
    pub(super) const GET_ROUTE: u16 = 26;
    /// `RT_TABLE_MAIN`, `RTN_UNICAST`.
    pub(super) const MAIN: u8 = 254;
    pub(super) const UNICAST: u8 = 1;
    /// `RTA_DST`.
    pub(super) const DESTINATION: u16 = 1;
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
struct RouteMessage {
    kind: u16,
    bytes: Vec<u8>,
}

impl RouteMessage {
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
    fn with_control(&self, name: &str) -> Self {
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
struct Netlink {
    socket: Socket,
    buffer: Vec<u8>,
}

/// More than a message of the kernel takes.
const LARGEST: usize = 64 << 10;

impl Netlink {
    fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, buffer: vec![0; LARGEST] })
    }

    fn routes(&mut self) -> io::Result<Vec<RouteMessage>> {
        let all = RouteMessage { kind: rtnetlink::GET_ROUTE, bytes: vec![0; rtnetlink::HEADER] };
        self.send(&all, NLM_F_DUMP)?;
        let mut found = Vec::new();
        self.receive(|route| found.push(route))?;
        found.retain(RouteMessage::is_to_hosts);
        Ok(found)
    }

    fn replace(&mut self, route: &RouteMessage) -> io::Result<()> {
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
