//! What `TCP_INFO` says of a connection.

use ackclock_engine::{Connection, FastOpenReport, State};
use ackclock_policy::Phase;
use ackclock_units::{Duration, Instant};

use super::Flow;
use crate::code::TcpInfo;

/// Linux's threshold of a connection that never met congestion (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// What is known of a connection, as Linux would report it.
pub(super) fn of(flow: &mut Flow, now: Instant) -> TcpInfo {
    // The window has its first value once it is asked for.
    flow.connection.room(now);
    let flow = &*flow;
    let connection = &flow.connection;
    let v = connection.view(now);
    let stats = connection.stats();
    let smss = u64::from(v.smss.max(1));
    let micros = |d: Duration| u32::try_from(d.as_nanos() / 1000).unwrap_or(u32::MAX);
    let ago =
        |at: Option<Instant>| at.map_or(0, |at| u32::try_from(now.since(at).as_millis()).unwrap_or(u32::MAX));
    let threshold = if v.window.ssthresh >= u64::from(NO_THRESHOLD) {
        NO_THRESHOLD
    } else {
        (v.window.ssthresh / smss) as u32
    };
    let counts = connection.outstanding();
    let paced = connection.pacing_rate().map(|rate| rate.bits_per_sec() / 8);
    let window_rate = v.rtt.filter(|rtt| !rtt.srtt.is_zero()).map(|rtt| {
        // In slow start twice the window per round trip, later 1.2 times (`tcp_update_pacing_rate`).
        let percent = if v.window.cwnd < v.window.ssthresh / 2 { 200 } else { 120 };
        let rate =
            u128::from(v.window.cwnd.max(v.pipe)) * percent * 10_000_000 / u128::from(rtt.srtt.as_nanos());
        u64::try_from(rate).unwrap_or(u64::MAX)
    });
    let [busy_time, rwnd_limited, sndbuf_limited] = flow.stalls.micros(now);
    // A window that a repair spreads over its acks is what is in the network and what may be added (RFC 9937
    // §6.2).
    let cwnd = connection.repair_window().unwrap_or(v.window.cwnd);
    let first_rttvar = if flow.established { RTTVAR_UNMEASURED } else { FIRST_RTTVAR };
    let fast_open = connection.fast_open();
    let (snd_wscale, rcv_wscale) = connection.window_shifts();
    TcpInfo {
        state: if flow.deferred { state(State::SynSent) } else { state(connection.state()) },
        ca_state: match v.phase {
            Phase::Open => 0,
            Phase::Disorder => 1,
            Phase::Cwr => 2,
            Phase::Recovery => 3,
            Phase::Loss => 4,
        },
        retransmits: u8::try_from(v.expiries).unwrap_or(u8::MAX),
        backoff: u8::try_from(connection.backoff_level()).unwrap_or(u8::MAX),
        probes: u8::try_from(connection.unanswered_probes()).unwrap_or(u8::MAX),
        options: u8::from(v.timestamps)
            | u8::from(v.sack) << 1
            | u8::from(connection.scales_windows()) << 2
            | u8::from(connection.uses_ecn()) << 3
            | u8::from(fast_open.is_some_and(|r| r.text_taken)) << 5
            | u8::from(fast_open.is_some_and(|r| r.accepted)) << 7,
        fastopen_client_fail: fast_open.map_or(0, |report| failure(connection.state(), &report)),
        snd_wscale,
        rcv_wscale,
        rto: micros(in_ticks(connection.timeout(), connection.backoff_level())),
        snd_mss: v.smss,
        unacked: counts.segments + u32::from(connection.state() == State::SynSent),
        sacked: counts.sacked,
        lost: counts.lost,
        retrans: counts.retransmitted,
        rtt: v.rtt.map_or(0, |r| micros(r.srtt)),
        rttvar: v.rtt.map_or(first_rttvar, |r| micros(r.rttvar)),
        min_rtt: v.rtt.map_or(u32::MAX, |r| micros(r.min_rtt)),
        snd_ssthresh: threshold,
        snd_cwnd: if cwnd == 0 { INITIAL_WINDOW } else { (cwnd / smss) as u32 },
        snd_wnd: v.rwnd as u32,
        advmss: connection.announced_mss(),
        last_data_sent: ago(flow.counts.last_data_sent),
        last_data_recv: ago(flow.counts.last_data_received),
        last_ack_recv: ago(flow.counts.last_ack_received),
        total_retrans: flow.retransmitted,
        delivered: delivered(connection, counts.sacked),
        bytes_acked: stats.bytes_acked,
        bytes_received: stats.bytes_received,
        bytes_sent: stats.bytes_sent,
        bytes_retrans: flow.counts.retransmitted_bytes,
        segs_out: u32::try_from(flow.counts.segments_out).unwrap_or(u32::MAX),
        segs_in: u32::try_from(flow.counts.segments_in).unwrap_or(u32::MAX),
        data_segs_in: u32::try_from(flow.counts.data_segments_in).unwrap_or(u32::MAX),
        data_segs_out: u32::try_from(stats.data_segments_sent).unwrap_or(u32::MAX),
        rcv_mss: estimated_segment(flow.counts.largest_in, connection.announced_mss(), v.smss),
        pmtu: MTU.min(flow.counts.mtu.filter(|mtu| *mtu > 0).unwrap_or(MTU)),
        reordering: flow.reordering.degree,
        reord_seen: flow.reordering.seen,
        dsack_dups: flow.reordering.duplicates,
        rcv_ooopack: flow.counts.out_of_order_in,
        rcv_wnd: connection.open_window(),
        pacing_rate: paced.or(window_rate).unwrap_or(u64::MAX),
        max_pacing_rate: u64::MAX,
        total_rto: u16::try_from(stats.timeouts).unwrap_or(u16::MAX),
        busy_time,
        rwnd_limited,
        sndbuf_limited,
        notsent_bytes: u32::try_from(v.unsent).unwrap_or(u32::MAX),
        ..TcpInfo::default()
    }
}

/// Linux keeps the timeout in ticks of its clock, and backs that off.
fn in_ticks(timeout: Duration, level: u32) -> Duration {
    let factor = 1_u64 << level.min(16);
    let ticks = (timeout / factor).as_nanos().div_ceil(TICK.as_nanos());
    (TICK * ticks).saturating_mul(factor)
}

/// A tick at 250 Hz.
const TICK: Duration = Duration::from_millis(4);

/// What Linux reports before the first round-trip time: a quarter of the initial timeout, microseconds
/// (`tcp_init_sock`), or of that after a handshake that gave none (`tcp_init_metrics`).
const FIRST_RTTVAR: u32 = 250_000;
const RTTVAR_UNMEASURED: u32 = 750_000;

/// And before a window is chosen, segments (`TCP_INIT_CWND`, RFC 6928 §2).
const INITIAL_WINDOW: u32 = 10;

/// The MTU of the device that scripts have.
const MTU: u32 = 1500;

/// What Linux takes for the largest segment of a peer of which it has seen none (`TCP_MSS_DEFAULT`).
const UNSEEN_SEGMENT: u32 = 536;

/// The estimate of the largest segment that the peer sends (`tcp_measure_rcv_mss`).
fn estimated_segment(largest: u32, announced: u32, smss: u32) -> u32 {
    largest.max(UNSEEN_SEGMENT.min(smss)).min(announced)
}

/// Segments that were delivered: the SYN, what is acknowledged, and what is SACKed. Text that was
/// acknowledged with its SYN counts with that (`tcp_rcv_fastopen_synack`).
fn delivered(connection: &Connection, sacked: u32) -> u32 {
    let stats = connection.stats();
    let syn = u64::from(stats.established_at.get().is_some());
    u32::try_from(syn + stats.segments_acked + u64::from(sacked)).unwrap_or(u32::MAX)
}

/// Why a client's Fast Open failed, as Linux numbers it (`enum tcp_fastopen_client_fail`).
fn failure(state: State, report: &FastOpenReport) -> u8 {
    let opened = state != State::SynSent && state != State::Closed;
    match report.option {
        Some(option) if option.is_request() => 1,
        _ if opened && report.has_failed() => 2 + u8::from(report.repeated),
        _ => 0,
    }
}

/// Linux's number of a state (`include/net/tcp_states.h`).
fn state(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// The name of a state (RFC 9293 §3.3.2).
pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Established => "ESTABLISHED",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::TimeWait => "TIME-WAIT",
        State::Closed => "CLOSED",
        State::CloseWait => "CLOSE-WAIT",
        State::LastAck => "LAST-ACK",
        State::Listen => "LISTEN",
        State::Closing => "CLOSING",
    }
}
