//! The gain with which a sender paces that probes at times it draws at random.

/// The gains of BBR's cycle (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4.2).
const GAINS: [f64; 3] = [1.25, 0.75, 1.0];
/// A round trip shows the gain that is nearest: half of the step between two.
const KNOWN: f64 = 0.125;
/// Segments that show it.
const LEAST: f64 = 8.0;

/// What left in a round trip, in segments, and what would have left with a gain of 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gains {
    left: f64,
    base: f64,
    /// What would have left with the gains that the shadow drew.
    drawn: f64,
    /// For a part of it the shadow does not draw its gain.
    fixed: bool,
}

impl Gains {
    /// `segs` left, which is `difference` more than the shadow's pacing lets leave, with its `gain`.
    pub fn note(&mut self, segs: f64, difference: f64, gain: Option<f64>) {
        let Some(gain) = gain else {
            self.fixed = true;
            return;
        };
        let allowed = segs - difference;
        self.left += segs;
        self.drawn += allowed;
        self.base += allowed / gain;
    }

    /// The gain of the round trip that ends, if it is one of those that are drawn, and not what the shadow drew.
    pub fn take_another(&mut self) -> Option<f64> {
        let round = std::mem::take(self);
        if round.fixed || round.left < LEAST || round.base <= 0.0 || round.drawn <= 0.0 {
            return None;
        }
        let (shown, drawn) = (round.left / round.base, round.drawn / round.base);
        GAINS.into_iter().find(|gain| (shown - gain).abs() <= KNOWN && (drawn - gain).abs() > KNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of pairs in which a shadow with this gain allows one segment, and so many leave.
    fn round(gain: f64, segs: f64) -> Option<f64> {
        let mut gains = Gains::default();
        (0..20).for_each(|_| gains.note(segs, segs - gain, Some(gain)));
        gains.take_another()
    }

    #[test]
    fn a_round_trip_shows_another_gain() {
        assert_eq!(round(1.0, 1.25), Some(1.25));
        assert_eq!(round(1.25, 1.0), Some(1.0));
        assert_eq!(round(1.0, 0.76), Some(0.75));
        assert_eq!(round(0.75, 1.24), Some(1.25));
        assert_eq!(round(1.0, 1.04), None, "the shadow's own");
        assert_eq!(round(1.0, 1.12), None, "none of the cycle");
    }

    #[test]
    fn a_few_segments_and_gains_that_are_not_drawn_show_nothing() {
        let mut gains = Gains::default();
        (0..6).for_each(|_| gains.note(1.25, 0.25, Some(1.0)));
        assert_eq!(gains.take_another(), None);
        (0..20).for_each(|_| gains.note(1.25, 0.25, Some(1.0)));
        gains.note(1.0, 0.0, None);
        assert_eq!(gains.take_another(), None);
        (0..20).for_each(|_| gains.note(1.25, 0.25, Some(1.0)));
        assert_eq!(gains.take_another(), Some(1.25), "each round trip by itself");
    }
}
