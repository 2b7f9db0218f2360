//! The traits that every replaceable rule implements, what they are told and what they answer, and one file
//! per built-in policy.
//!
//! A policy sees plain copied values and *returns* decisions; the engine clamps, applies and traces them.
//! This room depends on [`ackclock_units`] alone, so a policy cannot reach into a connection.

mod ack;
mod application;
mod backoff;
mod estimator;
mod framing;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod laws;
mod modifier;
mod nearest;
mod param;
mod queue;
mod rate;
mod recovery;
mod registry;
pub mod replay;
mod sampling;
mod timer;
mod timing;
mod traits;
mod undo;
mod view;
mod window;

pub use modifier::{MODIFIERS, Modifier, ModifierError};
pub use nearest::nearest;
pub use param::{Entry, Kind, Param, ParamError, Params, QueueSize, Value};
pub use registry::{Chosen, Declaration, KINDS, Registry, RegistryError, Role};
pub use sampling::SamplingRate;
pub use timing::{AS_RUN, Timing, TimingError};
pub use traits::{
    AckPolicy, Application, Backoff, CongestionControl, Framing, LossRecovery, PacketScheduler, Policy,
    QueueDiscipline, RateControl, RetransmissionTimer, RttEstimator, Scoreboard, SpuriousTimeout,
};
pub use view::{
    AckAction, AckInfo, AckPending, Adjustment, Admit, AppIo, Arrival, Backlog, Congestion, Deliveries,
    Dequeued, Ecn, Expiry, Forgery, Frame, PacketId, Phase, Probe, Queued, Rtt, RttSample, SenderView,
    SentSegment, Settled, Timeout, TimerAction, TimerEvent, Transmission, Verdict, Wake, Window,
};
