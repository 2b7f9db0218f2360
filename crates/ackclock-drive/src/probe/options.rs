//! Options of a probe run.

use ackclock_engine::Config;
use ackclock_units::{Bytes, Duration, Rate};

use crate::PolicyFactory;

/// Payload of a background probe, as of `ping`.
pub(super) const PING_PAYLOAD: u32 = 56;
/// Largest number of segments in flight, whatever the window. The table of probes holds several times as
/// many.
const MOST_SEGMENTS: u64 = 16_384;
/// Largest number of bytes in flight.
const MOST_BYTES: Bytes = 16 << 20;

/// The kind of probes and of replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeMethod {
    /// An ICMP echo, which the host returns.
    Icmp,
    /// A UDP datagram to an unused port of the host. The router at which its time to live expires, or the
    /// host, replies with an ICMP error.
    Udp {
        /// Time to live, hops.
        ttl: u8,
    },
}

/// Options of a probe run.
#[derive(Clone)]
pub struct ProbeOptions {
    /// Payload of a probe, bytes: the segment size.
    pub mss: u32,
    /// Largest rate, headers included.
    pub max_rate: Rate,
    /// Duration of the test.
    pub duration: Duration,
    /// Time at the start of the test that the results leave out; the initial slow start is always left out.
    pub warmup: Duration,
    /// Number of background probes before the test, and again after it; they also run during the test. 0 for
    /// none.
    pub background: u64,
    /// Time between background probes.
    pub interval: Duration,
    /// Options of both connections; the segment size and the buffers are set here.
    pub config: Config,
    /// Their policies.
    pub policies: PolicyFactory,
}

impl ProbeOptions {
    /// A test of 60 s at up to 100 Mbit/s, with 200 background probes before and after it (M-U3, M-U5).
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

    /// The connections' configuration: the receiver's window is the limit of data in flight.
    pub(super) fn engine_config(&self) -> Config {
        let most = MOST_BYTES.min(MOST_SEGMENTS * u64::from(self.mss));
        Config { mss: self.mss, rcv_buf: most, snd_buf: 2 * most, ..self.config.clone() }
    }
}
