//! A sender compared with a model of its window: SND.UNA, SND.WND, SND.WL1 and SND.WL2 of RFC 9293 §3.10.7.4,
//! and RFC 5961 §5.2. Acknowledgments and windows are drawn at random, old and impossible ones too.

use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::Rng;
use ackclock_wire::Segment;

/// What the sender should know. Numbers are relative to the initial ones.
struct Model {
    una: u32,
    nxt: u32,
    wnd: u32,
    largest: u32,
    /// Sequence and acknowledgment number of the segment that last set the window.
    wl: (u32, u32),
    /// The peer's next number.
    theirs: u32,
}

/// Bytes written in total.
const TOTAL: u32 = 100_000;

impl Model {
    /// Accepts an acceptable segment. False when its acknowledgment is invalid.
    fn take(&mut self, seq: u32, ack: i64, window: u32) -> bool {
        let (una, nxt) = (i64::from(self.una), i64::from(self.nxt));
        // Nothing before the SYN was ever sent.
        if ack > nxt || ack < (una - i64::from(self.largest)).max(0) {
            return false;
        }
        if ack >= una {
            let ack = ack as u32;
            self.una = ack;
            if self.wl.0 < seq || (self.wl.0 == seq && self.wl.1 <= ack) {
                (self.wnd, self.wl) = (window, (seq, ack));
                self.largest = self.largest.max(window);
            }
        }
        true
    }

    /// Checks a segment that was sent.
    fn sent(&mut self, s: &Segment, context: &str) {
        let seq = s.seq.0 - 1000;
        let end = seq + s.len;
        if s.len > 0 && end > self.nxt {
            let edge = self.una + self.wnd;
            // A window probe is one byte beyond a closed window (RFC 9293 §3.8.6.1).
            let probe = s.len == 1 && self.una == seq && edge == seq;
            assert!(
                end <= edge || probe,
                "{seq}+{} goes beyond the window's edge at {edge}\n{context}",
                s.len
            );
        }
        assert!(end >= self.una || s.len == 0, "{seq}+{} is acknowledged\n{context}", s.len);
        self.nxt = self.nxt.max(end);
    }
}

fn play(recovery: &str, seed: u64) {
    let mut rng = Rng::stream(seed, recovery, 0);
    let setup = Setup::default()
        .with(|c| (c.window_scaling, c.sack) = (false, false))
        .with_policies(|s| s.recovery = choose(recovery));
    let mut t = Timeline::connected(&setup, seg("S.").ack(1).mss(1000).window(3000));
    let mut m = Model { una: 1, nxt: 1, wnd: 3000, largest: 3000, wl: (0, 1), theirs: 1 };
    t.write(u64::from(TOTAL));
    let mut at = 0;
    for _ in 0..400 {
        at += if rng.chance(0.1) { rng.below(3000) } else { rng.below(50) };
        // Timers first: what they send depends on the state before the segment.
        t.run_to(at);
        t.take_sent().iter().for_each(|(_, s)| m.sent(s, "by a timer"));
        let ack = match rng.below(10) {
            0 => i64::from(m.nxt) + 1 + rng.below(100) as i64,
            1 => i64::from(m.una) - rng.below(5000) as i64,
            2..5 => i64::from(m.una),
            _ => i64::from(m.una) + rng.below(u64::from(m.nxt - m.una) + 1) as i64,
        };
        let window = [0, 300, 1000, 2500, 8000, 60_000][rng.below(6) as usize];
        let len = if rng.chance(0.3) { 10 } else { 0 };
        // Some segments are repeated: old ones, which are ignored.
        let old = rng.chance(0.1) && m.theirs > 10;
        let seq = if old { m.theirs - 10 } else { m.theirs };
        t.inject(at, seg(".").seq(seq).ack(ack as u32).len(if old { 10 } else { len }).window(window as u16));
        let before = (m.una, m.wnd);
        if !old && m.take(seq, ack, window) {
            m.theirs += len;
        }
        let context = format!(
            "{recovery}, seed {seed}: {seq}+{len} ack {ack} win {window}, una and window before \
             {before:?}\n{t}"
        );
        // A probe that was not accepted is withdrawn; its byte is part of the next segment.
        m.nxt = m.nxt.min(t.endpoint.connection.view(t.now()).snd_nxt.0 - 1000).max(m.una);
        t.take_sent().iter().for_each(|(_, s)| m.sent(s, &context));
        assert_eq!(t.endpoint.connection.unacked(), u64::from(TOTAL + 1 - m.una), "{context}");
        assert_eq!(t.endpoint.connection.view(t.now()).rwnd, u64::from(m.wnd), "{context}");
        let readable = t.endpoint.connection.readable();
        t.read(readable as usize);
    }
}

#[test]
fn a_sender_keeps_to_the_last_window_advertised() {
    for recovery in ["newreno", "reno", "tahoe", "timeout-only"] {
        (0..40).for_each(|seed| play(recovery, seed));
    }
}
