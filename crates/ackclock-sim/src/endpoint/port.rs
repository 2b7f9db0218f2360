//! The attachment of an endpoint to the network.

use ackclock_units::{Duration, Instant};

use crate::lane::Lane;

/// The network's state of an endpoint. The ports of a flow's two endpoints are adjacent.
#[derive(Clone, Copy)]
pub(crate) struct Port {
    /// Packets on their way from the last link to the endpoint.
    pub(crate) inbound: Lane,
    /// Delay from the last link to the endpoint.
    pub(crate) down: Duration,
    /// Time of the valid wake event; other pending ones are stale.
    pub(crate) wake: Instant,
    /// First link of its packets' route in the table of routes.
    pub(crate) route: u32,
    /// Number of links of the route in the lowest byte; above it the number of its way out, or
    /// [`Port::STRAIGHT`].
    hops_and_out: u32,
}

/// An access delay between an endpoint and its first link, or the other endpoint where the route has no
/// links.
#[derive(Clone, Copy)]
pub(crate) struct WayOut {
    pub(crate) delay: Duration,
    /// Packets in this delay.
    pub(crate) lane: Lane,
}

impl Port {
    /// Instead of the number of a way out: packets reach their first link without delay.
    const STRAIGHT: u32 = u32::MAX >> 8;
    /// Numbers of ways out are below this.
    pub(crate) const OUT_LIMIT: usize = Self::STRAIGHT as usize;

    /// A port without an endpoint.
    pub(crate) const IDLE: Self = Self::new(Duration::ZERO, (0, 0), Self::STRAIGHT);

    /// `route` is a result of [`crate::routes::Routes::find`].
    const fn new(down: Duration, (route, hops): (u32, u32), out: u32) -> Self {
        Self { inbound: Lane::EMPTY, down, wake: Instant::FAR_FUTURE, route, hops_and_out: out << 8 | hops }
    }

    /// A port whose packets reach their first link without delay.
    pub(crate) fn straight(down: Duration, route: (u32, u32)) -> Self {
        Self::new(down, route, Self::STRAIGHT)
    }

    /// A port whose packets first take the way out number `out`.
    pub(crate) fn with_way_out(down: Duration, route: (u32, u32), out: u32) -> Self {
        Self::new(down, route, out)
    }

    /// Number of links of its packets' route.
    #[inline]
    pub(crate) fn hops(&self) -> u32 {
        self.hops_and_out & 0xff
    }

    /// The number of its way out; `None` when its packets reach their first link without delay.
    #[inline]
    pub(crate) fn out(&self) -> Option<u32> {
        let out = self.hops_and_out >> 8;
        (out != Self::STRAIGHT).then_some(out)
    }
}
