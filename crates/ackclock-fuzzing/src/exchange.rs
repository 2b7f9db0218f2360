//! Two connections that exchange segments over a path that the input controls: which segment arrives when, is
//! lost, copied, held back, marked or forged, and what the applications do meanwhile.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use ackclock_capture::{Analysis, Beginning, CapturedSegment};
use ackclock_engine::{Connection, ConnectionEvent, EcnFeedback, State};
use ackclock_testkit::{Setup, pattern};
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Segment};

use crate::capture::{LISTED, check, everything};

/// Bytes of the input before the steps.
pub const HEADER: usize = 10;
/// Bytes of a step.
pub const RECORD: usize = 4;

/// The most steps of an input.
const MOST_STEPS: usize = 2_000;
/// Segments that the path holds for each side; more are lost.
const MOST_HELD: usize = 256;
/// A transfer whose path loses nothing any more ends within so much time: the longest timeouts, several times
/// over.
const LONGEST: Duration = Duration::from_secs(3600);
/// Rounds of the end, each a flight or an expiry.
const MOST_ROUNDS: u32 = 50_000;

/// Decodes `data` into steps and runs them. Nothing may panic, and bytes must arrive as they were written. If
/// nothing was forged, both connections then complete over a path that loses nothing. A capture at the client
/// is analysed.
pub fn exchange(data: &[u8]) {
    let Some((header, steps)) = data.split_first_chunk::<HEADER>() else { return };
    let mut exchange = Exchange::new(header);
    exchange.collect();
    for step in steps.chunks_exact(RECORD).take(MOST_STEPS) {
        exchange.perform([step[0], step[1], step[2], step[3]]);
        exchange.collect();
    }
    if !exchange.forged {
        exchange.complete();
    }
    if let Some(analysis) = exchange.analysis {
        check(&analysis.finish());
    }
}

/// A segment on its way, with its bytes.
#[derive(Clone, Debug)]
struct Held {
    segment: Segment,
    payload: Vec<u8>,
    ecn: Ecn,
}

/// A connection and its application.
#[derive(Debug)]
struct Side {
    connection: Connection,
    /// What is on the way to it.
    held: Vec<Held>,
    written: u64,
    read: u64,
    established: bool,
    aborted: bool,
    finished: bool,
}

struct Exchange {
    sides: [Side; 2],
    now: Instant,
    /// A segment was changed, or a side gave up on purpose: the bytes of a stream may be missing.
    forged: bool,
    /// A capture at the client.
    analysis: Option<Analysis>,
}

impl Exchange {
    fn new(header: &[u8; HEADER]) -> Self {
        // A receiver that acknowledges what did not arrive leaves gaps.
        static STACKS: LazyLock<Vec<Setup>> = LazyLock::new(|| {
            let honest = |s: &Setup| s.ack.name() != "misbehaving";
            Setup::every_stack().into_iter().filter(honest).collect()
        });
        let [low, high, low2, high2, options, options2, mss, buffers, offset, capture] = *header;
        let stack = |low: u8, high: u8, options: u8| {
            let i = usize::from(low) | usize::from(high) << 8;
            STACKS[i % STACKS.len()].clone().with(|c| {
                c.timestamps = options & 1 != 0;
                c.sack = options & 2 != 0;
                c.ecn = options & 4 != 0;
                c.window_scaling = options & 8 != 0;
                c.nagle = options & 16 != 0;
                c.ecn_feedback = match options >> 5 {
                    0 | 1 => EcnFeedback::Rfc3168,
                    2 => EcnFeedback::Dctcp,
                    _ => EcnFeedback::Accurate,
                };
                c.mss = 64 << (mss % 6);
                c.rcv_buf = 512 << (buffers % 8);
                c.snd_buf = 512 << (buffers / 8 % 8);
            })
        };
        let side = |i: usize, setup: &Setup| Side {
            connection: Connection::new(
                Arc::new(setup.config.clone()),
                setup.policies(),
                // Near the wrap of the sequence space for some.
                SeqNumber(u32::from(offset).wrapping_mul(8_000).wrapping_sub(1_000_000)),
                Rng::stream(i as u64, "exchange", 0),
            ),
            held: Vec::new(),
            written: 0,
            read: 0,
            established: false,
            aborted: false,
            finished: false,
        };
        let [mut client, mut server] =
            [side(0, &stack(low, high, options)), side(1, &stack(low2, high2, options2))];
        let now = Instant::from_nanos(1_000_000_000);
        client.connection.connect(now);
        if capture & 1 == 0 {
            server.connection.listen()
        } else {
            server.connection.connect(now)
        }
        let analysis = (capture & 6 == 2).then(|| {
            let mut analysis = Analysis::new(everything());
            analysis.list_packets(None, LISTED);
            analysis
        });
        Self { sides: [client, server], now, forged: false, analysis }
    }

    fn perform(&mut self, [what, a, b, c]: [u8; RECORD]) {
        let (now, side) = (self.now, usize::from(a & 1));
        let (held, i) = (self.sides[side].held.len(), usize::from(a >> 1));
        match what % 16 {
            0..=3 if held > 0 => self.deliver(side, i % held),
            4 if held > 0 => drop(self.sides[side].held.remove(i % held)),
            5 if held > 0 => {
                let copy = self.sides[side].held[i % held].clone();
                self.hold(side, copy);
            }
            6 if held > 0 => {
                let marked = &mut self.sides[side].held[i % held].ecn;
                if *marked != Ecn::NotEct {
                    *marked = Ecn::Ce;
                }
            }
            7 => self.write(side, u64::from(b) * u64::from(c)),
            8 => self.read(side, usize::from(b) * usize::from(c)),
            9 => self.sides[side].connection.close(now),
            10 => self.wait(now + Duration::from_millis(u64::from(b) * u64::from(c) / 8)),
            11 => self.wait_for_deadline(),
            12 if held > 0 => self.forge(side, i % held, b, c),
            13 => (0..=b % 8).for_each(|_| {
                self.flight();
                self.collect();
            }),
            14 if a >> 1 == 0 && b > 250 => {
                self.forged = true;
                self.sides[side].connection.abort(now);
            }
            // One is overtaken by all the others.
            15 if held > 0 => {
                let late = self.sides[side].held.remove(i % held);
                self.sides[side].held.push(late);
            }
            _ => {}
        }
    }

    /// Everything on the way arrives in order.
    fn flight(&mut self) {
        for side in 0..2 {
            for held in std::mem::take(&mut self.sides[side].held) {
                self.receive(side, &held);
            }
        }
    }

    fn deliver(&mut self, side: usize, i: usize) {
        let held = self.sides[side].held.remove(i);
        self.receive(side, &held);
    }

    fn receive(&mut self, side: usize, held: &Held) {
        if side == 0 {
            self.capture(1, held);
        }
        self.sides[side].connection.handle_segment(self.now, &held.segment, &held.payload, held.ecn);
    }

    /// A changed copy of a segment arrives before it.
    fn forge(&mut self, side: usize, i: usize, field: u8, by: u8) {
        self.forged = true;
        let mut held = self.sides[side].held[i].clone();
        let s = &mut held.segment;
        let by = i32::from(by as i8);
        let far = (by * if field & 64 != 0 { 1_000 } else { 1 }) as u32;
        match field % 8 {
            0 => s.ack += far,
            1 => s.window = s.window.wrapping_add_signed(by as i16),
            2 => s.flags = Flags(s.flags.0 ^ 1 << (by & 7)),
            3 => s.options.sack.push(SeqRange::new(s.ack + far, s.ack + far + 500)),
            4 => {
                if let Some(ts) = &mut s.options.timestamps {
                    ts.tsecr = ts.tsecr.wrapping_add(far);
                }
            }
            5 => {
                if let Some(ts) = &mut s.options.timestamps {
                    ts.tsval = ts.tsval.wrapping_add(far);
                }
            }
            6 => s.window = 0,
            // A segment without bytes, elsewhere.
            _ => {
                (s.seq, s.len) = (s.seq + far, 0);
                held.payload.clear();
            }
        }
        self.receive(side, &held);
    }

    fn write(&mut self, side: usize, n: u64) {
        let s = &mut self.sides[side];
        let bytes: Vec<u8> = (0..n).map(|i| pattern(side, s.written + i)).collect();
        s.written += s.connection.write(self.now, &bytes) as u64;
    }

    fn read(&mut self, side: usize, n: usize) {
        let s = &mut self.sides[side];
        let mut out = vec![0; n];
        let n = s.connection.read(self.now, &mut out);
        for &byte in &out[..n] {
            // A forged FIN or SYN may move the numbers of a stream, but never its bytes.
            assert_eq!(byte, pattern(1 - side, s.read), "wrong byte at {} of side {side}", s.read);
            s.read += 1;
        }
    }

    fn wait(&mut self, until: Instant) {
        let mut expiries = 0;
        while let Some(at) = self.deadline().filter(|at| *at <= until) {
            expiries += 1;
            assert!(expiries < 100_000, "too many deadlines at {:?}", self.now);
            self.expire(at);
            self.collect();
        }
        self.now = self.now.max(until);
    }

    fn deadline(&self) -> Option<Instant> {
        self.sides.iter().filter_map(|s| s.connection.poll_timeout()).min()
    }

    fn wait_for_deadline(&mut self) {
        if let Some(at) = self.deadline() {
            self.expire(at);
        }
    }

    fn expire(&mut self, at: Instant) {
        self.now = self.now.max(at);
        for s in &mut self.sides {
            if s.connection.poll_timeout().is_some_and(|at| at <= self.now) {
                s.connection.handle_timeout(self.now);
            }
        }
    }

    /// Puts what both send on the path, and collects their events.
    fn collect(&mut self) {
        for side in 0..2 {
            for n in 0.. {
                assert!(n < 100_000, "an endless burst");
                let Some(t) = self.sides[side].connection.poll_transmit(self.now) else { break };
                let mut payload = vec![0; t.segment.len as usize];
                self.sides[side].connection.copy_payload(t.offset, &mut payload);
                let held = Held { segment: t.segment, payload, ecn: t.ecn };
                if side == 0 {
                    self.capture(0, &held);
                }
                self.hold(1 - side, held);
            }
            let s = &mut self.sides[side];
            while let Some(event) = s.connection.poll_event() {
                match event {
                    ConnectionEvent::Established => s.established = true,
                    ConnectionEvent::Aborted(_) => s.aborted = true,
                    ConnectionEvent::Finished => s.finished = true,
                    _ => {}
                }
            }
            assert!(!(s.aborted && s.finished), "two ends of side {side}");
            assert!(s.connection.stats().bytes_acked <= s.written);
        }
    }

    fn hold(&mut self, side: usize, held: Held) {
        if self.sides[side].held.len() < MOST_HELD {
            self.sides[side].held.push(held);
        }
    }

    fn capture(&mut self, from: usize, held: &Held) {
        let Some(analysis) = &mut self.analysis else { return };
        let ends = [SocketAddr::from(([192, 0, 2, 1], 1)), SocketAddr::from(([192, 0, 2, 2], 2))];
        let at = self.now;
        let segment = held.segment;
        let (src, dst) = (ends[from], ends[1 - from]);
        analysis.packet(
            at,
            Ok(CapturedSegment {
                at,
                src,
                dst,
                id: 0,
                hops: 64,
                interface: 0,
                options_cut: false,
                frame: 0,
                beginning: Beginning::default(),
                segment,
            }),
        );
    }

    /// From now on everything arrives, and both applications read all and close.
    fn complete(&mut self) {
        let end = self.now + LONGEST;
        for _ in 0..MOST_ROUNDS {
            for side in 0..2 {
                self.read(side, 1 << 16);
                let opened = !matches!(
                    self.sides[side].connection.state(),
                    State::Closed | State::Listen | State::SynSent
                );
                if opened {
                    self.sides[side].connection.close(self.now);
                }
            }
            self.collect();
            if self.sides.iter().all(|s| s.connection.state() == State::Closed)
                || self.sides.iter().any(|s| s.aborted)
            {
                break;
            }
            if self.sides.iter().any(|s| !s.held.is_empty()) {
                self.now += Duration::from_millis(10);
                self.flight();
            } else if let Some(at) = self.deadline() {
                assert!(at <= end, "still open after {LONGEST:?}: {:?}", self.states());
                self.expire(at);
            } else {
                break;
            }
            self.collect();
        }
        (0..2).for_each(|side| self.read(side, 1 << 16));
        let [client, server] = &self.sides;
        if client.aborted || server.aborted || !client.established || !server.established {
            // Too many were lost before, or one was closed before it was open.
            return;
        }
        assert!(client.finished && server.finished, "one never ended: {:?}", self.states());
        assert_eq!((client.read, server.read), (server.written, client.written), "bytes are missing");
    }

    /// What a failed check shows of both.
    fn states(&self) -> [impl std::fmt::Debug + use<>; 2] {
        [0, 1].map(|i| {
            let s = &self.sides[i];
            (s.connection.state(), s.connection.view(self.now), s.written, s.read, s.aborted, s.finished)
        })
    }
}
