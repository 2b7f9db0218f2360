//! What `TCP_INFO` has to say about a connection, and the constants that go with it: names, numbers and units
//! are those of Linux's `include/uapi/linux/tcp.h` (6.18), as packetdrill gives them to code blocks.

use super::Value;

macro_rules! tcp_info {
    ($($(#[doc = $doc:literal])+ $field:ident: $int:ty,)+) => {
        /// The state of a connection as Linux reports it. Code blocks see each field as `tcpi_` and its name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct TcpInfo {
            $($(#[doc = $doc])+ pub $field: $int,)+
        }

        impl TcpInfo {
            /// The names that [`TcpInfo::get`] knows, in Linux's order.
            pub const NAMES: &'static [&'static str] = &[$(concat!("tcpi_", stringify!($field))),+];

            /// The fields one behind the other in the machine's order of bytes, each as wide as it is here.
            fn fields(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                $(bytes.extend(self.$field.to_ne_bytes());)+
                bytes
            }

            /// The field that code blocks know by this name, such as `tcpi_snd_cwnd`.
            pub fn get(&self, name: &str) -> Option<Value> {
                match name.strip_prefix("tcpi_")? {
                    $(stringify!($field) => Some(Value::from(self.$field)),)+
                    _ => None,
                }
            }
        }
    };
}

tcp_info! {
    /// The connection's state: `TCP_ESTABLISHED` and so on.
    state: u8,
    /// The phase of loss repair: `TCP_CA_Open` and so on.
    ca_state: u8,
    /// Expiries of the retransmission timer in a row, without progress between them.
    retransmits: u8,
    /// Window and keep-alive probes without an answer.
    probes: u8,
    /// How often the retransmission timeout is backed off.
    backoff: u8,
    /// What was negotiated and seen: `TCPI_OPT_SACK` and so on.
    options: u8,
    /// Shift of the windows that the peer advertises.
    snd_wscale: u8,
    /// Shift of the windows that are advertised to the peer.
    rcv_wscale: u8,
    /// 1 if the latest sample of the delivery rate was limited by the application.
    delivery_rate_app_limited: u8,
    /// Why a client's Fast Open failed; 0 if it did not.
    fastopen_client_fail: u8,
    /// Retransmission timeout, µs.
    rto: u32,
    /// Timeout of delayed acknowledgements, µs.
    ato: u32,
    /// Largest segment sent, bytes of payload.
    snd_mss: u32,
    /// Estimate of the largest segment that the peer sends, bytes of payload.
    rcv_mss: u32,
    /// Segments that are outstanding: from `SND.UNA` to `SND.NXT`. Of a listener: connections to accept.
    unacked: u32,
    /// Outstanding segments that are SACKed. Of a listener: its backlog.
    sacked: u32,
    /// Outstanding segments that are taken for lost.
    lost: u32,
    /// Retransmitted segments that are outstanding.
    retrans: u32,
    /// 0; older kernels counted segments up to the highest SACKed one.
    fackets: u32,
    /// Time since data was last sent, ms.
    last_data_sent: u32,
    /// 0: Linux does not keep when an acknowledgement was last sent.
    last_ack_sent: u32,
    /// Time since data last arrived, ms.
    last_data_recv: u32,
    /// Time since an acknowledgement last arrived, ms.
    last_ack_recv: u32,
    /// Path MTU, bytes.
    pmtu: u32,
    /// How far the advertised window may open at present, bytes.
    rcv_ssthresh: u32,
    /// Smoothed round-trip time, µs.
    rtt: u32,
    /// Mean deviation of the round-trip time, µs.
    rttvar: u32,
    /// Slow start threshold, segments; 0x7fffffff if there was no reduction yet.
    snd_ssthresh: u32,
    /// Congestion window, segments.
    snd_cwnd: u32,
    /// Largest segment that was advertised to the peer, bytes of payload.
    advmss: u32,
    /// How far segments are assumed to be reordered, segments.
    reordering: u32,
    /// The receiver's estimate of the round-trip time, µs.
    rcv_rtt: u32,
    /// What the application read per round trip: the base of the buffer's growth, bytes.
    rcv_space: u32,
    /// Segments retransmitted so far.
    total_retrans: u32,
    /// Pacing rate, bytes per second; the largest number if the sender does not pace.
    pacing_rate: u64,
    /// Upper bound of the pacing rate, bytes per second; the largest number if there is none.
    max_pacing_rate: u64,
    /// Bytes that were acknowledged so far.
    bytes_acked: u64,
    /// Bytes that were received in order so far.
    bytes_received: u64,
    /// Segments sent so far, those without payload too.
    segs_out: u32,
    /// Segments received so far, those without payload too.
    segs_in: u32,
    /// Bytes in the send buffer that were never sent.
    notsent_bytes: u32,
    /// Least round-trip time of the last minutes, µs; 0xffffffff if there was no sample.
    min_rtt: u32,
    /// Segments with payload received so far.
    data_segs_in: u32,
    /// Segments with payload sent so far, retransmissions too.
    data_segs_out: u32,
    /// Latest sample of the delivery rate, bytes per second.
    delivery_rate: u64,
    /// How long data was outstanding or waiting to be sent, µs.
    busy_time: u64,
    /// How long the peer's window held the sender up, µs.
    rwnd_limited: u64,
    /// How long the send buffer's size held the sender up, µs.
    sndbuf_limited: u64,
    /// Segments delivered so far; retransmissions that were spurious count too.
    delivered: u32,
    /// Delivered segments that were reported as marked for congestion.
    delivered_ce: u32,
    /// Bytes of payload sent so far, retransmissions too.
    bytes_sent: u64,
    /// Bytes of payload retransmitted so far.
    bytes_retrans: u64,
    /// Duplicate segments that the peer reported by DSACK.
    dsack_dups: u32,
    /// How often reordering was seen.
    reord_seen: u32,
    /// Segments that arrived out of order.
    rcv_ooopack: u32,
    /// The peer's window after scaling, bytes.
    snd_wnd: u32,
    /// The window that is open to the peer, bytes.
    rcv_wnd: u32,
    /// How often a timeout or a PLB decision made the connection look for another path.
    rehash: u32,
    /// Expiries of the retransmission timer so far.
    total_rto: u16,
    /// How often the timer's expiries began a recovery so far.
    total_rto_recoveries: u16,
    /// Time in recoveries that the timer's expiries began, ms.
    total_rto_time: u32,
    /// Received segments that were marked for congestion.
    received_ce: u32,
    /// Delivered bytes that went as ECT(1), by Accurate ECN.
    delivered_e1_bytes: u32,
    /// Delivered bytes that went as ECT(0), by Accurate ECN.
    delivered_e0_bytes: u32,
    /// Delivered bytes that were marked for congestion, by Accurate ECN.
    delivered_ce_bytes: u32,
    /// Received bytes that came as ECT(1).
    received_e1_bytes: u32,
    /// Received bytes that came as ECT(0).
    received_e0_bytes: u32,
    /// Received bytes that were marked for congestion.
    received_ce_bytes: u32,
}

impl TcpInfo {
    /// Linux's `struct tcp_info`, as `getsockopt` writes it. No field needs padding before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.fields();
        // The two shifts share a byte, half each, and so do the two flags behind them, one bit and two.
        bytes[SHIFTS] = self.snd_wscale & 15 | self.rcv_wscale << 4;
        bytes[SHIFTS + 1] = self.delivery_rate_app_limited & 1 | (self.fastopen_client_fail & 3) << 1;
        bytes.drain(SHIFTS + 2..SHIFTS + 4);
        // The last two fields are about Accurate ECN: how it failed and which options were seen.
        bytes.extend([0; 4]);
        bytes
    }
}

/// Where the shifts of windows are in `struct tcp_info`.
const SHIFTS: usize = 6;

/// The constants that go with the fields of [`TcpInfo`], with Linux's numbers.
pub const CONSTANTS: &[(&str, i128)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    // The same by the names of FreeBSD's packetdrill.
    ("TCPI_ESTABLISHED", 1),
    ("TCPI_SYN_SENT", 2),
    ("TCPI_SYN_RECEIVED", 3),
    ("TCPI_FIN_WAIT_1", 4),
    ("TCPI_FIN_WAIT_2", 5),
    ("TCPI_TIME_WAIT", 6),
    ("TCPI_CLOSED", 7),
    ("TCPI_CLOSE_WAIT", 8),
    ("TCPI_LAST_ACK", 9),
    ("TCPI_LISTEN", 10),
    ("TCPI_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// The value of a constant such as `TCP_CA_Recovery`.
pub fn constant(name: &str) -> Option<Value> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|&(_, n)| Value::Int(n))
}

/// The names of all fields and constants.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    TcpInfo::NAMES.iter().copied().chain(CONSTANTS.iter().map(|&(name, _)| name))
}
