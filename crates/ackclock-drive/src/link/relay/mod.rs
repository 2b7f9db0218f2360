//! The outside world behind the far end: for each connection and each exchange of datagrams of the command, the
//! relay has one of its own with the address that the command wants to reach.

mod connections;
mod datagrams;
mod door;
mod pair;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use ackclock_units::{Duration, Instant};

use self::connections::Connections;
use self::datagrams::{Datagrams, IDLE, Passed};
use self::door::{Begins, Door, Ends};
use self::pair::{Pair, Progress};
use crate::linux::Gate;
use crate::sockets::{EDGES, Ready};
use crate::{Clock, DriveError, Namespace};

/// Where the command's addresses lead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outside {
    /// The far end's own address, which stands for the machine's loopback addresses.
    pub(super) gateway: Ipv4Addr,
    /// The machine's name server, which port 53 of the gateway leads to.
    pub(super) resolver: Option<SocketAddr>,
}

impl Outside {
    fn of(&self, server: SocketAddrV4) -> SocketAddr {
        match (*server.ip() == self.gateway, server.port(), self.resolver) {
            (true, DNS, Some(resolver)) => resolver,
            (true, port, _) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            _ => server.into(),
        }
    }

    /// A second address to try where the first one refuses.
    fn other(&self, server: SocketAddrV4) -> Option<SocketAddr> {
        let local = *server.ip() == self.gateway && (server.port() != DNS || self.resolver.is_none());
        local.then(|| SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), server.port()))
    }
}

/// The port of name servers.
const DNS: u16 = 53;

/// What the relay has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayReport {
    /// Connections to the outside world.
    pub connections: u64,
    /// Those that could not be made.
    pub refused: u64,
    /// Pairs of addresses with datagrams between them.
    pub datagrams: u64,
}

/// A running relay. Dropping it ends its connections.
pub(super) struct Relay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<RelayReport>>,
}

struct Shared {
    stop: AtomicBool,
    door: Arc<Door>,
    /// Connections whose command's end may still have bytes on the way to the outside world.
    sending: AtomicUsize,
}

impl Relay {
    /// Starts the relay in the calling thread's network, behind the device of the far end.
    pub(super) fn start(
        far: Namespace,
        device: OwnedFd,
        outside: Outside,
        clock: Clock,
    ) -> Result<(Self, Arc<dyn Gate>), DriveError> {
        let door = Arc::new(Door::new(device)?);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            door: Arc::clone(&door),
            sending: AtomicUsize::new(0),
        });
        let mut worker = Worker {
            shared: Arc::clone(&shared),
            far,
            outside,
            clock,
            ready: Ready::new()?,
            items: Vec::new(),
            free: Vec::new(),
            connections: Connections::default(),
            exchanges: HashMap::new(),
            turns: Vec::new(),
            report: RelayReport::default(),
        };
        let thread = std::thread::Builder::new()
            .name("relay".into())
            .spawn(move || worker.run())
            .map_err(DriveError::system("start a thread"))?;
        Ok((Self { shared, thread: Some(thread) }, door))
    }

    /// True when the command's end of some connection may still have bytes on the way.
    pub(super) fn is_sending(&self) -> bool {
        self.shared.sending.load(Ordering::Acquire) > 0
    }

    /// Stops it.
    pub(super) fn stop(mut self) -> RelayReport {
        self.halt().unwrap_or_default()
    }

    fn halt(&mut self) -> Option<RelayReport> {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.door.waker.wake();
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.halt();
    }
}

/// What has sockets.
enum Item {
    /// A connection to the outside world that is being opened.
    Opening(Ends, OwnedFd),
    /// Waits at the far end for the connections of the command to an address.
    Listener(SocketAddrV4, OwnedFd),
    Pair(Box<Pair>),
    Datagrams(Box<Datagrams>),
}

struct Worker {
    shared: Arc<Shared>,
    far: Namespace,
    outside: Outside,
    clock: Clock,
    ready: Ready,
    items: Vec<Option<Item>>,
    free: Vec<usize>,
    connections: Connections,
    /// Exchanges of datagrams, by their ends.
    exchanges: HashMap<Ends, usize>,
    /// Items whose turn was over before there was nothing to do.
    turns: Vec<usize>,
    report: RelayReport,
}

/// Exchanges of datagrams at the same time; a further one takes the place of the one that is idle longest.
const MOST_EXCHANGES: usize = 4096;
/// Interval at which what is over is removed.
const SWEEP: Duration = Duration::from_secs(1);
/// Largest datagram.
const LARGEST: usize = 65_536;

impl Worker {
    fn run(&mut self) -> RelayReport {
        let (mut buffer, mut swept) = (vec![0; LARGEST], Instant::ZERO);
        while !self.shared.stop.load(Ordering::Acquire) {
            let now = self.clock.now();
            let until = if self.turns.is_empty() { now + SWEEP } else { now };
            let mut numbers = self.ready.wait(&self.clock, &self.shared.door.waker, Some(until));
            numbers.append(&mut self.turns);
            let now = self.clock.now();
            while let Some((begins, packet)) = self.shared.door.next() {
                match begins {
                    Begins::Connection(ends) => self.wanted(ends, packet, now),
                    Begins::Datagrams(ends) => self.first_datagram(ends, packet, now),
                }
            }
            for number in numbers {
                self.serve(number, now, &mut buffer);
            }
            if now.since(swept) >= SWEEP {
                swept = now;
                self.sweep(now);
            }
        }
        self.report
    }

    fn serve(&mut self, number: usize, now: Instant, buffer: &mut [u8]) {
        match self.items.get_mut(number) {
            Some(Some(Item::Opening(..))) => self.opened(number, now),
            Some(Some(Item::Listener(..))) => self.accept(number),
            Some(Some(Item::Pair(pair))) => {
                let sent_before = pair.has_sent_all();
                let progress = pair.pump();
                if pair.has_sent_all() && !sent_before {
                    self.shared.sending.fetch_sub(1, Ordering::AcqRel);
                }
                match progress {
                    Ok(Progress::Waits) => {}
                    Ok(Progress::HasMore) => self.turns.push(number),
                    Ok(Progress::Ended) => drop(self.take(number)),
                    Err(_) => {
                        if let Some(Item::Pair(pair)) = self.take(number) {
                            if !pair.has_sent_all() {
                                self.shared.sending.fetch_sub(1, Ordering::AcqRel);
                            }
                            pair.abort();
                        }
                    }
                }
            }
            Some(Some(Item::Datagrams(pair))) => match pair.pump(now, buffer) {
                Passed::Waits => {}
                Passed::HasMore => self.turns.push(number),
                Passed::Refused => {
                    if let Some(first) = self.end_exchange(number) {
                        // Nobody takes it there, so the kernel refuses it as the outside world did.
                        self.shared.door.let_in(&first);
                    }
                }
            },
            // An event of sockets that were closed meanwhile.
            _ => {}
        }
    }

    fn first_datagram(&mut self, ends: Ends, packet: Vec<u8>, now: Instant) {
        if self.exchanges.contains_key(&ends) {
            return self.shared.door.let_in(&packet);
        }
        if self.exchanges.len() >= MOST_EXCHANGES
            && let Some((_, oldest)) = self.idle().min()
        {
            self.end_exchange(oldest);
        }
        let target = self.outside.of(ends.server);
        // Where the machine has no way to it, the datagram is lost.
        let Ok(exchange) = Datagrams::open(&self.far, ends, target, packet.clone(), now) else { return };
        let number = self.add(Item::Datagrams(Box::new(exchange)));
        if self.watch(number).is_err() {
            self.take(number);
            return;
        }
        self.report.datagrams += 1;
        self.exchanges.insert(ends, number);
        self.shared.door.open(ends, &packet);
    }

    /// Ends an exchange of datagrams; returns the packet that began it.
    fn end_exchange(&mut self, number: usize) -> Option<Vec<u8>> {
        let Some(Item::Datagrams(pair)) = self.take(number) else { return None };
        self.shared.door.close(pair.ends);
        self.exchanges.remove(&pair.ends);
        Some(pair.first)
    }

    /// The exchanges of datagrams by when something last passed.
    fn idle(&self) -> impl Iterator<Item = (Instant, usize)> {
        self.exchanges.values().filter_map(|number| match self.items.get(*number) {
            Some(Some(Item::Datagrams(pair))) => Some((pair.last, *number)),
            _ => None,
        })
    }

    fn sweep(&mut self, now: Instant) {
        let over: Vec<usize> =
            self.idle().filter(|(last, _)| now.since(*last) > IDLE).map(|(_, number)| number).collect();
        for number in over {
            self.end_exchange(number);
        }
        self.sweep_connections(now);
    }

    fn add(&mut self, item: Item) -> usize {
        if let Some(number) = self.free.pop() {
            self.items[number] = Some(item);
            return number;
        }
        self.items.push(Some(item));
        self.items.len() - 1
    }

    fn take(&mut self, number: usize) -> Option<Item> {
        let item = self.items.get_mut(number)?.take();
        if item.is_some() {
            self.free.push(number);
        }
        item
    }

    /// Watches the sockets of an item until they are closed.
    fn watch(&self, number: usize) -> Result<(), DriveError> {
        let watch = |socket: &OwnedFd| self.ready.add(socket, number, EDGES);
        match self.items.get(number) {
            Some(Some(Item::Opening(_, socket) | Item::Listener(_, socket))) => watch(socket),
            Some(Some(Item::Pair(pair))) => pair.sockets().into_iter().try_for_each(watch),
            Some(Some(Item::Datagrams(pair))) => pair.sockets().into_iter().try_for_each(watch),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_stands_for_the_machine_itself() {
        let gateway = Ipv4Addr::new(100, 64, 0, 2);
        let resolver = Some("127.0.0.53:53".parse().unwrap());
        let outside = Outside { gateway, resolver };
        let at = |ip: Ipv4Addr, port| SocketAddrV4::new(ip, port);
        assert_eq!(outside.of(at(gateway, 8000)), "127.0.0.1:8000".parse().unwrap());
        assert_eq!(outside.of(at(gateway, 53)), "127.0.0.53:53".parse().unwrap());
        let other = at(Ipv4Addr::new(192, 0, 2, 1), 53);
        assert_eq!((outside.of(other), outside.other(other)), (other.into(), None));
        assert_eq!(outside.other(at(gateway, 8000)), Some("[::1]:8000".parse().unwrap()));
        assert_eq!(outside.other(at(gateway, 53)), None);
        let without = Outside { resolver: None, ..outside };
        assert_eq!(without.of(at(gateway, 53)), "127.0.0.1:53".parse().unwrap());
    }
}
