//! The present state of a connection of a kernel.

use std::os::fd::BorrowedFd;

use ackclock_units::{Bytes, Duration, Rate};

use crate::TcpCounts;
use crate::linux::sys;

/// The present state of a sender, from TCP_INFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpState {
    /// Congestion window, which Linux counts in segments of any size, in bytes of full ones.
    pub(crate) cwnd: Bytes,
    /// Slow-start threshold; `None` while it is unbounded.
    pub(crate) ssthresh: Option<Bytes>,
    /// Data in the network, in full segments: sent, not acknowledged or SACKed, not lost.
    pub(crate) pipe: Bytes,
    /// Smoothed round-trip time; `None` before the first sample.
    pub(crate) srtt: Option<Duration>,
    /// Its smoothed mean deviation.
    pub(crate) rttvar: Option<Duration>,
    /// The retransmission timeout in force.
    pub(crate) rto: Duration,
    /// The rate at which it paces, or sizes bursts; `None` while it is unbounded, or where a kernel tells none.
    pub(crate) pacing_rate: Option<Rate>,
}

/// `TCP_INFINITE_SSTHRESH` of Linux.
const UNBOUNDED: u32 = 0x7fff_ffff;

/// Counters and state of a connection; `None` when they cannot be read.
pub(crate) fn tcp_of(socket: BorrowedFd<'_>) -> Option<(TcpCounts, TcpState)> {
    let (i, known) = sys::tcp_info(socket).ok()?;
    let mss = Bytes::from(i.tcpi_snd_mss);
    let bytes = |segments: u32| Bytes::from(segments) * mss;
    // Linux: packets_out - (sacked_out + lost_out) + retrans_out.
    let gone = u64::from(i.tcpi_sacked) + u64::from(i.tcpi_lost);
    let in_flight = (u64::from(i.tcpi_unacked) + u64::from(i.tcpi_retrans)).saturating_sub(gone);
    let micros = |value: u32| Duration::from_micros(value.into());
    let told = known >= std::mem::offset_of!(libc::tcp_info, tcpi_max_pacing_rate);
    let state = TcpState {
        cwnd: bytes(i.tcpi_snd_cwnd),
        ssthresh: (i.tcpi_snd_ssthresh < UNBOUNDED).then(|| bytes(i.tcpi_snd_ssthresh)),
        pipe: in_flight * mss,
        srtt: (i.tcpi_rtt > 0).then(|| micros(i.tcpi_rtt)),
        rttvar: (i.tcpi_rtt > 0).then(|| micros(i.tcpi_rttvar)),
        rto: micros(i.tcpi_rto),
        pacing_rate: (told && i.tcpi_pacing_rate < u64::MAX)
            .then(|| Rate::from_bits_per_sec(i.tcpi_pacing_rate.saturating_mul(8))),
    };
    Some((TcpCounts::read(&i, known), state))
}
