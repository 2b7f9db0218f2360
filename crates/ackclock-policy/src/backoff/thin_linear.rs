use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Rng};

use super::limits::{Limits, MAX_DOUBLINGS, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Expiry, Param, Params, Policy};

/// Does not back off thin streams for a number of expiries, and doubles otherwise. Whether a stream is thin
/// is decided at each expiry, so that the level is the number of doublings in force.
#[derive(Debug)]
struct ThinLinear(Arc<Rules>);

/// The parameters.
#[derive(Debug)]
struct Rules {
    thin_segs: u64,
    retries: u64,
    syn_linear: u64,
    limits: Limits,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            thin_segs: p.count("thin_segs"),
            retries: p.count("retries"),
            syn_linear: p.count("syn_linear"),
            limits: Limits::new(p),
        }
    }
}

impl Policy for ThinLinear {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for ThinLinear {
    fn level(&self, e: &Expiry) -> u32 {
        let thin = e.flight_size < self.0.thin_segs.saturating_mul(Bytes::from(e.smss));
        if thin && u64::from(e.expiries) < self.0.retries {
            return 0;
        }
        let before = if e.expiries == 0 { 0 } else { e.level };
        before.saturating_add(1).min(DOUBLINGS)
    }

    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        self.0.limits.doubled(rto, level)
    }

    fn syn_timeout(&self, rto: Duration, expiries: u32, _rng: &mut Rng) -> Duration {
        let linear = self.0.syn_linear.min(u64::from(u32::MAX)) as u32;
        self.0.limits.doubled(rto, expiries.saturating_sub(linear).min(MAX_DOUBLINGS))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.0.limits.give_up(expiries, waited)
    }
}

/// Timeouts of data are limited by the ceiling in time, as in Linux.
const DOUBLINGS: u32 = 32;

/// Linux's linear timeouts.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "thin-linear",
    about: "Linux's TCP_THIN_LINEAR_TIMEOUTS: does not back off at the first expiries of a stream with few \
            segments in flight, and doubles for others.",
    source: "Linux, Documentation/networking/tcp-thin.rst and ip-sysctl.rst (tcp_thin_linear_timeouts, \
             tcp_syn_linear_timeouts); Mondal & Kuzmanovic 2008 (B-S9)",
    params: &[
        Param::count(
            "thin_segs",
            4,
            0..=u64::MAX,
            "a stream with fewer full segments in flight than this is thin",
        ),
        Param::count(
            "retries",
            6,
            0..=u64::MAX,
            "consecutive expiries at which a thin stream is not backed \
                                                  off",
        ),
        Param::count("syn_linear", 4, 0..=u64::MAX, "consecutive expiries at which a SYN is not backed off"),
        MAX_TIMEOUT,
        R2_RETRIES,
        R2_TIME,
    ],
    build: |p| Box::new(ThinLinear(p.shared(Rules::new))),
};
