//! A TCP connection of the command and the one of the outside world in its place: bytes pass both ways.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};

/// Bytes that a direction holds between its two sockets, beside those in the kernel.
const HELD: usize = 64 << 10;
/// Bytes that a pair moves before others have their turn.
const TURN: usize = 1 << 20;

/// Both connections.
pub(super) struct Pair {
    /// At the far end of the link.
    far: OwnedFd,
    /// To the outside world.
    outer: OwnedFd,
    up: Way,
    down: Way,
}

/// One direction.
#[derive(Default)]
struct Way {
    held: Vec<u8>,
    /// The part of `held` that is still to be sent.
    from: usize,
    to: usize,
    /// The sender has said that nothing more comes, and its word was passed on.
    ended: bool,
    done: bool,
}

/// How far a pair has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It waits for its sockets.
    Waits,
    /// There may be more to do at once.
    HasMore,
    /// Both directions have ended.
    Ended,
}

impl Pair {
    pub(super) fn new(far: OwnedFd, outer: OwnedFd) -> Self {
        for socket in [&far, &outer] {
            // Bytes pass as they come; the sender has decided already when to wait.
            let _ = sockopt::set_tcp_nodelay(socket, true);
        }
        Self { far, outer, up: Way::default(), down: Way::default() }
    }

    /// Its sockets: at the far end, and to the outside world.
    pub(super) fn sockets(&self) -> [&OwnedFd; 2] {
        [&self.far, &self.outer]
    }

    /// Moves bytes until both sockets make it wait. An error is the end of both connections.
    pub(super) fn pump(&mut self) -> io::Result<Progress> {
        let Self { far, outer, up, down } = self;
        let more = up.pump(far, outer)? | down.pump(outer, far)?;
        Ok(match (up.done && down.done, more) {
            (true, _) => Progress::Ended,
            (_, true) => Progress::HasMore,
            _ => Progress::Waits,
        })
    }

    /// All that the command has sent has been passed on, and so has its end.
    pub(super) fn has_sent_all(&self) -> bool {
        self.up.done
    }

    /// Resets both connections.
    pub(super) fn abort(self) {
        for socket in [self.far, self.outer] {
            reset(socket);
        }
    }
}

/// Closes a connection with a reset.
pub(super) fn reset(socket: OwnedFd) {
    let _ = sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO));
}

impl Way {
    /// Returns true when its turn is over before there was nothing to do.
    fn pump(&mut self, from: &OwnedFd, to: &OwnedFd) -> io::Result<bool> {
        let mut moved = 0;
        while !self.done {
            if self.from == self.to {
                if self.ended {
                    self.done = true;
                    // Fails when the other end has reset its connection, which it says by itself.
                    let _ = shutdown(to, Shutdown::Write);
                    break;
                }
                if moved >= TURN {
                    return Ok(true);
                }
                self.held.resize(HELD, 0);
                match recv(from, &mut self.held[..], RecvFlags::empty()) {
                    Ok((0, _)) => self.ended = true,
                    Ok((n, _)) => (self.from, self.to) = (0, n),
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(e) => return Err(e.into()),
                }
            } else {
                match send(to, &self.held[self.from..self.to], SendFlags::NOSIGNAL) {
                    Ok(n) => {
                        self.from += n;
                        moved += n;
                    }
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(e) => return Err(e.into()),
                }
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn connection() -> (TcpStream, OwnedFd) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let theirs = listener.accept().unwrap().0;
        theirs.set_nonblocking(true).unwrap();
        (ours, theirs.into())
    }

    #[test]
    fn bytes_and_ends_pass_both_ways() {
        let ((mut client, far), (mut server, outer)) = (connection(), connection());
        let mut pair = Pair::new(far, outer);
        assert_eq!(pair.pump().unwrap(), Progress::Waits);
        let sent: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let bytes = sent.clone();
        let asking = std::thread::spawn(move || {
            client.write_all(&bytes).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let mut got = Vec::new();
            client.read_to_end(&mut got).unwrap();
            got
        });
        let serving = std::thread::spawn(move || {
            let mut got = Vec::new();
            server.read_to_end(&mut got).unwrap();
            server.write_all(&got[..1000]).unwrap();
            got
        });
        while pair.pump().unwrap() != Progress::Ended {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(pair.has_sent_all());
        assert!(serving.join().unwrap() == sent && asking.join().unwrap() == sent[..1000]);
    }

    #[test]
    fn a_reset_ends_the_other_connection_with_a_reset() {
        let ((client, far), (mut server, outer)) = (connection(), connection());
        let mut pair = Pair::new(far, outer);
        reset(client.into());
        while pair.pump().is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        pair.abort();
        assert_eq!(server.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
