//! One TCP endpoint as a state machine without clocks, threads or sockets.
//!
//! A world drives it: segments and expired deadlines go in ([`Connection::handle_segment`],
//! [`Connection::handle_timeout`]), segments, deadlines and events come out ([`Connection::poll_transmit`],
//! [`Connection::poll_timeout`], [`Connection::poll_event`]). The present moment is always passed in.

mod accept_queue;
mod buffer;
mod config;
mod connection;
mod event;
mod fast_open;
pub mod offload;
mod pacing;
mod policies;
mod reassembly;
mod scoreboard;
pub mod send_memory;
mod stack;
mod stats;
mod timer;
mod user;

pub use accept_queue::AcceptQueue;
pub use config::{Config, EcnFeedback, IdleAfter, IdleSince, MIN_PMTU, OPTIONS, RttSampling};
pub use connection::{Allowed, Connection, Outstanding, State, Transmit};
pub use event::{AbortReason, ConnectionEvent};
pub use fast_open::{CachedServer, CookieKey, FastOpenCache, FastOpenReport};
pub use pacing::Pacer;
pub use policies::{Lazy, LazyBuild, Policies, SenderChoice, SenderPolicies, SpecialPolicies};
pub use stack::{PRESETS, Preset, Stack, StackError};
pub use stats::{CompactInstant, MinDuration, RareCounts, Stats};
pub use user::{Call, ResponseTimes, User, UserIo, UserTransport};
