use std::fmt;
use std::io;

/// Why a capture cannot be read, or not further.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The system refused.
    Io(io::Error),
    /// It is neither pcap nor pcapng, plain or compressed.
    NotACapture {
        /// Its first bytes.
        begins: Vec<u8>,
    },
    /// The file is damaged or cut off from here on.
    Damaged {
        /// Packets read before.
        packets: u64,
        /// Where in the (decompressed) file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => write!(f, "{e}"),
            Self::NotACapture { begins } if begins.is_empty() => write!(f, "the file is empty; pcap or pcapng, plain, gzip or zstd, would do"),
            Self::NotACapture { begins } => {
                write!(f, "the file begins with")?;
                begins.iter().try_for_each(|b| write!(f, " {b:02x}"))?;
                write!(f, ", which is no capture; pcap or pcapng, plain, gzip or zstd, would do")
            }
            Self::Damaged { packets, offset, what } => {
                write!(f, "damaged at byte {offset}, after {packets} packets, which are analysed: {what}")
            }
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}
