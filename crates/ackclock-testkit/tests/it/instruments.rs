//! Instruments: events, tables and counters agree with each other and with the path (M-U1, B-A4).

use ackclock_engine::Stats;
use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_testkit::{Setup, choose};
use ackclock_trace::{EpisodeRow, Event, EventTables, LossClass, Mask, SampleRow, SegmentRow, Sink};
use ackclock_units::{Duration, Instant, Rate};

/// A bulk transfer with every event recorded at the sender; its counters and the tables of its events.
fn transfer(
    setup: &Setup,
    path: Path,
    seed: u64,
) -> (Stats, Vec<SampleRow>, Vec<EpisodeRow>, Vec<SegmentRow>) {
    let mut pipe = Pipe::new([setup, setup], [Plan::send(400_000), Plan::receive()], [path; 2], seed);
    pipe.sides[0].endpoint.connection.set_trace(Mask::ALL);
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    let mut events: Vec<Event> = Vec::new();
    pipe.sides[0].endpoint.connection.drain_trace(&mut events);
    assert!(events.is_sorted_by_key(|e| e.at), "events are in order of time");
    let mut tables = EventTables::default();
    events.iter().for_each(|e| tables.record(e));
    let rows = tables.finish();
    (pipe.connection(0).stats().clone(), rows.samples, rows.episodes, rows.segments)
}

#[test]
fn tables_made_of_events_add_up_to_the_counters() {
    let path = Path {
        loss: 0.04,
        jitter: Duration::from_millis(3),
        rate: Some(Rate::from_bits_per_sec(5_000_000)),
        ..Path::clean(Duration::from_millis(25))
    };
    for setup in &Setup::every_stack() {
        println!("{setup}");
        let (stats, samples, episodes, segments) = transfer(setup, path, setup.seed(0));
        let count = |f: &dyn Fn(&EpisodeRow) -> u64| episodes.iter().map(f).sum::<u64>();
        assert_eq!(count(&|e| u64::from(e.class == LossClass::Ca)), u64::from(stats.ca_events), "CA events");
        assert_eq!(
            count(&|e| u64::from(e.class == LossClass::NonCa)),
            u64::from(stats.non_ca_events),
            "non-CA events"
        );
        assert!(
            u64::from(stats.timeouts) - u64::from(stats.syn_retransmissions)
                >= count(&|e| u64::from(e.timeouts))
        );
        let retransmissions = count(&|e| u64::from(e.retransmissions));
        let others = count(&|e| u64::from(e.retransmissions.saturating_sub(1)));
        assert_eq!(
            others,
            u64::from(stats.other_losses),
            "further retransmissions of an episode are other losses"
        );
        let (again, sent): (Vec<_>, Vec<_>) = segments
            .iter()
            .filter(|s| s.sent)
            .partition(|s| s.kind.is_some_and(|k| k.ends_with("-retransmit")));
        assert_eq!(again.len() as u64, retransmissions, "every retransmission belongs to one episode");
        assert_eq!((again.len() + sent.len()) as u64, stats.segments_sent);
        assert_eq!(samples.iter().filter(|s| s.rtt.is_some()).count() as u64, stats.rtt_samples);
        let sum = samples.iter().filter_map(|s| s.rtt).fold(Duration::ZERO, |a, b| a + b);
        assert_eq!(sum, stats.rtt_sum);
        assert!(
            episodes.iter().all(|e| e.end.is_some_and(|end| end >= e.begin)),
            "every episode ends with the transfer: {episodes:?}"
        );
        assert!(episodes.windows(2).all(|w| w[0].end <= Some(w[1].begin)), "episodes do not overlap");
        assert_eq!(stats.timeouts, stats.timeouts_by_round.iter().sum::<u32>());
    }
}

#[test]
fn every_spurious_retransmission_is_counted_by_the_receiver() {
    // B-A4. Nothing is ever lost here: the path holds some packets back for longer than a timeout, so each
    // retransmission is spurious.
    let path = Path { reorder: 0.01, held: Duration::from_secs(3), ..Path::clean(Duration::from_millis(20)) };
    for recovery in ["timeout-only", "reno", "newreno", "sack"] {
        for timestamps in [false, true] {
            let setup = Setup::default()
                .with(|c| c.timestamps = timestamps)
                .with_policies(|s| s.recovery = choose(recovery));
            let mut pipe = Pipe::new(
                [&setup, &setup],
                [Plan::send(300_000), Plan::receive()],
                [path, Path { reorder: 0.0, ..path }],
                11,
            );
            pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
            // Packets in flight when both sides were closed are not counted.
            let (sender, receiver) = (pipe.connection(0).stats(), pipe.connection(1).stats());
            assert!(sender.retransmitted_segments > 0, "{recovery}");
            let (again, seen) = (sender.retransmitted_segments, receiver.duplicate_segments);
            assert!(
                seen <= again && again - seen <= 2,
                "{recovery}, timestamps {timestamps}: {again} retransmitted, {seen} duplicates"
            );
        }
    }
}

#[test]
fn retransmissions_of_lost_segments_are_no_duplicates() {
    let path = Path { loss: 0.03, ..Path::clean(Duration::from_millis(20)) };
    let setup = Setup::default();
    let mut pipe = Pipe::new(
        [&setup, &setup],
        [Plan::send(500_000), Plan::receive()],
        [path, Path { loss: 0.0, ..path }],
        5,
    );
    pipe.transfer(Instant::ZERO + Duration::from_secs(3600));
    let (sender, receiver) = (pipe.connection(0).stats(), pipe.connection(1).stats());
    assert!(sender.retransmitted_segments > 5);
    assert_eq!(receiver.duplicate_segments, 0, "SACK retransmits missing segments alone: {}", pipe.report());
}
