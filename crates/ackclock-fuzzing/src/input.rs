//! The operations that a fuzzer's bytes are decoded into.

use arbitrary::Arbitrary;

/// A sequence number relative to the connection's, so that fuzzing passes the first checks.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) enum Near {
    /// The number expected next: the last acknowledgment number that it sent.
    Expected,
    /// A multiple of 100 from there.
    Hundreds(i8),
    /// A number of bytes from there.
    RcvNxt(i16),
    /// A number of bytes from its oldest unacknowledged byte.
    SndUna(i16),
    /// A number of bytes from the next byte that it will send.
    SndNxt(i16),
    /// Sixteenths of the sequence space, and a number of bytes, from its oldest unacknowledged byte: numbers
    /// on both sides of the point where circular comparisons change sign.
    Far(u8, i8),
    /// Any number.
    Any(u32),
}

/// How far one number lies from another.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) enum Distance {
    Short(u16),
    /// Sixteenths of the sequence space, and a number of bytes.
    Far(u8, i8),
    Any(u32),
}

impl Distance {
    pub fn bytes(self) -> u32 {
        match self {
            Self::Short(n) => n.into(),
            Self::Far(sixteenths, more) => far(sixteenths, more),
            Self::Any(n) => n,
        }
    }
}

pub(super) fn far(sixteenths: u8, more: i8) -> u32 {
    (u32::from(sixteenths) << 28).wrapping_add(i32::from(more) as u32)
}

/// A segment that the connection receives.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) struct Inject {
    pub flags: u8,
    pub ae: bool,
    pub ack_too: bool,
    pub seq: Near,
    pub ack: Near,
    pub len: u16,
    pub window: u16,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<(i32, i32)>,
    pub sack: [Option<(Near, Distance)>; 4],
    pub accecn: Option<(bool, u8, [u32; 3])>,
    pub ecn: u8,
}

/// An ICMP error about a segment, which the connection receives.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) struct Error {
    pub kind: u8,
    pub code: u8,
    pub mtu: u16,
    pub v6: bool,
    pub seq: Near,
    pub packet_len: u16,
}

/// Something that happens to a connection.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) enum Operation {
    Inject(Inject),
    /// The next bytes in order, with an acknowledgment of everything.
    Honest(u16),
    Write(u16),
    Read(u16),
    Wait(u16),
    WaitSeconds(u16),
    WaitForDeadline,
    /// Closes when this is small.
    Close(u8),
    /// Aborts when this is 0.
    Abort(u8),
    Cork(bool),
    Icmp(Error),
}

/// How a connection starts.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(super) struct Start {
    pub passive: bool,
    pub stack: u8,
    pub timestamps: bool,
    pub sack: bool,
    pub ecn: bool,
    pub feedback: u8,
    pub scaling: bool,
    pub nagle: bool,
    pub mss: u16,
    pub rcv_buf: u32,
    pub snd_buf: u32,
    pub keepalive: bool,
    pub user_timeout: bool,
    /// The handshake is completed before anything else happens, unless this is small.
    pub opened: u8,
    /// It is opened by Fast Open in one of its ways, unless this is large.
    pub fast_open: u8,
    /// Bytes that its SYN may carry, and bytes written for it.
    pub syn_text: (u16, u16),
}
