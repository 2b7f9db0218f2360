//! What FreeBSD's host keeps beside its stack: settings by its names, and the buffers of sockets.

use ackclock_engine::{Config, State};
use ackclock_units::{Duration, Ecn, Instant};
use ackclock_wire::{Flags, Segment};

use super::EngineHost;
use super::flow::Flow;
use super::options::{MAX_BUFFER, SocketOptions};
use crate::constants as c;
use crate::constants::Errno;
use crate::host::{Host as _, Ports, Setting};

/// Settings of the host. The defaults are FreeBSD's.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeBsd {
    /// `net.inet.tcp.recvspace`, bytes.
    receive: u64,
    /// `net.inet.tcp.sendspace`, bytes.
    send: u64,
    /// `kern.ipc.maxsockbuf`, bytes: decides the window scale.
    most: u64,
    /// `net.inet.tcp.drop_synfin`.
    drops_syn_fin: bool,
    /// `net.inet.tcp.blackhole`.
    blackhole: u8,
}

impl FreeBsd {
    pub(super) const DEFAULT: Self =
        Self { receive: 65_536, send: 32_768, most: 2 << 20, drops_syn_fin: false, blackhole: 0 };

    /// Sets what is the host's own; `None` where it is none of that.
    fn set(&mut self, name: &str, value: &str) -> Option<Setting> {
        let number = value.trim().parse::<u64>().ok();
        let bytes = number.filter(|n| (1..=MAX_BUFFER).contains(n));
        let done = match name {
            "net.inet.tcp.recvspace" => bytes.map(|n| self.receive = n),
            "net.inet.tcp.sendspace" => bytes.map(|n| self.send = n),
            "kern.ipc.maxsockbuf" => number.filter(|n| *n > 0).map(|n| self.most = n),
            "net.inet.tcp.drop_synfin" => number.map(|n| self.drops_syn_fin = n != 0),
            "net.inet.tcp.blackhole" => number.filter(|n| *n <= 3).map(|n| self.blackhole = n as u8),
            _ => return None,
        };
        Some(if done.is_some() { Setting::Done } else { Setting::Refused })
    }

    /// The buffers of a new socket's connection: fixed, and the window scale by the largest that there can be
    /// (`tcp_input` of a SYN, `syncache_add`).
    pub(super) fn configure(self, options: &SocketOptions, config: &mut Config) {
        (config.rcv_buf, config.snd_buf) = (self.receive_of(options), self.send_of(options));
        config.rcv_autotune = false;
        config.window_shift = (0..14).find(|shift| 65_535 << shift >= self.most).unwrap_or(14);
    }

    fn receive_of(self, options: &SocketOptions) -> u64 {
        asked(options, c::SO_RCVBUF).unwrap_or(self.receive)
    }

    fn send_of(self, options: &SocketOptions) -> u64 {
        asked(options, c::SO_SNDBUF).unwrap_or(self.send)
    }

    /// What `getsockopt` says of a buffer of a socket without a connection; `None` for another option.
    pub(super) fn buffer_of(self, options: &SocketOptions, name: i64) -> Option<u64> {
        match name {
            c::SO_RCVBUF => Some(self.receive_of(options)),
            c::SO_SNDBUF => Some(self.send_of(options)),
            _ => None,
        }
    }

    /// The largest buffer, bytes.
    pub(super) fn most(self) -> u64 {
        self.most
    }

    /// True for a segment that is dropped before it is looked at: a SYN with a FIN, where the host is told to
    /// drop these.
    pub(super) fn drops(self, segment: &Segment) -> bool {
        self.drops_syn_fin && segment.flags.has(Flags::SYN) && segment.flags.has(Flags::FIN)
    }

    /// True where nothing is answered to a segment for which there is no connection: from 1 on no SYN, from 2
    /// on no segment.
    pub(super) fn is_silent(self, segment: &Segment) -> bool {
        let syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        self.blackhole >= if syn { 1 } else { 2 }
    }
}

fn asked(options: &SocketOptions, name: i64) -> Option<u64> {
    options.int(c::SOL_SOCKET, name).and_then(|n| u64::try_from(n).ok()).map(|n| n.clamp(1, MAX_BUFFER))
}

/// The buffers of a connection, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub receive: u64,
    pub send: u64,
    /// They were rounded up to whole segments.
    settled: bool,
}

impl Buffers {
    pub(super) fn of(config: &Config) -> Self {
        Self { receive: config.rcv_buf, send: config.snd_buf, settled: false }
    }
}

impl Flow {
    /// Rounds the buffers up to whole segments, once their size is agreed upon: at the peer's SYN where this end
    /// has opened the connection, and elsewhere at the end of the handshake (`tcp_mss`).
    pub(super) fn settle_buffers(&mut self, now: Instant, most: u64) {
        let state = self.connection.state();
        let agreed = match state {
            State::Closed | State::Listen | State::SynSent => false,
            State::SynReceived => self.listener.is_none(),
            _ => true,
        };
        let Some(buffers) = self.buffers.as_mut().filter(|b| agreed && !b.settled) else { return };
        // The option of timestamps is not counted.
        let options = if self.connection.view(now).timestamps { 12 } else { 0 };
        let segment = u64::from(self.connection.smss()) + options;
        let whole = |bytes: u64| bytes.max(bytes.next_multiple_of(segment.max(1)).min(most));
        *buffers = Buffers { receive: whole(buffers.receive), send: whole(buffers.send), settled: true };
        let Buffers { receive, send, .. } = *buffers;
        self.connection.reconfigure(now, |config| (config.rcv_buf, config.snd_buf) = (receive, send));
    }
}

impl Flow {
    /// FreeBSD makes every ack from the flags of the state: until the FIN is acknowledged, an ack repeats it
    /// (`tcp_outflags`, `tcp_output`). Challenge ACKs are made elsewhere (`tcp_respond`).
    pub(super) fn repeat_fin(&self, segment: &mut Segment) {
        let unacknowledged =
            matches!(self.connection.state(), State::FinWait1 | State::Closing | State::LastAck);
        if unacknowledged && segment.flags == Flags::ACK && segment.len == 0 && self.connection.has_sent_fin()
        {
            segment.flags = Flags::FIN | Flags::ACK;
            segment.seq = segment.seq - 1;
        }
    }

    /// A reset that ends a connection whose both sides have closed is an error all the same (`tcp_do_segment`).
    pub(super) fn note_reset(&mut self, before: State, reset: bool) {
        let closed = self.connection.state() == State::Closed;
        if closed && !self.aborted && reset && matches!(before, State::Closing | State::LastAck) {
            self.error = Some(Errno::ECONNRESET);
        }
    }
}

impl EngineHost {
    /// True for a SYN-ACK to a listener: FreeBSD does not answer it (`tcp_input`). RFC 9293 §3.10.7.2 would send
    /// a reset.
    pub(super) fn is_dropped_by_listener(
        &self,
        found: Option<usize>,
        ports: Ports,
        segment: &Segment,
    ) -> bool {
        let syn_ack = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
        syn_ack && self.freebsd.is_some() && found.is_none() && self.listener(ports.local).is_some()
    }

    /// A segment for a connection in TIME-WAIT that is no new SYN (`tcp_twcheck`): resets (RFC 1337 §3) and what
    /// has no acknowledgment are dropped, and everything but a repeated ack is acknowledged. RFC 9293 §3.10.7.4
    /// acknowledges what is not acceptable, and SYNs.
    pub(super) fn receive_in_time_wait(&mut self, i: usize, segment: &Segment) {
        if segment.flags.has(Flags::RST) || !segment.flags.has(Flags::ACK) {
            return;
        }
        let (now, connection) = (self.now, &mut self.flows[i].connection);
        let expected = connection.rcv_nxt();
        if segment.flags.has(Flags::FIN) && segment.end() == expected {
            // The peer's FIN again: the wait begins anew.
            connection.handle_segment(now, segment, &[], Ecn::NotEct);
        } else if segment.flags != Flags::ACK
            || segment.len > 0
            || segment.seq != expected
            || segment.ack != connection.snd_nxt()
        {
            connection.owe_ack();
        }
        self.run(i);
    }
}

impl Flow {
    /// The text of a SYN in a simultaneous open waits for the end of the handshake, and is not acknowledged
    /// before (RFC 9293 §3.10.7.3). True where this SYN has such text.
    pub(super) fn hold_text(&mut self, syn: &Segment) -> bool {
        let holds = self.connection.state() == State::SynSent && syn.len > 0;
        if holds {
            self.held_text = Some((syn.seq + 1, syn.len));
        }
        holds
    }

    fn established_by_now(&self) -> bool {
        let state = self.connection.state();
        !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Takes that text once the handshake is over, with what else the last segment says.
    pub(super) fn take_held_text(&mut self, now: Instant, last: &Segment) {
        if self.established_by_now()
            && let Some((seq, len)) = self.held_text.take()
        {
            let text = Segment { seq, len, flags: Flags::ACK, ..*last };
            self.connection.handle_segment(now, &text, &[], Ecn::NotEct);
        }
    }
}

/// What a setting of FreeBSD becomes in a stack.
enum Meaning {
    /// A flag of the stack: on where the value is not 0.
    Flag(&'static str),
    /// A number.
    Number(&'static str),
    /// A span in milliseconds.
    Millis(&'static str),
    /// Half of a span, milliseconds.
    TwiceMillis(&'static str),
    /// Window scaling and timestamps: both, one of them, or none.
    Rfc1323,
    /// Whether ECN is offered, or only taken.
    Ecn,
    /// No value changes anything here.
    Fixed,
}

const SETTINGS: &[(&str, Meaning)] = &[
    ("net.inet.tcp.rfc1323", Meaning::Rfc1323),
    ("net.inet.tcp.sack.enable", Meaning::Flag("sack")),
    ("net.inet.tcp.ecn.enable", Meaning::Ecn),
    ("net.inet.tcp.insecure_rst", Meaning::Flag("rst_in_window")),
    ("net.inet.tcp.insecure_syn", Meaning::Flag("syn_in_window")),
    ("net.inet.tcp.rexmit_initial", Meaning::Millis("estimator.initial_rto")),
    ("net.inet.tcp.rexmit_min", Meaning::Millis("estimator.min_rto")),
    ("net.inet.tcp.msl", Meaning::TwiceMillis("time_wait")),
    ("net.inet.tcp.delacktime", Meaning::Millis("ack.ack_delay")),
    ("net.inet.tcp.keepintvl", Meaning::Millis("keepalive_interval")),
    ("net.inet.tcp.keepcnt", Meaning::Number("keepalive_probes")),
    ("net.inet.tcp.tolerate_missing_ts", Meaning::Flag("untimed_segments")),
    // SYN cookies give the same segments.
    ("net.inet.tcp.syncookies", Meaning::Fixed),
];

impl EngineHost {
    /// Sets a setting of FreeBSD by its whole name.
    pub(super) fn set_of_freebsd(&mut self, name: &str, value: &str) -> Setting {
        let Some(host) = &mut self.freebsd else { return Setting::Unknown };
        if let Some(done) = host.set(name, value) {
            return done;
        }
        let Ok(number) = value.trim().parse::<u64>() else { return Setting::Refused };
        match name {
            "net.inet.tcp.keepidle" => {
                self.keepalive_time = Duration::from_millis(number.min(1 << 32));
                return Setting::Done;
            }
            "net.inet.tcp.hostcache.purgenow" => {
                if number != 0 {
                    self.forget_peers();
                }
                return Setting::Done;
            }
            _ => {}
        }
        let Some((_, meaning)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
            return Setting::Unknown;
        };
        let on = |yes: bool| yes.to_string();
        let pairs = match meaning {
            Meaning::Fixed => vec![],
            Meaning::Flag(key) => vec![(*key, on(number != 0))],
            Meaning::Number(key) => vec![(*key, number.to_string())],
            Meaning::Millis(key) => vec![(*key, format!("{number}ms"))],
            Meaning::TwiceMillis(key) => vec![(*key, format!("{}ms", number.saturating_mul(2)))],
            Meaning::Rfc1323 => vec![
                ("window_scaling", on(matches!(number, 1 | 2))),
                ("timestamps", on(matches!(number, 1 | 3))),
            ],
            Meaning::Ecn => {
                self.accepts_ecn = matches!(number, 2 | 4);
                let feedback = if number >= 3 { "accurate" } else { "rfc3168" };
                vec![("ecn", on(matches!(number, 1 | 3))), ("ecn_feedback", feedback.to_owned())]
            }
        };
        for (key, value) in pairs {
            if !self.stack.entries().iter().any(|(known, _)| known == key) {
                // A parameter that the policies of this stack do not have.
                return Setting::Unknown;
            }
            if self.stack.set(key, &value).is_err() {
                return Setting::Refused;
            }
        }
        Setting::Done
    }
}
