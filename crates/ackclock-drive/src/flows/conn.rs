//! One end of a connection: a socket and the application above it.

use std::os::fd::{AsFd, OwnedFd};

use ackclock_policy::{AppIo, Application, Wake};
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration, Instant, Rng};
use rustix::io::Errno;
use rustix::net::{getpeername, sockopt};

use super::FlowEnd;
use super::io::{Io, IoState};
use super::stamping::Stamping;
use crate::ledger::Ledger;
use crate::linux::sys;
use crate::sockets::{AckStamps, reason};
use crate::{Clock, DriveError, TcpCounts};

/// An application and what it draws from.
pub(super) type App = (Box<dyn Application>, Rng);

pub(super) struct Conn {
    socket: OwnedFd,
    app: App,
    state: IoState,
    /// `None` before the connection is established.
    stamps: Option<AckStamps>,
    /// What the application waits for.
    wake: Option<Wake>,
    quick_acks: bool,
    opened: Instant,
    done: bool,
}

/// An application that asks again and again for what it already has waits for the next event after so many
/// calls, as in the simulator.
const CALLS_AT_ONCE: u32 = 64;

impl Conn {
    /// A connection that was opened or accepted at `opened`.
    pub(super) fn new(socket: OwnedFd, app: App, ledger: Ledger, quick_acks: bool, opened: Instant) -> Self {
        let state = IoState { ledger, acked: 0, ended: false, failed: None };
        Self { socket, app, state, stamps: None, wake: None, quick_acks, opened, done: false }
    }

    /// When the application is to be called, whatever happens.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.wake {
            Some(Wake::At(at) | Wake::AckedOrAt(at) | Wake::RoomOrAt(at)) if at < Instant::FAR_FUTURE => {
                Some(at)
            }
            _ => None,
        }
    }

    /// True when nothing more is to come.
    pub(super) fn is_over(&self) -> bool {
        self.state.failed.is_some() || self.done && self.state.ended
    }

    /// Does what the socket is ready for. True when it became established by that.
    pub(super) fn step(&mut self, clock: &Clock, stamping: &mut Stamping) -> Result<bool, DriveError> {
        let established = self.stamps.is_none();
        if established {
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => {}
                Ok(Err(e)) | Err(e) => {
                    self.state.failed = Some(e);
                    return Ok(false);
                }
            }
            if getpeername(&self.socket) == Err(Errno::NOTCONN) {
                return Ok(false);
            }
            self.stamps = Some(AckStamps::of(&self.socket.as_fd())?);
            let now = clock.now();
            self.call(now, now);
        }
        self.acknowledged(clock, stamping)?;
        let now = clock.now();
        if !established && matches!(self.wake, Some(Wake::Readable | Wake::Writable)) {
            self.call(now, now);
        }
        if self.wake == Some(Wake::Ended) || self.done && !self.state.ended {
            // Whoever has closed still waits for the peer to do so.
            let mut io = Io {
                at: now,
                opened: None,
                socket: &self.socket,
                state: &mut self.state,
                quick_acks: self.quick_acks,
                moved: false,
            };
            io.read(Bytes::MAX);
            if self.state.ended && self.wake == Some(Wake::Ended) {
                self.call(now, now);
            }
        }
        Ok(established)
    }

    /// Tells the application of each acknowledgment, as of the moment at which the kernel saw it.
    fn acknowledged(&mut self, clock: &Clock, stamping: &mut Stamping) -> Result<(), DriveError> {
        while let Some(stamps) = &mut self.stamps {
            let told = stamps
                .next(&self.socket.as_fd())
                .map_err(DriveError::system("read a socket's queue of errors"))?;
            let Some(acked) = told else { break };
            let now = clock.now();
            let at = clock.at_unix(acked.unix_ns).min(now);
            // By another way: how much is unacknowledged now, when more may have come in meanwhile. A FIN
            // counts there as a byte.
            let outstanding = sys::unacked(self.socket.as_fd()).map_or(0, u64::from);
            stamping.take(
                now.since(at),
                outstanding <= self.state.ledger.written.saturating_sub(acked.bytes) + 1,
            );
            self.state.acked = acked.bytes;
            let flushed = self.state.acked >= self.state.ledger.written;
            if matches!(self.wake, Some(Wake::AckedOrAt(_) | Wake::RoomOrAt(_)))
                || (flushed && self.wake == Some(Wake::Flushed))
            {
                self.call(now, at);
            }
        }
        Ok(())
    }

    /// Calls the application `now`, for something that happened at `at`.
    pub(super) fn call(&mut self, now: Instant, at: Instant) {
        let opened = self.wake.is_none().then_some(self.opened);
        for _ in 0..CALLS_AT_ONCE {
            let (app, rng) = &mut self.app;
            let mut io = Io {
                at,
                opened,
                socket: &self.socket,
                state: &mut self.state,
                quick_acks: self.quick_acks,
                moved: false,
            };
            let wake = app.on_wake(now, &mut io, rng);
            let ready = match wake {
                Wake::Readable => io.moved && (io.readable() > 0 || io.at_end()),
                Wake::Ended => io.moved && io.at_end(),
                Wake::Writable => false,
                Wake::Flushed => io.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::RoomOrAt(_) | Wake::Done => false,
            };
            // Time must pass.
            let soon = now + Duration::from_nanos(1);
            self.wake = Some(match wake {
                Wake::At(at) => Wake::At(at.max(soon)),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(soon)),
                Wake::RoomOrAt(at) => Wake::RoomOrAt(at.max(soon)),
                other => other,
            });
            self.done |= wake == Wake::Done;
            if !ready {
                return;
            }
        }
    }

    /// What became of it, with what the kernel counted. Times count from `zero`.
    pub(super) fn settle(self, zero: Instant) -> FlowEnd {
        let counts = TcpCounts::of(self.socket.as_fd());
        let s = self.state;
        let (outcome, reason) = match s.failed {
            Some(e) if self.stamps.is_none() && e == Errno::TIMEDOUT => {
                (Outcome::Failed, Some("syn-timeout"))
            }
            Some(e) => (Outcome::Failed, Some(reason(e))),
            None if self.done && s.ended => (Outcome::Finished, None),
            None => (Outcome::Unfinished, None),
        };
        FlowEnd { acked: s.acked, outcome, reason, counts, ..FlowEnd::of(s.ledger, zero) }
    }
}
