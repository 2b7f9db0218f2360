//! The congestion control of a namespace whose system does not allow it as a default there.
//!
//! Linux lets a namespace other than the first choose its default among those of
//! `net.ipv4.tcp_allowed_congestion_control` alone, a list of the whole machine. A route may have any that is
//! available (`RTAX_CC_ALGO`), and every connection over it has that one, whoever opens it.

use std::io;

use super::route::Netlink;

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
