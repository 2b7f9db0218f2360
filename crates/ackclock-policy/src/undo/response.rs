use crate::{AckInfo, Param, Params, SenderView, SuspectTimeout, Window};

/// The window with which a sender continues after a spurious timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Response {
    /// The one from before (E-A8).
    Restore,
    /// RFC 4015's, which avoids a burst.
    Rfc4015,
}

impl Response {
    /// Reads [`RESPONSE`].
    pub fn new(p: &Params) -> Self {
        if p.choice("response") == "restore" { Self::Restore } else { Self::Rfc4015 }
    }

    pub fn window(self, a: &AckInfo, t: &SuspectTimeout, v: &SenderView) -> Window {
        match self {
            Self::Restore => t.window,
            // RFC 4015 §3.4, step 9: congestion that the receiver echoes counts although the timeout was
            // spurious.
            Self::Rfc4015 if a.ece => v.window,
            // Step 9: what is outstanding plus at most an initial window; the threshold is `pipe_prev` (step
            // 0).
            Self::Rfc4015 => Window {
                cwnd: v.flight_size + a.newly_acked.min(v.initial_window),
                ssthresh: t.flight_size.max(t.window.ssthresh),
            },
        }
    }
}

/// Which response.
pub(super) const RESPONSE: Param = Param::choice(
    "response",
    "restore",
    &["restore", "rfc4015"],
    // E-A8
    "window after a spurious timeout: `restore`, that from before the timeout; `rfc4015`, what is \
     outstanding, growing back without a burst",
);
/// Whether the timer is adapted.
pub(super) const ADAPT_TIMER: Param = Param::flag(
    "adapt_timer",
    false,
    "after a spurious timeout, reset the estimates by the first sample of new data: no lower than before the \
     timeout, and the deviation at least half of the sample (RFC 4015 3.6)",
);
