//! Opening: active, passive and simultaneous (RFC 9293 §3.5, §3.10), and what SYNs negotiate.

use ackclock_policy::Ecn;
use ackclock_trace::{EventKind, Mask, SendKind};
use ackclock_units::Instant;
use ackclock_wire::{Flags, Options, Segment, Timestamps};

use super::{Connection, PendingEvents, State, Transmit, Unacked};
use crate::AbortReason;
use crate::scoreboard::MAX_LEN;
use crate::timer::Timer;

/// RFC 7323 §2.3: a larger shift is treated as this one.
const MAX_WINDOW_SHIFT: u8 = 14;

impl Connection {
    /// Active open: from Closed to SynSent; the SYN comes out of [`Connection::poll_transmit`].
    pub fn connect(&mut self, now: Instant) {
        if self.state == State::Closed && self.stats.closed_at.get().is_none() {
            self.begin(State::SynSent, now);
            self.pending.syn = true;
        }
    }

    /// Passive open: from Closed to Listen; feed it the SYN with [`Connection::handle_segment`].
    pub fn listen(&mut self) {
        if self.state == State::Closed && self.stats.closed_at.get().is_none() {
            self.state = State::Listen;
            self.passive = true;
        }
    }

    /// Leaves CLOSED or LISTEN for `state`.
    fn begin(&mut self, state: State, now: Instant) {
        self.state = state;
        let offset = self.rng.next_u64() as u32;
        if self.config.timestamps {
            self.rare.make_mut().timestamps.offset = offset;
        }
        self.last_received_at = now;
        self.waiting_since = now;
        // The SYN takes the first sequence number; it is not on the scoreboard.
        self.snd_nxt = self.iss + 1;
        if !self.config.user_timeout.is_zero() {
            self.timers.arm(Timer::User, now + self.config.user_timeout);
        }
    }

    /// A segment in LISTEN (RFC 9293 §3.10.7.2). Returns true when text and FIN should be processed.
    #[inline(never)]
    pub(super) fn segment_in_listen(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> bool {
        if segment.flags.has(Flags::RST) {
            return false;
        }
        if segment.flags.has(Flags::ACK) {
            self.rare.make_mut().reset = Self::reset_for(segment).map(Box::new);
            return false;
        }
        if !segment.flags.has(Flags::SYN) {
            return false;
        }
        self.begin(State::SynReceived, now);
        self.handle_syn(now, segment, ecn);
        self.pending.syn = true;
        true
    }

    /// A segment in SYN-SENT (RFC 9293 §3.10.7.3). Returns true when text and FIN should be processed.
    #[inline(never)]
    pub(super) fn segment_in_syn_sent(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> bool {
        let acks = segment.flags.has(Flags::ACK);
        if acks
            && (segment.ack <= self.iss
                || segment.ack > self.snd_nxt
                || self.echoes_another_syn(now, segment))
        {
            self.rare.make_mut().reset = Self::reset_for(segment).map(Box::new);
            return false;
        }
        if segment.flags.has(Flags::RST) {
            // RFC 5961 §3.2 does not change this state: a RST is accepted when it acknowledges our SYN.
            if acks {
                self.abandon(AbortReason::Refused, now);
            }
            return false;
        }
        if !segment.flags.has(Flags::SYN) {
            return false;
        }
        self.handle_syn(now, segment, ecn);
        if acks {
            if let Some(end) = self.end_of_syn_text() {
                self.establish(now, &Segment { ack: self.iss + 1, ..*segment });
                self.acknowledge_syn_text(now, segment.ack, end);
            } else {
                self.establish(now, segment);
            }
            self.pending.ack = true;
            self.follow_syn_ack(now);
            self.acknowledge_syn_ack(now);
        } else {
            // Simultaneous open: reply with a SYN-ACK, which repeats our SYN.
            self.state = State::SynReceived;
            self.rare.make_mut().syn_repeated = !self.config.time_syn_ack;
            self.pending.syn = true;
        }
        true
    }

    /// In SYN-RECEIVED: true when the peer has repeated its SYN or SYN-ACK.
    #[inline(never)]
    pub(super) fn repeats_syn(&self, segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) && segment.seq == self.irs
    }

    /// Repeats the SYN-ACK for a repeated SYN. Its ack will be ambiguous (Karn), and its timestamp echoes the
    /// peer's latest SYN (RFC 7323 §4.3).
    #[cold]
    pub(super) fn repeat_syn_ack(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        if !self.check_repeated_syn(now, segment, ecn) {
            return;
        }
        self.remember_timestamp(now, segment);
        self.rare.make_mut().syn_repeated = true;
        self.pending.syn = true;
    }

    /// True where an ack of our SYN-ACK echoes a timestamp that no SYN-ACK had (`tcp_check_req`).
    #[cold]
    pub(super) fn echoes_no_syn_ack(&self, segment: &Segment) -> bool {
        let (Some((first, last)), Some(ts)) = (self.rare.timestamps.syn_acks, segment.options.timestamps)
        else {
            return false;
        };
        self.passive
            && !self.opens_early()
            && segment.ack == self.snd_nxt
            && ts.tsecr != 0
            && ts.tsecr.wrapping_sub(first) > last.wrapping_sub(first)
    }

    /// Adopts what the peer's SYN or SYN-ACK announces.
    fn handle_syn(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        self.irs = segment.seq;
        self.rcv_nxt = segment.seq + 1;
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.rcv_adv = self.rcv_nxt + self.rcv_buf().min(65_535) as u32;
        let o = &segment.options;
        self.peer_scales = o.window_scale.is_some();
        if !self.peer_scales {
            self.rcv_wnd_shift = 0;
        }
        self.snd_wnd_shift = match o.window_scale {
            Some(shift) if self.config.window_scaling => shift.min(MAX_WINDOW_SHIFT),
            _ => 0,
        };
        self.sack_on = self.config.sack && o.sack_permitted;
        if let Some(ts) = o.timestamps.filter(|_| self.config.timestamps) {
            self.rare.make_mut().timestamps.on = true;
            self.rare.make_mut().timestamps.ts_recent = ts.tsval;
            self.rare.make_mut().timestamps.ts_recent_at = now;
        }
        // RFC 9293 §3.7.1 and RFC 6691: the announced size does not count options, so those in every segment
        // are subtracted. Announcements below 64 bytes are treated as 64.
        let most = if o.mss.is_none() && self.config.uncapped_default { MAX_LEN } else { self.config.mss };
        let announced = o.mss.map_or(self.config.default_mss, u32::from).min(most).clamp(64, MAX_LEN - 1);
        self.smss = announced - if self.rare.timestamps.on { 12 } else { 0 };
        self.agree_on_ecn(segment, ecn);
        self.snd_wnd = u32::from(segment.window);
        self.max_snd_wnd = self.snd_wnd;
        self.snd_wl1 = segment.seq;
        self.snd_wl2 = segment.ack;
    }

    /// Our SYN is acknowledged: the connection is established.
    #[inline(never)]
    pub(super) fn establish(&mut self, now: Instant, segment: &Segment) {
        let once = self.stats.syn_retransmissions == 0;
        self.state = if self.closing { State::FinWait1 } else { State::Established };
        self.pending.syn = false;
        self.snd_una = segment.ack;
        self.expiries = 0;
        self.timers.disarm(Timer::Retransmission);
        self.stats.established_at.set_once(now);
        self.events.add(PendingEvents::ESTABLISHED);
        if self.receive.readable() > 0 {
            // Text that came with the SYN.
            self.events.add(PendingEvents::READABLE);
        }
        if self.send.len() > 0 {
            self.waiting_since = now;
        } else {
            self.timers.disarm(Timer::User);
        }
        // The handshake gives the first sample, unless our SYN or SYN-ACK was sent more than once (Karn),
        // after a timeout or because the peer repeated its SYN.
        if once && !self.rare.is_some_and(|r| r.syn_repeated) {
            self.backoff_level = 0;
            let sent_at = self.early_syn_ack_at().unwrap_or(self.last_sent_at);
            self.take_handshake_sample(now, now.since(sent_at));
        } else if let Some(rtt) = self.rtt_by_timestamps(now, segment) {
            self.backoff_level = 0;
            self.take_handshake_sample(now, rtt);
        } else {
            self.backoff_level = 0;
            self.estimator.on_unmeasured_handshake();
            self.update_timeout();
        }
        if self.opens_early() {
            self.time_early_data(now);
        } else if self.sender.is_built() || self.unsent() > 0 || self.closing || self.tracer.is_some() {
            self.start_sender(now);
        }
        self.restart_keepalive(now);
        self.trace(Mask::EPISODES, now, || EventKind::Established);
    }

    /// The SYN or SYN-ACK to send now; arms its timer.
    #[inline(never)]
    pub(super) fn transmit_syn(&mut self, now: Instant) -> Transmit {
        let syn_ack = self.state == State::SynReceived;
        let repeat = self.stats.syn_retransmissions;
        let flags = if syn_ack { Flags::SYN | Flags::ACK } else { Flags::SYN };
        let flags = flags | self.syn_ecn_flags(syn_ack, repeat);
        // A SYN-ACK has only the options that the SYN offered.
        let mut options = Options {
            mss: Some(self.config.mss.min(65_535) as u16),
            window_scale: (self.config.window_scaling && (!syn_ack || self.peer_scales))
                .then_some(self.rcv_wnd_shift),
            sack_permitted: if syn_ack { self.sack_on } else { self.config.sack },
            timestamps: (if syn_ack { self.rare.timestamps.on } else { self.config.timestamps }).then(|| {
                Timestamps {
                    tsval: self.timestamp_clock(now),
                    tsecr: if syn_ack { self.rare.timestamps.ts_recent } else { 0 },
                }
            }),
            ..Options::default()
        };
        if syn_ack {
            options.accecn = self.syn_ack_option(&options, repeat);
        }
        // Text that came with the peer's SYN is in the buffer.
        let free = self.rcv_buf().saturating_sub(self.receive.readable());
        let window = free.min(65_535) as u16;
        if syn_ack {
            self.rcv_adv = self.rcv_adv.max(self.rcv_nxt + u32::from(window));
        }
        let len = if self.rare.fast_open.is_some() { self.begin_fast_open(now, syn_ack) } else { 0 };
        let segment = Segment {
            len,
            seq: self.iss,
            ack: if syn_ack { self.rcv_nxt } else { Default::default() },
            window,
            flags,
            options,
            ..Segment::default()
        };
        if self.config.timestamps {
            self.rare.make_mut().timestamps.last_ack_sent = self.rcv_nxt;
        }
        if syn_ack && let Some(ts) = segment.options.timestamps {
            let first = self.rare.timestamps.syn_acks.map_or(ts.tsval, |(first, _)| first);
            self.rare.make_mut().timestamps.syn_acks = Some((first, ts.tsval));
        }
        if syn_ack {
            // The SYN-ACK acknowledges any text that came with the SYN.
            self.pending.ack = false;
            self.unacked = Unacked::default();
            self.timers.disarm(Timer::Ack);
        }
        self.last_sent_at = now;
        let rto = self.estimator.initial_rto();
        self.timeout = match self.backoff_level {
            // Level 0 is the unmodified timeout for every backoff.
            0 => rto,
            level if syn_ack => self.sender.policies().backoff.syn_ack_timeout(rto, level, &mut self.rng),
            level => self.sender.policies().backoff.syn_timeout(rto, level, &mut self.rng),
        };
        self.arm(Timer::Retransmission, now, now + self.timeout);
        Transmit {
            segment,
            offset: 0,
            kind: SendKind::Syn { repeat },
            retransmission: repeat > 0,
            ecn: Ecn::NotEct,
        }
    }
}
