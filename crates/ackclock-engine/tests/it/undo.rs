//! Spurious timeouts (E-A8, E-X3): a path that delays everything for a while, with and without undo.

use std::sync::{Arc, Mutex};

use crate::support::{DELAY, Pipe, ms};
use ackclock_engine::{Config, Connection, Policies, Stack, Stats};
use ackclock_policy::*;
use ackclock_units::{Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Segment;

fn connection(stack: &Stack, iss: u32) -> Connection {
    Connection::new(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    )
}

fn stack(name: &str) -> Stack {
    let mut stack = Stack::named(&Registry::builtin(), name).expect(name);
    for (key, value) in [
        ("mss", "1000B"),
        ("rcv_buf", "20000B"),
        ("window_scaling", "false"),
        ("estimator.min_rto", "200ms"),
        ("ack", "every"),
    ] {
        stack.set(key, value).expect(key);
    }
    stack
}

/// The effect of a timeout.
#[derive(Debug)]
struct Outcome {
    /// Window before the timer expired.
    before: Window,
    /// Smallest congestion window from then until the end.
    least: u64,
    /// Window at the first or second ack after that, if the sender was back in Open by then.
    after: Option<Window>,
    stats: Stats,
}

const BYTES: usize = 400_000;
/// Segments sent in this interval arrive at its end. It is longer than one timeout of 200 ms, and shorter
/// than two.
const HELD: (Instant, Instant) = (Instant::from_nanos(100_000_000), Instant::from_nanos(400_000_000));

/// Runs a transfer under `fate`, and notes the window when the timer expires and at the acks after that.
fn run(stack: &Stack, fate: impl FnMut(u64, usize, &Segment) -> Option<Duration> + 'static) -> Outcome {
    let name = stack.name();
    let clock = Arc::new(Mutex::new(Instant::ZERO));
    let (at, mut fate) = (clock.clone(), fate);
    let held = move |n: u64, from: usize, s: &Segment| {
        let now = *at.lock().expect("one thread");
        let Some(extra) = fate(n, from, s) else { return vec![] };
        let hold =
            if from == 0 && now >= HELD.0 && now < HELD.1 { HELD.1.since(now) } else { Duration::ZERO };
        vec![DELAY + hold + extra]
    };
    let mut p = Pipe::with(connection(stack, 1), connection(stack, 77), held);
    p.open();
    let data = crate::support::pattern(BYTES);
    let (mut written, mut got, mut chunk) = (0, vec![], vec![0; 100_000]);
    let mut o = Outcome { before: Window::default(), least: u64::MAX, after: None, stats: Stats::default() };
    let mut acks = None;
    loop {
        written += p.ends[0].write(p.now, &data[written..]);
        if written == data.len() {
            p.ends[0].close(p.now);
        }
        p.drain();
        let v = p.ends[0].view(p.now);
        if !p.step(ms(7_200_000)) {
            break;
        }
        *clock.lock().expect("one thread") = p.now;
        let now = p.ends[0].view(p.now);
        let timeouts = p.ends[0].stats().timeouts;
        if timeouts > 0 && acks.is_none() {
            (o.before, acks) = (v.window, Some((0, now.snd_una)));
        }
        if let Some((n, una)) = &mut acks {
            o.least = o.least.min(now.window.cwnd);
            if now.snd_una > *una && *n < 2 {
                (*n, *una) = (*n + 1, now.snd_una);
                let undone = now.phase == Phase::Open;
                o.after = o.after.or(undone.then_some(now.window));
            }
        }
        let n = p.ends[1].read(p.now, &mut chunk);
        got.extend_from_slice(&chunk[..n]);
        if p.ends[1].at_end() {
            p.ends[1].close(p.now);
        }
        p.drain();
    }
    assert!(got == data, "{name}: {} of {BYTES} bytes", got.len());
    o.stats = p.ends[0].stats().clone();
    o
}

fn no_loss(_: u64, _: usize, _: &Segment) -> Option<Duration> {
    Some(Duration::ZERO)
}

#[test]
fn a_delay_spike_costs_one_retransmission_and_no_window() {
    // E-X3: with undo exactly one retransmission, and the window from before the timeout.
    for recovery in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        for undo in ["eifel", "f-rto"] {
            let name = format!("{recovery}+{undo}");
            let o = run(&stack(&name), no_loss);
            assert_eq!(
                (o.stats.timeouts, o.stats.retransmitted_segments, o.stats.spurious_timeouts),
                (1, 1, 1),
                "{name}: {o:?}"
            );
            assert_eq!(o.after, Some(o.before), "{name}: {o:?}");
        }
    }
}

#[test]
fn without_undo_a_delay_spike_collapses_the_window() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        for suffix in ["", "+timestamps"] {
            let name = format!("{recovery}{suffix}");
            let o = run(&stack(&name), no_loss);
            assert!(o.stats.timeouts == 1 && o.stats.retransmitted_segments > 1, "{name}: {o:?}");
            assert!(o.least <= 1000 && o.after.is_none(), "{name}: {o:?}");
            // With timestamps, spurious timeouts are counted even without undo.
            assert_eq!(o.stats.spurious_timeouts, u32::from(suffix == "+timestamps"), "{name}");
        }
    }
}

#[test]
fn rfc_4015_grows_back_without_a_burst() {
    for undo in ["eifel", "f-rto"] {
        let mut tcp = stack(&format!("sack+{undo}"));
        tcp.set("undo.response", "rfc4015").expect("a parameter");
        let o = run(&tcp, no_loss);
        assert_eq!(
            (o.stats.timeouts, o.stats.retransmitted_segments, o.stats.spurious_timeouts),
            (1, 1, 1),
            "{o:?}"
        );
        // The flight size and the segment just acknowledged: no more than before, and no loss window.
        let after = o.after.expect("undone");
        assert!(after.cwnd > 10_000 && after.cwnd <= 25_000 && after.ssthresh >= o.before.ssthresh, "{o:?}");
    }
}

#[test]
fn a_real_loss_is_repaired_as_before() {
    // A whole window is lost: the timer expires, and nothing is undone.
    for recovery in ["tahoe", "newreno", "sack"] {
        for undo in ["eifel", "f-rto"] {
            let (name, mut lost) = (format!("{recovery}+{undo}"), vec![]);
            let fate = move |_: u64, from: usize, s: &Segment| {
                let n = s.seq.0.wrapping_sub(2) / 900;
                let drop = from == 0 && s.len > 0 && (60..100).contains(&n) && !lost.contains(&s.seq);
                if drop {
                    lost.push(s.seq);
                }
                (!drop).then_some(Duration::ZERO)
            };
            let o = run(&stack(&name), fate);
            assert!(o.stats.timeouts >= 1 && o.stats.spurious_timeouts <= 1, "{name}: {o:?}");
            assert!(o.stats.retransmitted_segments >= 20, "{name}: {o:?}");
        }
    }
}

#[test]
fn every_byte_arrives_with_undo_delay_spikes_and_losses() {
    for (i, recovery) in ["tahoe", "reno", "newreno", "sack", "cubic"].iter().enumerate() {
        for undo in ["eifel", "f-rto", "f-rto+timestamps"] {
            // With many more losses, lost acks make samples by timestamps long (RFC 7323 §4.3 keeps TS.Recent
            // on old segments), and timeouts too.
            for loss in [0.0, 0.02, 0.05] {
                let name = format!("{recovery}+{undo}");
                let mut rng = Rng::stream(11, &name, i as u64);
                let fate = move |_: u64, _: usize, _: &Segment| {
                    let spike = if rng.chance(0.005) { 500 } else { rng.below(30) };
                    (!rng.chance(loss)).then(|| Duration::from_millis(spike))
                };
                run(&stack(&name), fate);
            }
        }
    }
}

/// An estimator that records the sampling rate of each sample.
#[derive(Debug)]
struct RecordingEstimator(Arc<Mutex<Vec<f64>>>);

impl Policy for RecordingEstimator {
    fn name(&self) -> &str {
        "recording"
    }
}

impl RttEstimator for RecordingEstimator {
    fn on_sample(&mut self, s: RttSample) {
        self.0.lock().expect("one thread").push(s.sampling_rate);
    }
    fn rtt(&self) -> Option<Rtt> {
        None
    }
    fn rto(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn initial_rto(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[test]
fn the_sampling_rate_follows_the_receivers_acks() {
    // E-A3 (b) and (c): one sample per segment with an ack for each, one in two with delayed acks.
    for (ack, sampling, timestamps, rate) in [
        ("every", "every-segment", "false", 1.0),
        ("delayed", "every-segment", "false", 0.5),
        ("delayed", "once-per-rtt", "true", 0.5),
        ("every", "once-per-rtt", "false", 0.05),
    ] {
        let mut tcp = stack("newreno");
        for (key, value) in [("ack", ack), ("rtt_sampling", sampling), ("timestamps", timestamps)] {
            tcp.set(key, value).expect(key);
        }
        let rates = Arc::new(Mutex::new(vec![]));
        let policies = Policies { estimator: Box::new(RecordingEstimator(rates.clone())), ..tcp.build() };
        let config: Config = tcp.config();
        let sender =
            Connection::new(Arc::new(config), policies, SeqNumber(1), Rng::stream(1, "connection", 1));
        let mut p = Pipe::new(sender, connection(&tcp, 77));
        p.open();
        let data = crate::support::pattern(BYTES);
        assert!(p.transfer(0, &data, ms(60_000)) == data);
        let rates = rates.lock().expect("one thread");
        let late = &rates[rates.len() / 2..rates.len() - 2];
        assert!(late.iter().all(|r| (r / rate - 1.0).abs() < 0.15), "{ack} {sampling}: {late:?}");
    }
}
