//! Where an endpoint is attached to the network.

use ackclock_units::{Duration, Instant};

use crate::lane::Lane;

/// What the network needs to know of an endpoint. Those of a flow lie side by side.
#[derive(Clone, Copy)]
pub(crate) struct Port {
    /// Packets on their way from the last link to the endpoint.
    pub(crate) inbound: Lane,
    /// Delay from the last link to the endpoint.
    pub(crate) down: Duration,
    /// Moment of the wake event that counts; others that are pending are stale.
    pub(crate) wake: Instant,
    /// First link of its packets' route in the table of routes.
    pub(crate) route: u32,
    /// How many links the route has in the lowest byte, and above it the number of its way out, or
    /// [`Port::STRAIGHT`].
    hops_and_out: u32,
}

/// The way from an endpoint to its first link, where that takes time, or to the other end, where there is no
/// link.
#[derive(Clone, Copy)]
pub(crate) struct WayOut {
    pub(crate) delay: Duration,
    /// Packets on it.
    pub(crate) lane: Lane,
}

impl Port {
    /// In place of the number of a way out: packets are on their first link at once.
    const STRAIGHT: u32 = u32::MAX >> 8;
    /// Ways out have lower numbers.
    pub(crate) const OUT_LIMIT: usize = Self::STRAIGHT as usize;

    /// Nobody is attached.
    pub(crate) const IDLE: Self = Self::new(Duration::ZERO, (0, 0), Self::STRAIGHT);

    /// `route` is as [`crate::routes::Routes::find`] has it.
    const fn new(down: Duration, (route, hops): (u32, u32), out: u32) -> Self {
        Self { inbound: Lane::EMPTY, down, wake: Instant::FAR_FUTURE, route, hops_and_out: out << 8 | hops }
    }

    /// One whose packets are on their first link at once.
    pub(crate) fn straight(down: Duration, route: (u32, u32)) -> Self {
        Self::new(down, route, Self::STRAIGHT)
    }

    /// One whose packets take a way out first, number `out`.
    pub(crate) fn with_way_out(down: Duration, route: (u32, u32), out: u32) -> Self {
        Self::new(down, route, out)
    }

    /// Links of its packets' route.
    #[inline]
    pub(crate) fn hops(&self) -> u32 {
        self.hops_and_out & 0xff
    }

    /// The number of its way out; `None` when its packets are on their first link at once.
    #[inline]
    pub(crate) fn out(&self) -> Option<u32> {
        let out = self.hops_and_out >> 8;
        (out != Self::STRAIGHT).then_some(out)
    }
}
