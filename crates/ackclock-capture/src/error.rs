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

/// What is read.
const EXPECTED: &str = "expected a capture: pcap or pcapng, plain, gzip or zstd";

/// How pcap files begin, with micro- and nanoseconds in either byte order, and pcapng files.
const MAGIC: [&[u8]; 5] = [
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x0a, 0x0d, 0x0d, 0x0a],
];

/// How files of other programs begin that are not read: snoop's (RFC 1761), and those of Microsoft's Network
/// Monitor, versions 1 and 2.
const FOREIGN: [(&[u8], &str); 3] =
    [(b"snoo", "snoop"), (b"RTSS", "Network Monitor 1"), (b"GMBU", "Network Monitor 2")];

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => match e.kind() {
                io::ErrorKind::NotFound => write!(f, "the file does not exist; {EXPECTED}"),
                io::ErrorKind::IsADirectory => write!(f, "this is a folder; {EXPECTED}"),
                io::ErrorKind::PermissionDenied => {
                    write!(f, "this user may not read the file; expected one that may be read")
                }
                _ => write!(f, "cannot be read: {e}"),
            },
            Self::NotACapture { begins } if begins.is_empty() => {
                write!(f, "the file is empty; {EXPECTED}")
            }
            Self::NotACapture { begins } if MAGIC.contains(&&begins[..]) => {
                write!(f, "the file begins as a capture does, but its header is cut off or damaged")
            }
            Self::NotACapture { begins } => {
                if let Some((_, name)) = FOREIGN.iter().find(|(magic, _)| begins == magic) {
                    return write!(
                        f,
                        "the file is a capture of {name}, which is not read; Wireshark's `editcap -F pcapng FILE \
                         OUT` converts it; {EXPECTED}"
                    );
                }
                write!(f, "the file begins with")?;
                begins.iter().try_for_each(|b| write!(f, " {b:02x}"))?;
                write!(f, "; {EXPECTED}")
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

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::CaptureError;

    #[test]
    fn what_the_system_refuses_is_said_with_what_is_expected() {
        for (kind, said) in [
            (
                ErrorKind::NotFound,
                "the file does not exist; expected a capture: pcap or pcapng, plain, gzip or zstd",
            ),
            (
                ErrorKind::IsADirectory,
                "this is a folder; expected a capture: pcap or pcapng, plain, gzip or zstd",
            ),
            (ErrorKind::PermissionDenied, "this user may not read the file; expected one that may be read"),
        ] {
            assert_eq!(CaptureError::from(Error::from(kind)).to_string(), said);
        }
    }

    #[test]
    fn captures_of_other_programs_are_named() {
        for (file, name) in [
            (&b"snoop\0\0\0\0\0\0\x02\0\0\0\x04"[..], "capture of snoop"),
            (b"GMBU\0\x02\x01\0 and so on, longer than a header", "capture of Network Monitor 2"),
            (b"RTSS", "capture of Network Monitor 1"),
            (b"GIF89a and what follows in a picture", "begins with 47 49 46 38"),
        ] {
            let e = crate::read::Packets::new(file).err().expect("no capture").to_string();
            assert!(e.contains(name), "{e}");
        }
    }
}
