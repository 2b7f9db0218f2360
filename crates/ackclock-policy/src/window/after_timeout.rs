use ackclock_units::Bytes;

use crate::{Param, Params, SenderView};

/// What a retransmission timeout leaves of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterTimeout {
    /// The loss window, from which slow start begins (RFC 5681 §3.1).
    LossWindow,
    /// The threshold, as a loss that duplicate acks report leaves it: no slow start follows (B-X17).
    Threshold,
}

impl AfterTimeout {
    /// Reads [`AFTER_TIMEOUT`].
    pub fn new(p: &Params) -> Self {
        match p.choice(AFTER_TIMEOUT.name) {
            "threshold" => Self::Threshold,
            _ => Self::LossWindow,
        }
    }

    /// The window after a timeout, given the threshold that it leaves; never more than before.
    pub fn left(self, loss_window: Bytes, ssthresh: Bytes, v: &SenderView) -> Bytes {
        match self {
            Self::LossWindow => loss_window,
            Self::Threshold => ssthresh.min(v.window.cwnd).max(loss_window),
        }
    }
}

/// Which of them.
pub(super) const AFTER_TIMEOUT: Param = Param::choice(
    "after_timeout",
    "loss-window",
    &["loss-window", "threshold"],
    // B-X17
    "window after a timeout: the `loss-window`, from which slow start begins (RFC 5681 3.1), or the \
     `threshold`, as after a fast retransmit (a negative control)",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::harness::view;

    #[test]
    fn a_timeout_leaves_the_loss_window_or_the_threshold() {
        let v = SenderView { window: Window { cwnd: 20_000, ssthresh: 90_000 }, smss: 1000, ..view() };
        assert_eq!(AfterTimeout::LossWindow.left(1000, 10_000, &v), 1000);
        assert_eq!(AfterTimeout::Threshold.left(1000, 10_000, &v), 10_000);
        assert_eq!(AfterTimeout::Threshold.left(1000, 90_000, &v), 20_000, "never more than before");
    }
}
