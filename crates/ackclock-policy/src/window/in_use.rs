//! Whether a window is in use, so that it may grow.

use std::fmt::Debug;

use ackclock_units::SeqNumber;

use crate::{AckInfo, Congestion, Param, Params, Phase, SenderView};

/// Decides on each ack whether the window was in use.
pub(super) trait InUse: Default + Debug + Send + 'static {
    /// True when it has to be called on each segment sent.
    const COUNTS: bool;

    /// A segment was sent, `again` if it is a retransmission.
    fn sent(&mut self, again: bool, v: &SenderView);

    /// True when the window may grow on this ack.
    fn permits(&self, a: &AckInfo, v: &SenderView) -> bool;
}

/// At least half of it within the last round trips (RFC 7661 §4.4: not in the non-validated phase of
/// §4.3), which the
/// engine counts.
#[derive(Debug, Default)]
pub(super) struct Half;

impl InUse for Half {
    const COUNTS: bool = false;

    fn sent(&mut self, _: bool, _: &SenderView) {}

    fn permits(&self, a: &AckInfo, _: &SenderView) -> bool {
        a.validated
    }
}

/// The use of the window in this flight of data, as Linux counts it (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    /// The window was full.
    full: bool,
    /// Most bytes outstanding; 0 before the first segment.
    most: u64,
    /// Until this is acknowledged, the flight lasts.
    until: SeqNumber,
}

impl InUse for Flight {
    const COUNTS: bool = true;

    fn sent(&mut self, again: bool, v: &SenderView) {
        // What is retransmitted says nothing of what the application sends (RFC 7661 §4.2 measures nothing then).
        if again {
            return;
        }
        // While a reduction is spread over a round trip, the window is what that lets go.
        let reducing = matches!(v.phase, Phase::Recovery | Phase::Cwr) && v.unsent >= u64::from(v.smss);
        let full = reducing || v.pipe + u64::from(v.smss) > v.window.cwnd;
        let over = self.most == 0 || v.snd_una >= self.until;
        // Where windows count segments, short ones take more than their bytes.
        let out = v.flight_size.max(v.pipe);
        if over || full || (!self.full && out > self.most) {
            *self = Self { full, most: out, until: v.snd_nxt };
        }
    }

    fn permits(&self, _: &AckInfo, v: &SenderView) -> bool {
        // In slow start to no more than twice what was in use (`tcp_is_cwnd_limited`).
        self.full || (v.window.cwnd < v.window.ssthresh && v.window.cwnd < 2 * self.most)
    }
}

/// True when [`VALIDATE`] and [`IN_USE`] ask for [`Flight`].
pub(super) fn counts_flights(p: &Params) -> bool {
    p.flag("validate") && p.choice("in_use") == "flight"
}

/// Whether a window that is not in use may grow.
pub(super) const VALIDATE: Param = Param::flag(
    "validate",
    true,
    "grow only while at least half of the window is in use (RFC 7661 4.3, 4.4)",
);
/// What counts as in use.
pub(super) const IN_USE: Param = Param::choice(
    "in_use",
    "half",
    &["half", "flight"],
    "with `validate`: when the window is in use. `half` of it within the last round trips (RFC 7661 4.3), or \
     the last `flight` filled it, in slow start more than half of it, as Linux has it",
);

/// What a reduction reduces.
pub(super) const REDUCE_FROM: Param = Param::choice(
    "reduce_from",
    "flight",
    &["flight", "window"],
    "what a loss reduces: the part of the window in `flight` (RFC 5681 3.1 eq. 4), or the `window`, used or \
     not, to whole segments in CUBIC, as Linux does",
);

/// Alternative backoff with ECN. With it `beta_ecn` of a window decides what an echo leaves of it.
pub(super) const ABE: Param = Param::flag(
    "abe",
    false,
    "in congestion avoidance (window above the threshold) an ECN echo leaves `beta_ecn` of the window, which is \
     more than a loss leaves: the queue that marks is a short one (RFC 8511 3, 4)",
);

/// True where [`ABE`] applies: RFC 8511 changes the reaction to an ECN echo in congestion avoidance, and does
/// not recommend that for a window of the threshold or less (§4).
pub(super) fn backs_off_less(c: Congestion, v: &SenderView) -> bool {
    c == Congestion::Ecn && v.window.cwnd > v.window.ssthresh
}

/// The bytes that a reduction begins with, by [`REDUCE_FROM`]. Neither data that Limited Transmit sent beyond
/// the window counts (RFC 5681 §3.2), nor an unused part of the window.
pub(super) fn reduced_from(whole_window: bool, v: &SenderView) -> f64 {
    (if whole_window { v.window.cwnd } else { v.flight_size.min(v.window.cwnd) }) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::harness::{ack, view};

    fn counting() -> Flight {
        Flight::default()
    }

    /// `segments` of 1000 bytes are sent with a window of ten.
    fn send(use_of: &mut Flight, segments: u32) -> SenderView {
        let mut v = view();
        for _ in 0..segments {
            v.snd_nxt += 1000;
            (v.flight_size, v.pipe) = (v.flight_size + 1000, v.pipe + 1000);
            use_of.sent(false, &v);
        }
        v
    }

    #[test]
    fn more_than_half_is_in_use_in_slow_start() {
        for (segments, permitted) in [(5, false), (6, true), (10, true)] {
            let mut use_of = counting();
            let v = send(&mut use_of, segments);
            assert_eq!(use_of.permits(&ack(1, 1000), &v), permitted, "{segments}");
        }
    }

    #[test]
    fn above_the_threshold_only_a_full_window_grows() {
        for (segments, permitted) in [(9, false), (10, true)] {
            let mut use_of = counting();
            let mut v = send(&mut use_of, segments);
            v.window = Window { cwnd: 10_000, ssthresh: 5000 };
            assert_eq!(use_of.permits(&ack(1, 1000), &v), permitted, "{segments}");
        }
    }

    #[test]
    fn a_retransmission_fills_nothing() {
        for (again, permitted) in [(true, false), (false, true)] {
            let mut use_of = counting();
            let mut v = send(&mut use_of, 5);
            v.pipe = v.window.cwnd;
            use_of.sent(again, &v);
            assert_eq!(use_of.permits(&ack(1, 1000), &v), permitted, "{again}");
        }
    }

    #[test]
    fn what_waits_in_a_reduction_fills_the_window() {
        for (unsent, permitted) in [(999, false), (1000, true)] {
            let mut use_of = counting();
            let v = SenderView { unsent, phase: Phase::Recovery, ..send(&mut use_of, 5) };
            use_of.sent(false, &v);
            assert_eq!(use_of.permits(&ack(1, 1000), &v), permitted, "{unsent}");
        }
    }

    #[test]
    fn a_flight_counts_until_it_is_acknowledged() {
        let mut use_of = counting();
        let mut v = send(&mut use_of, 10);
        // All but the last is acknowledged, and one more segment sent.
        (v.snd_una, v.snd_nxt, v.flight_size, v.pipe) = (v.snd_nxt - 1000, v.snd_nxt + 1000, 2000, 2000);
        use_of.sent(false, &v);
        assert!(use_of.permits(&ack(1, 1000), &v));
        (v.snd_una, v.snd_nxt, v.flight_size, v.pipe) = (v.snd_nxt, v.snd_nxt + 1000, 1000, 1000);
        use_of.sent(false, &v);
        assert!(!use_of.permits(&ack(1, 1000), &v));
    }
}
