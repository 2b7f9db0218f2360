//! The traits that every replaceable policy implements, their inputs and decisions, and one file per built-in
//! policy.
//!
//! A policy sees plain copied values and *returns* decisions; the engine clamps, applies and traces them.
//! This crate depends on [`ackclock_units`] alone, so a policy cannot reach into a connection.

mod ack;
mod application;
mod backoff;
mod estimator;
mod framing;
#[cfg(any(test, feature = "laws"))]
mod harness;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
mod modifier;
mod nearest;
pub mod offload;
mod param;
mod params;
mod queue;
mod rate;
mod recovery;
mod reduction;
mod registry;
pub mod replay;
mod sampling;
mod slow_start;
mod timer;
pub mod timer_wheel;
mod timing;
mod traits;
mod transition;
mod undo;
mod value;
mod view;
mod window;

#[cfg(any(test, feature = "laws"))]
pub use harness::ReferenceScoreboard;
pub use modifier::{MODIFIERS, Modifier, ModifierError};
pub use nearest::nearest;
pub use param::{Param, ParamError, ParamKind};
pub use params::{Entry, Params};
pub use registry::{Chosen, Declaration, EachKind, KINDS, PolicyKind, Registry, RegistryError, Role};
pub use sampling::SamplingRate;
pub use slow_start::ClassicSlowStart;
pub use timing::{AS_RUN, Timing, TimingError};
pub use traits::{
    AckPolicy, Application, BUFFERED_WINDOWS, Backoff, CongestionControl, Framing, LossRecovery,
    PacketScheduler, Policy, QueueDiscipline, RateControl, Reduction, RetransmissionTimer, RttEstimator,
    ScoreboardView, SlowStart, SpuriousTimeout,
};
pub use transition::Transition;
pub use value::{QueueSize, Value};
pub use view::{
    AckAction, AckInfo, AckPending, Adjustment, Admit, AppIo, ArrivedSegment, Backlog, Congestion, Control,
    DeadlineAction, Deliveries, Dequeued, Ecn, EpisodeEnd, EpisodeVerdict, Expiry, Family, Feedback, Forgery,
    Frame, Growth, LostSegment, Needs, Pacing, PacketId, Phase, Playback, PrivateState, Queued, RateSample,
    ReceiverEvent, ReceiverView, Request, Requests, Rtt, RttSample, SenderView, SentSegment, SuspectEpisode,
    SuspectTimeout, TimeoutVerdict, TimerAction, TimerEvent, TimerView, Transmission, Wake, Window,
    introduce,
};
