use ackclock_policy::Chosen;
use ackclock_units::{Duration, Instant, Rng};

use super::*;

fn fault(name: &str, settings: &[(&str, &str)]) -> Box<dyn Fault> {
    let entry = ENTRIES.iter().find(|e| e.name == name).expect("a fault of that name");
    let mut chosen = Chosen::new(entry);
    for (param, text) in settings {
        chosen.set(param, text).unwrap();
    }
    chosen.build()
}

fn packet(kind: PacketKind, flow: u32) -> PacketInfo {
    PacketInfo { kind, flow, payload: 1000 * u32::from(kind == PacketKind::Data), ..PacketInfo::opaque(1040) }
}

/// The verdicts on `n` packets of a kind.
fn verdicts(f: &mut dyn Fault, kind: PacketKind, n: usize) -> Vec<FaultVerdict> {
    let mut rng = Rng::stream(1, "fault", 0);
    (0..n).map(|_| f.verdict(&packet(kind, 0), Instant::ZERO, &mut rng)).collect()
}

fn numbers_lost(verdicts: &[FaultVerdict]) -> Vec<usize> {
    (1..).zip(verdicts).filter(|(_, v)| **v == FaultVerdict::Drop).map(|(n, _)| n).collect()
}

#[test]
fn random_faults_strike_at_their_rate() {
    for (name, verdict) in [
        ("loss", FaultVerdict::Drop),
        ("duplicate", FaultVerdict::Duplicate),
        ("corrupt", FaultVerdict::Corrupt),
    ] {
        for p in [0.0, 0.01, 0.3, 1.0] {
            let n = 100_000;
            let struck = verdicts(&mut *fault(name, &[("p", &p.to_string())]), PacketKind::Data, n)
                .iter()
                .filter(|v| **v == verdict)
                .count() as f64;
            let sigma = (n as f64 * p * (1.0 - p)).sqrt();
            assert!((struck - n as f64 * p).abs() <= 4.0 * sigma, "{name} at {p}: {struck} of {n}");
        }
    }
}

#[test]
fn random_losses_are_independent() {
    let v = verdicts(&mut *fault("loss", &[("p", "0.2")]), PacketKind::Data, 200_000);
    let both = v.windows(2).filter(|w| w[0] == FaultVerdict::Drop && w[1] == FaultVerdict::Drop).count()
        as f64
        / v.len() as f64;
    assert!((both - 0.04).abs() < 0.002, "pairs {both}");
}

#[test]
fn a_fault_for_data_leaves_acks_and_syns_alone_and_its_draws_too() {
    let settings = [("p", "0.5"), ("of", "data")];
    let alone = verdicts(&mut *fault("loss", &settings), PacketKind::Data, 100);
    let (mut f, mut rng) = (fault("loss", &settings), Rng::stream(1, "fault", 0));
    let mut mixed = Vec::new();
    for _ in 0..100 {
        for kind in [PacketKind::Ack, PacketKind::Syn] {
            assert_eq!(f.verdict(&packet(kind, 0), Instant::ZERO, &mut rng), FaultVerdict::Pass);
        }
        mixed.push(f.verdict(&packet(PacketKind::Data, 0), Instant::ZERO, &mut rng));
    }
    assert_eq!(alone, mixed);
    assert!(
        verdicts(&mut *fault("loss", &[("p", "1"), ("of", "syns")]), PacketKind::Syn, 5)
            .iter()
            .all(|v| *v == FaultVerdict::Drop)
    );
    assert!(
        verdicts(&mut *fault("loss", &[("p", "1"), ("of", "acks")]), PacketKind::Data, 5)
            .iter()
            .all(|v| *v == FaultVerdict::Pass)
    );
}

#[test]
fn periodic_loss_takes_every_kth() {
    let lost = |settings: &[(&str, &str)]| {
        numbers_lost(&verdicts(&mut *fault("periodic-loss", settings), PacketKind::Data, 12))
    };
    assert_eq!(lost(&[("every", "4")]), [4, 8, 12]);
    assert_eq!(lost(&[("every", "4"), ("first", "1")]), [1, 5, 9]);
    assert_eq!(lost(&[("every", "1")]).len(), 12);
}

#[test]
fn nth_loss_takes_one_and_can_count_a_flow_by_itself() {
    assert_eq!(
        numbers_lost(&verdicts(&mut *fault("nth-loss", &[("number", "3")]), PacketKind::Data, 10)),
        [3]
    );
    let (mut f, mut rng) = (fault("nth-loss", &[("number", "2"), ("flow", "7")]), Rng::stream(1, "fault", 0));
    let met: Vec<_> = [1, 7, 1, 7, 7]
        .map(|flow| f.verdict(&packet(PacketKind::Data, flow), Instant::ZERO, &mut rng))
        .to_vec();
    assert_eq!(numbers_lost(&met), [4]);
}

#[test]
fn segment_loss_follows_the_byte_through_its_retransmissions() {
    let (mut f, mut rng) =
        (fault("segment-loss", &[("offset", "1500B"), ("times", "2")]), Rng::stream(1, "fault", 0));
    let met: Vec<_> = [0, 1000, 2000, 1000, 1000]
        .map(|offset| {
            f.verdict(&PacketInfo { offset, ..packet(PacketKind::Data, 0) }, Instant::ZERO, &mut rng)
        })
        .to_vec();
    assert_eq!(numbers_lost(&met), [2, 4]);
}

#[test]
fn an_outage_begins_and_ends() {
    let (mut f, mut rng) = (fault("outage", &[("from", "1s"), ("until", "2s")]), Rng::stream(1, "fault", 0));
    let met: Vec<_> = [999, 1000, 1999, 2000]
        .map(|ms| f.verdict(&packet(PacketKind::Ack, 0), Instant::ZERO + Duration::from_millis(ms), &mut rng))
        .to_vec();
    assert_eq!(numbers_lost(&met), [2, 3]);
}

#[test]
fn a_reordered_packet_is_late_by_its_delay_or_its_distance() {
    // 1040 bytes at 8.32 Mbit/s take 1 ms.
    let settings = [("p", "1"), ("delay", "10ms"), ("distance", "3"), ("link_rate", "8320kbit/s")];
    assert_eq!(
        verdicts(&mut *fault("reorder", &settings), PacketKind::Data, 1),
        [FaultVerdict::Delay(Duration::from_micros(13_500))]
    );
    let settings = [("p", "1"), ("delay", "10ms"), ("distance", "0")];
    assert_eq!(
        verdicts(&mut *fault("reorder", &settings), PacketKind::Data, 1),
        [FaultVerdict::Delay(Duration::from_millis(10))]
    );
    let v = verdicts(&mut *fault("reorder", &[("p", "0.1")]), PacketKind::Data, 100_000);
    let share = v.iter().filter(|v| matches!(v, FaultVerdict::Delay(_))).count() as f64 / v.len() as f64;
    assert!((share - 0.1).abs() < 0.004, "share {share}");
}

#[test]
fn a_stall_lets_everything_go_when_it_is_over() {
    let (mut f, mut rng) =
        (fault("stall", &[("from", "2s"), ("until", "3s"), ("of", "data")]), Rng::stream(1, "fault", 0));
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let mut met = |kind, ms| f.verdict(&packet(kind, 0), at(ms), &mut rng);
    assert_eq!(met(PacketKind::Data, 1999), FaultVerdict::Pass);
    assert_eq!(met(PacketKind::Data, 2000), FaultVerdict::Delay(Duration::from_secs(1)));
    assert_eq!(met(PacketKind::Ack, 2500), FaultVerdict::Pass);
    assert_eq!(met(PacketKind::Data, 2999), FaultVerdict::Delay(Duration::from_millis(1)));
    assert_eq!(met(PacketKind::Data, 3000), FaultVerdict::Pass);
}

#[test]
fn a_detour_is_longer_by_the_same_for_every_packet_that_takes_it() {
    let settings = [("from", "2s"), ("until", "3s"), ("extra", "700ms"), ("of", "data")];
    let (mut f, mut rng) = (fault("detour", &settings), Rng::stream(1, "fault", 0));
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let mut met = |kind, ms| f.verdict(&packet(kind, 0), at(ms), &mut rng);
    let longer = FaultVerdict::Delay(Duration::from_millis(700));
    assert_eq!(met(PacketKind::Data, 1999), FaultVerdict::Pass);
    assert_eq!([met(PacketKind::Data, 2000), met(PacketKind::Data, 2999)], [longer, longer]);
    assert_eq!(met(PacketKind::Ack, 2500), FaultVerdict::Pass);
    assert_eq!(met(PacketKind::Data, 3000), FaultVerdict::Pass);
}

#[test]
fn a_detour_does_not_end_by_itself() {
    let (mut f, mut rng) = (fault("detour", &[("from", "1s")]), Rng::stream(1, "fault", 0));
    let late = Instant::ZERO + Duration::from_secs(999_999_999);
    assert_eq!(
        f.verdict(&packet(PacketKind::Ack, 0), late, &mut rng),
        FaultVerdict::Delay(Duration::from_secs(1))
    );
}

/// The share of packets lost, and the mean length of runs of losses, over `n` packets.
fn bursts(fault: &mut dyn Fault, n: usize) -> (f64, f64) {
    let lost: Vec<bool> =
        verdicts(fault, PacketKind::Data, n).iter().map(|v| *v == FaultVerdict::Drop).collect();
    let all = lost.iter().filter(|l| **l).count() as f64;
    let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
    (all / n as f64, all / runs)
}

#[test]
fn gilbert_elliott_loses_its_stationary_share_in_bursts() {
    // Salsano et al. 2012, 4.3: of the time p / (p + r) is bad; a share 1 - h is lost then and 1 - k
    // otherwise.
    for (p, r, h, k) in
        [(0.01, 0.25, 0.0, 1.0), (0.05, 0.5, 0.3, 0.99), (0.2, 0.2, 0.5, 0.9), (1.0, 1.0, 0.0, 1.0)]
    {
        let settings = [("p", p), ("r", r), ("h", h), ("k", k)].map(|(name, x)| (name, x.to_string()));
        let settings: Vec<_> = settings.iter().map(|(name, x)| (*name, x.as_str())).collect();
        let (share, run) = bursts(&mut *fault("gilbert-elliott", &settings), 1_000_000);
        let expected = (1.0 - h) * p / (p + r) + (1.0 - k) * r / (p + r);
        assert!((share / expected - 1.0).abs() < 0.02, "p {p} r {r} h {h} k {k}: {share}, {expected}");
        // In Gilbert's simple model a run of losses is a stay in the bad state.
        if h == 0.0 && k == 1.0 {
            assert!((run * r - 1.0).abs() < 0.02, "runs of {run} at r {r}");
        }
    }
    // It never changes: all is delivered.
    assert_eq!(bursts(&mut *fault("gilbert-elliott", &[("p", "0"), ("r", "0")]), 1000).0, 0.0);
}

#[test]
fn the_four_state_chain_loses_its_stationary_share() {
    // The balance of the chain (Salsano et al. 2012, 4.1): state 3 has p13 / p31 of state 1, state 2 p32 /
    // p23 of state 3, state 4 p14 of state 1.
    for (p13, p31, p32, p23, p14) in [
        (0.01, 0.3, 0.0, 1.0, 0.0),
        (0.02, 0.2, 0.4, 0.5, 0.01),
        (0.1, 0.5, 0.5, 0.1, 0.0),
        (0.0, 1.0, 0.0, 1.0, 0.05),
    ] {
        let settings = [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)];
        let settings = settings.map(|(name, x): (_, f64)| (name, x.to_string()));
        let settings: Vec<_> = settings.iter().map(|(name, x)| (*name, x.as_str())).collect();
        let (share, _) = bursts(&mut *fault("markov-loss", &settings), 2_000_000);
        let (three, four) = (p13 / p31, p14);
        let expected = (three + four) / (1.0 + three + three * p32 / p23 + four);
        assert!((share / expected - 1.0).abs() < 0.02, "{settings:?}: {share}, {expected}");
    }
}

#[test]
fn a_batch_is_released_at_once_and_in_order() {
    let settings = [("every", "10ms"), ("packets", "2"), ("limit", "5"), ("of", "acks")];
    let (mut f, mut rng) = (fault("batch", &settings), Rng::stream(1, "fault", 0));
    let mut release = |kind, ms: u64| {
        let now = Instant::ZERO + Duration::from_millis(ms);
        match f.verdict(&packet(kind, 0), now, &mut rng) {
            FaultVerdict::Pass => Some(ms),
            FaultVerdict::Delay(extra) => Some((now + extra).as_nanos() / 1_000_000),
            _ => None,
        }
    };
    // Two with each release; a sixth is one too many; data is left alone.
    let got: Vec<_> = (1..=6).map(|ms| release(PacketKind::Ack, ms)).collect();
    assert_eq!(got, [Some(10), Some(10), Some(20), Some(20), Some(30), None]);
    assert_eq!(release(PacketKind::Data, 7), Some(7));
    // At 11 ms three are held.
    assert_eq!([11, 12, 40].map(|ms| release(PacketKind::Ack, ms)), [Some(30), Some(40), Some(40)]);
    let all = [("every", "10ms")];
    let (mut f, mut rng) = (fault("batch", &all), Rng::stream(1, "fault", 0));
    for us in [1, 5_000, 9_999] {
        let now = Instant::ZERO + Duration::from_micros(us);
        let extra = Duration::from_micros(10_000 - us);
        assert_eq!(f.verdict(&packet(PacketKind::Ack, 0), now, &mut rng), FaultVerdict::Delay(extra));
    }
}
