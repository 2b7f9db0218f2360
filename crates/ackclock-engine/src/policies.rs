use ackclock_policy::{AckPolicy, Backoff, CongestionControl, LossRecovery, RetransmissionTimer, RttEstimator, SpuriousTimeout};

/// The policies of one connection, one of each kind.
#[derive(Debug)]
pub struct Policies {
    /// Samples to timeout.
    pub estimator: Box<dyn RttEstimator>,
    /// Timeout after timeouts.
    pub backoff: Box<dyn Backoff>,
    /// Countdown.
    pub timer: Box<dyn RetransmissionTimer>,
    /// What is lost and what goes next.
    pub recovery: Box<dyn LossRecovery>,
    /// Whether a timeout was spurious.
    pub undo: Box<dyn SpuriousTimeout>,
    /// Congestion window.
    pub window: Box<dyn CongestionControl>,
    /// When to acknowledge.
    pub ack: Box<dyn AckPolicy>,
}
