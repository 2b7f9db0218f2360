use ackclock_units::{Duration, Rng};

use super::limits::{Limits, MAX_TIMEOUT, R2_RETRIES, R2_TIME};
use crate::{Backoff, Entry, Param, Policy};

/// The table of 4.3BSD, before timeouts doubled.
#[derive(Debug)]
struct Bsd43Table {
    limits: Limits,
    early: bool,
}

impl Policy for Bsd43Table {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Backoff for Bsd43Table {
    fn timeout(&self, rto: Duration, level: u32, _rng: &mut Rng) -> Duration {
        let table: &[f64] = if self.early { &BEFORE } else { &TABLE };
        let place = usize::try_from(level).unwrap_or(usize::MAX).min(table.len() - 1);
        self.limits.bounded(rto, rto.mul_f64(table[place]))
    }

    fn give_up(&self, expiries: u32, waited: Duration) -> bool {
        self.limits.give_up(expiries, waited)
    }
}

/// Factors at consecutive expiries (`tcp_backoff` of tcp_timer.c 7.1, June 1986, the version of the release).
/// The first is that of the timeout itself, and the first retransmission waits no longer.
const TABLE: [f64; 10] = [1.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0];
/// The table until January 1986 (tcp_timer.c 6.9, and 4.2BSD), which multiplied the smoothed time alone and not
/// the timeout; here it multiplies the timeout, which a backoff cannot shorten.
const BEFORE: [f64; 11] = [1.0, 1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0];

/// 4.3BSD's backoff.
pub(crate) const ENTRY: Entry<dyn Backoff> = Entry {
    name: "bsd43-table",
    about: "4.3BSD's table: 1, 1, 2, 4, 6, 8, 10, 15, 20, 30 times the timeout; the first retransmission waits \
            no longer than the original.",
    source: "Jacobson & Karels 1988 (J-A16), as published in 4.3BSD",
    params: &[
        Param::choice(
            "release",
            "4.3BSD",
            &["4.3BSD", "4.2BSD"],
            "whose table; that of 4.2BSD is 1, 1, 1.2, 1.4, 1.7, 2, 3, 5, 8, 16, 32 and hardly grows at first",
        ),
        MAX_TIMEOUT,
        R2_RETRIES,
        R2_TIME,
    ],
    build: |p| Box::new(Bsd43Table { limits: Limits::new(p), early: p.choice("release") == "4.2BSD" }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Value};

    fn factors(release: &'static str) -> Vec<f64> {
        let mut p = Params::defaults(ENTRY.params);
        assert!(p.set("release", Value::Choice(release)));
        let (b, mut rng) = ((ENTRY.build)(&p), Rng::stream(1, "backoff", 0));
        (0..=12).map(|level| b.timeout(Duration::from_secs(1), level, &mut rng).as_secs_f64()).collect()
    }

    #[test]
    fn each_release_has_its_table() {
        let late = [30.0; 4];
        assert_eq!(
            factors("4.3BSD"),
            [&[1.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0][..], &late].concat()
        );
        let early = [1.0, 1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 32.0, 32.0];
        assert_eq!(factors("4.2BSD"), early);
    }
}
