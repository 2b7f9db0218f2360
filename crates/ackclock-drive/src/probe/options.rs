//! Options of a probe run.

use ackclock_engine::Config;
use ackclock_units::{Bytes, Duration, Rate};

use crate::PolicyFactory;

/// Payload of a background probe: what `ping` sends.
pub(super) const PING_PAYLOAD: u32 = 56;
/// Segments that may be on their way at most, whatever the window; the numbers of probes stay apart for
/// several times as many.
const MOST_SEGMENTS: u64 = 16_384;
/// And bytes.
const MOST_BYTES: Bytes = 16 << 20;

/// What a probe is, and who answers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeMethod {
    /// An ICMP echo: the host sends all of it back.
    Icmp,
    /// A UDP datagram with this time to live, to a port of the host to which nobody listens: the router where
    /// its life ends, or the host, answers with an ICMP error.
    Udp {
        /// Hops that it may go.
        ttl: u8,
    },
}

/// What a probe run does.
#[derive(Clone)]
pub struct ProbeOptions {
    /// Payload of a probe, bytes: the segment size.
    pub mss: u32,
    /// Never more than this, headers included.
    pub max_rate: Rate,
    /// How long the test lasts.
    pub duration: Duration,
    /// Leave out at least so much of its beginning; the initial slow start is left out in any case.
    pub warmup: Duration,
    /// Background probes before the test, and as many after it; they go on while it runs. 0 for none.
    pub background: u64,
    /// Time between background probes.
    pub interval: Duration,
    /// Options of both connections; the segment size and the buffers are set here.
    pub config: Config,
    /// Their policies.
    pub policies: PolicyFactory,
}

impl ProbeOptions {
    /// A test of 60 s with 200 background probes on each side (M-U3, M-U5), within 100 Mbit/s.
    pub fn new(config: Config, policies: PolicyFactory) -> Self {
        Self {
            mss: 1460,
            max_rate: Rate::from_bits_per_sec(100_000_000),
            duration: Duration::from_secs(60),
            warmup: Duration::ZERO,
            background: 200,
            interval: Duration::from_millis(50),
            config,
            policies,
        }
    }

    /// The receiver's window never limits; it bounds what is remembered.
    pub(super) fn engine_config(&self) -> Config {
        let most = MOST_BYTES.min(MOST_SEGMENTS * u64::from(self.mss));
        Config { mss: self.mss, rcv_buf: most, snd_buf: 2 * most, ..self.config.clone() }
    }
}
