//! Analysis of a whole capture, on one thread or two.

use std::io::Read;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use ackclock_units::Instant;

use crate::read::encapsulated::is_read;
use crate::read::fragments::Fragments;
use crate::read::{LinkType, Packets};
use crate::segment::{CapturedSegment, NotASegment};
use crate::{Analysis, CaptureError};

/// Packets passed from one thread to the other together, some 160 kB: waking a thread costs as much as a
/// hundred packets.
const BATCH: usize = 1024;
/// Batches read ahead of the analysis.
const AHEAD: usize = 4;
/// Packets between two reports of progress.
const PROGRESS: u64 = 1 << 14;
/// Link types not understood that are named in a note.
const MOST_LINKS: usize = 16;

/// A packet passed to the analysis.
type Taken = (Instant, Result<CapturedSegment, NotASegment>);

impl Analysis {
    /// Takes a whole capture, read on this thread and analysed on another one where the machine has two
    /// cores. A damaged file ends the analysis there, with a note. `progress` is called with the bytes read
    /// after every few thousand packets and may stop it: then this returns false.
    ///
    /// # Errors
    /// Errors that occur before the first packet.
    pub fn read<R: Read>(
        &mut self,
        packets: &mut Packets<R>,
        progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<bool, CaptureError> {
        self.read_on(thread::available_parallelism().map_or(1, NonZero::get), packets, progress)
    }

    /// The same on at most `threads` threads, of which it uses two. The report does not depend on their
    /// number.
    ///
    /// # Errors
    /// Errors that occur before the first packet.
    pub fn read_on<R: Read>(
        &mut self,
        threads: usize,
        packets: &mut Packets<R>,
        progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<bool, CaptureError> {
        let mut links = std::mem::take(&mut self.links);
        let mut fragments = Fragments::default();
        self.take_together();
        let ended = match threads {
            0 | 1 => {
                each_packet(packets, (&mut links, &mut fragments), progress, |at, seen| self.packet(at, seen))
            }
            _ => self.read_beside(packets, (&mut links, &mut fragments), progress),
        };
        self.links = links;
        let (left, joined) = self.pieces_left;
        self.pieces_left = (left + fragments.left_out(), joined + fragments.joined);
        Ok(ended.unwrap_or_else(|e| {
            self.note(e.to_string());
            true
        }))
    }

    /// Reads here and analyses on another thread. Batches come back to be filled again.
    fn read_beside<R: Read>(
        &mut self,
        packets: &mut Packets<R>,
        kept: (&mut Vec<u32>, &mut Fragments),
        progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<bool, CaptureError> {
        thread::scope(|scope| {
            let (full, filled) = sync_channel::<Vec<Taken>>(AHEAD);
            let (used, empty) = channel::<Vec<Taken>>();
            let analysing = scope.spawn(move || {
                for mut batch in filled {
                    batch.iter().for_each(|(at, seen)| self.packet(*at, *seen));
                    batch.clear();
                    // The receiver is gone once everything is read.
                    let _ = used.send(batch);
                }
            });
            let mut batch = Vec::with_capacity(BATCH);
            // Sending fails only where the analysis has panicked, which is passed on below.
            let ended = each_packet(packets, kept, progress, |at, seen| {
                batch.push((at, seen));
                if batch.len() == BATCH {
                    let next = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
                    let _ = full.send(std::mem::replace(&mut batch, next));
                }
            });
            let _ = full.send(batch);
            drop(full);
            analysing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended
        })
    }
}

/// Remembers a link type that is not understood.
pub(crate) fn note_link(link: LinkType, links: &mut Vec<u32>) {
    if let LinkType::Other(n) = link
        && !is_read(n)
        && !links.contains(&n)
        && links.len() < MOST_LINKS
    {
        links.push(n);
    }
}

/// Passes every packet to `take`, and link types that are not understood to `links`. True at the end of the
/// file, false if `progress` stopped it.
fn each_packet<R: Read>(
    packets: &mut Packets<R>,
    (links, fragments): (&mut Vec<u32>, &mut Fragments),
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
    mut take: impl FnMut(Instant, Result<CapturedSegment, NotASegment>),
) -> Result<bool, CaptureError> {
    while let Some(p) = packets.next_packet()? {
        note_link(p.link, links);
        take(p.at, fragments.segment(&p));
        if packets.packets().is_multiple_of(PROGRESS) && progress(packets.offset()).is_break() {
            return Ok(false);
        }
    }
    Ok(true)
}
