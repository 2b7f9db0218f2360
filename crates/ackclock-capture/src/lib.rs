//! Captures taken apart without the engine: who talked to whom, what was sent again and why, what it cost.

mod error;
pub mod read;

pub use error::CaptureError;
