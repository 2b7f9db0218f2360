//! pcap and pcapng files as packets, one after the other.

use std::io::Read;

use ackclock_units::Instant;
use pcap_parser::nom::{Err as Failure, Needed};
use pcap_parser::{
    Block, PcapError, parse_block_be, parse_block_le, parse_pcap_frame, parse_pcap_frame_be,
    parse_pcap_frame_modified, parse_pcap_header,
};

use super::LinkType;
use crate::CaptureError;

/// A packet as the file has it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was captured, by the capture's own clock: since 1970-01-01 UTC.
    pub at: Instant,
    /// The link type that it was captured on.
    pub link: LinkType,
    /// Number of the interface in its section; 0 in pcap files.
    pub interface: u32,
    /// Length on the link, link header included.
    pub original_len: u32,
    /// Its number in the file, from 1.
    pub frame: u64,
    /// The bytes captured.
    pub data: &'a [u8],
}

/// Reads packets from a stream, in memory that does not depend on its length.
pub struct Packets<R> {
    input: R,
    buffer: Vec<u8>,
    /// The range of the buffer that is filled and not yet consumed.
    start: usize,
    end: usize,
    eof: bool,
    /// Bytes of the stream before `start`.
    offset: u64,
    packets: u64,
    format: Format,
}

#[derive(Debug)]
enum Format {
    Pcap { big_endian: bool, modified: bool, nanos_per_tick: u64, link: LinkType },
    PcapNg { big_endian: bool, interfaces: Vec<Interface> },
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    snaplen: u32,
    /// Ticks per second.
    resolution: u64,
    offset_secs: i64,
}

/// A packet by its place in the buffer.
struct Found {
    at: Instant,
    link: LinkType,
    interface: u32,
    original_len: u32,
    data: std::ops::Range<usize>,
}

/// The result of one step through the file.
enum Step {
    /// Bytes consumed without a packet.
    Skip(usize),
    /// Bytes consumed with a packet.
    Packet(usize, Found),
    /// More bytes are needed.
    More(usize),
    /// The file is damaged here.
    Damaged(String),
}

const FIRST_READ: usize = 1 << 18;
/// Longer blocks and records count as damage: the longest packet that libpcap takes is 256 KiB, and a block
/// may have comments.
const LONGEST_BLOCK: usize = 16 << 20;
/// More interfaces in one section count as damage.
const MOST_INTERFACES: usize = 1 << 16;

impl<R: Read> Packets<R> {
    /// Reads the beginning of `input`, which is pcap or pcapng without compression.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`], and those of `input`.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let format = Format::PcapNg { big_endian: false, interfaces: Vec::new() };
        let mut packets = Self {
            input,
            buffer: vec![0; FIRST_READ],
            start: 0,
            end: 0,
            eof: false,
            offset: 0,
            packets: 0,
            format,
        };
        packets.fill(24)?;
        let begins = &packets.buffer[..packets.end];
        if begins.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            return Ok(packets);
        }
        let not = || CaptureError::NotACapture { begins: begins[..begins.len().min(4)].to_vec() };
        let Ok((rest, header)) = parse_pcap_header(begins) else { return Err(not()) };
        packets.start = packets.end - rest.len();
        packets.offset = packets.start as u64;
        packets.format = Format::Pcap {
            big_endian: header.is_bigendian(),
            modified: header.is_modified_format(),
            nanos_per_tick: if header.is_nanosecond_precision() { 1 } else { 1000 },
            // The upper bits may describe frame check sequences.
            link: LinkType::from_number(header.network.0 as u32 & 0x03ff_ffff),
        };
        Ok(packets)
    }

    /// How many packets it has returned.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// How many bytes of the stream it has consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] if the file is cut off or malformed, after which it returns nothing more.
    // Inlined: its result is large and is destructured at once.
    #[inline(always)]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        loop {
            if self.start == self.end {
                if self.eof {
                    return Ok(None);
                }
                if let Err(e) = self.fill(1) {
                    return Err(self.damaged(e.to_string()));
                }
                continue;
            }
            match self.step() {
                Step::Skip(n) => self.consume(n),
                Step::Packet(n, found) => {
                    self.consume(n);
                    self.packets += 1;
                    let Found { at, link, interface, original_len, data } = found;
                    let frame = self.packets;
                    let data = &self.buffer[data];
                    return Ok(Some(Packet { at, link, interface, original_len, frame, data }));
                }
                Step::More(_) if self.eof => {
                    return Err(self.damaged("it ends in the middle of a packet".into()));
                }
                Step::More(n) if n > LONGEST_BLOCK => {
                    return Err(self.damaged(format!("a block of {n} bytes or more is not plausible")));
                }
                Step::More(n) => {
                    if let Err(e) = self.fill(n) {
                        return Err(self.damaged(e.to_string()));
                    }
                }
                Step::Damaged(what) => return Err(self.damaged(what)),
            }
        }
    }

    fn damaged(&mut self, what: String) -> CaptureError {
        (self.eof, self.start) = (true, self.end);
        CaptureError::Damaged { packets: self.packets, offset: self.offset, what }
    }

    fn consume(&mut self, n: usize) {
        self.start += n;
        self.offset += n as u64;
    }

    /// Reads until `n` bytes are there, or the stream ends.
    fn fill(&mut self, n: usize) -> std::io::Result<()> {
        if self.start + n > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if n > self.buffer.len() {
                self.buffer.resize(n.next_power_of_two(), 0);
            }
        }
        while self.end - self.start < n && !self.eof {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.eof = true,
                Ok(got) => self.end += got,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Step {
        let bytes = &self.buffer[self.start..self.end];
        let place = |data: &[u8]| {
            let from = data.as_ptr() as usize - self.buffer.as_ptr() as usize;
            from..from + data.len()
        };
        match &mut self.format {
            Format::Pcap { big_endian, modified, nanos_per_tick, link } => {
                let parse = match (*big_endian, *modified) {
                    (true, _) => parse_pcap_frame_be,
                    (false, true) => parse_pcap_frame_modified,
                    (false, false) => parse_pcap_frame,
                };
                match parse(bytes) {
                    Ok((rest, frame)) => {
                        let nanos = u64::from(frame.ts_sec) * 1_000_000_000
                            + u64::from(frame.ts_usec) * *nanos_per_tick;
                        let data = &frame.data[..frame.data.len().min(frame.caplen as usize)];
                        let original_len = frame.origlen.max(frame.caplen);
                        let found = Found {
                            at: Instant::from_nanos(nanos),
                            link: *link,
                            interface: 0,
                            original_len,
                            data: place(data),
                        };
                        Step::Packet(bytes.len() - rest.len(), found)
                    }
                    Err(e) => failed(&e, bytes.len()),
                }
            }
            Format::PcapNg { big_endian, interfaces } => {
                let parsed = if *big_endian { parse_block_be(bytes) } else { parse_block_le(bytes) };
                let (rest, block) = match parsed {
                    Ok(parsed) => parsed,
                    Err(e) => return failed(&e, bytes.len()),
                };
                let used = bytes.len() - rest.len();
                if used == 0 {
                    return Step::Damaged("a block without length".into());
                }
                match block {
                    Block::SectionHeader(section) => {
                        *big_endian = section.big_endian();
                        interfaces.clear();
                        Step::Skip(used)
                    }
                    Block::InterfaceDescription(i) => {
                        let Some(resolution) = i.ts_resolution().filter(|r| *r > 0) else {
                            return Step::Damaged(format!(
                                "the time resolution {} of interface {} is not possible",
                                i.if_tsresol,
                                interfaces.len()
                            ));
                        };
                        if interfaces.len() == MOST_INTERFACES {
                            return Step::Damaged(format!(
                                "more than {MOST_INTERFACES} interfaces in one section"
                            ));
                        }
                        let link = LinkType::from_number(i.linktype.0 as u32);
                        interfaces.push(Interface {
                            link,
                            snaplen: i.snaplen,
                            resolution,
                            offset_secs: i.if_tsoffset,
                        });
                        Step::Skip(used)
                    }
                    Block::EnhancedPacket(p) => {
                        let Some(interface) = interfaces.get(p.if_id as usize) else {
                            return Step::Damaged(format!(
                                "a packet of interface {}, of which there are {}",
                                p.if_id,
                                interfaces.len()
                            ));
                        };
                        let ticks = (u64::from(p.ts_high) << 32) | u64::from(p.ts_low);
                        let data = &p.data[..p.data.len().min(p.caplen as usize)];
                        Step::Packet(
                            used,
                            Found {
                                at: interface.instant(ticks),
                                link: interface.link,
                                interface: p.if_id,
                                original_len: p.origlen.max(p.caplen),
                                data: place(data),
                            },
                        )
                    }
                    Block::SimplePacket(p) => {
                        // It has no timestamp, so that it is only counted.
                        let Some(interface) = interfaces.first() else {
                            return Step::Damaged("a packet before any interface".into());
                        };
                        let kept = p.data.len().min(p.origlen as usize).min(if interface.snaplen == 0 {
                            usize::MAX
                        } else {
                            interface.snaplen as usize
                        });
                        let data = place(&p.data[..kept]);
                        Step::Packet(
                            used,
                            Found {
                                at: Instant::ZERO,
                                link: interface.link,
                                interface: 0,
                                original_len: p.origlen,
                                data,
                            },
                        )
                    }
                    _ => Step::Skip(used),
                }
            }
        }
    }
}

impl Interface {
    /// The moment after so many ticks, not before 1970.
    fn instant(&self, ticks: u64) -> Instant {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.resolution)
            + i128::from(self.offset_secs) * 1_000_000_000;
        Instant::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

fn failed(e: &Failure<PcapError<&[u8]>>, there: usize) -> Step {
    match e {
        Failure::Incomplete(Needed::Size(n)) => Step::More(there.saturating_add(n.get())),
        // The parser does not say how much: doubling the amount is enough in the end.
        Failure::Incomplete(Needed::Unknown) => Step::More(there * 2),
        Failure::Error(_) | Failure::Failure(_) => {
            Step::Damaged("what should be a packet or a block is neither".into())
        }
    }
}
