//! What requests ask for. Simulated segments carry no content, and real ones a pattern, so that the content
//! of a request goes beside the connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_units::Bytes;

use crate::Application;

/// A request and the response that it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Bytes of the request itself.
    pub bytes: Bytes,
    /// Bytes of the response that it asks for.
    pub response: Bytes,
}

/// The contents of the requests of one connection, in their order: the client adds a request before it writes
/// its first byte, the server takes it once it has read its last one.
#[derive(Clone, Default, Debug)]
pub struct Requests(Arc<Mutex<VecDeque<Request>>>);

impl Requests {
    /// Adds a request that is about to be written.
    pub fn add(&self, request: Request) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
    }

    /// Takes the oldest request.
    pub fn take(&self) -> Option<Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Gives the server of a connection the contents of its client's requests, if the client makes any. Returns
/// false if the server does not respond to them.
pub fn introduce(client: &dyn Application, server: &mut dyn Application) -> bool {
    client.requests().is_none_or(|requests| server.serve(requests))
}
