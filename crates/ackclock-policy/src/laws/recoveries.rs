use ackclock_units::{Duration, Rng, SeqNumber, SeqRange};

use super::for_all;
use crate::harness::Sender;
use crate::{LossRecovery, Phase, Registry};

/// A receiver that remembers which segments of 1000 bytes it has.
struct Receiver {
    first: SeqNumber,
    got: Vec<bool>,
}

impl Receiver {
    fn index(&self, seq: SeqNumber) -> usize {
        (seq.bytes_since(self.first) / 1000) as usize
    }

    fn take(&mut self, seq: SeqNumber) {
        let i = self.index(seq);
        if i >= self.got.len() {
            self.got.resize(i + 1, false);
        }
        self.got[i] = true;
    }

    fn seq(&self, i: usize) -> SeqNumber {
        self.first + i as u32 * 1000
    }

    fn ack(&self) -> SeqNumber {
        self.seq(self.got.iter().position(|got| !got).unwrap_or(self.got.len()))
    }

    /// Up to three SACKed ranges, the one that holds `latest` first (RFC 2018 §4).
    fn blocks(&self, latest: SeqNumber) -> Vec<SeqRange> {
        let mut blocks: Vec<SeqRange> = vec![];
        for i in (self.index(self.ack())..self.got.len()).filter(|i| self.got[*i]) {
            let range = SeqRange::new(self.seq(i), self.seq(i + 1));
            match blocks.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => blocks.push(range),
            }
        }
        blocks.sort_by_key(|b| (!b.contains(latest), b.start.diff(self.first)));
        blocks.truncate(3);
        blocks
    }
}

/// Runs a transfer with random losses both ways to its end; the sender checks every decision on the way.
fn transfer(mut s: Sender, loss: f64, rng: &mut Rng) -> Sender {
    let first = s.v.snd_una;
    let mut receiver = Receiver { first, got: vec![] };
    s.v.unsent = 100_000;
    let mut flying: std::collections::VecDeque<SeqNumber> =
        s.board.outstanding().iter().map(|segment| segment.range.start).collect();
    for _ in 0..20_000 {
        if s.v.unsent == 0 && s.v.snd_una == s.v.snd_nxt {
            return s;
        }
        // A window takes more or less than a round trip.
        s.wait(Duration::from_millis(rng.below(3)), RTT);
        // Now and then a packet overtakes another.
        let packet = if rng.chance(0.05) { flying.pop_back() } else { flying.pop_front() };
        match packet {
            None => flying.extend(s.reach_deadline().unwrap_or_else(|| {
                s.expire();
                s.send()
            })),
            Some(seq) if !rng.chance(loss) => {
                receiver.take(seq);
                if !rng.chance(loss / 2.0) {
                    let (to, blocks) = (receiver.ack(), if s.v.sack { receiver.blocks(seq) } else { vec![] });
                    if to >= s.v.snd_una {
                        s.ack(to, &blocks);
                        // The window grows a little.
                        s.v.window.cwnd = (s.v.window.cwnd + 300).min(40_000);
                        flying.extend(s.send());
                    }
                }
                if s.recovery.deadline().is_some_and(|at| at <= s.v.now) {
                    flying.extend(s.reach_deadline().into_iter().flatten());
                }
            }
            Some(_) => {}
        }
    }
    panic!("the transfer does not end: {s:?}");
}

const RTT: Duration = Duration::from_millis(10);

/// A transfer over a path that loses data and acks is delivered, and ends in the Open phase.
pub fn everything_is_repaired_in_the_end(registry: &Registry) {
    for_all::<dyn LossRecovery>(registry, |c, rng| {
        for sack in [false, true] {
            let loss = [0.0, 0.01, 0.1, 0.3][rng.below(4) as usize];
            let start = SeqNumber(rng.next_u64() as u32);
            let s = transfer(Sender::with(c.build(), sack, start, 1 + rng.below(30) as u32), loss, rng);
            assert!(s.v.phase == Phase::Open, "everything is acknowledged in phase {:?}: {c:?}", s.v.phase);
            assert_eq!(s.v.snd_nxt, s.v.snd_una);
            assert!(s.board.lost().is_empty());
        }
    });
}

/// Acks in order of everything sent cause no retransmission.
pub fn nothing_is_retransmitted_when_nothing_is_lost(registry: &Registry) {
    for_all::<dyn LossRecovery>(registry, |c, rng| {
        for sack in [false, true] {
            let mut s = Sender::with(c.build(), sack, SeqNumber(rng.next_u64() as u32), 10);
            for _ in 0..100 {
                s.wait(RTT, RTT);
                let to =
                    s.v.snd_una + 1000 * (1 + rng.below(u64::from(s.v.flight_size as u32 / 1000)) as u32);
                assert_eq!(s.ack(to, &[]), Phase::Open, "{c:?}");
                let next = s.v.snd_nxt;
                s.v.window.cwnd = 10_000;
                assert!(s.send().iter().all(|seq| *seq >= next), "{c:?}");
            }
        }
    });
}

/// Whatever acks report, only outstanding segments are marked or retransmitted.
pub fn hostile_acks_do_no_harm(registry: &Registry) {
    for_all::<dyn LossRecovery>(registry, |c, rng| {
        for sack in [false, true] {
            let mut s = Sender::with(c.build(), sack, SeqNumber(rng.next_u64() as u32), 20);
            for _ in 0..300 {
                let n = (s.v.flight_size / 1000) as u32;
                let pick = |rng: &mut Rng| rng.below(u64::from(n) + 1) as u32;
                let to = if rng.chance(0.2) { s.seq(pick(rng)) } else { s.v.snd_una };
                let blocks: Vec<SeqRange> = (0..rng.below(4))
                    .map(|_| (s.seq(pick(rng)), s.seq(pick(rng))))
                    .filter(|(from, end)| sack && from < end && *from > to)
                    .map(|(from, end)| SeqRange::new(from, end))
                    .collect();
                s.wait(Duration::from_micros(rng.below(20_000)), RTT);
                s.dsack =
                    (s.v.sack && rng.chance(0.1)).then(|| SeqRange::new(s.v.snd_una - 1000, s.v.snd_una));
                match rng.below(20) {
                    0 if n > 0 => s.expire(),
                    1 => s.recovery.on_undo(&s.v),
                    2 if n > 0 => {
                        s.reach_deadline();
                    }
                    _ => {
                        s.ack(to, &blocks);
                    }
                }
                s.v.window.cwnd = 1000 * (1 + rng.below(30));
                s.v.unsent = 1000 * rng.below(5);
                s.send();
            }
        }
    });
}
