use std::net::UdpSocket;
use std::sync::Arc;

use ackclock_sim::GapReceiver;
use ackclock_units::Instant;
use rustix::event::epoll;

use super::{Counts, HEADERS, Stop, number_in, put_number};
use crate::linux::wait::be_punctual;
use crate::sockets::Ready;
use crate::{Clock, DriveError};

/// The receivers of all sources.
pub(in crate::testbed) struct Receivers {
    all: Vec<Receiver>,
    ready: Ready,
}

struct Receiver {
    socket: UdpSocket,
    /// What it reports, and the size of a report, if it sends any.
    reports: Option<(GapReceiver, u32)>,
    counts: Arc<Counts>,
}

impl Receivers {
    pub(super) fn new() -> Result<Self, DriveError> {
        Ok(Self { all: Vec::new(), ready: Ready::new()? })
    }

    pub(super) fn add(
        &mut self,
        socket: UdpSocket,
        reports: Option<u32>,
        counts: Arc<Counts>,
    ) -> Result<(), DriveError> {
        self.ready.add(&socket, self.all.len(), epoll::EventFlags::IN)?;
        let reports = reports.map(|bytes| (GapReceiver::default(), bytes));
        self.all.push(Receiver { socket, reports, counts });
        Ok(())
    }

    /// Receives datagrams, which count from `from` on, until it is stopped.
    pub(in crate::testbed) fn run(mut self, clock: &Clock, from: Instant, stop: &Stop) {
        be_punctual();
        let (mut payload, mut report) = (vec![0; usize::from(u16::MAX)], vec![0; usize::from(u16::MAX)]);
        while !stop.is_over() {
            for i in self.ready.wait(clock, &stop.waker, None) {
                self.all[i].read(&mut payload, &mut report, || clock.now() >= from);
            }
        }
    }
}

impl Receiver {
    /// Reads what has arrived, and reports gaps at once.
    fn read(&mut self, payload: &mut [u8], report: &mut [u8], counts: impl Fn() -> bool) {
        while let Ok((n, source)) = self.socket.recv_from(payload) {
            self.counts.received.add(n as u32 + HEADERS, counts());
            let Some((receiver, bytes)) = &mut self.reports else { continue };
            if let Some(missing) = number_in(&payload[..n]).and_then(|number| receiver.arrived(number)) {
                let report = &mut report[..bytes.saturating_sub(HEADERS) as usize];
                put_number(report, missing);
                // What the kernel does not take is lost, as any report may be.
                let _ = self.socket.send_to(report, source);
            }
        }
    }
}
