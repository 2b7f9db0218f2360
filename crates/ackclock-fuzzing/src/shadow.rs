//! Conversations that the bytes describe, followed by stacks.

use std::net::SocketAddr;
use std::sync::OnceLock;

use ackclock_capture::{Beginning, CapturedSegment};
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, Followed, MinRto, default_stacks, explain, follow, name_sender};
use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Options, SackBlocks, Segment, Timestamps};
use arbitrary::{Arbitrary, Unstructured};

/// The handshake.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Start {
    /// Which stack is tried beside the first.
    stack: u8,
    /// All that are tried by default are ranked, when this is small: they take long.
    all: u8,
    passive: bool,
    sack: bool,
    timestamps: bool,
    scales: Option<(u8, u8)>,
    mss: (u16, u16),
    rtt_ms: u8,
    iss: (u32, u32),
}

/// What is captured next.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Step {
    /// Full segments, after a time.
    Send(u8, u16),
    /// The next bytes.
    SendBytes(u16),
    /// What the capture has lost is skipped before the next segment.
    Skip(u16),
    /// A segment from a number of bytes before the next new one.
    Again { back: u32, len: u16, wait: u16 },
    /// The oldest segment, after milliseconds.
    Oldest(u16),
    /// An ack of everything up to a number of segments before the next new byte.
    Ack { less: u8, window: u16 },
    /// An ack with SACK blocks above what is acknowledged, in segments.
    Sack([Option<(u8, u8)>; 3]),
    /// Any ack.
    AnyAck { ack: u32, sack: Option<(u32, u16)>, window: u16, tsecr: i16 },
    /// Any segment of the sender.
    Any { seq: u32, len: u16, flags: u8 },
    /// Milliseconds pass.
    Wait(u16),
}

/// Most records of an input.
const MOST: usize = 600;

/// Follows a conversation with several stacks.
pub fn shadow(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(start) = Start::arbitrary(&mut input) else { return };
    let mut capture = Capture::new(&start);
    for _ in 0..MOST {
        let Ok(step) = Step::arbitrary(&mut input) else { break };
        capture.step(step);
    }
    let ends = (capture.ends[0], capture.ends[1]);
    let numbered = (1..).zip(&capture.segments);
    let Ok(conversation) = Conversation::of(ends, numbered) else { return };
    let stacks = stacks();
    let other = &stacks[1 + usize::from(start.stack) % (stacks.len() - 1)];
    let followed = [&stacks[0], other].map(|stack| follow(stack, &conversation));
    for followed in &followed {
        check(followed, &capture.segments);
    }
    let again = follow(other, &conversation);
    assert_eq!(again.log_likelihood().to_bits(), followed[1].log_likelihood().to_bits());
    let tried = if start.all < 3 { stacks } else { std::slice::from_ref(other) };
    if let Ok(verdict) = name_sender(&conversation, tried) {
        assert_eq!(verdict.candidates.len(), tried.len());
        assert!(verdict.candidates.iter().all(|c| c.fit <= 0.0 && c.behind >= 0.0), "{verdict:?}");
        let within = |m: MinRto| m.low <= m.high && m.value.is_none_or(|v| m.low <= v && v <= m.high);
        assert!(verdict.min_rto.is_none_or(within), "{verdict:?}");
        let _ = explain(&conversation, tried);
    }
}

/// The stacks that are tried by default.
fn stacks() -> &'static [Stack] {
    static STACKS: OnceLock<Vec<Stack>> = OnceLock::new();
    STACKS.get_or_init(|| default_stacks(&Registry::builtin()).expect("they are built in"))
}

/// What must hold of any stack along any conversation.
fn check(followed: &Followed, segments: &[CapturedSegment]) {
    assert!(followed.log_likelihood().is_finite());
    assert!(followed.rounds.iter().all(|r| r.log_likelihood <= 0.0), "{:?}", followed.rounds);
    let packets: Vec<u64> = followed.reasons.iter().map(|r| r.packet).collect();
    assert!(packets.is_sorted_by(|a, b| a < b), "each retransmission once: {packets:?}");
    for packet in packets {
        let s = &segments[packet as usize - 1];
        assert!(s.src == sender(segments) && s.segment.len > 0, "packet {packet}: {s:?}");
    }
}

/// The sender.
fn sender(segments: &[CapturedSegment]) -> SocketAddr {
    segments.iter().map(|s| s.src).min().expect("there is a handshake")
}

/// The capture so far.
struct Capture {
    ends: [SocketAddr; 2],
    segments: Vec<CapturedSegment>,
    start: Start,
    at: Instant,
    una: u32,
    nxt: u32,
    mss: u32,
}

impl Capture {
    fn new(start: &Start) -> Self {
        let ends = [SocketAddr::from(([192, 0, 2, 1], 1)), SocketAddr::from(([192, 0, 2, 2], 2))];
        let first = start.iss.0.wrapping_add(1);
        let mss = u32::from(start.mss.1).clamp(1, 9000);
        let at = Instant::from_nanos(1_000_000_000);
        let mut capture = Self { ends, segments: Vec::new(), start: *start, at, una: first, nxt: first, mss };
        let own = capture.syn(0, start.passive);
        let peer = capture.syn(1, !start.passive);
        let [(side, syn), (other, reply)] =
            if start.passive { [(1, peer), (0, own)] } else { [(0, own), (1, peer)] };
        capture.push(side, syn);
        if side == 0 {
            capture.wait_ms(start.rtt_ms.into());
        }
        capture.push(other, reply);
        if side == 1 {
            capture.wait_ms(start.rtt_ms.into());
        }
        let confirm = capture.plain(side, if side == 0 { first } else { start.iss.1.wrapping_add(1) }, 0);
        capture.push(side, confirm);
        capture
    }

    fn syn(&self, side: usize, reply: bool) -> Segment {
        let s = &self.start;
        let (seq, ack) = if side == 0 { s.iss } else { (s.iss.1, s.iss.0) };
        let options = Options {
            mss: Some(if side == 0 { s.mss.0 } else { s.mss.1 }),
            window_scale: s.scales.map(|(own, peer)| if side == 0 { own } else { peer }),
            sack_permitted: s.sack,
            timestamps: self.times(0),
            ..Options::default()
        };
        let (flags, ack) =
            if reply { (Flags::SYN | Flags::ACK, SeqNumber(ack) + 1) } else { (Flags::SYN, SeqNumber(0)) };
        Segment { seq: SeqNumber(seq), ack, window: 65535, flags, options, ..Segment::default() }
    }

    fn times(&self, ecr: i16) -> Option<Timestamps> {
        let now = (self.at.as_nanos() / 1_000_000) as u32;
        let tsecr = now.wrapping_sub(u32::from(self.start.rtt_ms)).wrapping_add_signed(ecr.into());
        self.start.timestamps.then_some(Timestamps { tsval: now, tsecr })
    }

    fn plain(&self, side: usize, seq: u32, len: u32) -> Segment {
        let ack = if side == 0 { self.start.iss.1.wrapping_add(1) } else { self.una };
        Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            len,
            window: 65535,
            flags: Flags::ACK,
            options: Options { timestamps: self.times(0), ..Options::default() },
            ..Segment::default()
        }
    }

    fn push(&mut self, side: usize, segment: Segment) {
        self.segments.push(CapturedSegment {
            at: self.at,
            src: self.ends[side],
            dst: self.ends[1 - side],
            id: 0,
            hops: 64,
            interface: 0,
            options_cut: false,
            frame: self.segments.len() as u64 + 1,
            beginning: Beginning::default(),
            segment,
        });
    }

    fn wait_ms(&mut self, ms: u64) {
        self.at += Duration::from_millis(ms);
    }

    fn send(&mut self, seq: u32, len: u32) {
        let segment = self.plain(0, seq, len);
        self.push(0, segment);
        let end = seq.wrapping_add(len);
        if end.wrapping_sub(self.nxt) as i32 > 0 {
            self.nxt = end;
        }
    }

    fn ack(&mut self, ack: u32, window: u16, sack: SackBlocks, ecr: i16) {
        if ack.wrapping_sub(self.una) as i32 > 0 {
            self.una = ack;
        }
        let mut segment = self.plain(1, self.start.iss.1.wrapping_add(1), 0);
        (segment.ack, segment.window) = (SeqNumber(ack), window);
        (segment.options.sack, segment.options.timestamps) = (sack, self.times(ecr));
        self.push(1, segment);
    }

    fn step(&mut self, step: Step) {
        self.at += Duration::from_micros(20);
        match step {
            Step::Send(n, wait) => {
                self.at += Duration::from_micros(u64::from(wait) * 3);
                (0..=n % 12).for_each(|_| self.send(self.nxt, self.mss));
            }
            Step::SendBytes(n) => self.send(self.nxt, u32::from(n)),
            Step::Skip(n) => self.nxt = self.nxt.wrapping_add(n.into()),
            Step::Again { back, len, wait } => {
                self.at += Duration::from_micros(u64::from(wait) * 11);
                self.send(self.nxt.wrapping_sub(back % (1 << 20)), len.into());
            }
            Step::Oldest(ms) => {
                self.wait_ms(u64::from(ms) % 4000);
                self.send(self.una, self.mss);
            }
            Step::Ack { less, window } => {
                let ack = self.nxt.wrapping_sub(u32::from(less) * self.mss);
                self.ack(ack, window, SackBlocks::NONE, 0);
            }
            Step::Sack(blocks) => {
                let mut sack = SackBlocks::NONE;
                for (from, n) in blocks.into_iter().flatten() {
                    let start = SeqNumber(self.una) + u32::from(from) * self.mss;
                    sack.push(SeqRange::new(start, start + u32::from(n) * self.mss));
                }
                self.ack(self.una, 65535, sack, 0);
            }
            Step::AnyAck { ack, sack, window, tsecr } => {
                let mut blocks = SackBlocks::NONE;
                if let Some((start, len)) = sack {
                    let start = SeqNumber(start);
                    blocks.push(SeqRange::new(start, start + u32::from(len)));
                }
                self.ack(ack, window, blocks, tsecr);
            }
            Step::Any { seq, len, flags } => {
                let mut segment = self.plain(0, seq, len.into());
                segment.flags = Flags(flags.into());
                self.push(0, segment);
            }
            Step::Wait(ms) => self.wait_ms(u64::from(ms) % 4000),
        }
    }
}
