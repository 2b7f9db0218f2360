use ackclock_policy::{Entry, Param};
use ackclock_units::{Instant, Rng};

use super::{AppliesTo, Fault, FaultVerdict, PacketInfo};

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Between bursts, delivered: state 1.
    Gap,
    /// Within a burst, delivered: state 2.
    BurstDelivered,
    /// Within a burst, lost: state 3.
    BurstLost,
    /// Between bursts, lost alone: state 4.
    LostAlone,
}

struct MarkovLoss {
    p13: f64,
    p31: f64,
    p32: f64,
    p23: f64,
    p14: f64,
    of: AppliesTo,
    state: State,
}

impl Fault for MarkovLoss {
    fn verdict(&mut self, packet: &PacketInfo, _: Instant, rng: &mut Rng) -> FaultVerdict {
        if !self.of.includes(packet) {
            return FaultVerdict::Pass;
        }
        let u = rng.unit();
        self.state = match self.state {
            State::Gap if u < self.p13 => State::BurstLost,
            State::Gap if u < self.p13 + self.p14 => State::LostAlone,
            State::BurstDelivered if u < self.p23 => State::BurstLost,
            State::BurstLost if u < self.p31 => State::Gap,
            State::BurstLost if u < self.p31 + self.p32 => State::BurstDelivered,
            State::LostAlone => State::Gap,
            unchanged => unchanged,
        };
        let lost = matches!(self.state, State::BurstLost | State::LostAlone);
        if lost { FaultVerdict::Drop } else { FaultVerdict::Pass }
    }
}

/// Four states.
pub const ENTRY: Entry<dyn Fault> = Entry {
    name: "markov-loss",
    about: "Loses packets alone and in bursts, which may have deliveries within them: a Markov chain of four \
            states, 1 and 2 delivered between and within bursts, 3 lost in a burst, 4 lost alone. Of two \
            probabilities that add up to more than 1 the second is cut.",
    source: "Salsano et al. 2012, Definition of a general and intuitive loss model for packet networks, \
             section 4.1; `loss state` of tc-netem(8)",
    params: &[
        Param::ratio(
            "p13",
            0.01,
            0.0..=1.0,
            "probability that a burst begins, for each packet between bursts",
        ),
        Param::ratio("p31", 0.3, 0.0..=1.0, "probability that a burst ends after a loss"),
        Param::ratio("p32", 0.0, 0.0..=1.0, "probability of a delivery within a burst after a loss"),
        Param::ratio("p23", 1.0, 0.0..=1.0, "probability of another loss after a delivery within a burst"),
        Param::ratio("p14", 0.0, 0.0..=1.0, "probability of a single loss, for each packet between bursts"),
        AppliesTo::PARAM,
    ],
    build: |p| {
        Box::new(MarkovLoss {
            p13: p.ratio("p13"),
            p31: p.ratio("p31"),
            p32: p.ratio("p32"),
            p23: p.ratio("p23"),
            p14: p.ratio("p14"),
            of: AppliesTo::named(p.choice("of")),
            state: State::Gap,
        })
    },
};
