//! Names the sender of a captured connection: the engine's stacks follow it, each as a *shadow*.
//!
//! A [`Conversation`] is one direction of one connection: what was sent, and the acks that came back. A shadow
//! is a connection of the engine that is given these acks at their times, and is made to have sent what the
//! capture shows. Before each segment it is asked what it would have done by itself. The difference counts
//! against its stack ([`score`]), and [`name_sender`] ranks stacks by it.

mod conversation;
mod error;
mod explain;
mod follow;
mod join;
mod min_rto;
mod period;
pub mod score;
mod timer;
mod verdict;
mod why;

pub use conversation::{Conversation, Event, Kind, MOST_EVENTS, Opening};
pub use error::ShadowError;
pub use explain::{Explained, explain};
pub use follow::{Followed, follow};
pub use join::{ByStack, MOST_ASKED, ask};
pub use min_rto::{MinRto, min_rto};
pub use score::{Difference, Round};
pub use timer::Expiry;
pub use verdict::{Candidate, Deviation, NoMinimum, Verdict, default_stacks, name_sender};
pub use why::{Reason, Why};
