//! Any operations and segments on a connection.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock};

use ackclock_engine::{Config, Connection, ConnectionEvent, EcnFeedback, State, Transmit};
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber, SeqRange};
use ackclock_wire::{
    AccEcn, FastOpen, Flags, IcmpError, IcmpKind, MAX_OPTIONS_LEN, Options, SackBlocks, Segment, Timestamps,
};
use arbitrary::Unstructured;

use ackclock_testkit::{Setup, pattern};

use crate::input::{Error, Inject, Near, Operation, Start, far};

const PEER: SeqNumber = SeqNumber(u32::MAX - 2000);

/// Decodes `data` into operations and runs them on a connection with bytes and on one without. Neither may
/// panic, both must send the same, every byte read must be right, and the right edge of the window may not
/// move left.
pub fn connection(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Ok(start) = u.arbitrary::<Start>() else { return };
    let mut pair = Pair::new(start);
    // Each operation takes at least a byte of input: the loop ends.
    while !u.is_empty() {
        let Ok(operation) = u.arbitrary::<Operation>() else { return };
        pair.perform(operation);
    }
    pair.perform(Operation::Abort(0));
    assert_eq!(pair.real.state(), State::Closed);
    assert_eq!(pair.real.poll_timeout(), None, "no deadline is left");
}

/// A connection with bytes and the same one without.
struct Pair {
    real: Connection,
    counted: Connection,
    now: Instant,
    /// The last acknowledgment number sent, and the right edge of the window last advertised (unscaled
    /// windows only).
    acked: SeqNumber,
    edge: Option<SeqNumber>,
    scaled: bool,
    tsval: u32,
    written: u64,
    read: u64,
    ended: Option<ConnectionEvent>,
}

impl Pair {
    fn new(start: Start) -> Self {
        static STACKS: LazyLock<Vec<Setup>> = LazyLock::new(Setup::every_stack);
        let setup = STACKS[usize::from(start.stack) % STACKS.len()].clone().with(|c: &mut Config| {
            c.timestamps = start.timestamps;
            c.sack = start.sack;
            c.ecn = start.ecn;
            c.ecn_feedback = match start.feedback % 4 {
                0 => EcnFeedback::Rfc3168,
                1 => EcnFeedback::Dctcp,
                _ => EcnFeedback::Accurate,
            };
            c.window_scaling = start.scaling;
            c.nagle = start.nagle;
            c.mss = u32::from(start.mss.clamp(64, 9000));
            c.rcv_buf = u64::from(start.rcv_buf).clamp(1, if start.scaling { 1 << 30 } else { 65_535 });
            c.snd_buf = u64::from(start.snd_buf).clamp(1, 1 << 20);
            c.keepalive = Duration::from_secs(if start.keepalive { 30 } else { 0 });
            c.user_timeout = Duration::from_secs(if start.user_timeout { 20 } else { 0 });
        });
        let config = Arc::new(setup.config.clone());
        let iss = SeqNumber(u32::MAX - 3000);
        let rng = || Rng::stream(1, "fuzz", 0);
        let mut pair = Self {
            real: Connection::new(config.clone(), setup.policies(), iss, rng()),
            counted: Connection::counted(config, setup.policies(), iss, rng()),
            now: Instant::ZERO,
            acked: PEER,
            edge: None,
            scaled: start.scaling,
            tsval: 1000,
            written: 0,
            read: 0,
            ended: None,
        };
        let cookie = FastOpen::new(&[7; 8], false);
        let room = u32::from(start.syn_text.0);
        for c in [&mut pair.real, &mut pair.counted] {
            match (start.passive, start.fast_open) {
                (true, _) => c.listen(),
                (false, 0..64) => c.connect_fast_open(Instant::ZERO, cookie, room),
                (false, 64..96) => c.connect_fast_open(Instant::ZERO, Some(FastOpen::REQUEST), room),
                (false, _) => c.connect(Instant::ZERO),
            }
            match (start.passive, start.fast_open, cookie) {
                (true, 0..64, cookie) => c.accept_fast_open(cookie.filter(|_| start.fast_open < 8)),
                (true, 64..96, Some(cookie)) => c.offer_cookie(cookie),
                _ => {}
            }
        }
        if !start.passive && start.fast_open < 96 {
            let text = u64::from(start.syn_text.1).min(pair.real.syn_room());
            pair.perform(Operation::Write(text as u16));
        }
        pair.drain();
        if start.opened >= 32 {
            (0..2).for_each(|_| pair.perform(Operation::Honest(0)));
        }
        pair
    }

    fn perform(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Inject(segment) => self.inject(segment),
            Operation::Honest(len) => {
                let v = self.real.view(now);
                let timestamps = v.timestamps.then_some((1, 0));
                let syn = matches!(self.real.state(), State::Listen | State::SynSent);
                let flags = if syn { Flags::SYN } else { Flags::default() };
                self.inject(Inject {
                    flags: flags.0 as u8,
                    ae: false,
                    ack_too: self.real.state() != State::Listen,
                    seq: Near::Expected,
                    ack: Near::SndNxt(0),
                    len: if syn { 0 } else { len % 2000 },
                    window: u16::MAX,
                    mss: syn.then_some(1460),
                    scale: syn.then_some(2),
                    sack_permitted: syn,
                    timestamps: if syn { Some((0, 0)) } else { timestamps },
                    sack: [None; 4],
                    accecn: None,
                    ecn: 0,
                });
            }
            Operation::Write(n) => {
                let data: Vec<u8> = (0..u64::from(n)).map(|i| pattern(0, self.written + i)).collect();
                let taken = self.real.write(now, &data) as u64;
                assert_eq!(self.counted.write_counted(now, u64::from(n)), taken);
                self.written += taken;
            }
            Operation::Read(n) => {
                let mut out = vec![0; usize::from(n)];
                let taken = self.real.read(now, &mut out);
                assert_eq!(self.counted.read_counted(now, u64::from(n)), taken as u64);
                for &byte in &out[..taken] {
                    assert_eq!(byte, pattern(1, self.read), "wrong byte at {}", self.read);
                    self.read += 1;
                }
            }
            Operation::Wait(ms) => self.wait(now + Duration::from_millis(u64::from(ms))),
            Operation::WaitSeconds(s) => self.wait(now + Duration::from_secs(u64::from(s))),
            Operation::WaitForDeadline => {
                if let Some(at) = self.real.poll_timeout() {
                    self.wait(at.max(now));
                }
            }
            Operation::Close(n) if n < 32 => {
                [&mut self.real, &mut self.counted].into_iter().for_each(|c| c.close(now))
            }
            Operation::Abort(0) => [&mut self.real, &mut self.counted].into_iter().for_each(|c| c.abort(now)),
            Operation::Close(_) | Operation::Abort(_) => {}
            Operation::Icmp(e) => self.icmp(e),
            Operation::Cork(corked) => {
                [&mut self.real, &mut self.counted].into_iter().for_each(|c| c.set_cork(now, corked))
            }
        }
        self.drain();
    }

    fn wait(&mut self, until: Instant) {
        let mut steps = 0;
        while let Some(at) = self.real.poll_timeout().filter(|at| *at <= until) {
            steps += 1;
            assert!(steps < 100_000, "too many deadlines at {:?}", self.now);
            self.now = self.now.max(at);
            self.real.handle_timeout(self.now);
            self.counted.handle_timeout(self.now);
            self.drain();
        }
        self.now = self.now.max(until);
    }

    fn number(&self, near: Near) -> SeqNumber {
        let v = self.real.view(self.now);
        let (base, offset) = match near {
            Near::Expected => (self.acked, 0),
            Near::Hundreds(n) => (self.acked, 100 * i16::from(n)),
            Near::RcvNxt(d) => (self.acked, d),
            Near::SndUna(d) => (v.snd_una, d),
            Near::SndNxt(d) => (v.snd_nxt, d),
            Near::Far(sixteenths, more) => (v.snd_una + far(sixteenths, more), 0),
            Near::Any(n) => (SeqNumber(n), 0),
        };
        base + i32::from(offset) as u32
    }

    fn inject(&mut self, t: Inject) {
        let flag = |set, flag| if set { flag } else { Flags::default() };
        let flags = Flags(t.flags.into()) | flag(t.ae, Flags::AE) | flag(t.ack_too, Flags::ACK);
        let opening = matches!(self.real.state(), State::Listen | State::SynSent);
        // The pattern is counted from one initial number of the peer.
        let seq = if opening { PEER } else { self.number(t.seq) };
        let mut sack = SackBlocks::NONE;
        for (near, len) in t.sack.into_iter().flatten() {
            let start = self.number(near);
            sack.push(SeqRange::new(start, start + len.bytes()));
        }
        let timestamps = t.timestamps.map(|(val, ecr)| Timestamps {
            tsval: self.tsval.wrapping_add(val as u32),
            tsecr: ((self.now.as_nanos() / 1_000_000) as u32).wrapping_add(ecr as u32),
        });
        if let Some((val, _)) = t.timestamps {
            self.tsval = self.tsval.wrapping_add(u32::from(val.clamp(0, 1000) as u16));
        }
        let accecn = t.accecn.map(|(order, len, counters)| {
            let kind = if order { AccEcn::ORDER_1 } else { AccEcn::ORDER_0 };
            AccEcn::new(kind, &counters[..usize::from(len % 4)])
        });
        let options = Options {
            mss: t.mss,
            window_scale: t.scale,
            sack_permitted: t.sack_permitted,
            timestamps,
            sack,
            accecn,
        };
        let segment = Segment {
            seq,
            ack: self.number(t.ack),
            len: u32::from(t.len),
            window: t.window,
            flags,
            urgent: 0,
            options,
        };
        let first = seq + u32::from(flags.has(Flags::SYN)) - 1;
        let payload: Vec<u8> =
            (0..segment.len).map(|i| pattern(1, u64::from((first + i - PEER.0).0))).collect();
        self.real.handle_segment(self.now, &segment, &payload, Ecn::from_bits(t.ecn));
        self.counted.handle_segment(self.now, &segment, &[], Ecn::from_bits(t.ecn));
    }

    fn icmp(&mut self, e: Error) {
        let kind = match e.kind % 5 {
            0 => IcmpKind::Unreachable(e.code),
            1 => IcmpKind::TooBig { mtu: e.mtu.into() },
            2 => IcmpKind::TimeExceeded,
            3 => IcmpKind::ParameterProblem,
            _ => IcmpKind::SourceQuench,
        };
        let end = if e.v6 { (Ipv6Addr::LOCALHOST, 1).into() } else { (Ipv4Addr::LOCALHOST, 1).into() };
        let error =
            IcmpError { kind, from: end, to: end, seq: self.number(e.seq), packet_len: e.packet_len.into() };
        let before = self.real.view(self.now);
        for c in [&mut self.real, &mut self.counted] {
            c.handle_icmp(self.now, &error);
        }
        let after = self.real.view(self.now);
        assert!(
            after.smss <= before.smss && after.window == before.window,
            "{error:?}: {before:?}, then {after:?}"
        );
    }

    /// Collects the segments and events of both, which must be the same and within bounds.
    fn drain(&mut self) {
        for n in 0.. {
            assert!(n < 100_000, "an endless burst");
            let (real, counted) = (self.real.poll_transmit(self.now), self.counted.poll_transmit(self.now));
            assert_eq!(real.map(fields), counted.map(fields), "with bytes and without");
            let Some(t) = real else { break };
            self.check(&t);
        }
        loop {
            let (real, counted) = (self.real.poll_event(), self.counted.poll_event());
            assert_eq!(real, counted);
            match real {
                Some(end @ (ConnectionEvent::Finished | ConnectionEvent::Aborted(_))) => {
                    assert!(self.ended.is_none(), "a second end: {:?}, then {end:?}", self.ended);
                    self.ended = Some(end);
                }
                Some(_) => {}
                None => break,
            }
        }
        assert_eq!(self.real.poll_timeout(), self.counted.poll_timeout());
        assert_eq!((self.real.state(), self.real.stats()), (self.counted.state(), self.counted.stats()));
        assert!(self.real.stats().bytes_acked <= self.written);
    }

    fn check(&mut self, t: &Transmit) {
        let s = &t.segment;
        assert!(s.options.wire_len() as usize <= MAX_OPTIONS_LEN, "{s:?}");
        assert!(
            s.len + s.options.wire_len() <= self.real.smss() + 12 || s.flags.has(Flags::SYN),
            "longer than a segment: {s:?}"
        );
        if s.len > 0 {
            assert!(t.offset + u64::from(s.len) <= self.written, "bytes that were never written: {t:?}");
            let mut payload = vec![0; s.len as usize];
            self.real.copy_payload(t.offset, &mut payload);
            for (i, byte) in payload.into_iter().enumerate() {
                assert_eq!(
                    byte,
                    pattern(0, t.offset + i as u64),
                    "wrong byte sent at {}",
                    t.offset + i as u64
                );
            }
        }
        if s.flags.has(Flags::ACK) && !s.flags.has(Flags::RST) {
            self.acked = s.ack;
            let edge = s.ack + u32::from(s.window);
            if !self.scaled {
                assert!(
                    self.edge.is_none_or(|before| edge.diff(before) >= 0),
                    "the window's right edge moved left (RFC 9293 3.8.6): {s:?}"
                );
                self.edge = Some(edge);
            }
        }
    }
}

/// Everything of a segment except the payload.
fn fields(t: Transmit) -> (Segment, u64, bool, Ecn) {
    (t.segment, t.offset, t.retransmission, t.ecn)
}
