//! Packets listed one by one, if requested.

use ackclock_trace::{PacketRow, Side};
use ackclock_wire::Flags;

use crate::half::Half;
use crate::report::Direction;
use crate::segment::CapturedSegment;

/// The packets of one connection.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Number of the connection.
    number: u32,
    rows: Vec<PacketRow>,
    /// Rows that are retransmissions, with the side and the place in its list: their kinds are final only at
    /// the end.
    retransmissions: Vec<(u32, u8, u32)>,
    /// SYN-ACKs in reply to copies of a SYN. They are removed if the capture itself made the copies.
    repeated_syn_acks: Vec<usize>,
    /// Packets left out for lack of room.
    pub left_out: u64,
}

/// The counts of a half before a packet.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    listed: usize,
    packets: u64,
    retransmitted: u64,
    late: u64,
    duplicates: u64,
}

impl Counts {
    pub(crate) fn of(half: &Half) -> Self {
        let out = &half.out;
        Self {
            listed: half.verdicts.retransmissions.len(),
            packets: out.packets,
            retransmitted: out.retransmitted_packets,
            late: out.reordered,
            duplicates: out.network_duplicates,
        }
    }
}

impl Listing {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            rows: Vec::new(),
            retransmissions: Vec::new(),
            repeated_syn_acks: Vec::new(),
            left_out: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a packet that `halves[side]` has just taken; `before` are its counts from before that.
    pub(crate) fn add(&mut self, seen: &CapturedSegment, side: usize, halves: &[Half; 2], before: Counts) {
        let (s, own, other) = (&seen.segment, &halves[side], &halves[1 - side]);
        let after = Counts::of(own);
        let again = after.retransmitted > before.retransmitted;
        let kind = match () {
            () if after.listed > before.listed => {
                self.retransmissions.push((self.rows.len() as u32, side as u8, before.listed as u32));
                None
            }
            () if again => None,
            () if s.flags.has(Flags::RST) => Some("reset"),
            () if after.duplicates > before.duplicates => Some("duplicate"),
            () if after.late > before.late => Some("late"),
            () if s.flags.has(Flags::SYN) => Some("syn"),
            () if s.seq_len() > 0 => Some("new"),
            () => Some("ack"),
        };
        let acks = s.flags.has(Flags::ACK);
        let position = |half: &Half, seq| half.space.offset(half.space.coordinate(seq));
        // RFC 7323 §2.2: a SYN's own window is never scaled.
        let scale = match s.flags.has(Flags::SYN) {
            true => Some(0),
            false => other.agreed.scale_known.then_some(other.agreed.window_scale),
        };
        let times = s.options.timestamps;
        let connection = 2 * self.number + side as u32;
        let (flow, end) = Side::of_connection(connection);
        self.rows.push(PacketRow {
            time: seen.at,
            connection,
            flow,
            side: end,
            sent: true,
            kind,
            seq: s.seq,
            len: s.len,
            ack: s.ack,
            offset: position(own, s.seq),
            acked: acks.then(|| position(other, s.ack)),
            flags: u32::from(s.flags.0),
            window: scale.map(|scale| u64::from(s.window) << scale),
            sack: s
                .options
                .sack
                .as_slice()
                .iter()
                .flat_map(|b| [position(other, b.start), position(other, b.end)])
                .collect(),
            tsval: times.map(|t| t.tsval),
            tsecr: times.filter(|_| acks).map(|t| t.tsecr),
            packets: u32::try_from(after.packets - before.packets).unwrap_or(u32::MAX).max(1),
            again,
            frame: seen.frame,
        });
    }

    /// Marks the last row as a packet of an earlier connection on the same ports: its numbers have no offsets
    /// in the streams of this one.
    pub(crate) fn stray(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            (row.kind, row.offset, row.acked, row.window) = (Some("stray"), 0, None, None);
            row.sack.clear();
        }
    }

    /// Marks the last row as a SYN-ACK that may be the reply to a copy of the SYN.
    pub(crate) fn repeated_syn_ack(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.again = true;
            self.repeated_syn_acks.push(self.rows.len() - 1);
        }
    }

    /// The rows with their final kinds. `directions` are those of the two sides; `syn_acks`: the network, not
    /// the capture, copied the SYN, so that the SYN-ACKs in reply stay.
    pub(crate) fn finish(
        mut self,
        directions: [&Direction; 2],
        client: usize,
        syn_acks: bool,
    ) -> Vec<PacketRow> {
        for (row, side, place) in self.retransmissions {
            let found = directions[usize::from(side)].retransmissions.get(place as usize);
            if let Some((row, found)) = self.rows.get_mut(row as usize).zip(found) {
                row.kind = Some(found.cause.word());
            }
        }
        if client == 1 {
            // Which side opened the connection became known only after the rows were numbered.
            self.rows.iter_mut().for_each(|row| row.connection ^= 1);
        }
        for row in self.repeated_syn_acks.into_iter().rev().filter(|_| !syn_acks) {
            self.rows.remove(row);
        }
        self.rows
    }
}
