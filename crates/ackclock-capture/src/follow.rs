//! A capture that is still being written, on two threads: one reads, and never waits for the other unless
//! that is far behind.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Wall};

use ackclock_units::Instant;

use crate::read::Packets;
use crate::read::fragments::Fragments;
use crate::read_all::note_link;
use crate::segment::{CapturedSegment, NotASegment};
use crate::{Analysis, CaptureError};

/// Packets read ahead of the analysis, about 200 bytes each.
const AHEAD: usize = 1 << 16;
/// After the analysis was told to stop, how long it takes what still comes: a program that was interrupted
/// too writes what it had buffered.
const GRACE: Duration = Duration::from_secs(1);

/// What was read and is not analysed yet.
#[derive(Default)]
struct Waiting {
    packets: Vec<(Instant, Result<CapturedSegment, NotASegment>)>,
    links: Vec<u32>,
    fragments: (u64, u64),
    ended: Option<Result<(), CaptureError>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Analysis {
    /// Takes packets as they come, until the stream that `open` opens ends or `look`, called every
    /// `interval`, stops it. Connections that have ended make room for new ones. A thread may go on reading
    /// after it was stopped.
    ///
    /// # Errors
    /// Those of `open`, and those that occur before the first packet.
    pub fn follow<R: Read>(
        &mut self,
        open: impl FnOnce() -> Result<Packets<R>, CaptureError> + Send + 'static,
        interval: Duration,
        mut look: impl FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<(), CaptureError> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        thread::spawn(move || {
            let ended = read(open, &theirs);
            lock(&theirs).ended = Some(ended);
            theirs.changed.notify_all();
        });
        let (mut next, mut stopped) = (Wall::now() + interval, None::<Wall>);
        self.replaces = true;
        let mut any = false;
        loop {
            let taken = wait(&shared, stopped.unwrap_or(next));
            any |= !taken.packets.is_empty();
            taken.packets.into_iter().for_each(|(at, seen)| self.packet(at, seen));
            (self.links, self.pieces_left) = (taken.links, taken.fragments);
            match taken.ended {
                Some(Err(e)) if !any => return Err(e),
                Some(ended) => {
                    if let Err(e) = ended {
                        self.note(e.to_string());
                    }
                    return Ok(());
                }
                None => {}
            }
            let now = Wall::now();
            if stopped.is_some_and(|by| now >= by) {
                return Ok(());
            }
            if stopped.is_none() && now >= next {
                next = now + interval;
                stopped = look(self).is_break().then(|| now + GRACE);
            }
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Waiting> {
    // A thread that panicked holds nothing half-done.
    shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until something was read, or until `until`, and takes it.
fn wait(shared: &Shared, until: Wall) -> Waiting {
    let mut waiting = lock(shared);
    while waiting.packets.is_empty() && waiting.ended.is_none() {
        let left = until.saturating_duration_since(Wall::now());
        if left.is_zero() {
            break;
        }
        waiting = match shared.changed.wait_timeout(waiting, left) {
            Ok((waiting, _)) => waiting,
            Err(e) => e.into_inner().0,
        };
    }
    let taken = Waiting {
        packets: std::mem::take(&mut waiting.packets),
        links: waiting.links.clone(),
        fragments: waiting.fragments,
        ended: waiting.ended.take(),
    };
    drop(waiting);
    shared.changed.notify_all();
    taken
}

fn read<R: Read>(
    open: impl FnOnce() -> Result<Packets<R>, CaptureError>,
    shared: &Shared,
) -> Result<(), CaptureError> {
    let (mut packets, mut fragments) = (open()?, Fragments::default());
    while let Some(p) = packets.next_packet()? {
        let taken = (p.at, fragments.segment(&p));
        let mut waiting = lock(shared);
        waiting.fragments = (fragments.left_out(), fragments.joined);
        note_link(p.link, &mut waiting.links);
        while waiting.packets.len() >= AHEAD {
            waiting = shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let first = waiting.packets.is_empty();
        waiting.packets.push(taken);
        drop(waiting);
        if first {
            shared.changed.notify_all();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::Options;

    /// Bytes that come one after the other, from a channel.
    struct Pipe(Receiver<Vec<u8>>, Vec<u8>);

    impl Read for Pipe {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.1.is_empty() {
                self.1 = self.0.recv().unwrap_or_default();
            }
            let n = self.1.len().min(out.len());
            out[..n].copy_from_slice(&self.1[..n]);
            self.1.drain(..n);
            Ok(n)
        }
    }

    fn capture() -> Vec<u8> {
        let mut bytes = Vec::new();
        let file = &include_bytes!("../tests/fixtures/kernel-limited-short-near.pcap.gz")[..];
        crate::read::decompressed(file).expect("gzip").read_to_end(&mut bytes).expect("its bytes");
        bytes
    }

    #[test]
    fn what_comes_bit_by_bit_is_the_same_capture() {
        let bytes = capture();
        let (send, receive) = channel();
        let mut looks = 0;
        let mut analysis = Analysis::new(Options::default());
        let mut chunks = bytes.chunks(1000);
        let open = move || Packets::new(Pipe(receive, Vec::new()));
        send.send(chunks.next().expect("bytes").to_vec()).expect("a reader");
        let mut send = Some(send);
        analysis
            .follow(open, Duration::from_millis(1), |so_far| {
                looks += 1;
                assert!(so_far.glances(5).len() <= 5);
                match (chunks.next(), &send) {
                    (Some(chunk), Some(send)) => send.send(chunk.to_vec()).expect("a reader"),
                    _ => send = None,
                }
                ControlFlow::Continue(())
            })
            .expect("a capture");
        let report = analysis.finish();
        assert!(looks > 5);
        assert_eq!((report.connections.len(), report.packets, report.notes.len()), (12, 240, 0));
    }

    #[test]
    fn it_can_be_stopped_and_ends_with_what_has_come() {
        let (send, receive) = channel();
        send.send(capture()).expect("a reader");
        let mut analysis = Analysis::new(Options::default());
        let open = move || Packets::new(Pipe(receive, Vec::new()));
        analysis.follow(open, Duration::from_millis(50), |_| ControlFlow::Break(())).expect("a capture");
        assert_eq!(analysis.finish().connections.len(), 12);
        drop(send);
    }

    #[test]
    fn what_is_no_capture_is_an_error() {
        let mut analysis = Analysis::new(Options::default());
        let open = || Packets::new(&b"no capture at all, but text"[..]);
        let ended = analysis.follow(open, Duration::from_millis(50), |_| ControlFlow::Continue(()));
        assert!(matches!(ended, Err(CaptureError::NotACapture { .. })), "{ended:?}");
    }
}
