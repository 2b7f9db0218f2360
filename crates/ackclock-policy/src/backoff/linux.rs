use ackclock_units::{Duration, Rng};

use super::limits::{Limits, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Param, Policy};

/// Doubles at every expiry of data; a SYN is first retransmitted some times at the same interval.
#[derive(Debug)]
struct Linux {
    syn_linear: u32,
    limits: Limits,
}

impl Policy for Linux {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Linux {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        // The ceiling in time is the only one.
        self.limits.doubled(rto, level)
    }

    fn syn_timeout(&self, rto: Duration, expiries: u32, _rng: &mut Rng) -> Duration {
        self.limits.doubled(rto, expiries.saturating_sub(self.syn_linear))
    }

    fn give_up_syn(&self, _sent_again: u32, most: u32, rto: Duration, waited: Duration) -> bool {
        // tcp_model_timeout: the time that so many retransmissions take where each timeout doubles. The
        // linear ones find room in it.
        let times = most.min(MOST_SYNS) + 1;
        let modelled = (0..times).fold(Duration::ZERO, |sum, n| sum + self.limits.doubled(rto, n));
        waited >= modelled
    }

    fn syn_ack_timeout(&self, rto: Duration, expiries: u32, rng: &mut Rng) -> Duration {
        // A request's timer doubles from the first (`reqsk_timer_handler`).
        self.timeout(rto, expiries, rng)
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// The largest number of retransmissions of a SYN (`MAX_TCP_SYNCNT`).
const MOST_SYNS: u32 = 127;

/// Linux's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "linux",
    about: "Linux's backoff: as `exponential`, up to 120 s; the first SYNs are retransmitted at the same \
            interval, before it doubles; `syn_retries` stands for the time that doubled ones would take.",
    source: "Linux 6.18, net/ipv4/tcp_timer.c (tcp_retransmit_timer, tcp_model_timeout), \
             Documentation/networking/ip-sysctl.rst (tcp_syn_linear_timeouts)",
    params: &[
        Param::count(
            "syn_linear",
            4,
            0..=u64::MAX,
            "retransmissions of a SYN before its timeout doubles (tcp_syn_linear_timeouts)",
        ),
        Param::duration(
            "max_timeout",
            Duration::from_secs(120),
            Duration::from_millis(1)..=Duration::from_secs(86_400),
            "longest timeout after backoff (TCP_RTO_MAX)",
        ),
        R2_RETRIES,
        R2_TIME,
    ],
    build: |p| {
        Box::new(Linux {
            syn_linear: p.count("syn_linear").min(u64::from(u32::MAX)) as u32,
            limits: Limits::new(p),
        })
    },
};
