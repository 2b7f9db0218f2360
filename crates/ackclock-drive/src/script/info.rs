//! `TCP_INFO` of a socket.

use std::os::fd::BorrowedFd;

use ackclock_script::code::TcpInfo;

use crate::linux::sys;

/// More than `struct tcp_info` takes.
const MOST: usize = 1024;

/// What the kernel says of a connection. Fields that it does not have are zero.
pub(super) fn of(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    let mut bytes = [0; MOST];
    sys::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
    Some(read(&bytes))
}

/// Reads fields one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((first, rest)) = self.0.split_first_chunk() else { return [0; N] };
        self.0 = rest;
        *first
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }
}

/// Reads a `struct tcp_info` (`include/uapi/linux/tcp.h`, 6.18). Fields of a structure are evaluated in the
/// order in which they are written here, which is theirs.
fn read(bytes: &[u8]) -> TcpInfo {
    let mut f = Fields(bytes);
    let [state, ca_state, retransmits, probes, backoff, options, scales, bits] = f.take();
    TcpInfo {
        state,
        ca_state,
        retransmits,
        probes,
        backoff,
        options,
        // Fields of bits begin with the lowest one on machines with little-endian numbers, else with the
        // highest.
        snd_wscale: if cfg!(target_endian = "little") { scales & 15 } else { scales >> 4 },
        rcv_wscale: if cfg!(target_endian = "little") { scales >> 4 } else { scales & 15 },
        delivery_rate_app_limited: if cfg!(target_endian = "little") { bits & 1 } else { bits >> 7 },
        fastopen_client_fail: if cfg!(target_endian = "little") { bits >> 1 & 3 } else { bits >> 5 & 3 },
        rto: f.u32(),
        ato: f.u32(),
        snd_mss: f.u32(),
        rcv_mss: f.u32(),
        unacked: f.u32(),
        sacked: f.u32(),
        lost: f.u32(),
        retrans: f.u32(),
        fackets: f.u32(),
        last_data_sent: f.u32(),
        last_ack_sent: f.u32(),
        last_data_recv: f.u32(),
        last_ack_recv: f.u32(),
        pmtu: f.u32(),
        rcv_ssthresh: f.u32(),
        rtt: f.u32(),
        rttvar: f.u32(),
        snd_ssthresh: f.u32(),
        snd_cwnd: f.u32(),
        advmss: f.u32(),
        reordering: f.u32(),
        rcv_rtt: f.u32(),
        rcv_space: f.u32(),
        total_retrans: f.u32(),
        pacing_rate: f.u64(),
        max_pacing_rate: f.u64(),
        bytes_acked: f.u64(),
        bytes_received: f.u64(),
        segs_out: f.u32(),
        segs_in: f.u32(),
        notsent_bytes: f.u32(),
        min_rtt: f.u32(),
        data_segs_in: f.u32(),
        data_segs_out: f.u32(),
        delivery_rate: f.u64(),
        busy_time: f.u64(),
        rwnd_limited: f.u64(),
        sndbuf_limited: f.u64(),
        delivered: f.u32(),
        delivered_ce: f.u32(),
        bytes_sent: f.u64(),
        bytes_retrans: f.u64(),
        dsack_dups: f.u32(),
        reord_seen: f.u32(),
        rcv_ooopack: f.u32(),
        snd_wnd: f.u32(),
        rcv_wnd: f.u32(),
        rehash: f.u32(),
        total_rto: f.u16(),
        total_rto_recoveries: f.u16(),
        total_rto_time: f.u32(),
        received_ce: f.u32(),
        delivered_e1_bytes: f.u32(),
        delivered_e0_bytes: f.u32(),
        delivered_ce_bytes: f.u32(),
        received_e1_bytes: f.u32(),
        received_e0_bytes: f.u32(),
        received_ce_bytes: f.u32(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_kernel_has_them() {
        let mut bytes = [0; 280];
        bytes[0] = 1;
        bytes[6] = 0x78;
        // `offsetof(struct tcp_info, tcpi_snd_cwnd)` and so on.
        for (at, value) in [(80, 10), (100, 3), (148, 4), (236, 5), (244, 6), (272, 7)] {
            bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(value));
        }
        bytes[200..208].copy_from_slice(&u64::to_ne_bytes(9));
        let info = read(&bytes);
        assert_eq!((info.state, info.snd_wscale, info.rcv_wscale), (1, 8, 7));
        assert_eq!((info.snd_cwnd, info.total_retrans, info.min_rtt, info.rehash), (10, 3, 4, 5));
        assert_eq!((info.total_rto_time, info.received_ce_bytes, info.bytes_sent), (6, 7, 9));
        // An older kernel fills in less.
        assert_eq!(read(&bytes[..104]).total_retrans, 3);
        assert_eq!(read(&bytes[..104]).rehash, 0);
    }
}
