//! A receiver compared with a model that implements the tables alone: RFC 9293 §3.4 and §3.10.7.4, RFC 5961,
//! RFC 2018 §4, RFC 2883 §4. Segments are drawn at random.

use ackclock_engine::State;
use ackclock_testkit::timeline::{Seg, Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Rng;
use ackclock_wire::{Flags, Segment};

/// Sequence number of the FIN, after the end of the stream.
const END: u32 = 3000;

/// What a receiver of the stream should know. Numbers are relative to the peer's initial one.
struct Model {
    /// The numbers that have arrived, the FIN among them.
    held: Vec<bool>,
    next: u32,
    /// Right edge of the window as advertised.
    edge: u32,
}

/// The expected reply.
#[derive(PartialEq, Debug)]
enum Reply {
    Nothing,
    /// An acknowledgment; with the range that is reported as a duplicate.
    Ack(Option<(u32, u32)>),
}

impl Model {
    fn new(edge: u32) -> Self {
        Self { held: vec![false; END as usize + 2], next: 1, edge }
    }

    fn acceptable(&self, seq: i64, len: i64) -> bool {
        let (next, edge) = (i64::from(self.next), i64::from(self.edge));
        match (len, edge - next) {
            (0, 0) => seq == next,
            // At the edge too: see docs/departures.md.
            (0, _) => (next..=edge).contains(&seq),
            (_, 0) => false,
            _ => (next..edge).contains(&seq) || seq < next && seq + len > next,
        }
    }

    /// The ranges above `next`, ascending.
    fn ranges(&self) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for i in (self.next..self.held.len() as u32).filter(|i| self.held[*i as usize]) {
            match ranges.last_mut().filter(|r| r.1 == i) {
                Some(r) => r.1 = i + 1,
                None => ranges.push((i, i + 1)),
            }
        }
        ranges
    }

    /// Accepts `len` bytes at `seq`, and the FIN after them. Returns the part that arrived before, the first
    /// if there are several.
    fn text(&mut self, seq: i64, len: u32, fin: bool) -> Option<(u32, u32)> {
        let end = seq + i64::from(len);
        let (from, to) = (seq.max(i64::from(self.next)) as u32, end.min(i64::from(self.edge)) as u32);
        let before = if from >= to {
            // Nothing new but the FIN.
            (len > 0 && end <= i64::from(self.next)).then(|| (seq as u32, seq as u32 + len))
        } else if seq < i64::from(self.next) {
            Some((seq as u32, self.next))
        } else {
            // The end of the stream is no byte of it.
            self.ranges().into_iter().map(|(a, b)| (a.max(from), b.min(to).min(END))).find(|(a, b)| a < b)
        };
        (from..to).for_each(|i| self.held[i as usize] = true);
        if fin && end <= i64::from(self.edge) {
            self.held[END as usize] = true;
        }
        while self.held[self.next as usize] {
            self.next += 1;
        }
        self.edge = self.edge.max(self.next);
        before
    }
}

/// The blocks of a segment in the model's numbers.
fn ranges_of(s: &Segment) -> Vec<(u32, u32)> {
    s.options.sack.as_slice().iter().map(|b| (b.start.0 - 50_000, b.end.0 - 50_000)).collect()
}

fn play(seed: u64) {
    let mut rng = Rng::stream(seed, "receiver", 0);
    let setup = Setup::default()
        .with(|c| (c.window_scaling, c.rcv_buf, c.challenge_ack_limit) = (false, 500, 1_000_000));
    let mut t = Timeline::connected(
        &setup.with_policies(|s| s.ack = choose("every")),
        seg("S.").ack(1).mss(1000).sack_permitted(true),
    );
    let (mut m, mut read) = (Model::new(501), 0_u32);
    for at in 0..4000 {
        let seq = i64::from(m.next) - 100 + rng.below(700) as i64;
        let seq = if rng.chance(0.4) { i64::from(m.next) } else { seq.max(1) };
        let (seq, len) = (seq.min(i64::from(END)), if rng.chance(0.15) { 0 } else { rng.below(130) as u32 });
        let len = len.min((i64::from(END) - seq) as u32);
        let fin = seq + i64::from(len) == i64::from(END) && rng.chance(0.5);
        let (kind, place) = (rng.below(30), seg(if fin { "F." } else { "." }).seq(seq as u32));
        let acceptable = |m: &Model, len: u32| m.acceptable(seq, i64::from(len));
        let old = |len: u32| {
            (len > 0 && seq + i64::from(len) <= i64::from(m.next)).then(|| (seq as u32, seq as u32 + len))
        };
        let (s, reply): (Seg, Reply) = match kind {
            0 => (seg("S").seq(seq as u32), Reply::Ack(None)),
            1 if seq == i64::from(m.next) => continue,
            1 => {
                (seg("R").seq(seq as u32), if acceptable(&m, 0) { Reply::Ack(None) } else { Reply::Nothing })
            }
            2 => (
                seg("P").seq(seq as u32).len(len),
                if acceptable(&m, len) { Reply::Nothing } else { Reply::Ack(old(len)) },
            ),
            3 => (
                place.ack(2).len(len),
                Reply::Ack(if acceptable(&m, len + u32::from(fin)) { None } else { old(len) }),
            ),
            _ => {
                let reply = match (acceptable(&m, len + u32::from(fin)), len, fin) {
                    (false, ..) => Reply::Ack(old(len)),
                    (true, 0, false) => Reply::Nothing,
                    (true, ..) => Reply::Ack(m.text(seq, len, fin)),
                };
                (place.ack(1).len(len), reply)
            }
        };
        t.inject(at, s);
        let sent: Vec<Segment> = t.take_sent().into_iter().map(|(_, s)| s).collect();
        let context = format!("seed {seed}: {s:?} must elicit {reply:?}\n{t}");
        match (&reply, &sent[..]) {
            (Reply::Nothing, []) => {}
            (Reply::Ack(before), [ack]) => {
                check(&m, ack, *before, (seq as u32, if kind > 3 { len } else { 0 }), &context)
            }
            _ => panic!("{} segments\n{context}", sent.len()),
        }
        for ack in &sent {
            m.edge = m.edge.max(ack.ack.0 - 50_000 + u32::from(ack.window));
        }
        let readable = t.endpoint.connection.readable();
        assert_eq!(readable, u64::from(m.next.min(END) - 1 - read), "{context}");
        if rng.chance(0.3) {
            t.read(readable as usize);
            read += readable as u32;
            for (_, update) in t.take_sent() {
                assert_eq!(update.ack.0 - 50_000, m.next, "{context}");
                m.edge = m.edge.max(m.next + u32::from(update.window));
            }
        }
        if m.next == END + 1 {
            assert_eq!(t.state(), State::CloseWait, "{context}");
            return;
        }
        assert_eq!(t.state(), State::Established, "{context}");
    }
    panic!("seed {seed}: the stream did not end, at {}", m.next);
}

fn check(m: &Model, ack: &Segment, before: Option<(u32, u32)>, (seq, len): (u32, u32), context: &str) {
    assert_eq!((ack.flags, ack.ack.0 - 50_000, ack.len), (Flags::ACK, m.next, 0), "{context}");
    let (mut blocks, held) = (ranges_of(ack), m.ranges());
    if let Some(before) = before {
        assert_eq!(blocks.first(), Some(&before), "the part that arrived before comes first\n{context}");
        blocks.remove(0);
    }
    assert!(blocks.iter().all(|b| held.contains(b)), "{blocks:?} of {held:?}\n{context}");
    assert!(blocks.iter().enumerate().all(|(i, b)| !blocks[..i].contains(b)), "none twice\n{context}");
    // A FIN alone is no block; one after data is reported with it.
    let data: Vec<_> = held.iter().filter(|(from, _)| *from < END).collect();
    let room = if before.is_some() { 3 } else { 4 };
    assert_eq!(
        blocks.len(),
        data.len().min(room),
        "not as many as there is room for: {blocks:?} of {held:?}\n{context}"
    );
    // The block of the segment that elicited the ack comes first (RFC 2018 §4).
    if let Some(range) =
        held.iter().find(|(from, to)| len > 0 && *from <= seq && seq < *to && seq + len <= *to)
    {
        assert_eq!(blocks.first(), Some(range), "{context}");
    }
}

#[test]
fn a_receiver_follows_the_tables() {
    (0..300).for_each(play);
}
