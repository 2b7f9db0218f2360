//! Why each segment was sent again, by the stack that fits.

use ackclock_engine::Stack;

use crate::verdict::{Ranked, TIMED, rank};
use crate::{Conversation, Reason, ShadowError};

/// The stack that fits a conversation, and what it says of the retransmissions.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The stack, with what was changed of it.
    pub stack: String,
    /// The logarithm of its likelihood, per round trip.
    pub fit: f64,
    /// Why it would have sent the retransmissions that it explains, in the order of the capture.
    pub reasons: Vec<Reason>,
}

/// Follows `conversation` with each of `stacks`, and asks the likeliest, with the timers that fit, why each segment
/// was sent again.
///
/// # Errors
/// Too little was sent, or none of the stacks fits.
pub fn explain(conversation: &Conversation, stacks: &[Stack]) -> Result<Explained, ShadowError> {
    let Ranked { timed, rounds, .. } = rank(conversation, stacks)?;
    let fit = timed.followed.log_likelihood() / rounds as f64;
    if fit < TIMED {
        return Err(ShadowError::NoFit { nearest: timed.stack.name().to_owned() });
    }
    Ok(Explained { stack: timed.stack.name().to_owned(), fit, reasons: timed.followed.reasons })
}
