//! `poll` and `epoll`: which descriptors are ready.

use std::collections::BTreeMap;

use ackclock_units::Instant;

use super::calls::{CallResult, ZERO};
use super::socket::{Socket, SocketKind};
use super::{EngineHost, Errno, Flow};
use crate::constants as c;
use crate::host::Returned;

/// What every descriptor reports, whether it is asked for or not.
const ALWAYS: i64 = c::POLLERR | c::POLLHUP;

/// `POLLNVAL`: there is no such descriptor.
const NO_DESCRIPTOR: i64 = 0x20;

/// The descriptors of an `epoll`.
#[derive(Debug, Default)]
pub(crate) struct Epoll {
    items: BTreeMap<i32, Item>,
    /// Those of which something was heard since they were last looked at, in that order.
    ready: Vec<i32>,
}

/// A descriptor of an `epoll`.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// Events that are asked for, and how; none after one that was to be reported once.
    events: i64,
    data: u64,
}

impl Epoll {
    fn hear(&mut self, fd: i32) {
        if !self.ready.contains(&fd) {
            self.ready.push(fd);
        }
    }
}

impl EngineHost {
    pub(super) fn poll(&mut self, fds: &[(i32, i64)], until: Option<Instant>, forever: bool) -> CallResult {
        let found: Vec<i64> = fds.iter().map(|(fd, wanted)| self.events_of(*fd, *wanted)).collect();
        for (fd, wanted) in fds {
            self.wait_for_room(*fd, *wanted);
        }
        let over = until.is_some_and(|at| self.now >= at) || (until.is_none() && !forever);
        let any = found.iter().any(|e| *e != 0);
        if any || over { Ok(Some(Returned::Events(found))) } else { Ok(None) }
    }

    pub(super) fn epoll_create(&mut self) -> CallResult {
        let fd = self.open(Socket::of(SocketKind::Epoll(Epoll::default())))?;
        Ok(Some(Returned::Value(fd.into())))
    }

    pub(super) fn epoll_control(
        &mut self,
        epoll: i32,
        operation: i64,
        fd: i32,
        events: i64,
        data: u64,
    ) -> CallResult {
        if !self.sockets.contains_key(&fd) {
            return Err(Errno::EBADF);
        }
        let now = self.events_of(fd, events);
        self.wait_for_room(fd, events);
        let SocketKind::Epoll(set) = &mut self.socket(epoll)?.kind else { return Err(Errno::EINVAL) };
        let known = set.items.contains_key(&fd);
        match operation {
            _ if epoll == fd => return Err(Errno::EINVAL),
            c::EPOLL_CTL_ADD if known => return Err(Errno::EEXIST),
            c::EPOLL_CTL_MOD | c::EPOLL_CTL_DEL if !known => return Err(Errno::ENOENT),
            c::EPOLL_CTL_ADD | c::EPOLL_CTL_MOD => {
                set.items.insert(fd, Item { events, data });
                if now != 0 {
                    set.hear(fd);
                }
            }
            c::EPOLL_CTL_DEL => {
                set.items.remove(&fd);
                set.ready.retain(|known| *known != fd);
            }
            _ => return Err(Errno::EINVAL),
        }
        ZERO
    }

    /// Looks at descriptors of which something was heard. One that is level-triggered is looked at again next
    /// time.
    pub(super) fn epoll_wait(
        &mut self,
        epoll: i32,
        most: usize,
        until: Option<Instant>,
        forever: bool,
    ) -> CallResult {
        let SocketKind::Epoll(set) = &mut self.socket(epoll)?.kind else { return Err(Errno::EINVAL) };
        if most == 0 {
            return Err(Errno::EINVAL);
        }
        let mut found = Vec::new();
        let (mut again, mut level) = (Vec::new(), Vec::new());
        for fd in std::mem::take(&mut set.ready) {
            let SocketKind::Epoll(set) = &self.socket(epoll)?.kind else { return Err(Errno::EINVAL) };
            let Some(item) = set.items.get(&fd).copied() else { continue };
            if found.len() >= most {
                again.push(fd);
                continue;
            }
            let events = if item.events & !HOW == 0 { 0 } else { self.events_of(fd, item.events) };
            self.wait_for_room(fd, item.events);
            if events == 0 {
                continue;
            }
            found.push((events, item.data));
            if item.events & c::EPOLLONESHOT != 0 {
                let SocketKind::Epoll(set) = &mut self.socket(epoll)?.kind else { continue };
                set.items.insert(fd, Item { events: item.events & HOW, ..item });
            } else if item.events & c::EPOLLET == 0 {
                level.push(fd);
            }
        }
        if let SocketKind::Epoll(set) = &mut self.socket(epoll)?.kind {
            again.extend(level);
            again.append(&mut set.ready);
            set.ready = again;
        }
        let over = until.is_some_and(|at| self.now >= at) || (until.is_none() && !forever);
        if !found.is_empty() || over { Ok(Some(Returned::Ready(found))) } else { Ok(None) }
    }

    /// Events of a connection have happened: those who wait for any of them are notified.
    pub(super) fn hear(&mut self, i: usize, events: i64) {
        let of_flow = |s: &Socket| matches!(s.kind, SocketKind::Stream(own) if own == i);
        let fds: Vec<i32> = self.sockets.iter().filter(|(_, s)| of_flow(s)).map(|(fd, _)| *fd).collect();
        fds.into_iter().for_each(|fd| self.hear_of(fd, events));
    }

    /// The same of a descriptor.
    pub(super) fn hear_of(&mut self, fd: i32, events: i64) {
        for socket in self.sockets.values_mut() {
            let SocketKind::Epoll(set) = &mut socket.kind else { continue };
            let asked = |item: &Item| item.events & !HOW != 0 && events & (item.events | ALWAYS) != 0;
            if set.items.get(&fd).is_some_and(asked) {
                set.hear(fd);
            }
        }
    }

    /// A descriptor is closed: nobody hears of it any more.
    pub(super) fn forget(&mut self, fd: i32) {
        for socket in self.sockets.values_mut() {
            if let SocketKind::Epoll(set) = &mut socket.kind {
                set.items.remove(&fd);
                set.ready.retain(|known| *known != fd);
            }
        }
    }

    /// Somebody who found no room is notified when there is some (`SOCK_NOSPACE`).
    fn wait_for_room(&mut self, fd: i32, wanted: i64) {
        let Some(SocketKind::Stream(i)) = self.sockets.get(&fd).map(|s| &s.kind) else { return };
        let i = *i;
        if wanted & c::POLLOUT != 0 && !self.is_writable(&self.flows[i]) {
            self.flows[i].wants_room = true;
        }
    }

    fn events_of(&self, fd: i32, wanted: i64) -> i64 {
        let Some(socket) = self.sockets.get(&fd) else { return NO_DESCRIPTOR };
        let events = match &socket.kind {
            SocketKind::Fresh => c::POLLOUT | c::POLLHUP,
            SocketKind::Listener(listener) if listener.queue.has_ready() => c::POLLIN,
            SocketKind::Listener(_) => 0,
            SocketKind::Stream(i) => self.stream_events(&self.flows[*i]),
            SocketKind::Epoll(set) if set.ready.is_empty() => 0,
            SocketKind::Epoll(_) => c::POLLIN,
            SocketKind::File => c::POLLIN | c::POLLOUT,
            SocketKind::Pipe { number, writes: false } if self.pipes[*number] == 0 => 0,
            SocketKind::Pipe { writes: false, .. } => c::POLLIN,
            SocketKind::Pipe { .. } => c::POLLOUT,
        };
        events & (wanted | ALWAYS)
    }

    fn stream_events(&self, flow: &Flow) -> i64 {
        let mut events = 0;
        if flow.deferred {
            return c::POLLOUT;
        }
        if flow.is_opening() {
            return 0;
        }
        let read_shut = flow.is_complete();
        if flow.ordinary() > 0 || flow.is_read_out() || flow.error.is_some() || read_shut {
            events |= c::POLLIN;
        }
        if flow.has_urgent_byte() {
            events |= c::POLLPRI;
        }
        if read_shut {
            events |= c::POLLRDHUP;
        }
        if flow.shut_write || flow.aborted || self.is_writable(flow) {
            events |= c::POLLOUT;
        }
        if flow.error.is_some() || flow.reports.any() {
            events |= c::POLLERR;
        }
        if flow.aborted || (read_shut && flow.shut_write) {
            events |= c::POLLHUP;
        }
        events
    }
}

/// Bits of an item's events that say how they are reported, and are no events.
const HOW: i64 = c::EPOLLET | c::EPOLLONESHOT | c::EPOLLEXCLUSIVE | c::EPOLLWAKEUP;
