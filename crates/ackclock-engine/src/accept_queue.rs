//! The queues of a listening port: half-open connections, and established ones that nobody has accepted (RFC
//! 9293 §3.9.1.1 leaves them to the host).

use std::collections::VecDeque;

/// The two queues of a listening port. `T` is how a host names a connection.
#[derive(Clone, Debug)]
pub struct AcceptQueue<T> {
    most: usize,
    half_open: usize,
    ready: VecDeque<T>,
}

impl<T> AcceptQueue<T> {
    /// Empty queues, each of which may have `most` connections.
    pub fn new(most: usize) -> Self {
        Self { most, half_open: 0, ready: VecDeque::new() }
    }

    /// Changes how long they may be. What waits already stays.
    pub fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// True when no more connections may be established: neither SYNs nor acknowledgments of SYN-ACKs are
    /// processed then, and the peer sends them again.
    pub fn is_full(&self) -> bool {
        self.ready.len() >= self.most
    }

    /// True when another connection may be half-open.
    pub fn may_open(&self) -> bool {
        self.half_open < self.most
    }

    /// A SYN has opened a connection.
    pub fn open(&mut self) {
        self.half_open += 1;
    }

    /// A half-open connection has failed, or is taken over before anybody accepts it.
    pub fn leave(&mut self) {
        self.half_open = self.half_open.saturating_sub(1);
    }

    /// A half-open connection was established, and waits to be accepted.
    pub fn establish(&mut self, connection: T) {
        self.leave();
        self.ready.push_back(connection);
    }

    /// A connection waits to be accepted that was never half-open: Fast Open's, since its SYN (RFC 7413 §4.2.2).
    pub fn wait(&mut self, connection: T) {
        self.ready.push_back(connection);
    }

    /// Takes the connection that has waited longest.
    pub fn accept(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// True when a connection waits to be accepted.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_accepted_in_the_order_in_which_they_were_established() {
        let mut queue = AcceptQueue::new(2);
        for _ in 0..3 {
            queue.open();
        }
        assert!(!queue.may_open() && !queue.is_full() && !queue.has_ready());
        queue.establish('b');
        queue.establish('a');
        assert!(queue.is_full() && queue.may_open());
        assert_eq!((queue.accept(), queue.is_full()), (Some('b'), false));
        queue.set_most(1);
        assert!(queue.is_full());
        queue.leave();
        assert_eq!((queue.accept(), queue.accept()), (Some('a'), None));
    }
}
