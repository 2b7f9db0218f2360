//! A sender compared with a model of RFC 6675 that keeps a flag for each segment and counts them for every
//! query. The receiver follows the standards; the path loses, reorders and duplicates, in both directions.

mod model;
mod path;

use ackclock_policy::{Phase, SenderView};
use ackclock_testkit::Setup;
use ackclock_testkit::timeline::{OURS, Timeline, seg};
use ackclock_units::Rng;
use ackclock_wire::Segment;

use self::model::{Model, Rule, SMSS, State};
use self::path::Path;

/// A sender, its model, and the path to the receiver.
struct Play {
    t: Timeline,
    m: Model,
    path: Path,
    seed: u64,
    tally: Tally,
}

/// How much was compared.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    acks: u32,
    /// Acks after a timeout, or while a segment of a finished episode is missing.
    unfollowed: u32,
    episodes: u32,
    lost: u32,
    holes: u32,
    rescues: u32,
    limited: u32,
}

type Sack<'a> = (usize, &'a [(usize, usize)]);

impl Play {
    fn new(seed: u64) -> (Self, Rng) {
        let mut rng = Rng::stream(seed, "sack model", 0);
        let total = 20 + rng.below(400) as usize;
        let rwnd = [8_000, 20_000, 65_000, 65_000][rng.below(4) as usize];
        let path = Path::new(Rng::stream(seed, "sack path", 0), total);
        let setup = Setup::default().with(|c| (c.window_scaling, c.timestamps) = (false, false));
        let t =
            Timeline::connected(&setup, seg("S.").ack(1).mss(SMSS as u16).sack_permitted(true).window(rwnd));
        (Self { t, m: Model::new(total, u64::from(rwnd)), path, seed, tally: Tally::default() }, rng)
    }

    fn view(&self) -> SenderView {
        self.t.endpoint.connection.view(self.t.now())
    }

    /// The segments that were sent since the last call.
    fn sent(&mut self, at: u64) -> Vec<usize> {
        let sent = self.t.take_sent();
        let number = |s: &Segment| {
            assert_eq!(u64::from(s.len), SMSS, "a full segment");
            ((s.seq.0 - OURS - 1) / SMSS as u32) as usize
        };
        let sent: Vec<_> = sent.iter().filter(|(_, s)| s.len > 0).map(|(_, s)| number(s)).collect();
        sent.iter().for_each(|i| self.path.send(at, *i));
        sent
    }

    fn run(mut self, rng: &mut Rng) -> Tally {
        let total = self.m.sacked.len();
        let steady = rng.chance(0.6);
        let mut at = 0;
        for _ in 0..20_000 {
            if self.m.una == total {
                return self.tally;
            }
            if self.m.written < total && (steady || self.m.una == self.m.nxt || rng.chance(0.05)) {
                let n = if steady { total } else { 1 + rng.below(20) as usize }.min(total - self.m.written);
                let before = self.view();
                self.m.written += n;
                self.t.write(n as u64 * SMSS);
                let sent = self.sent(at);
                self.compare(None, &before, &sent);
            }
            let timer = self
                .t
                .endpoint
                .connection
                .poll_timeout()
                .map_or(u64::MAX, |at| at.as_nanos().div_ceil(1_000_000))
                .max(at);
            let Some((when, ack, blocks)) = self.path.next_ack(timer - 1) else {
                at = timer;
                self.t.run_to(at);
                assert_eq!(
                    self.view().phase,
                    Phase::Loss,
                    "no timer but the retransmission timer\n{}",
                    self.t
                );
                self.m.expired();
                let sent = self.sent(at);
                self.m.follow(&sent);
                continue;
            };
            at = at.max(when);
            let before = self.view();
            let byte = |i: usize| 1 + i as u32 * SMSS as u32;
            let acks = seg(".").ack(byte(ack)).window(self.m.rwnd as u16);
            self.t.inject(at, blocks.iter().fold(acks, |s, (start, end)| s.sack(byte(*start), byte(*end))));
            let sent = self.sent(at);
            self.compare(Some((ack, &blocks)), &before, &sent);
        }
        panic!("seed {} goes nowhere\n{}", self.seed, self.t);
    }

    /// Compares the effects of an ack, or of data written, with those in the model.
    fn compare(&mut self, ack: Option<Sack>, before: &SenderView, sent: &[usize]) {
        let (v, was) = (self.view(), self.m.state);
        let duplicate = ack.is_some_and(|(ack, blocks)| self.m.update(ack, blocks));
        self.tally.acks += u32::from(ack.is_some());
        if self.m.state == State::Unfollowed {
            self.tally.unfollowed += 1;
            self.m.follow(sent);
            // §5.1: no other episode before the end of the timeout's.
            assert!(
                v.phase != Phase::Recovery || self.m.una >= self.m.recovery_point,
                "seed {}\n{}",
                self.seed,
                self.t
            );
            self.m.resume(&v);
            return;
        }
        // Step A. An ack that ends an episode begins no other one.
        let ended = was == State::Recovery && self.m.una >= self.m.recovery_point;
        if ended {
            self.m.state = State::Calm;
        }
        if ended && self.m.is_lost(self.m.una) {
            self.m.state = State::Unfollowed;
            self.m.follow(sent);
            return;
        }
        let begins = self.m.state == State::Calm && !ended && duplicate && self.m.begins();
        let mut expected = Vec::new();
        let mut cwnd = v.window.cwnd;
        if begins {
            // Step 4.2. FlightSize counts up to the window, instead of subtracting what Limited Transmit
            // sent.
            let flight_size = (self.m.nxt - self.m.una) as u64 * SMSS;
            cwnd = (flight_size.min(before.window.cwnd) / 2).max(2 * SMSS);
            self.m.enter(&mut expected);
            self.tally.episodes += 1;
        }
        if self.m.state == State::Recovery {
            self.m.repair(cwnd, &mut expected);
        } else {
            self.m.send_new(cwnd, &mut expected);
            self.tally.limited += if duplicate { expected.len() as u32 } else { 0 };
        }
        let count = |rule| expected.iter().filter(|e| e.1 == rule).count() as u32;
        self.tally.lost += count(Rule::Lost);
        self.tally.holes += count(Rule::Hole);
        self.tally.rescues += count(Rule::Rescue);
        let recovers = self.m.state == State::Recovery;
        let context = || {
            format!("seed {}: {was:?}, {ack:?}: sent {sent:?}, expected {expected:?}\n{}", self.seed, self.t)
        };
        assert_eq!(v.phase == Phase::Recovery, recovers, "in recovery: {}", context());
        assert!(sent.iter().eq(expected.iter().map(|(i, _)| i)), "sent: {}", context());
        assert_eq!(v.pipe, self.m.pipe(), "pipe: {}", context());
        if begins {
            assert_eq!((v.window.cwnd, v.window.ssthresh), (cwnd, cwnd), "window: {}", context());
        } else if recovers || ended {
            assert_eq!(v.window, before.window, "the window is held: {}", context());
        }
        self.m.suspend();
    }
}

#[test]
fn a_sender_does_what_rfc_6675_says() {
    let mut all = Tally::default();
    for seed in 0..600 {
        let (play, mut rng) = Play::new(seed);
        let tally = play.run(&mut rng);
        all.acks += tally.acks;
        all.unfollowed += tally.unfollowed;
        all.episodes += tally.episodes;
        all.lost += tally.lost;
        all.holes += tally.holes;
        all.rescues += tally.rescues;
        all.limited += tally.limited;
    }
    // No case is rare.
    assert!(all.unfollowed * 4 < all.acks && all.episodes > 1000 && all.lost > 1000, "{all:?}");
    assert!(all.holes > 50 && all.rescues > 50 && all.limited > 1000, "{all:?}");
}
