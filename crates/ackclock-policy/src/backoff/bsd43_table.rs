use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Policy};

/// The table of 4.3BSD, before timeouts doubled.
#[derive(Debug)]
struct Bsd43Table {
    limits: Limits,
}

impl Policy for Bsd43Table {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Bsd43Table {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        let place = usize::try_from(level).unwrap_or(usize::MAX).min(TABLE.len() - 1);
        self.limits.bounded(rto, rto.mul_f64(TABLE[place]))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// Factors at consecutive expiries (tcp_backoff in 4.3BSD's tcp_timer.c). The first is that of the timeout
/// itself, and the first retransmission waits no longer.
const TABLE: [f64; 11] = [1.0, 1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0];

/// 4.3BSD's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "bsd43-table",
    about: "4.3BSD's table: 1, 1, 1.2, 1.4, 1.7, 2, 3, 5, 8, 16, 32 times the timeout, which hardly grows at \
            the first expiries.",
    source: "Jacobson & Karels 1988 (J-A16), as published in 4.3BSD",
    params: &[MAX_TIMEOUT, R2_RETRIES, R2_TIME],
    build: |p| Box::new(Bsd43Table { limits: Limits::new(p) }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    #[test]
    fn the_table_ends_at_32_times() {
        let b = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let mut rng = Rng::stream(1, "backoff", 0);
        let at = |level, rng: &mut Rng| b.timeout(Duration::from_secs(1), level, rng).as_secs_f64();
        let first: Vec<f64> = (0..5).map(|level| at(level, &mut rng)).collect();
        assert_eq!(first, [1.0, 1.0, 1.2, 1.4, 1.7]);
        assert_eq!((at(10, &mut rng), at(50, &mut rng)), (32.0, 32.0));
    }
}
