//! Options of sockets: what `setsockopt` sets and `getsockopt` returns.

use std::collections::BTreeMap;

use ackclock_engine::{Config, Policies, Stack};
use ackclock_units::Duration;

use crate::constants as c;
use crate::constants::Errno;
use crate::dialect::Dialect;
use crate::host::{IpFields, OptionValue};
use crate::link::Link;

/// The level of an option.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Level(pub i64);

/// The largest buffer that a script gets, bytes: as many segments fit into it as packets are kept.
pub(super) const MAX_BUFFER: u64 = 16 << 20;

/// The options of a socket that were set.
#[derive(Clone, Debug)]
pub(crate) struct SocketOptions {
    set: BTreeMap<(Level, i64), OptionValue>,
    /// How long a connection is idle before the first keep-alive, where it sets nothing else.
    keepalive_time: Duration,
}

/// Hops of packets where nothing else is set: Linux's `IPDEFTTL`.
const DEFAULT_HOPS: u8 = 64;

/// RFC 9293 §3.8.4: no less than two hours.
pub(crate) const KEEPALIVE_TIME: Duration = Duration::from_secs(7200);

impl SocketOptions {
    pub(crate) fn new(keepalive_time: Duration) -> Self {
        Self { set: BTreeMap::new(), keepalive_time }
    }

    /// The value of an option that is a number; `None` where it was never set.
    pub(crate) fn int(&self, level: i64, name: i64) -> Option<i64> {
        match self.set.get(&(Level(level), name))? {
            OptionValue::Int(n) => Some(*n),
            _ => None,
        }
    }

    fn seconds(&self, level: i64, name: i64) -> Option<Duration> {
        self.int(level, name).and_then(|s| u64::try_from(s).ok()).map(Duration::from_secs)
    }

    /// `SO_LINGER` with no time: a close is a reset.
    pub(crate) fn lingers_not(&self) -> bool {
        self.set.get(&(Level(c::SOL_SOCKET), c::SO_LINGER)).is_some_and(|v| *v == OptionValue::Linger(1, 0))
    }

    /// Fields of the IP header of its packets.
    pub(crate) fn ip_fields(&self, link: Link, flow_label: u32) -> IpFields {
        let (tos, hops) = if link.is_v6() {
            (self.int(c::SOL_IPV6, c::IPV6_TCLASS), self.int(c::SOL_IPV6, c::IPV6_UNICAST_HOPS))
        } else {
            (self.int(c::SOL_IP, c::IP_TOS), self.int(c::SOL_IP, c::IP_TTL))
        };
        // -1 stands for what there is without the option.
        let byte = |n: Option<i64>| n.and_then(|n| u8::try_from(n).ok());
        IpFields {
            dscp: byte(tos).unwrap_or(0) >> 2,
            hops: byte(hops).unwrap_or(DEFAULT_HOPS),
            flow_label: link.is_v6().then_some(flow_label),
        }
    }

    /// For how long `SO_LINGER` has a close wait; `None` where it does not.
    pub(crate) fn lingers(&self) -> Option<Duration> {
        match self.set.get(&(Level(c::SOL_SOCKET), c::SO_LINGER)) {
            Some(OptionValue::Linger(on, seconds)) if *on != 0 && *seconds > 0 => {
                u64::try_from(*seconds).ok().map(Duration::from_secs)
            }
            _ => None,
        }
    }

    /// True when small segments wait for `TCP_CORK` to be taken off.
    pub(crate) fn corks(&self) -> bool {
        self.int(c::SOL_TCP, c::TCP_CORK).is_some_and(|v| v != 0)
    }

    /// The memory that Linux gives to what is written, where `SO_SNDBUF` says so: twice as much, since it
    /// counts what describes packets too, and no less than two packets take (`SOCK_MIN_SNDBUF`).
    pub(super) fn send_memory(&self) -> Option<u64> {
        let asked = self.int(c::SOL_SOCKET, c::SO_SNDBUF)?;
        Some(u64::try_from(asked).unwrap_or(0).saturating_mul(2).clamp(4608, MAX_BUFFER))
    }

    /// False where `TCP_QUICKACK` lets acks wait for replies.
    pub(crate) fn acks_quickly(&self) -> bool {
        self.int(c::SOL_TCP, c::TCP_QUICKACK).is_none_or(|v| v != 0)
    }

    /// True where Nagle's algorithm is off.
    pub(crate) fn sends_at_once(&self) -> bool {
        self.int(c::SOL_TCP, c::TCP_NODELAY).is_some_and(|v| v != 0)
    }

    /// Sets an option.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub(crate) fn set(&mut self, level: Level, name: i64, value: OptionValue) -> Result<(), Errno> {
        let known = KNOWN.iter().find(|k| (k.level, k.name) == (level.0, name)).ok_or(Errno::ENOPROTOOPT)?;
        match &value {
            OptionValue::Int(n) if !known.range.contains(n) => return Err(Errno::EINVAL),
            _ => self.set.insert((level, name), value),
        };
        Ok(())
    }

    /// The value of an option; `None` where it was never set.
    pub(crate) fn get(&self, level: Level, name: i64) -> Option<&OptionValue> {
        self.set.get(&(level, name))
    }

    /// True where an option exists.
    pub(crate) fn is_known(level: Level, name: i64) -> bool {
        KNOWN.iter().any(|k| (k.level, k.name) == (level.0, name))
    }

    /// The engine's options with these.
    pub(crate) fn config(&self, stack: &Stack, link: Link) -> Config {
        let mut config = stack.config();
        // What the stack itself says of the segment size is a limit.
        let stated = config.mss != Config::default().mss;
        config.mss = if stated { config.mss.min(link.mss()) } else { link.mss() };
        config.default_mss = link.default_mss();
        self.apply(&mut config);
        config
    }

    /// Writes what was set into the options of a connection.
    pub(crate) fn apply(&self, config: &mut Config) {
        if let Some(n) = self.int(c::SOL_TCP, c::TCP_NODELAY) {
            config.nagle = n == 0;
        }
        if let Some(n) = self.int(c::SOL_TCP, c::TCP_MAXSEG).and_then(|n| u32::try_from(n).ok()) {
            config.mss = config.mss.min(n);
        }
        if let Some(n) = self.int(c::SOL_TCP, c::TCP_SYNCNT).and_then(|n| u32::try_from(n).ok()) {
            config.syn_retries = n;
        }
        if let Some(ms) = self.int(c::SOL_TCP, c::TCP_USER_TIMEOUT).and_then(|n| u64::try_from(n).ok()) {
            config.user_timeout = Duration::from_millis(ms);
        }
        // Linux keeps half of a buffer for its own bookkeeping, and doubles what it is asked for.
        if let Some(n) = self.int(c::SOL_SOCKET, c::SO_SNDBUF).and_then(|n| u64::try_from(n).ok()) {
            config.snd_buf = n.max(2048);
        }
        if let Some(n) = self.int(c::SOL_SOCKET, c::SO_RCVBUF).and_then(|n| u64::try_from(n).ok()) {
            config.rcv_buf = n.max(1152);
            config.rcv_autotune = false;
        }
        config.snd_buf = config.snd_buf.min(MAX_BUFFER);
        config.rcv_buf = config.rcv_buf.min(MAX_BUFFER);
        // RFC 9293 §3.8.4: off unless it is asked for. The rest is Linux's.
        let keeps = self.int(c::SOL_SOCKET, c::SO_KEEPALIVE).is_some_and(|n| n != 0);
        let idle = self.seconds(c::SOL_TCP, c::TCP_KEEPIDLE).unwrap_or(self.keepalive_time);
        config.keepalive = if keeps { idle } else { Duration::ZERO };
        if let Some(interval) = self.seconds(c::SOL_TCP, c::TCP_KEEPINTVL) {
            config.keepalive_interval = interval;
        }
        if let Some(n) = self.int(c::SOL_TCP, c::TCP_KEEPCNT).and_then(|n| u32::try_from(n).ok()) {
            config.keepalive_probes = n;
        }
    }

    /// The policies that a socket runs: those of the stack, with another congestion control where one was
    /// chosen.
    pub(crate) fn policies(&self, stack: &Stack, dialect: Dialect) -> Policies {
        let mut sets = Vec::new();
        if let Some(OptionValue::Text(name)) = self.get(Level(c::SOL_TCP), c::TCP_CONGESTION) {
            let name = dialect.window(name);
            sets.push(("window", name));
            sets.extend(dialect.goes_with("window", name).iter().copied());
        }
        if sets.is_empty() {
            return stack.build();
        }
        let mut stack = stack.clone();
        for (key, value) in sets {
            // A congestion control that is not known here leaves that of the stack.
            let _ = stack.set(key, value);
        }
        stack.build()
    }
}

/// An option and the values that it takes.
struct Known {
    level: i64,
    name: i64,
    range: std::ops::RangeInclusive<i64>,
}

const fn known(level: i64, name: i64, least: i64, most: i64) -> Known {
    Known { level, name, range: least..=most }
}

const ANY: i64 = 1 << 40;

/// The options that there are, with the ranges of Linux (`do_tcp_setsockopt`, `sk_setsockopt`).
const KNOWN: &[Known] = &[
    known(c::SOL_SOCKET, c::SO_REUSEADDR, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_ERROR, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_SNDBUF, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_RCVBUF, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_SNDBUFFORCE, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_RCVBUFFORCE, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_KEEPALIVE, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_OOBINLINE, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_LINGER, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_PRIORITY, 0, 6),
    known(c::SOL_SOCKET, c::SO_MARK, -ANY, ANY),
    known(c::SOL_SOCKET, c::SO_ZEROCOPY, 0, 1),
    known(c::SOL_SOCKET, c::SO_TIMESTAMPING, 0, 0xfff),
    known(c::SOL_TCP, c::TCP_NODELAY, -ANY, ANY),
    known(c::SOL_TCP, c::TCP_MAXSEG, 88, 65_535),
    known(c::SOL_TCP, c::TCP_CORK, -ANY, ANY),
    known(c::SOL_TCP, c::TCP_KEEPIDLE, 1, 32_767),
    known(c::SOL_TCP, c::TCP_KEEPINTVL, 1, 32_767),
    known(c::SOL_TCP, c::TCP_KEEPCNT, 1, 127),
    known(c::SOL_TCP, c::TCP_SYNCNT, 1, 127),
    known(c::SOL_TCP, c::TCP_USER_TIMEOUT, 0, ANY),
    known(c::SOL_TCP, c::TCP_QUICKACK, -ANY, ANY),
    known(c::SOL_TCP, c::TCP_CONGESTION, -ANY, ANY),
    known(c::SOL_TCP, c::TCP_FASTOPEN, 0, ANY),
    known(c::SOL_TCP, c::TCP_FASTOPEN_CONNECT, 0, 1),
    known(c::SOL_TCP, c::TCP_FASTOPEN_NO_COOKIE, 0, 1),
    known(c::SOL_TCP, c::TCP_NOTSENT_LOWAT, -ANY, ANY),
    known(c::SOL_TCP, c::TCP_INQ, 0, 1),
    known(c::SOL_IP, c::IP_TOS, -ANY, ANY),
    known(c::SOL_IP, c::IP_TTL, -1, 255),
    known(c::SOL_IP, c::IP_MTU_DISCOVER, 0, 5),
    known(c::SOL_IP, c::IP_FREEBIND, -ANY, ANY),
    known(c::SOL_IPV6, c::IPV6_TCLASS, -1, 255),
    known(c::SOL_IPV6, c::IPV6_UNICAST_HOPS, -1, 255),
    known(c::SOL_IPV6, c::IPV6_V6ONLY, -ANY, ANY),
];
