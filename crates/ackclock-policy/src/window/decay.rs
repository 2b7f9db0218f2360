use ackclock_units::Duration;

use crate::{Feedback, Param, Params, SenderView, Window};

/// What an idle period leaves of the window, where it is restarted at all (`idle_restart`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterIdle {
    /// The restart window (RFC 5681 §4.1).
    Restart,
    /// Half for each of these periods, down to the restart window (RFC 2861 §3.1).
    Decay(Duration),
}

impl AfterIdle {
    /// Reads [`AFTER_IDLE`] and [`HALF_LIFE`].
    pub fn new(p: &Params) -> Self {
        match p.choice(AFTER_IDLE.name) {
            "decay" => Self::Decay(p.duration(HALF_LIFE.name)),
            _ => Self::Restart,
        }
    }

    /// The window after idling for so long. A decayed one leaves a threshold of at least three quarters of
    /// what it was, so that slow start returns there (RFC 2861 §3.1).
    pub fn left(self, idle: Duration, v: &SenderView) -> Window {
        let restart = v.default_window(&Feedback::Idle(idle));
        let Self::Decay(half_life) = self else { return restart };
        let halvings = (idle.as_nanos() / half_life.as_nanos().max(1)).min(63) as u32;
        if halvings == 0 {
            return v.window;
        }
        Window {
            cwnd: (v.window.cwnd >> halvings).max(restart.cwnd),
            ssthresh: v.window.ssthresh.max(v.window.cwnd / 4 * 3),
        }
    }
}

/// Which of them.
pub(super) const AFTER_IDLE: Param = Param::choice(
    "after_idle",
    "restart",
    &["restart", "decay"],
    "window after an idle period, unless `idle_restart` is off: the `restart` window (RFC 5681 4.1), or a \
     `decay` by half for each `half_life`, down to the restart window (RFC 2861 3.1)",
);
/// The time for one halving.
pub(super) const HALF_LIFE: Param = Param::duration(
    "half_life",
    Duration::from_secs(1),
    Duration::from_millis(1)..=Duration::from_secs(86_400),
    "idle time for each halving of `decay`: RFC 2861 takes the timeout, whose least value this is",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::view;

    #[test]
    fn the_window_decays_by_half_for_each_second_down_to_the_restart_window() {
        let window = Window { cwnd: 32_000, ssthresh: 20_000 };
        let v = SenderView { window, initial_window: 4000, smss: 1000, ..view() };
        let decay = AfterIdle::Decay(Duration::from_secs(1));
        let after = |ms| decay.left(Duration::from_millis(ms), &v);
        assert_eq!(after(900), window, "no whole period");
        assert_eq!(after(1500), Window { cwnd: 16_000, ssthresh: 24_000 });
        assert_eq!(after(2500).cwnd, 8000);
        assert_eq!(after(60_000).cwnd, 4000);
        assert_eq!(AfterIdle::Restart.left(Duration::from_secs(2), &v).cwnd, 4000);
    }
}
