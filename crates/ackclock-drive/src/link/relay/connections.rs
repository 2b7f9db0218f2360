//! How a connection of the command begins: its SYN waits at the door until the connection to the outside world is
//! there. Then a listener of that address takes it; without a listener the far end's kernel refuses it.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use ackclock_units::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, connect, listen, socket_with, sockopt,
};

use super::door::Ends;
use super::pair::{Pair, reset};
use super::{Item, Worker};

/// Connections that have begun and are not there yet.
#[derive(Default)]
pub(super) struct Connections {
    beginning: HashMap<Ends, Beginning>,
    listeners: HashMap<SocketAddrV4, Listening>,
}

enum Beginning {
    /// The connection to the outside world is being opened.
    Opening { syn: Vec<u8>, tried_other: bool },
    /// It is there, or was refused (`None`); the handshake with the command goes on.
    Handshake { outer: Option<OwnedFd>, since: Instant },
}

struct Listening {
    item: usize,
    /// Handshakes that have begun.
    handshakes: usize,
}

/// The longest handshake: Linux sends a SYN-ACK again for about a minute (`tcp_synack_retries`).
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(75);
/// Most connections that begin at the same time; the SYNs of others are dropped.
const MOST_BEGINNING: usize = 4096;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

impl Worker {
    /// The command wants a connection.
    pub(super) fn wanted(&mut self, ends: Ends, syn: Vec<u8>, now: Instant) {
        match self.connections.beginning.get(&ends) {
            // Sent again since the outside world takes its time.
            Some(Beginning::Opening { .. }) => return,
            Some(Beginning::Handshake { .. }) => return self.shared.door.let_in(&syn),
            None => {}
        }
        if self.connections.beginning.len() < MOST_BEGINNING {
            self.reach(ends, self.outside.of(ends.server), (syn, false), now);
        }
    }

    /// Opens the connection to the outside world.
    fn reach(&mut self, ends: Ends, target: SocketAddr, (syn, tried_other): (Vec<u8>, bool), now: Instant) {
        let beginning = Beginning::Opening { syn, tried_other };
        self.connections.beginning.insert(ends, beginning);
        match opening(target) {
            Ok(socket) => {
                let number = self.add(Item::Opening(ends, socket));
                if self.watch(number).is_err() {
                    self.take(number);
                    self.failed(ends, Errno::MFILE, now);
                }
            }
            Err(e) => self.failed(ends, e, now),
        }
    }

    /// The connection to the outside world is there, or has failed, or its socket has become readable first.
    pub(super) fn opened(&mut self, number: usize, now: Instant) {
        let Some(Some(Item::Opening(_, socket))) = self.items.get(number) else { return };
        let failure = match sockopt::socket_error(socket) {
            Ok(Ok(())) => match rustix::net::getpeername(socket) {
                Ok(Some(_)) => None,
                // Not yet.
                _ => return,
            },
            Ok(Err(e)) | Err(e) => Some(e),
        };
        let Some(Item::Opening(ends, socket)) = self.take(number) else { return };
        let failure = failure.or_else(|| self.ready.forget(&socket).is_err().then_some(Errno::MFILE));
        match failure {
            Some(e) => self.failed(ends, e, now),
            None => {
                self.report.connections += 1;
                self.answer(ends, Some(socket), now);
            }
        }
    }

    fn failed(&mut self, ends: Ends, error: Errno, now: Instant) {
        let Some(Beginning::Opening { syn, tried_other }) = self.connections.beginning.remove(&ends) else {
            return;
        };
        let other = self.outside.other(ends.server).filter(|_| error == Errno::CONNREFUSED && !tried_other);
        if let Some(other) = other {
            return self.reach(ends, other, (syn, true), now);
        }
        self.report.refused += 1;
        if error == Errno::TIMEDOUT {
            // No answer there, so none here.
            return;
        }
        if self.connections.listeners.contains_key(&ends.server) {
            // The listener of others would take it: it is reset then.
            self.connections.beginning.insert(ends, Beginning::Opening { syn, tried_other });
            return self.answer(ends, None, now);
        }
        self.shared.door.let_in(&syn);
    }

    /// Lets the SYN in, with a listener that takes it.
    fn answer(&mut self, ends: Ends, outer: Option<OwnedFd>, now: Instant) {
        let Some(Beginning::Opening { syn, .. }) = self.connections.beginning.remove(&ends) else { return };
        // Without a listener the kernel refuses the command.
        if self.listen(ends.server) {
            self.connections.beginning.insert(ends, Beginning::Handshake { outer, since: now });
        }
        self.shared.door.let_in(&syn);
    }

    /// Counts one more handshake at a listener of this address, which is made if there is none.
    fn listen(&mut self, server: SocketAddrV4) -> bool {
        if let Some(listening) = self.connections.listeners.get_mut(&server) {
            listening.handshakes += 1;
            return true;
        }
        let Ok(Ok(socket)) = self.far.run(|| listener(server)) else { return false };
        let item = self.add(Item::Listener(server, socket));
        if self.watch(item).is_err() {
            self.take(item);
            return false;
        }
        self.connections.listeners.insert(server, Listening { item, handshakes: 1 });
        true
    }

    /// Takes the connections that wait at a listener.
    pub(super) fn accept(&mut self, number: usize) {
        loop {
            let Some(Some(Item::Listener(server, socket))) = self.items.get(number) else { return };
            let (server, flags) = (*server, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
            let far = match acceptfrom_with(socket, flags) {
                Ok((far, Some(from))) => SocketAddr::try_from(from).ok().map(|from| (far, from)),
                Ok((_, None)) => None,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(_) => return,
            };
            let Some((far, SocketAddr::V4(client))) = far else { continue };
            let ends = Ends { client, server };
            match self.connections.beginning.remove(&ends) {
                Some(Beginning::Handshake { outer, .. }) => {
                    self.handshake_is_over(server);
                    match outer {
                        Some(outer) => self.join(far, outer),
                        None => reset(far),
                    }
                }
                other => {
                    // Its handshake was given up.
                    self.connections.beginning.extend(other.map(|b| (ends, b)));
                    reset(far);
                }
            }
        }
    }

    fn join(&mut self, far: OwnedFd, outer: OwnedFd) {
        let number = self.add(Item::Pair(Box::new(Pair::new(far, outer))));
        if self.watch(number).is_err() {
            if let Some(Item::Pair(pair)) = self.take(number) {
                pair.abort();
            }
            return;
        }
        self.shared.sending.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        // There may be bytes already, whose event was that of the connection.
        self.turns.push(number);
    }

    fn handshake_is_over(&mut self, server: SocketAddrV4) {
        let Some(listening) = self.connections.listeners.get_mut(&server) else { return };
        listening.handshakes -= 1;
        if listening.handshakes == 0 {
            let item = listening.item;
            self.connections.listeners.remove(&server);
            self.take(item);
        }
    }

    /// Gives up handshakes that the command has not ended.
    pub(super) fn sweep_connections(&mut self, now: Instant) {
        let is_over = |beginning: &Beginning| matches!(beginning, Beginning::Handshake { since, .. } if now.since(*since) > LONGEST_HANDSHAKE);
        let over: Vec<Ends> =
            self.connections.beginning.iter().filter(|(_, b)| is_over(b)).map(|(ends, _)| *ends).collect();
        for ends in over {
            self.connections.beginning.remove(&ends);
            self.handshake_is_over(ends.server);
        }
    }
}

fn tcp_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

/// A socket that is opening a connection to the outside world.
fn opening(to: SocketAddr) -> Result<OwnedFd, Errno> {
    let socket = tcp_socket(if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(e) => Err(e),
    }
}

/// A socket that listens at this address only.
fn listener(at: SocketAddrV4) -> io::Result<OwnedFd> {
    let socket = tcp_socket(AddressFamily::INET)?;
    // Earlier connections of this address may still be closing.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &at)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}
