//! TReno (M-U3): bulk-transfer capacity of a path, measured from its near end alone.
//!
//! Two connections of the engine, a sender and a receiver, both live here. Each data segment that the sender
//! emits goes out as one probe that somebody at the far end answers: an ICMP echo, or a UDP datagram whose
//! time to live ends on the way. When the answer is back the segment is handed to the receiver, and the
//! receiver's acknowledgments go to the sender at once. All that decides what is sent when is the engine's;
//! nothing here knows a rule of TCP.
//!
//! `session::Session` is the whole run without clock and sockets; [`simulate_probe`] drives it over the
//! simulator's links, [`run_probe`] over real ones.

mod flying;
mod idle;
mod limit;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod places;
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod session;
mod simulate;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(test)]
mod tests;
mod treno;

use ackclock_engine::Config;
use ackclock_units::{Bytes, Duration, Rate};

pub use idle::{Background, When};
pub use limit::{LimitSign, ReplyLimit};
pub use report::{Measured, ProbePhase, ProbeProgress, ProbeReport, Replies};
#[cfg(target_os = "linux")]
pub use run::{ProbeTarget, RealProbe, run_probe};
pub use simulate::{SimulatedPath, SimulatedProbe, simulate_probe};

use crate::PolicyFactory;

/// Payload of a background probe: what `ping` sends.
const PING_PAYLOAD: u32 = 56;
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
    fn engine_config(&self) -> Config {
        let most = MOST_BYTES.min(MOST_SEGMENTS * u64::from(self.mss));
        Config { mss: self.mss, rcv_buf: most, snd_buf: 2 * most, ..self.config.clone() }
    }
}
