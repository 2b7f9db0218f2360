use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_gap_must_exceed_both_limits_and_grow_to_be_consecutive() {
    let run = |times: &[u64], rtt| {
        let mut rule = ByTime::default();
        times.iter().filter_map(|t| rule.arrival(Instant::ZERO + ms(*t), rtt)).map(|g| (g.length, g.round)).collect::<Vec<_>>()
    };
    assert_eq!(run(&[0, 200, 401, 600], ms(50)), [(ms(201), 1)]);
    assert_eq!(run(&[0, 300, 661], ms(300)), [(ms(361), 1)]);
    assert_eq!(run(&[0, 300, 750, 1800, 1801, 3000], ms(50)), [(ms(300), 1), (ms(450), 2), (ms(1050), 3), (ms(1199), 1)]);
    assert_eq!(run(&[0, 300, 700], ms(50)), [(ms(300), 1), (ms(400), 1)]);
}

/// Packets a millisecond apart, and then one after a silence of 300 ms.
fn after_silence(content: Content, id_step: u16, asked: bool) -> usize {
    let mut gaps = Gaps::default();
    let rtt = ms(20);
    let arrival = |at, content, id| Arrival {
        at: Instant::ZERO + ms(at),
        content,
        syn: false,
        fin: false,
        id: Some(id),
        tsval: None,
        tick: ms(1),
        due: None,
        rtt,
        least: rtt,
        smoothed: rtt,
        sack: false,
    };
    for i in 0..10_u16 {
        gaps.arrival(&arrival(u64::from(i) + 1, Content::Next, 100 + i));
    }
    if asked {
        gaps.asked(Instant::ZERO + ms(250));
    }
    gaps.arrival(&arrival(310, content, 109 + id_step));
    gaps.by_content(Signs::default(), None, true).len()
}

#[test]
fn what_ends_a_silence_tells_a_timeout_from_an_idle_application() {
    assert_eq!(after_silence(Content::Next, 1, false), 0, "nothing was sent in between: the application had nothing to say");
    assert_eq!(after_silence(Content::Next, 4, false), 1, "three packets are missing");
    assert_eq!(after_silence(Content::Missing, 1, false), 1);
    assert_eq!(after_silence(Content::Known { newest: true }, 1, false), 1);
    assert_eq!(after_silence(Content::Beyond, 2, false), 0, "a probe");
    assert_eq!(after_silence(Content::Next, 4, true), 0, "it was asked for just before");
}

#[test]
fn two_losses_in_a_silence_tell_a_probe_from_a_timer_that_doubles() {
    let sign = |rtt, silence| {
        let mut gaps = Gaps::default();
        gaps.count_lost(ms(silence), ms(rtt));
        gaps.signs.verdict()
    };
    // 220 ms each: a probe and an expiry, or an expiry and one of twice the time; one alone tells nothing.
    assert_eq!([230, 440, 660, 1500].map(|silence| sign(20, silence)), [None, Some(true), Some(false), Some(false)]);
    // A timeout of 700 to 1500 ms: 2100 to 3000 ms may be either.
    assert_eq!([700, 1500, 2700, 4500].map(|silence| sign(500, silence)), [None, Some(true), None, Some(false)]);
}

#[test]
fn signs_must_be_plain() {
    let signs = |probes, none| Signs { probes, none }.verdict();
    assert_eq!([signs(0, 0), signs(1, 0), signs(2, 1), signs(3, 1), signs(2, 5)], [None, Some(true), None, Some(true), Some(false)]);
}
