use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use ackclock_units::{Duration, Instant, Rate};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

/// Writes IP packets to a pcapng file with nanosecond times.
///
/// The file depends only on what is written: little-endian, no wall clock, no name of the machine. All
/// interfaces have the same link type (raw IP) and snapshot length, as libpcap requires.
pub struct Pcapng<W: Write> {
    out: PcapNgWriter<W>,
    interfaces: u32,
    epoch: Duration,
}

impl<W: Write> Pcapng<W> {
    /// Begins a file on `out`, which should be buffered. `epoch` is the time from 1970-01-01 UTC to
    /// [`Instant::ZERO`]: zero for a simulated run.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn new(out: W, epoch: Duration) -> io::Result<Self> {
        let application = concat!("ackclock ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(application))],
            ..SectionHeaderBlock::default()
        };
        let out = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        Ok(Self { out, interfaces: 0, epoch })
    }

    /// Declares an interface (a link, one end of a path) and returns its number. Must come before its
    /// packets.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn interface(&mut self, name: &str, rate: Option<Rate>) -> io::Result<u32> {
        // 10^-9 s (if_tsresol of the pcapng specification, section 4.2).
        const NANOSECONDS: u8 = 9;
        let mut options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        options.extend(rate.map(|r| InterfaceDescriptionOption::IfSpeed(r.bits_per_sec())));
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: SNAPLEN, options };
        self.out.write_pcapng_block(block).map_err(io_error)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes one IP packet, of which `data` is the beginning and `original_len` the length on the wire: more
    /// than `data.len()` where only headers exist.
    ///
    /// # Errors
    /// Errors of the writer, and an interface that was not declared.
    pub fn packet(
        &mut self,
        interface: u32,
        at: Instant,
        data: &[u8],
        original_len: u32,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let timestamp = std::time::Duration::from_nanos((at + self.epoch).as_nanos());
        let options =
            comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text))).into_iter().collect();
        let original_len = original_len.max(data.len() as u32);
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp,
            original_len,
            data: Cow::Borrowed(data),
            options,
        };
        self.out.write_pcapng_block(block).map_err(io_error).map(drop)
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.out.into_inner();
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write> fmt::Debug for Pcapng<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pcapng")
            .field("interfaces", &self.interfaces)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// Larger than any IP packet, and the largest that libpcap takes.
const SNAPLEN: u32 = 262_144;

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
