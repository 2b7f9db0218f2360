use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_gap_must_exceed_both_limits_and_grow_to_be_consecutive() {
    let run = |times: &[u64], rtt| {
        let mut rule = ByTime::default();
        times
            .iter()
            .filter_map(|t| rule.arrival(Instant::ZERO + ms(*t), rtt))
            .map(|g| (g.length, g.round))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(&[0, 200, 401, 600], ms(50)), [(ms(201), 1)]);
    assert_eq!(run(&[0, 300, 661], ms(300)), [(ms(361), 1)]);
    assert_eq!(
        run(&[0, 300, 750, 1800, 1801, 3000], ms(50)),
        [(ms(300), 1), (ms(450), 2), (ms(1050), 3), (ms(1199), 1)]
    );
    assert_eq!(run(&[0, 300, 700], ms(50)), [(ms(300), 1), (ms(400), 1)]);
}

/// A packet over a path of 20 ms, from a sender without timestamps.
fn arrival(at: u64, content: Content, id: u16) -> Arrival {
    let rtt = ms(20);
    Arrival {
        at: Instant::ZERO + ms(at),
        frame: at,
        seq: SeqNumber(at as u32),
        content,
        syn: false,
        id: Some(id),
        packets: 1,
        tsval: None,
        due: None,
        tsecr: None,
        rtt,
        acks_all: false,
        highest: 0,
    }
}

/// What is asked besides, on a path of so many milliseconds.
const fn ending(rtt: u64) -> Ending {
    Ending {
        fin: false,
        tick: ms(1),
        unprompted: false,
        unanswered: Duration::ZERO,
        least: ms(rtt),
        smoothed: ms(rtt),
        echoed: None,
        knew: 0,
        named: None,
        sack: false,
    }
}

/// The same where SACK was agreed on.
const fn with_sack() -> Ending {
    Ending { sack: true, ..ending(20) }
}

/// Ten packets a millisecond apart.
fn ten() -> Gaps {
    let mut gaps = Gaps::default();
    (1..=10).for_each(|i| gaps.arrival(&arrival(i, Content::Next, 99 + i as u16), Some(&ending(20))));
    gaps
}

/// What is found when nothing is known of the host.
fn found(gaps: &Gaps) -> Vec<Gap> {
    gaps.by_content(Signs::default(), None, None, true)
}

/// They, and then one after a silence of 300 ms.
fn after_silence(content: Content, id_step: u16, asked: bool) -> usize {
    let mut gaps = ten();
    if asked {
        gaps.on_request(Instant::ZERO + ms(250));
    }
    gaps.arrival(&arrival(310, content, 109 + id_step), Some(&ending(20)));
    found(&gaps).len()
}

#[test]
fn what_ends_a_silence_tells_a_timeout_from_an_idle_application() {
    assert_eq!(
        after_silence(Content::Next, 1, false),
        0,
        "nothing was sent in between: the application had nothing to say"
    );
    assert_eq!(after_silence(Content::Next, 4, false), 1, "three packets are missing");
    assert_eq!(after_silence(Content::Missing, 1, false), 1);
    assert_eq!(after_silence(Content::Known { newest: true }, 1, false), 1);
    assert_eq!(after_silence(Content::Beyond, 2, false), 0, "a probe");
    assert_eq!(after_silence(Content::Next, 4, true), 0, "it was asked for just before");
}

/// Ten packets, then what is asked for at these times, and one of which one copy was lost, at `at`.
fn asked(close: &[u64], request: &[u64], at: u64, fin: bool) -> Vec<(u64, bool)> {
    let mut gaps = ten();
    close.iter().for_each(|t| gaps.on_close(Instant::ZERO + ms(*t)));
    request.iter().for_each(|t| gaps.on_request(Instant::ZERO + ms(*t)));
    gaps.arrival(&arrival(at, Content::Next, 111), Some(&Ending { fin, ..with_sack() }));
    gaps.content.iter().map(|f| (f.gap.length.as_nanos() / 1_000_000, f.maybe_probe)).collect()
}

#[test]
fn a_fin_may_be_the_reply_to_a_fin_and_data_is_not() {
    assert_eq!(asked(&[500], &[], 760, true), [(260, true)], "counted from what it replies to");
    assert_eq!(asked(&[500], &[], 760, false), [(750, false)], "its sender was not waiting for a close");
    assert_eq!(asked(&[500], &[], 690, true), [], "too soon");
}

#[test]
fn what_was_lost_once_after_a_request_that_was_sent_again_may_be_a_probe() {
    assert_eq!(asked(&[], &[100], 760, false), [(660, false)]);
    assert_eq!(asked(&[], &[100, 500], 760, false), [(660, true)], "the first request may not have arrived");
}

#[test]
fn a_request_after_a_repair_ends_the_recovery() {
    let probe = |request: u64| {
        let mut gaps = ten();
        gaps.arrival(&arrival(30, Content::Missing, 110), Some(&with_sack()));
        gaps.on_request(Instant::ZERO + ms(request));
        gaps.arrival(&arrival(290, Content::Next, 112), Some(&with_sack()));
        gaps.content.iter().map(|f| f.maybe_probe).collect::<Vec<_>>()
    };
    assert_eq!(probe(31), [true]);
    assert_eq!(probe(30), [false], "counted from the repair: its sender may still be in the recovery");
}

#[test]
fn the_answer_to_a_syn_ack_is_not_taken_for_lost_data() {
    // The SYN, and what comes next after 260 ms: `lost` numbers are left out, the first of them that of an
    // ack.
    let probed = |lost: u16| {
        let mut gaps = Gaps::default();
        gaps.arrival(&Arrival { syn: true, ..arrival(0, Content::Next, 1) }, Some(&with_sack()));
        gaps.numbering.steps = 1;
        gaps.arrival(&arrival(260, Content::Next, 2 + lost), Some(&with_sack()));
        gaps.content.iter().map(|c| c.maybe_probe).collect::<Vec<_>>()
    };
    assert_eq!([1, 2, 3].map(probed), [vec![], vec![true], vec![false]]);
}

#[test]
fn a_delay_hides_a_timeout_unless_the_echo_tells_that_no_ack_called_it_forth() {
    // All packets wait for 900 ms; the copy was sent 250 ms after the data and comes together with it.
    // `heard`: its sender had heard of a loss by then.
    let run = |heard: bool| {
        let mut gaps = Gaps::default();
        let packet = |sent: u64, came, content, id| Arrival {
            tsval: Some(sent as u32),
            tsecr: Some(u32::from(heard && content == Content::Known { newest: false })),
            due: Some(Instant::ZERO + ms(sent + 10)),
            ..arrival(came, content, id)
        };
        let e = Ending { unprompted: !heard, ..ending(20) };
        (0..10).for_each(|i| gaps.arrival(&packet(i, i + 10, Content::Next, 100 + i as u16), Some(&e)));
        gaps.arrival(&packet(40, 940, Content::Next, 110), Some(&e));
        gaps.arrival(&packet(41, 940, Content::Beyond, 112), Some(&e));
        gaps.arrival(&packet(291, 940, Content::Known { newest: false }, 113), Some(&e));
        found(&gaps)
    };
    assert_eq!(run(true), []);
    assert_eq!(
        run(false),
        [Gap {
            from: Instant::ZERO + ms(51),
            length: ms(250),
            round: 1,
            seen: Instant::ZERO + ms(940),
            frame: 940,
            seq: Some(SeqNumber(940))
        }],
        "from when the data would have come to when the copy would"
    );
}

#[test]
fn without_sack_a_hole_that_acks_told_of_in_vain_was_filled_by_the_timer() {
    let run = |unanswered| {
        let mut gaps = ten();
        // New data keeps coming.
        (11..=500).for_each(|i| gaps.arrival(&arrival(i, Content::Beyond, 99 + i as u16), Some(&ending(20))));
        gaps.arrival(
            &arrival(501, Content::Missing, 600),
            Some(&Ending { unanswered: ms(unanswered), ..ending(20) }),
        );
        found(&gaps).len()
    };
    assert_eq!([21, 190, 230].map(run), [0, 0, 1]);
}

#[test]
fn losses_in_a_silence_tell_a_probe_from_a_timer_that_doubles() {
    let sign = |rtt, silence, copies: u32| {
        let mut gaps = Gaps::default();
        gaps.numbering.left_out = copies;
        gaps.delay.held_up = ms(0);
        let a = Arrival { rtt: ms(rtt), ..arrival(silence, Content::Next, 1) };
        gaps.count_lost(&a, &ending(rtt), ms(silence))
    };
    // 220 ms each: a probe and an expiry, or an expiry and one of twice the time; one alone is no sign.
    assert_eq!(sign(20, 230, 1), None);
    assert_eq!(
        [230, 440, 660, 1500].map(|silence| sign(20, silence, 2)),
        [None, Some(true), Some(false), None]
    );
    assert_eq!([880, 1540].map(|silence| sign(20, silence, 3)), [Some(true), Some(false)]);
    // A timeout of 700 to 1500 ms: 2100 to 3000 ms may be either.
    assert_eq!(
        [700, 1500, 2700, 4500].map(|silence| sign(500, silence, 2)),
        [None, Some(true), None, Some(false)]
    );
}

#[test]
fn what_other_hosts_do_decides_where_a_host_gives_no_plain_sign() {
    let mut gaps = ten();
    gaps.arrival(&arrival(240, Content::Known { newest: true }, 110), Some(&with_sack()));
    let count =
        |probes, none, probing, others| gaps.by_content(Signs { probes, none }, probing, others, true).len();
    assert_eq!(count(0, 0, None, None), 0, "a host that numbers its packets is taken to probe");
    assert_eq!(count(0, 0, None, Some(false)), 1);
    assert_eq!(count(0, 0, Some(true), Some(false)), 0, "its own retransmissions come first");
    assert_eq!(count(2, 0, None, Some(false)), 1, "one sign is not enough against all others");
    assert_eq!(count(8, 0, None, Some(false)), 0);
}

#[test]
fn signs_must_be_plain() {
    let signs = |probes, none| Signs { probes, none }.verdict();
    assert_eq!(
        [signs(0, 0), signs(1, 0), signs(2, 1), signs(3, 1), signs(2, 5)],
        [None, Some(true), None, Some(true), Some(false)]
    );
}

#[test]
fn numbers_that_a_host_counts_for_all_of_its_connections_are_no_losses() {
    // Requests of an idle application, 300 ms apart; `between` packets went elsewhere meanwhile.
    let run = |between: u16| {
        let mut gaps = Gaps::default();
        let mut id = 100;
        for n in 0..40 {
            id += 1 + if n % 2 == 1 { between } else { 0 };
            gaps.arrival(&arrival(300 * n, Content::Next, id), Some(&ending(20)));
        }
        found(&gaps).len()
    };
    // One packet that is lost each time is a timeout each time.
    assert_eq!([0, 1, 3, 40].map(run), [0, 20, 0, 0]);
}

#[test]
fn a_frame_that_holds_several_packets_has_their_numbers() {
    let run = |step: u16| {
        let mut gaps = Gaps::default();
        for n in 0..20_u16 {
            let a = Arrival { packets: 4, ..arrival(300 * u64::from(n), Content::Next, 100 + step * n) };
            gaps.arrival(&a, Some(&ending(20)));
        }
        (gaps.numbering.left_out, found(&gaps).len())
    };
    assert_eq!([run(4), run(5)], [(0, 0), (1, 19)]);
}

/// A repair of what overtook nothing else, from a sender that was asked for it by SACK: `rtt`, and how long ago the
/// ack was sent that it echoes, and the first that named it.
fn repair(echoed: Option<u64>, named: Option<u64>) -> usize {
    let mut gaps = ten();
    let ending = Ending { echoed: echoed.map(ms), named: named.map(ms), ..with_sack() };
    gaps.arrival(&arrival(500, Content::Missing, 110), Some(&ending));
    found(&gaps).len()
}

#[test]
fn what_comes_a_round_trip_after_the_sack_that_it_echoes_was_triggered_by_it() {
    assert_eq!(repair(Some(20), None), 0);
    // RACK waits a quarter of a round trip for reordered packets; clocks and machines take some time too.
    assert_eq!(repair(Some(46), None), 0);
    assert_eq!(repair(Some(48), None), 1);
    assert_eq!(repair(Some(490), None), 1);
}

#[test]
fn a_timer_runs_from_the_first_ack_of_what_came_before() {
    // A round trip, and then a timeout of a round trip and 200 ms.
    assert_eq!(repair(None, Some(240)), 0);
    assert_eq!(repair(None, Some(241)), 1);
}

#[test]
fn without_numbers_of_its_own_a_sender_may_have_a_shorter_timer() {
    let found_with = |named: u64, rtt: u64| {
        let mut gaps = Gaps::default();
        let unnumbered = |at, content| Arrival { id: None, ..arrival(at, content, 0) };
        (1..=10).for_each(|i| gaps.arrival(&unnumbered(i, Content::Next), Some(&ending(rtt))));
        let ending = Ending { named: Some(ms(named)), ..ending(rtt) };
        gaps.arrival(&unnumbered(2000, Content::Missing), Some(&ending));
        found(&gaps).len()
    };
    assert_eq!([found_with(220, 20), found_with(221, 20)], [0, 1]);
    assert_eq!([found_with(600, 300), found_with(601, 300)], [0, 1]);
}

#[test]
fn after_a_probe_its_sack_triggers_the_repair_until_the_timer_is_due() {
    let found_after = |wait: u64| {
        let mut gaps = ten();
        gaps.arrival(&arrival(300, Content::Beyond, 110), Some(&with_sack()));
        gaps.arrival(&arrival(300 + wait, Content::Missing, 111), Some(&with_sack()));
        found(&gaps).len()
    };
    assert_eq!([found_after(210), found_after(220), found_after(221)], [0, 0, 1]);
}

#[test]
fn the_first_copy_is_a_probe_however_long_it_took_if_every_number_is_one_of_a_copy() {
    // The newest segment again after two seconds, with this many identifications skipped before it.
    let copies = |skipped: u16, request: bool, acks_all: bool| {
        let mut gaps = ten();
        if request {
            gaps.on_request(Instant::ZERO + ms(11));
            let ack = Arrival { acks_all, ..arrival(40, Content::Nothing, 110) };
            gaps.arrival(&ack, Some(&with_sack()));
        }
        let id = 110 + u16::from(request) + skipped;
        gaps.arrival(&arrival(2000, Content::Known { newest: true }, id), Some(&with_sack()));
        found(&gaps).len()
    };
    assert_eq!(copies(0, false, false), 0, "a probe");
    assert_eq!(copies(1, false, false), 1, "the probe was lost, and the timer's copy came");
    assert_eq!(copies(0, true, false), 1, "too late for a probe, if the other copies are not known");
    assert_eq!(copies(0, true, true), 0, "the request was acknowledged before");
}

#[test]
fn the_echoed_ack_shows_whether_a_recovery_was_over() {
    let found_if = |knew: u64| {
        let mut gaps = ten();
        let repeated = Arrival { highest: 5000, ..arrival(30, Content::Missing, 110) };
        gaps.arrival(&repeated, Some(&with_sack()));
        gaps.arrival(&arrival(31, Content::Next, 111), Some(&with_sack()));
        let ending = Ending { knew, ..with_sack() };
        gaps.arrival(&arrival(285, Content::Known { newest: true }, 112), Some(&ending));
        found(&gaps).len()
    };
    assert_eq!(found_if(4999), 1, "no probe is sent in a recovery");
    assert_eq!(found_if(5000), 0);
}

#[test]
fn what_comes_too_soon_for_the_timer_is_a_probe_and_the_next_copy_the_timers() {
    let found_if = |named: u64| {
        let mut gaps = ten();
        let first = Ending { named: Some(ms(named)), ..with_sack() };
        gaps.arrival(&arrival(310, Content::Next, 111), Some(&first));
        let after_one = gaps.content.len();
        gaps.arrival(&arrival(566, Content::Known { newest: true }, 112), Some(&with_sack()));
        (after_one, found(&gaps).len())
    };
    // The second copy is the timer's in any case; the first can be only if that had the time.
    assert_eq!(found_if(240), (0, 1));
    assert_eq!(found_if(300), (1, 1));
}

/// Ten packets; something that was lost, and its copies; the receiver's FIN at 3 s; so many milliseconds later an ack
/// that shows the first of them, before which so many identifications are skipped; and one more copy at 7 s.
fn shown_after_a_fin(later: u64, skipped: u16) -> Vec<u64> {
    let mut gaps = ten();
    gaps.on_close(Instant::ZERO + ms(3000));
    gaps.skips();
    gaps.arrival(&arrival(3000 + later, Content::Nothing, 110 + skipped), Some(&with_sack()));
    let overdue = Content::Overdue { newest: true };
    gaps.arrival(&arrival(7000, overdue, 111 + skipped), Some(&Ending { fin: true, ..with_sack() }));
    found(&gaps).iter().map(|gap| gap.length.as_nanos() / 1_000_000).collect()
}

#[test]
fn what_was_sent_before_a_request_was_not_sent_upon_it() {
    assert_eq!(shown_after_a_fin(20, 7), [6990], "more copies than acks, within a round trip");
    assert_eq!(shown_after_a_fin(20, 1), [4000], "it may have been sent upon the FIN");
    assert_eq!(shown_after_a_fin(1500, 7), [4000], "its timer may have sent it since");
}
