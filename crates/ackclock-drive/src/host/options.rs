//! What a host is made with, what it has seen, and how much it gives to strangers.

use std::fmt;
use std::net::IpAddr;

use ackclock_engine::{Config, MIN_PMTU};
use ackclock_units::{Bytes, Duration};

use crate::{Clock, DriveError, PolicyFactory};

/// What a host is made with.
#[derive(Clone)]
pub struct HostOptions {
    /// The host's own addresses. With a TUN device: addresses of its subnet that the kernel does not own.
    pub addresses: Vec<IpAddr>,
    /// Largest IP packet, bytes; the announced segment size fits into it.
    pub mtu: u16,
    /// Options of every connection.
    pub config: Config,
    /// Policies of every connection.
    pub policies: PolicyFactory,
    /// The clock, shared with whatever else is timed.
    pub clock: Clock,
    /// What peers can make it do and keep.
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
    /// Checks what can be wrong.
    pub(super) fn check(&self) -> Result<(), DriveError> {
        let (least, most) = (576, u16::MAX);
        if self.addresses.is_empty() {
            return Err(DriveError::Input("a host needs at least one address, none was given".into()));
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

/// Every IPv4 link takes so much (RFC 791 §3.2, RFC 1191 §3).
const RFC1191_LEAST: u32 = 68;

/// What peers, honest or not, can make a host do and keep. The defaults are those of Linux where it has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostLimits {
    /// Answer SYNs without keeping anything once as many connections of a listener are half open as its
    /// backlog (SYN cookies, RFC 4987 §3.6). Without, they are dropped then.
    pub syn_cookies: bool,
    /// Retransmissions of a SYN-ACK before a half-open connection is given up: at 63 s, as with Linux's
    /// `tcp_synack_retries`. What applications are above keeps the number of its own stack.
    pub synack_retries: u32,
    /// How long a connection that no program holds stays in FIN-WAIT-2 (`tcp_fin_timeout`).
    pub fin_timeout: Duration,
    /// How long a connection that no program holds lasts while the peer acknowledges nothing new (at least R2
    /// of RFC 9293 §3.8.3).
    pub orphan_timeout: Duration,
    /// Connections that no program holds, those in TIME-WAIT aside; beyond it the one that has been alone
    /// longest is reset (`tcp_max_orphans`).
    pub orphans: usize,
    /// Connections in TIME-WAIT; beyond it the oldest ends early (`tcp_max_tw_buckets`).
    pub time_wait: usize,
    /// Memory of all connections' buffers, bytes. Beyond it, connections that no program holds are reset, and
    /// data for connections that have more than a little is dropped until programs read (`tcp_mem`). What
    /// programs write counts too, but is not refused.
    pub held_bytes: Bytes,
    /// No ICMP error makes packets smaller than this, bytes (`min_pmtu`). Over paths with narrower links set
    /// it as low as they are, 68 at least (RFC 1191 §3).
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

/// What a host has seen besides the counters of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets received.
    pub packets_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// ICMP errors directed to a connection.
    pub icmp_errors: u64,
    /// Packets dropped because they were damaged, neither TCP nor an ICMP error of a connection, for somebody
    /// else, or from an address that none can come from.
    pub ignored: u64,
    /// Resets sent in answer to segments without a connection.
    pub resets_sent: u64,
    /// Resets that were not sent because there were too many ([`HostLimits::stray_resets`]).
    pub resets_withheld: u64,
    /// Packets that the port did not take.
    pub send_failures: u64,
    /// SYNs, and acknowledgments of SYN-ACKs, dropped because a listener's backlog was full.
    pub backlog_drops: u64,
    /// SYNs answered without keeping anything.
    pub cookies_sent: u64,
    /// Connections made of an acknowledgment of such an answer.
    pub cookies_taken: u64,
    /// Connections that no program held and that were ended before their time: they waited too long, or were
    /// too many.
    pub orphans_ended: u64,
    /// Segments dropped because buffers held too much ([`HostLimits::held_bytes`]).
    pub memory_drops: u64,
}
