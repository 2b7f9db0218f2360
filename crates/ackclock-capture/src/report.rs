//! The results of an analysis: plain data.

mod round_trips;
mod what_if;

use std::net::SocketAddr;

use ackclock_trace::{LossClass, PacketRow};
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::Options;

use crate::gaps::Gap;
use crate::observed::{Observed, Tls};
use crate::{Cause, Spread};
pub use round_trips::RoundTrips;
pub use what_if::{PathState, Stalled, WhatIf};

/// Where a direction was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum View {
    /// Nearer to the data's sender.
    #[default]
    Sender,
    /// Nearer to its receiver.
    Receiver,
}

impl View {
    /// The word in tables and JSON; a receiver of data is what papers call the client.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "client",
        }
    }
}

/// A retransmitted segment, or a probe.
#[derive(Clone, Debug, Default)]
pub struct Retransmission {
    /// When it was seen.
    pub at: Instant,
    /// The number of its packet in the file, from 1.
    pub frame: u64,
    /// Its first sequence number.
    pub seq: SeqNumber,
    /// The same as an offset in the stream.
    pub offset: u64,
    /// Its payload, bytes.
    pub len: u32,
    /// Packets on the wire: more than one for a super-segment of segmentation offload; 0 for window probes,
    /// keepalives and copies, which are no retransmissions.
    pub packets: u32,
    /// Why it was sent.
    pub cause: Cause,
    /// False if an earlier copy had arrived, so that it was spurious; `None` if unknown.
    pub needed: Option<bool>,
    /// An earlier copy is in the capture.
    pub original_seen: bool,
    /// The evidence for the cause, in words.
    pub evidence: String,
}

/// What timed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimedOut {
    /// A SYN or SYN-ACK.
    Syn,
    /// Data or a FIN.
    #[default]
    Data,
}

impl TimedOut {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::Data => "data",
        }
    }
}

/// An expiry of the retransmission timer.
#[derive(Clone, Debug, Default)]
pub struct Timeout {
    /// When its retransmission was seen.
    pub at: Instant,
    /// The number of that packet in the file, from 1.
    pub frame: u64,
    /// First sequence number of it.
    pub seq: SeqNumber,
    /// What timed out.
    pub of: TimedOut,
    /// Number of the expiry among those without progress between them: 1 for the first.
    pub round: u32,
    /// False if the capture does not show whether this, or an earlier one, was a probe: `round` is the best
    /// guess then.
    pub round_certain: bool,
    /// The timeout that expired, backoff included.
    pub rto: Duration,
    /// True if it was spurious in the sense of Eifel: a longer timer would have avoided it, as the ack of an
    /// earlier copy came after the expiry. `None` if unknown.
    pub eifel_spurious: Option<bool>,
    /// False if the capture does not show which copy was acknowledged: `eifel_spurious` is the best guess
    /// then.
    pub eifel_certain: bool,
    /// A whole window was outstanding and none of it was acknowledged or SACKed: an outage.
    pub outage: bool,
    /// The mechanism that would have repaired the loss before this timeout.
    pub remedy: Option<Remedy>,
}

/// A mechanism that repairs a loss before the retransmission timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// A tail loss probe (RFC 8985 §7): nothing that was sent later had arrived, so no ack reported the loss.
    Probe,
    /// Early retransmit (RFC 5827): too little was outstanding for three duplicate acks.
    EarlyRetransmit,
    /// Limited transmit (RFC 3042): new segments sent on the first two duplicate acks elicit the third.
    LimitedTransmit,
}

impl Remedy {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::EarlyRetransmit => "early-retransmit",
            Self::LimitedTransmit => "limited-transmit",
        }
    }
}

/// What limited a sender, and for how long: together, the time of its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shares {
    /// The handshake, less SYN timeouts.
    pub handshake: Duration,
    /// The receiver's window had no room for a segment.
    pub receiver_window: Duration,
    /// The application had nothing to send.
    pub application: Duration,
    /// The congestion window was full, repairs included.
    pub congestion_window: Duration,
    /// The same in slow start.
    pub slow_start: Duration,
    /// The retransmission timer or a probe's.
    pub timeouts: Duration,
}

impl Shares {
    /// Names and times, in the order in which they are listed.
    pub fn parts(&self) -> [(&'static str, Duration); 6] {
        [
            ("handshake", self.handshake),
            ("slow_start", self.slow_start),
            ("congestion_window", self.congestion_window),
            ("receiver_window", self.receiver_window),
            ("application", self.application),
            ("timeouts", self.timeouts),
        ]
    }
}

/// A loss episode (M-U1, M-U4).
#[derive(Clone, Debug, Default)]
pub struct Episode {
    /// First retransmission.
    pub began: Instant,
    /// When everything outstanding then was acknowledged.
    pub ended: Option<Instant>,
    /// Class.
    pub class: LossClass,
    /// Retransmissions in it.
    pub retransmissions: u32,
    /// Those of them that were spurious: an earlier copy had arrived.
    pub spurious: u32,
    /// Timeouts in it.
    pub timeouts: u32,
    /// Highest backoff round.
    pub rounds: u32,
    /// A timeout in it followed the loss of a whole window: no SACK, no ack step.
    pub outage: bool,
    /// It holds only probes, and nothing had been lost: no congestion signal.
    pub nothing_lost: bool,
    /// Bytes outstanding when it began.
    pub flight: u64,
    /// Where it ends: everything outstanding when it began lies below.
    pub recovery_point: SeqNumber,
    /// Retransmissions that are not known to be spurious.
    pub losses: u32,
    /// Their bytes.
    pub lost_bytes: u64,
}

/// The state after a cumulative ack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// When the ack was seen.
    pub at: Instant,
    /// Round-trip time from the capture to the receiver and back, if the ack gives one by Karn's rule.
    pub rtt: Option<Duration>,
    /// Smoothed (RFC 6298).
    pub srtt: Option<Duration>,
    /// Smoothed deviation.
    pub rttvar: Option<Duration>,
    /// In the network after the ack, bytes: outstanding, and not covered by SACK.
    pub flight: u64,
    /// Most bytes outstanding in this round trip and the one before: at least this much the congestion window
    /// allowed.
    pub cwnd: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Packets on the wire, acks included.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Captured frames that hold several packets (segmentation offload).
    pub super_segments: u64,
    /// Payload on the wire, repeated bytes included.
    pub bytes: u64,
    /// Payload, each byte once.
    pub unique_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Data packets acknowledged cumulatively.
    pub packets_acked: u64,
    /// Packets that repeat payload, SYN or FIN.
    pub retransmitted_packets: u64,
    /// Payload that they repeat.
    pub retransmitted_bytes: u64,
    /// Those of them that were spurious: an earlier copy had arrived.
    pub spurious_packets: u64,
    /// SYN options.
    pub options: Option<Options>,
    /// Largest payload of a packet.
    pub mss: u32,
    /// Round-trip times from the capture to the receiver and back, by sequence and ack numbers, Karn's rule
    /// applied.
    pub rtt: Spread,
    /// The same by timestamps (RFC 7323).
    pub rtt_timestamps: Spread,
    /// Share of the round-trip time that lies between the capture and the receiver; 1 for a capture at the
    /// sender.
    pub share: Option<f64>,
    /// From where it was seen.
    pub view: View,
    /// Retransmissions and probes, in order of time.
    pub retransmissions: Vec<Retransmission>,
    /// Expiries, in order of time.
    pub timeouts: Vec<Timeout>,
    /// Timeouts inferred from silences by time alone (B-U1), for captures near the receiver.
    pub gaps_by_time: Vec<Gap>,
    /// The same, considering what ends the silence.
    pub gaps: Vec<Gap>,
    /// Loss episodes, in order of time.
    pub episodes: Vec<Episode>,
    /// Samples, if requested.
    pub samples: Vec<Sample>,
    /// What limited its sender.
    pub limits: Shares,
    /// What else the capture shows of it.
    pub observed: Observed,
    /// Other timers in place of the sender's, if requested; the sender as it ran comes first.
    pub what_if: Vec<WhatIf>,
    /// CA events (M-U1).
    pub ca_events: u32,
    /// Non-CA events.
    pub non_ca_events: u32,
    /// Retransmissions beyond the first of each episode.
    pub other_losses: u32,
    /// Most bytes outstanding.
    pub max_flight: u64,
    /// Packets that arrived behind later ones.
    pub reordered: u64,
    /// Copies that the network made.
    pub network_duplicates: u64,
    /// Copies that the capture made.
    pub capture_duplicates: u64,
    /// Bytes that were acknowledged and are not in the capture.
    pub missing_bytes: u64,
    /// Duplicate acks that its sender got.
    pub dup_acks: u64,
    /// Retransmissions that are counted, but not listed.
    pub unlisted: u64,
}

impl Direction {
    /// CA events per acknowledged packet (M-U1); missing before the first.
    pub fn p(&self) -> Option<f64> {
        (self.packets_acked > 0).then(|| f64::from(self.ca_events) / self.packets_acked as f64)
    }

    /// True if there are too few CA events for a reliable `p`: fewer than four (M-F11).
    pub fn p_uncertain(&self) -> bool {
        self.ca_events < FEWEST_EVENTS
    }

    /// Listed retransmissions of one cause.
    pub fn of(&self, cause: Cause) -> impl Iterator<Item = &Retransmission> {
        self.retransmissions.iter().filter(move |r| r.cause == cause)
    }

    /// True if most retransmissions triggered by acks were spurious: the path reorders massively (M-X14).
    pub fn massive_reordering(&self) -> bool {
        let called = |r: &&Retransmission| r.cause.is_by_acks();
        let all = self.retransmissions.iter().filter(called).count();
        let vain = self.retransmissions.iter().filter(called).filter(|r| r.needed == Some(false)).count();
        vain >= FEWEST_EVENTS as usize && 2 * vain > all
    }
}

/// Fewer CA events than this make p uncertain (M-F11: k < 4).
const FEWEST_EVENTS: u32 = 4;

/// The state of a connection at the end of the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// A SYN without a reply.
    Opening,
    /// Refused by a reset.
    Refused,
    /// Open.
    #[default]
    Open,
    /// One side has closed.
    HalfClosed,
    /// Both sides have closed.
    Closed,
    /// Reset.
    Reset,
}

impl Standing {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Refused => "refused",
            Self::Open => "open",
            Self::HalfClosed => "half-closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
        }
    }
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Who opened it, as far as the capture shows.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// First packet.
    pub start: Instant,
    /// Last packet.
    pub end: Instant,
    /// The SYN is in the capture.
    pub opening_seen: bool,
    /// From the first SYN to the ack of the SYN-ACK.
    pub handshake: Option<Duration>,
    /// Its state at the end of the capture.
    pub standing: Standing,
    /// TLS in it.
    pub tls: Tls,
    /// From the client, from the server.
    pub directions: [Direction; 2],
    /// Its packets in order of time, if requested.
    pub packets: Vec<PacketRow>,
    /// Packets that are not listed for lack of room.
    pub packets_left_out: u64,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// A whole capture.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets read.
    pub packets: u64,
    /// Those that are TCP segments.
    pub segments: u64,
    /// First and last packet.
    pub span: Option<(Instant, Instant)>,
    /// Connections in the order in which they appear.
    pub connections: Vec<Connection>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}
