use std::fmt;
use std::net::SocketAddr;

use ackclock_capture::CaptureError;
use ackclock_engine::StackError;

/// Why no sender can be named.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShadowError {
    /// The capture cannot be read.
    Capture(CaptureError),
    /// A stack is unknown.
    Stack(StackError),
    /// No connection of the capture carries data, or not the one that was asked for.
    NoData(Option<(SocketAddr, SocketAddr)>),
    /// The capture lacks the connection's beginning.
    NoBeginning(SocketAddr, SocketAddr),
    /// It was captured away from the sender.
    NotAtSender {
        /// From the peer's segment to the sender's response in the handshake or after it, milliseconds.
        response_ms: u64,
        /// The round-trip time, milliseconds.
        rtt_ms: u64,
    },
    /// Too little was sent to tell stacks apart.
    TooShort {
        /// Round trips that the sender's own window limited.
        rounds: usize,
    },
    /// No stack explains what was sent.
    NoFit {
        /// The likeliest of them.
        nearest: String,
    },
    /// A connection to itself, or standard input, which cannot be read twice.
    Unsupported(&'static str),
}

impl fmt::Display for ShadowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(e) => write!(f, "{e}"),
            Self::Stack(e) => write!(f, "{e}"),
            Self::NoData(None) => write!(f, "no TCP connection of the capture carries data"),
            Self::NoData(Some((from, to))) => {
                write!(
                    f,
                    "no data from {from} to {to} is in the capture; `ackclock capture` lists connections"
                )
            }
            Self::NoBeginning(from, to) => write!(
                f,
                "the capture lacks the handshake of {from} > {to}, so that windows are of unknown scale; \
                 expected one that begins with the connection"
            ),
            Self::NotAtSender { response_ms, rtt_ms } => write!(
                f,
                "the capture was made away from the sender, which responds after {response_ms} ms of a round \
                 trip of {rtt_ms} ms; expected a capture at the sender's end"
            ),
            Self::TooShort { rounds } => write!(
                f,
                "the sender's own window was the limit in {rounds} round trip{}, too few to tell senders apart; \
                 expected {} or more",
                if *rounds == 1 { "" } else { "s" },
                crate::verdict::LEAST_ROUNDS
            ),
            Self::NoFit { nearest } => {
                write!(f, "no stack sends as this sender did; `{nearest}` is nearest, expected one that fits")
            }
            Self::Unsupported(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for ShadowError {}

impl From<CaptureError> for ShadowError {
    fn from(e: CaptureError) -> Self {
        Self::Capture(e)
    }
}

impl From<StackError> for ShadowError {
    fn from(e: StackError) -> Self {
        Self::Stack(e)
    }
}
