use ackclock_units::{Bytes, Duration, Instant, Rate, Rng};

use super::distribution::Distribution;
use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct OnOff {
    on: Duration,
    off: Duration,
    /// Of the periods.
    periods: Distribution,
    bytes: Bytes,
    interval: Duration,
    /// When the present ON period ends, and when its next packet is due.
    period: Option<(Instant, Instant)>,
}

impl OnOff {
    fn draw(&self, mean: Duration, rng: &mut Rng) -> Duration {
        mean.mul_f64(self.periods.draw(rng))
    }
}

impl Policy for OnOff {
    fn name(&self) -> &str {
        "on-off"
    }
}

impl Application for OnOff {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        let (mut end, mut due) = match self.period {
            Some(period) => period,
            None => (now + self.draw(self.on, rng), now),
        };
        while due <= now {
            if due >= end {
                due = end + self.draw(self.off, rng);
                end = due + self.draw(self.on, rng);
                continue;
            }
            // As with a live source, data that does not fit into the send buffer is lost.
            io.write(self.bytes);
            due += self.interval;
        }
        self.period = Some((end, due));
        Wake::At(due)
    }
}

/// Bursts at a constant rate.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "on-off",
    about: "Writes at a constant rate during ON periods and nothing during OFF periods; never closes.",
    source: "Mondal & Kuzmanovic 2008 (B-A10): means 16 s and 8 s, Pareto; its shape is unstated there, 1.5 \
             is our choice",
    params: &[
        Param::duration(
            "on",
            Duration::from_secs(16),
            Duration::from_micros(1)..=Duration::from_secs(86_400),
            "mean ON period",
        ),
        Param::duration(
            "off",
            Duration::from_secs(8),
            Duration::from_micros(1)..=Duration::from_secs(86_400),
            "mean OFF period",
        ),
        Param::choice("periods", "pareto", &["pareto", "exponential"], "distribution of both periods"),
        Param::ratio("shape", 1.5, 1.01..=100.0, "shape of the Pareto distribution"),
        Param::rate(
            "rate",
            Rate::from_bits_per_sec(1_000_000),
            Rate::from_bits_per_sec(1)..=Rate::from_bits_per_sec(1_000_000_000_000),
            "payload rate during ON",
        ),
        Param::bytes("bytes", 500, 1..=65_495, "payload written at a time"),
    ],
    build: |p| {
        Box::new(OnOff {
            on: p.duration("on"),
            off: p.duration("off"),
            periods: Distribution::of(p, "periods", "", "shape"),
            bytes: p.bytes("bytes"),
            interval: p.rate("rate").time_to_send(p.bytes("bytes")).max(Duration::from_nanos(1)),
            period: None,
        })
    },
};
