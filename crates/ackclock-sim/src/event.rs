//! Encoding of events in the queue: the kind in the upper bits; in the lower bits the number of the endpoint,
//! way out, link, packet or source.

const KIND_SHIFT: u32 = 29;
/// The bits of the number.
pub(crate) const INDEX: u32 = (1 << KIND_SHIFT) - 1;
/// The first packet of an endpoint's inbound lane arrives.
pub(crate) const INBOUND: u32 = 0;
/// The first packet on a way out reaches the first link.
pub(crate) const OUTBOUND: u32 = 1 << KIND_SHIFT;
/// The first packet of a link's lane reaches what follows.
pub(crate) const LINK: u32 = 2 << KIND_SHIFT;
/// A packet that is in no lane reaches what follows.
pub(crate) const PACKET: u32 = 3 << KIND_SHIFT;
/// An endpoint may have a deadline.
pub(crate) const WAKE: u32 = 4 << KIND_SHIFT;
/// A source of flows has a flow to start.
pub(crate) const FLOW: u32 = 5 << KIND_SHIFT;
/// Added to the number in a [`FLOW`] event: the client of the flow in this slot waits at its barrier. Both
/// sources and slots have numbers below it.
pub(crate) const AT_BARRIER: u32 = 1 << (KIND_SHIFT - 1);
/// A link that must be polled has served a packet.
pub(crate) const POLL: u32 = 6 << KIND_SHIFT;
/// A source of datagrams sends.
pub(crate) const DATAGRAM: u32 = 7 << KIND_SHIFT;

/// The event of a packet that is in no lane.
pub(crate) fn alone(id: u32) -> u32 {
    PACKET | id
}

/// The endpoint of an [`INBOUND`] or [`WAKE`] event; `None` for other kinds.
#[inline]
pub(crate) fn endpoint_of(what: u32) -> Option<usize> {
    matches!(what & !INDEX, INBOUND | WAKE).then_some((what & INDEX) as usize)
}
