use ackclock_units::{Duration, Instant};

use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Chosen, Registry};

mod linux;

fn chosen(name: &str) -> Chosen<dyn AckPolicy> {
    Registry::builtin().choose(name).expect("built in")
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn arrival(ms: u64) -> ArrivedSegment {
    ArrivedSegment { now: at(ms), bytes: 512, full_sized: true, push: false }
}

/// `n` unacknowledged segments of 512 bytes, with a window of 16 KB.
fn waiting(n: u32) -> AckPending {
    AckPending {
        bytes: u64::from(n) * 512,
        full_segments: n,
        segments: n,
        rcv_wnd: 16_384,
        rmss: 512,
        deadline: None,
    }
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut p = chosen("delayed").build();
    assert_eq!(p.on_arrival(&arrival(1000), &waiting(1)), AckAction::By(at(1200)));
    assert_eq!(p.on_arrival(&arrival(1100), &waiting(2)), AckAction::Now);
    let small = AckPending { bytes: 600, full_segments: 0, segments: 6, ..waiting(0) };
    assert_eq!(p.on_arrival(&arrival(1100), &small), AckAction::By(at(1300)));
    assert_eq!(
        p.on_arrival(&arrival(1150), &AckPending { deadline: Some(at(1300)), ..small }),
        AckAction::By(at(1300)),
        "the first one's wait"
    );
    assert_eq!(
        p.on_arrival(&arrival(1150), &AckPending { bytes: 1024, ..small }),
        AckAction::Now,
        "two full segments' worth"
    );
}

#[test]
fn a_broken_receiver_stretches_its_acks() {
    // M-A2, RFC 2525 §2.13: fewer than one ack for two segments.
    let mut choice = chosen("delayed");
    choice.set("ack_every_segs", "4").expect("a count");
    let mut p = choice.build();
    assert_eq!(
        [1, 2, 3, 4].map(|n| p.on_arrival(&arrival(1000), &waiting(n)) == AckAction::Now),
        [false, false, false, true]
    );
}

#[test]
fn a_quick_start_and_a_heartbeat_are_options() {
    let mut choice = chosen("delayed");
    choice.set("quick_segs", "2").expect("a count");
    choice.set("heartbeat", "200ms").expect("a time");
    let mut p = choice.build();
    assert_eq!(p.on_arrival(&arrival(10), &waiting(1)), AckAction::Now);
    assert_eq!(p.on_arrival(&arrival(20), &waiting(1)), AckAction::Now);
    assert_eq!(p.on_arrival(&arrival(330), &waiting(1)), AckAction::By(at(400)));
}

#[test]
fn a_train_that_arrives_together_gets_one_ack() {
    let mut p = chosen("offload").build();
    let micros = |us| at(1000) + Duration::from_micros(us);
    let arrive = |p: &mut dyn AckPolicy, us, n, deadline| {
        p.on_arrival(
            &ArrivedSegment { now: micros(us), ..arrival(0) },
            &AckPending { deadline, ..waiting(n) },
        )
    };
    let single = arrive(&mut *p, 0, 1, None);
    assert_eq!(single, AckAction::By(at(1040)), "a single segment waits for a second one");
    let by = AckAction::By(micros(50));
    assert_eq!(arrive(&mut *p, 10, 2, Some(at(1040))), by, "50 us after the first");
    assert_eq!(arrive(&mut *p, 45, 3, Some(micros(50))), by);
    assert_eq!(arrive(&mut *p, 60, 1, None), AckAction::By(micros(40_060)), "the next train");
    assert_eq!(arrive(&mut *p, 200, 2, Some(micros(40_060))), AckAction::By(micros(250)), "and another");
    assert_eq!(arrive(&mut *p, 210, 128, Some(micros(250))), AckAction::Now, "64 KiB");
}

#[test]
fn the_old_receiver_waits_for_a_third_of_the_window_or_the_clock() {
    // J-A13: 35 % of 16384 bytes are 11.2 segments of 512.
    let mut p = chosen("bsd43").build();
    assert_eq!(p.on_arrival(&arrival(1001), &waiting(11)), AckAction::By(at(1200)));
    assert_eq!(p.on_arrival(&arrival(1199), &waiting(1)), AckAction::By(at(1200)));
    assert_eq!(p.on_arrival(&arrival(1001), &waiting(12)), AckAction::Now);
}

#[test]
fn the_old_receivers_clock_may_run_for_each_ack_and_delay_out_of_order_segments() {
    let mut choice = chosen("bsd43");
    assert!(!choice.build().holds_out_of_order());
    choice.set("free_running", "false").expect("a flag");
    choice.set("hold_out_of_order", "true").expect("a flag");
    let mut p = choice.build();
    assert!(p.holds_out_of_order());
    assert_eq!(p.on_arrival(&arrival(1050), &waiting(1)), AckAction::By(at(1250)));
    assert_eq!(
        p.on_arrival(&arrival(1199), &AckPending { deadline: Some(at(1250)), ..waiting(2) }),
        AckAction::By(at(1250))
    );
}

#[test]
fn the_old_receiver_acknowledges_every_five_packets_at_the_papers_rate() {
    // J-A13, derived: at 19.1667 ms a packet the 200 ms clock dominates; a tick acknowledges what arrived
    // since the last one, 10.4 packets on average, and a packet waits 100 ms on average.
    let mut p = chosen("bsd43").build();
    let (mut acks, mut pending, mut deadline, mut waited) = (0_u32, Vec::new(), None, Duration::ZERO);
    for i in 0..10_000_u64 {
        let now = Instant::from_nanos(i * 19_166_667);
        if deadline.is_some_and(|d| d <= now) {
            let by: Instant = deadline.take().expect("tested");
            waited = pending.drain(..).fold(waited, |w, t: Instant| w + by.since(t));
            acks += 1;
        }
        pending.push(now);
        match p.on_arrival(
            &ArrivedSegment { now, ..arrival(0) },
            &AckPending { deadline, ..waiting(pending.len() as u32) },
        ) {
            AckAction::By(d) => deadline = Some(d),
            AckAction::Now | AckAction::Hold | AckAction::Forge(_) => {
                panic!("the window is never a third full within a tick")
            }
        }
    }
    let (packets_per_ack, mean_wait) = (10_000.0 / f64::from(acks), waited.as_secs_f64() / 10_000.0);
    assert!(
        (10.3..10.6).contains(&packets_per_ack) && (0.095..0.105).contains(&mean_wait),
        "{packets_per_ack} {mean_wait}"
    );
}
