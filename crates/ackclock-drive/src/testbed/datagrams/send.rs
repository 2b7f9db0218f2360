use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ackclock_sim::DatagramSource;
use ackclock_units::{Bytes, Duration, Instant, Rng};
use rustix::event::epoll;

use super::{Counts, HEADERS, Stop, number_in, put_number};
use crate::linux::wait::be_punctual;
use crate::sockets::Ready;
use crate::{Clock, DriveError};

/// All sources.
pub(in crate::testbed) struct Senders {
    all: Vec<Sender>,
    ready: Ready,
}

struct Sender {
    socket: UdpSocket,
    source: Box<dyn DatagramSource>,
    /// Its datagrams have a number, which reports name.
    numbered: bool,
    /// Datagrams sent.
    number: u64,
    /// Size of the next one.
    next_bytes: u32,
    counts: Arc<Counts>,
}

/// When datagrams count and are sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::testbed) struct Span {
    /// They count from then on.
    pub(in crate::testbed) from: Instant,
    /// None is sent from then on.
    pub(in crate::testbed) end: Instant,
    /// The interval at which the sources are looked at, if they are.
    pub(in crate::testbed) every: Option<Duration>,
}

/// What a source had sent and its receiver had received by a moment, headers included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::testbed) struct Sample {
    /// Number of the moment, from 1 on.
    pub(in crate::testbed) moment: u64,
    /// Number of the source.
    pub(in crate::testbed) source: usize,
    pub(in crate::testbed) sent: Bytes,
    pub(in crate::testbed) received: Bytes,
}

impl Senders {
    pub(super) fn new() -> Result<Self, DriveError> {
        Ok(Self { all: Vec::new(), ready: Ready::new()? })
    }

    pub(in crate::testbed) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn add(
        &mut self,
        socket: UdpSocket,
        source: Box<dyn DatagramSource>,
        numbered: bool,
        counts: Arc<Counts>,
    ) -> Result<(), DriveError> {
        self.ready.add(&socket, self.all.len(), epoll::EventFlags::IN)?;
        self.all.push(Sender { socket, source, numbered, number: 0, next_bytes: 0, counts });
        Ok(())
    }

    /// Sends the datagrams of all sources, handles reports and looks at the sources, until it is stopped.
    pub(in crate::testbed) fn run(mut self, clock: &Clock, span: Span, stop: &Stop) -> Vec<Sample> {
        be_punctual();
        clock.wait_for_start();
        // Not drawn from: sources have streams of their own.
        let mut rng = Rng::stream(0, "datagrams", 0);
        let mut buffer = vec![0_u8; usize::from(u16::MAX)];
        let (mut due, mut samples, mut moment) = (BinaryHeap::new(), Vec::new(), 1);
        let schedule = |due: &mut BinaryHeap<_>, sender: &mut Sender, i: usize, rng: &mut Rng| {
            let next = sender.source.next(rng).filter(|next| next.at < span.end);
            due.extend(next.map(|next| Reverse((next.at, i))));
            sender.next_bytes = next.map_or(0, |next| next.bytes);
        };
        for (i, sender) in self.all.iter_mut().enumerate() {
            schedule(&mut due, sender, i, &mut rng);
        }
        while !stop.is_over() {
            let now = clock.now();
            let look = |moment: u64| span.every.map(|every| Instant::ZERO + every * moment);
            while look(moment).is_some_and(|at| at <= now) {
                samples.extend(self.all.iter().enumerate().map(|(i, sender)| sender.sample(moment, i)));
                moment += 1;
            }
            while let Some(&Reverse((at, i))) = due.peek()
                && at <= now
            {
                due.pop();
                self.all[i].send(&mut buffer, at >= span.from);
                schedule(&mut due, &mut self.all[i], i, &mut rng);
            }
            let next = [due.peek().map(|Reverse((at, _))| *at), look(moment)].into_iter().flatten().min();
            for i in self.ready.wait(clock, &stop.waker, next) {
                self.all[i].read_reports(&mut buffer);
            }
        }
        samples
    }
}

impl Sender {
    fn send(&mut self, buffer: &mut [u8], counts: bool) {
        self.number += 1;
        let payload = &mut buffer[..self.next_bytes.saturating_sub(HEADERS) as usize];
        if self.numbered {
            put_number(payload, self.number);
        }
        // What the kernel does not take is lost as behind a full queue of the host.
        if self.socket.send(payload).is_ok() {
            self.counts.sent.add(self.next_bytes, counts);
        }
    }

    fn read_reports(&mut self, buffer: &mut [u8]) {
        while let Ok(n) = self.socket.recv(buffer) {
            if let Some(number) = number_in(&buffer[..n]) {
                self.source.on_report(number);
            }
        }
    }

    fn sample(&self, moment: u64, source: usize) -> Sample {
        let [sent, received] =
            [&self.counts.sent, &self.counts.received].map(|count| count.bytes.load(Ordering::Relaxed));
        Sample { moment, source, sent, received }
    }
}
