//! Options, limits and counters of a host.

use std::fmt;
use std::net::IpAddr;

use ackclock_engine::{Config, MIN_PMTU};
use ackclock_units::{Bytes, Duration};

use crate::{Clock, DriveError, PolicyFactory};

/// Options of a host.
#[derive(Clone)]
pub struct HostOptions {
    /// The host's own addresses. With a TUN device: addresses of its subnet other than the kernel's.
    pub addresses: Vec<IpAddr>,
    /// Largest IP packet, bytes; the announced segment size fits into it.
    pub mtu: u16,
    /// Options of every connection.
    pub config: Config,
    /// Policies of every connection.
    pub policies: PolicyFactory,
    /// The clock of the run.
    pub clock: Clock,
    /// Limits of the work and memory that peers can cause.
    pub limits: HostLimits,
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptions")
            .field("addresses", &self.addresses)
            .field("mtu", &self.mtu)
            .field("config", &self.config)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl HostOptions {
    /// Checks the options.
    pub(super) fn check(&self) -> Result<(), DriveError> {
        let (least, most) = (576, u16::MAX);
        if self.addresses.is_empty() {
            return Err(DriveError::Input("a host needs at least one address, but none is given".into()));
        }
        if self.mtu < least {
            return Err(DriveError::Input(format!(
                "an MTU of {} bytes is too small: give {least} to {most}",
                self.mtu
            )));
        }
        if self.limits.min_pmtu < RFC1191_LEAST {
            let floor = self.limits.min_pmtu;
            return Err(DriveError::Input(format!(
                "a smallest path MTU of {floor} bytes is too small: give {RFC1191_LEAST} to {most}"
            )));
        }
        Ok(())
    }
}

/// Smallest MTU of an IPv4 link (RFC 791 §3.2, RFC 1191 §3).
const RFC1191_LEAST: u32 = 68;

/// Limits of the work and memory that peers can cause. The defaults are those of Linux where it has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostLimits {
    /// Respond with SYN cookies (RFC 4987 §3.6) once a listener has as many half-open connections as its
    /// backlog. Otherwise such SYNs are dropped.
    pub syn_cookies: bool,
    /// Retransmissions of a SYN-ACK before a half-open connection is given up: at 63 s, as with Linux's
    /// `tcp_synack_retries`. Connections of applications use the number of their own stack.
    pub synack_retries: u32,
    /// How long a connection that no program holds stays in FIN-WAIT-2 (`tcp_fin_timeout`).
    pub fin_timeout: Duration,
    /// How long a connection that no program holds is kept while the peer acknowledges nothing new (at least
    /// R2 of RFC 9293 §3.8.3).
    pub orphan_timeout: Duration,
    /// Largest number of connections that no program holds, except those in TIME-WAIT. Beyond it, the oldest
    /// of them is reset (`tcp_max_orphans`).
    pub orphans: usize,
    /// Largest number of connections in TIME-WAIT. Beyond it, the oldest ends early (`tcp_max_tw_buckets`).
    pub time_wait: usize,
    /// Memory of all connections' buffers, bytes. Beyond it, connections that no program holds are reset, and
    /// data for connections with more than a few segments in their buffers is dropped until programs read
    /// (`tcp_mem`). Data written by programs counts too, but is never refused.
    pub held_bytes: Bytes,
    /// Smallest path MTU accepted from an ICMP error, bytes (`min_pmtu`). Set it lower for paths with a
    /// smaller MTU, down to 68 (RFC 1191 §3).
    pub min_pmtu: u32,
    /// Resets to segments without a connection, per second (FreeBSD's `icmplim`, Linux's
    /// `icmp_msgs_per_sec`).
    pub stray_resets: u32,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self {
            syn_cookies: true,
            synack_retries: 5,
            fin_timeout: Duration::from_secs(60),
            orphan_timeout: Duration::from_secs(100),
            orphans: 4096,
            time_wait: 16_384,
            held_bytes: 256 << 20,
            min_pmtu: MIN_PMTU,
            stray_resets: 1000,
        }
    }
}

/// Counters of a host, besides those of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets received.
    pub packets_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// ICMP errors passed to a connection.
    pub icmp_errors: u64,
    /// Packets dropped because they were damaged, neither TCP nor an ICMP error of a connection, for another
    /// host, or from an invalid source address.
    pub ignored: u64,
    /// Resets sent in response to segments without a connection.
    pub resets_sent: u64,
    /// Resets not sent because of the limit [`HostLimits::stray_resets`].
    pub resets_withheld: u64,
    /// Packets that the port refused.
    pub send_failures: u64,
    /// SYNs, and acknowledgments of SYN-ACKs, dropped because a listener's backlog was full.
    pub backlog_drops: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// Connections opened by a valid SYN cookie.
    pub cookies_taken: u64,
    /// Connections that no program held and that were ended early, since they waited too long or were too
    /// many.
    pub orphans_ended: u64,
    /// Segments dropped because of the limit [`HostLimits::held_bytes`].
    pub memory_drops: u64,
}
