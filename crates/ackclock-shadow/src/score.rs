//! The noise model: how likely it is that a stack sent what the capture shows.
//!
//! Each round trip counts once, since segments of the same flight do not differ independently. The mean
//! difference of a round between what was sent and what the shadow allowed is measured in scales: half a segment
//! and 5 % of the flight for volumes (15 % for what pacing lets leave), 0.3 ms and 1 % of the round-trip time for
//! times, and a tick of 4 ms for timers. With the sum `d` of these, a round has a likelihood in proportion to
//! 1 / (1 + d), where `d` is bounded: a tail so heavy that a divergence, which lasts for some rounds until a loss
//! or a timeout brings shadow and sender together again, does not decide.

use ackclock_units::Duration;

/// What a shadow would have done otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Difference {
    /// More segments were sent than it allowed.
    TooMuch(f64),
    /// It would have sent so many segments more.
    TooLittle(f64),
    /// It would have sent a segment so much earlier.
    Late(Duration),
    /// It would not have retransmitted.
    Unexplained,
    /// It would have sent a tail loss probe.
    NoProbe,
    /// Its timer would have fired so much later, or, if negative, earlier, in seconds.
    Timer(f64),
}

/// A round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Round {
    /// The first packet in it.
    pub packet: u64,
    /// The logarithm of the likelihood, without the constant that all stacks share.
    pub log_likelihood: f64,
    /// The largest difference, and its packet.
    pub worst: Option<(u64, Difference)>,
    /// False across what the capture lost, and where the receiver's window or the application was the limit: it
    /// does not count.
    pub counts: bool,
}

impl Round {
    /// The logarithm of its likelihood is at least this where only single events count.
    pub(crate) fn least() -> f64 {
        -MOST.ln_1p()
    }
}

/// Differences of a round that is under way.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Differences {
    volumes: u32,
    volume: f64,
    flights: f64,
    /// What pacing would have let leave until then, less what left: its sum counts, since each segment that
    /// leaves ends a difference.
    paced: f64,
    times: u32,
    time: f64,
    /// Of events that count by themselves.
    single: f64,
    worst: Option<(f64, u64, Difference)>,
}

/// A round counts no more than this.
const MOST: f64 = 10.0;
/// Where times count no more than this.
const MOST_TIME: f64 = 4.0;
/// A retransmission that nothing explains, and a probe that was not sent.
const EVENT: f64 = 2.0;
/// A timer that is off.
const MOST_TIMER: f64 = 5.0;

impl Differences {
    /// The sender sent, or did not send, `difference` segments against what the shadow allowed, with `flight`
    /// segments outstanding.
    pub fn volume(&mut self, packet: u64, difference: f64, flight: f64) {
        self.volumes += 1;
        self.volume += difference.abs();
        self.flights += flight;
        if difference != 0.0 {
            let what = if difference > 0.0 {
                Difference::TooMuch(difference)
            } else {
                Difference::TooLittle(-difference)
            };
            self.note(difference.abs() / volume_scale(flight), packet, what);
        }
    }

    /// A segment left `difference` segments ahead of, or, if negative, behind the shadow's pacing.
    pub fn paced(&mut self, packet: u64, difference: f64, flight: f64) {
        self.paced += difference;
        let what = if difference > 0.0 {
            Difference::TooMuch(difference)
        } else {
            Difference::TooLittle(-difference)
        };
        if difference != 0.0 {
            self.note(self.paced.abs() / paced_scale(flight), packet, what);
        }
    }

    /// A segment left `late` after the shadow allowed it.
    pub fn late(&mut self, packet: u64, late: Duration, rtt: Duration) {
        self.times += 1;
        let z = late.as_secs_f64() / time_scale(rtt);
        self.time += z.min(MOST_TIME);
        if z > 1.0 {
            self.note(z.min(MOST_TIME), packet, Difference::Late(late));
        }
    }

    pub fn unexplained(&mut self, packet: u64) {
        self.single += EVENT;
        self.note(EVENT, packet, Difference::Unexplained);
    }

    pub fn no_probe(&mut self, packet: u64) {
        self.single += EVENT;
        self.note(EVENT, packet, Difference::NoProbe);
    }

    /// A timer fired `error` seconds after the shadow's would have.
    pub fn timer(&mut self, packet: u64, error: f64) {
        let z = (error.abs() / TICK).min(MOST_TIMER);
        self.single += z;
        if z > 1.0 {
            self.note(z, packet, Difference::Timer(-error));
        }
    }

    fn note(&mut self, z: f64, packet: u64, what: Difference) {
        if self.worst.is_none_or(|(most, ..)| z > most) {
            self.worst = Some((z, packet, what));
        }
    }

    /// Ends the round that began with `packet`.
    pub fn end(&mut self, packet: u64, counts: bool) -> Round {
        let d = std::mem::take(self);
        let volumes = f64::from(d.volumes.max(1));
        let flight = d.flights / volumes;
        let volume = d.volume / volumes / volume_scale(flight) + d.paced.abs() / paced_scale(flight);
        let volume = volume.min(MOST);
        let time = d.time / f64::from(d.times.max(1));
        Round {
            packet,
            log_likelihood: if counts { -(volume + time + d.single.min(MOST)).ln_1p() } else { 0.0 },
            worst: d.worst.map(|(_, packet, what)| (packet, what)),
            counts,
        }
    }
}

/// A tick of Linux's timers with CONFIG_HZ 250, in seconds.
pub(crate) const TICK: f64 = 0.004;

/// Segments.
fn volume_scale(flight: f64) -> f64 {
    0.5 + 0.05 * flight
}

/// Segments. Those who pace probe for more at times that they draw at random, and drain what that queued: no
/// shadow can know these times.
fn paced_scale(flight: f64) -> f64 {
    0.5 + 0.15 * flight
}

/// Seconds.
fn time_scale(rtt: Duration) -> f64 {
    0.0003 + 0.01 * rtt.as_secs_f64()
}
