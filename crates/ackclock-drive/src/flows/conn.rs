//! One end of a connection: a socket and the application above it.

use std::os::fd::{AsFd, OwnedFd};

use ackclock_engine::{Call, User, UserIo as _};
use ackclock_policy::{Application, Playback, Wake};
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Instant, Rng};
use ackclock_wire::SackBlocks;
use rustix::io::Errno;
use rustix::net::{getpeername, sockopt};

use super::io::Socket;
use super::report::FlowEnd;
use super::snapshot::Snapshot;
use super::stamping::Stamping;
use crate::ledger::Ledger;
use crate::linux::sys;
use crate::sockets::{AckStamps, TcpState, reason, tcp_of};
use crate::{Clock, DriveError, TcpCounts};

/// An application and its random stream.
pub(crate) type App = (Box<dyn Application>, Rng);

pub(super) struct FlowConn {
    socket: Socket,
    user: User<Ledger>,
    rng: Rng,
    /// `None` before the connection is established.
    stamps: Option<AckStamps>,
    opened: Instant,
    /// What the kernel had retransmitted when it was established: its SYNs or SYN-ACKs.
    syn_retransmissions: u64,
    /// It waits at a barrier.
    at_barrier: bool,
}

impl FlowConn {
    /// A connection that was opened or accepted at `opened`.
    pub(super) fn new(
        socket: OwnedFd,
        (app, rng): App,
        ledger: Ledger,
        quick_acks: bool,
        opened: Instant,
    ) -> Self {
        let socket = Socket::new(socket, quick_acks);
        let user = User::new(app, ledger);
        Self { socket, user, rng, stamps: None, opened, syn_retransmissions: 0, at_barrier: false }
    }

    /// The application's deadline.
    pub(super) fn due(&self) -> Option<Instant> {
        self.user.deadline().filter(|at| *at < Instant::FAR_FUTURE)
    }

    /// True when it has failed or finished.
    pub(super) fn is_over(&self) -> bool {
        self.socket.failed.is_some() || self.is_finished()
    }

    fn is_finished(&self) -> bool {
        self.user.is_done() && self.socket.ended
    }

    /// Handles an event of the socket, which may be `writable`. Returns true when the connection became established.
    pub(super) fn step(
        &mut self,
        clock: &Clock,
        writable: bool,
        stamping: &mut Stamping,
    ) -> Result<bool, DriveError> {
        let established = self.stamps.is_none();
        if established {
            match sockopt::socket_error(&self.socket.fd) {
                Ok(Ok(())) => {}
                Ok(Err(e)) | Err(e) => {
                    self.socket.failed = Some(e);
                    return Ok(false);
                }
            }
            if getpeername(&self.socket.fd) == Err(Errno::NOTCONN) {
                return Ok(false);
            }
            self.stamps = Some(AckStamps::of(&self.socket.fd.as_fd())?);
            let counts = TcpCounts::of(self.socket.fd.as_fd());
            self.syn_retransmissions = counts.map_or(0, |counts| counts.retransmitted_segments);
            let now = clock.now();
            self.call(now, now);
        }
        self.acknowledged(clock, stamping)?;
        let now = clock.now();
        let waits = self.user.waits_for();
        let ready = match waits {
            Some(Wake::Readable) => true,
            // An acknowledgment's timestamp is an event, too: a program that waits for room would not be woken by it.
            Some(Wake::Writable | Wake::WritableOrAt(_)) => writable,
            _ => false,
        };
        if ready && !established {
            self.call(now, now);
        }
        let waits_for_end = self.user.waits_for() == Some(Wake::Ended);
        if waits_for_end || self.user.is_done() && !self.socket.ended {
            // After closing, keep reading until the peer closes.
            self.user.io.read(&mut self.socket, now, Bytes::MAX);
            if self.socket.ended && waits_for_end {
                self.call(now, now);
            }
        }
        Ok(established)
    }

    /// Notifies the application of each acknowledgment, with the time at which the kernel received it.
    fn acknowledged(&mut self, clock: &Clock, stamping: &mut Stamping) -> Result<(), DriveError> {
        while let Some(stamps) = &mut self.stamps {
            let next = stamps
                .next(&self.socket.fd.as_fd())
                .map_err(DriveError::system("read a socket's error queue"))?;
            let Some(acked) = next else { break };
            let now = clock.now();
            let at = clock.at_unix(acked.unix_ns).min(now);
            // Cross-check with SIOCOUTQ, which counts a FIN as a byte; more acknowledgments may have arrived
            // meanwhile.
            let outstanding = sys::unacked(self.socket.fd.as_fd()).map_or(0, u64::from);
            stamping.take(now.since(at), outstanding <= self.socket.written.saturating_sub(acked.bytes) + 1);
            self.socket.acknowledge(acked.bytes);
            let flushed = self.socket.acked >= self.socket.written;
            if self.waits_for_acks() || (flushed && self.user.waits_for() == Some(Wake::Flushed)) {
                self.call(now, at);
            }
        }
        Ok(())
    }

    /// True when its application is to be called at every ack.
    pub(super) fn waits_for_acks(&self) -> bool {
        matches!(self.user.waits_for(), Some(Wake::AckedOrAt(_) | Wake::RoomOrAt(_)))
    }

    /// An ack that arrived at `at` has reported data beyond what is acknowledged.
    pub(super) fn sacked(&mut self, blocks: &SackBlocks, now: Instant, at: Instant) {
        self.socket.note_sacked(blocks);
        if self.waits_for_acks() {
            self.call(now, at.min(now));
        }
    }

    /// Calls the application `now`, for an event at `at`.
    pub(super) fn call(&mut self, now: Instant, at: Instant) {
        let opened = (!self.user.is_waiting()).then_some(self.opened);
        self.user.call(&mut self.socket, &mut self.rng, Call { now, at, opened });
    }

    /// True once for each time that the application has come to a barrier.
    pub(super) fn arrives_at_barrier(&mut self) -> bool {
        let waits = self.user.waits_for() == Some(Wake::Barrier);
        waits && !std::mem::replace(&mut self.at_barrier, waits)
    }

    /// Lets an application that waits at a barrier go on.
    pub(super) fn release(&mut self, now: Instant) {
        self.at_barrier = false;
        self.user.release(now);
    }

    /// The kernel's counters and state; `None` before it is established.
    pub(super) fn tcp(&self) -> Option<(TcpCounts, TcpState)> {
        self.stamps.as_ref()?;
        tcp_of(self.socket.fd.as_fd())
    }

    /// Bytes read by the application.
    pub(super) fn read(&self) -> Bytes {
        self.user.io.read
    }

    /// Its state now.
    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        Snapshot {
            counts: self.tcp().map(|(counts, _)| counts),
            read: self.user.io.read,
            playback: self.playback(now),
        }
    }

    fn playback(&self, now: Instant) -> Option<Playback> {
        self.user.application.as_ref()?.playback(now)
    }

    /// The result of this end, with the kernel's counters. Times are relative to `zero`.
    pub(super) fn finish(self, zero: Instant, now: Instant) -> FlowEnd {
        let (counts, playback) = (TcpCounts::of(self.socket.fd.as_fd()), self.playback(now));
        let ended = Some(now.since(zero));
        // Before it is established, a kernel has retransmitted nothing else.
        let syns = match self.stamps {
            Some(_) => self.syn_retransmissions,
            None => counts.map_or(0, |counts| counts.retransmitted_segments),
        };
        let (outcome, reason) = match self.socket.failed {
            Some(e) if self.stamps.is_none() && e == Errno::TIMEDOUT => {
                (Outcome::Failed, Some("syn-timeout"))
            }
            Some(e) => (Outcome::Failed, Some(reason(e))),
            None if self.is_finished() => (Outcome::Finished, None),
            None => (Outcome::Unfinished, None),
        };
        let acked = self.socket.acked;
        let counted_at = ended;
        FlowEnd {
            acked,
            outcome,
            reason,
            counts,
            counted_at,
            ended,
            syns,
            playback,
            ..FlowEnd::of(self.user.io, zero)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

    use ackclock_engine::UserTransport as _;
    use ackclock_policy::{Params, Registry};
    use ackclock_units::Duration;

    use super::*;
    use crate::pattern::PayloadPattern;

    /// A bulk sender on a socket with a small buffer, and the other end.
    fn bulk() -> (FlowConn, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (peer, _) = listener.accept().expect("it is connected");
        stream.set_nonblocking(true).expect("a socket");
        peer.set_nonblocking(true).expect("a socket");
        sockopt::set_socket_send_buffer_size(&stream, 1 << 16).expect("a socket");
        let entry = Registry::builtin().find::<dyn Application>("bulk").expect("it is known");
        let app = (entry.build)(&Params::defaults(entry.params));
        let ledger = Ledger::new(&Arc::new(PayloadPattern::new()), 0, true);
        let app = (app, Rng::stream(1, "test", 0));
        (FlowConn::new(stream.into(), app, ledger, false, Instant::ZERO), peer)
    }

    #[test]
    fn an_application_that_waits_for_room_is_called_when_the_kernel_says_so() {
        let (mut conn, mut peer) = bulk();
        let (clock, mut stamping) = (Clock::starting_in(Duration::ZERO), Stamping::default());
        assert!(conn.step(&clock, true, &mut stamping).expect("it is connected"));
        let first = conn.socket.written;
        assert!(first > 1 << 16, "{first}");
        let mut block = vec![0; 1 << 22];
        while conn.socket.unacked() > 0 && clock.now() < Instant::ZERO + Duration::from_secs(10) {
            let _ = peer.read(&mut block);
            // What was acknowledged is an event.
            conn.step(&clock, false, &mut stamping).expect("it is connected");
        }
        assert_eq!((conn.socket.unacked(), conn.socket.written), (0, first));
        conn.step(&clock, true, &mut stamping).expect("it is connected");
        assert!(conn.socket.written > first);
    }
}
