use ackclock_units::{SeqNumber, SeqRange};

use crate::harness::{ReferenceScoreboard, ack, view};
use crate::{
    AckInfo, Chosen, Phase, Registry, SenderView, SpuriousTimeout, SuspectTimeout, TimeoutVerdict, Window,
};

fn built(name: &str, sets: &[(&str, &str)]) -> Box<dyn SpuriousTimeout> {
    let mut chosen: Chosen<dyn SpuriousTimeout> = Registry::builtin().choose(name).expect(name);
    sets.iter().for_each(|(param, text)| chosen.set(param, text).expect(param));
    chosen.build()
}

/// Ten segments of 1000 bytes from 1 on were outstanding, the first of which was retransmitted.
fn timeout() -> SuspectTimeout {
    SuspectTimeout {
        window: Window { cwnd: 10_000, ssthresh: 8000 },
        flight_size: 10_000,
        recover: SeqNumber(10_001),
        retransmitted_to: SeqNumber(1001),
        acks_original: None,
        sent_once_arrived: false,
        dsack_seen: false,
    }
}

fn now(una: u32) -> SenderView {
    let window = Window { cwnd: 1000, ssthresh: 5000 };
    SenderView {
        snd_una: SeqNumber(una),
        snd_nxt: SeqNumber(10_001),
        flight_size: u64::from(10_001 - una),
        phase: Phase::Loss,
        window,
        ..view()
    }
}

fn segments() -> ReferenceScoreboard {
    ReferenceScoreboard::of(SeqNumber(1), 20, 1000)
}

const SEND_NEW: TimeoutVerdict = TimeoutVerdict::SendNew { segments: 2 };

#[test]
fn timestamps_decide_for_eifel_at_the_first_ack_of_new_data() {
    let mut e = built("eifel", &[]);
    assert!(!e.on_rto(&view()), "without timestamps there is no detection");
    assert!(e.on_rto(&SenderView { timestamps: true, ..view() }));
    let (t, b) = (timeout(), segments());
    assert_eq!(
        e.on_ack(&ack(1, 0), &t, &b, &now(1)),
        TimeoutVerdict::Unknown,
        "not acceptable in the sense of RFC 3522"
    );
    for (acks_original, verdict) in [
        (Some(true), TimeoutVerdict::Spurious),
        (Some(false), TimeoutVerdict::Genuine),
        (None, TimeoutVerdict::Genuine),
    ] {
        assert_eq!(
            e.on_ack(&ack(1001, 1000), &SuspectTimeout { acks_original, ..t }, &b, &now(1001)),
            verdict
        );
    }
}

#[test]
fn an_ack_of_everything_proves_nothing_to_eifel_unless_duplicates_are_reported() {
    // RFC 3522 §3.2, step 5, and §3.3: every ack was lost, and the retransmission arrived as a duplicate.
    let b = segments();
    let verdict = |a: AckInfo, dsack_seen| {
        let t = SuspectTimeout { acks_original: Some(true), dsack_seen, ..timeout() };
        built("eifel", &[]).on_ack(&a, &t, &b, &now(10_001))
    };
    assert_eq!(verdict(ack(10_001, 10_000), false), TimeoutVerdict::Genuine);
    assert_eq!(verdict(ack(10_001, 10_000), true), TimeoutVerdict::Spurious);
    assert_eq!(verdict(ack(9001, 9000), false), TimeoutVerdict::Spurious, "part of it");
    let dsack = Some(SeqRange::new(SeqNumber(1), SeqNumber(1001)));
    assert_eq!(
        verdict(AckInfo { dsack, ..ack(9001, 9000) }, true),
        TimeoutVerdict::Genuine,
        "the duplicate is reported"
    );
}

#[test]
fn basic_f_rto_takes_two_acks() {
    let b = segments();
    let after = |acks: &[(u32, u64)]| {
        let mut f = built("f-rto", &[("sack_enhanced", "false")]);
        assert!(f.on_rto(&view()));
        acks.iter()
            .map(|(to, newly)| f.on_ack(&ack(*to, *newly), &timeout(), &b, &now(*to)))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        after(&[(1001, 1000), (2001, 1000)]),
        [SEND_NEW, TimeoutVerdict::Spurious],
        "RFC 5682 2.1 step 3b"
    );
    assert_eq!(after(&[(1001, 1000), (1001, 0)]), [SEND_NEW, TimeoutVerdict::Genuine], "3a: a duplicate ack");
    assert_eq!(after(&[(1, 0)]), [TimeoutVerdict::Genuine], "2a: a duplicate ack");
    assert_eq!(after(&[(501, 500)]), [TimeoutVerdict::Genuine], "2a: not all of the retransmission");
    assert_eq!(after(&[(10_001, 10_000)]), [TimeoutVerdict::Genuine], "2a: everything");
}

#[test]
fn f_rto_with_sack_looks_at_what_arrived() {
    let mut b = segments();
    let mut f = built("f-rto", &[]);
    let v = |una| SenderView { sack: true, ..now(una) };
    let sacked = |una, newly_sacked| AckInfo { newly_sacked, is_dup: true, has_sack: true, ..ack(una, 0) };
    assert!(f.on_rto(&view()));
    b.sack(SeqRange::new(SeqNumber(2001), SeqNumber(3001)));
    assert_eq!(
        f.on_ack(&sacked(1, 1000), &timeout(), &b, &v(1)),
        TimeoutVerdict::Unknown,
        "3.1 step 2 waits"
    );
    assert_eq!(f.on_ack(&ack(1001, 1000), &timeout(), &b, &v(1001)), SEND_NEW);
    assert_eq!(
        f.on_ack(&sacked(1001, 1000), &timeout(), &b, &v(1001)),
        TimeoutVerdict::Spurious,
        "step 3b: an original arrived after the timeout"
    );
    // The new data arrives before anything older does.
    assert!(f.on_rto(&view()));
    assert_eq!(f.on_ack(&ack(1001, 1000), &timeout(), &b, &v(1001)), SEND_NEW);
    b.sack(SeqRange::new(SeqNumber(10_001), SeqNumber(11_001)));
    assert_eq!(f.on_ack(&sacked(1001, 1000), &timeout(), &b, &v(1001)), TimeoutVerdict::Genuine, "step 3a");
}

#[test]
fn f_rto_begins_anew_when_the_same_segment_expires_again() {
    // RFC 5682 2.2 and 3.2: not during an earlier recovery, "except in case the retransmission timer expires
    // multiple times for the same segment"; 2.1: then it MUST start from step 1.
    let again = SenderView { phase: Phase::Loss, expiries: 1, ..view() };
    let b = segments();
    for sack in [false, true] {
        let (again, v) = (SenderView { sack, ..again }, |una| SenderView { sack, ..now(una) });
        let mut f = built("f-rto", &[]);
        assert!(!f.on_rto(&again), "the first was not examined");
        assert!(f.on_rto(&SenderView { sack, ..view() }) && f.on_rto(&again));
        assert_eq!(f.on_ack(&ack(1001, 1000), &timeout(), &b, &v(1001)), SEND_NEW);
        assert_eq!(f.on_ack(&ack(2001, 1000), &timeout(), &b, &v(2001)), TimeoutVerdict::Spurious);
        // What the first ack has decided stays decided.
        assert!(f.on_rto(&SenderView { sack, ..view() }));
        assert_eq!(
            f.on_ack(&ack(501, 500), &timeout(), &b, &v(501)),
            if sack { TimeoutVerdict::Unknown } else { TimeoutVerdict::Genuine }
        );
        assert_eq!(f.on_rto(&again), sack);
        // 3.1 (with SACK): not in fast recovery; 2.1 leaves that to other senders than NewReno's.
        assert_eq!(f.on_rto(&SenderView { sack, phase: Phase::Recovery, ..view() }), !sack);
    }
}

#[test]
fn f_rto_needs_something_to_send_and_a_fresh_timeout() {
    let mut f = built("f-rto", &[]);
    assert!(!f.on_rto(&SenderView { phase: Phase::Loss, ..view() }), "RFC 5682 2.1 step 1");
    let b = segments();
    for v in [SenderView { unsent: 999, ..now(1001) }, SenderView { rwnd: 9_999, ..now(1001) }] {
        assert!(f.on_rto(&view()));
        assert_eq!(f.on_ack(&ack(1001, 1000), &timeout(), &b, &v), TimeoutVerdict::Genuine);
    }
}

#[test]
fn the_window_is_restored() {
    for name in ["eifel", "f-rto"] {
        let (t, v) = (timeout(), SenderView { initial_window: 4000, ..now(2001) });
        assert_eq!(built(name, &[]).resume(&ack(2001, 1000), &t, &v), t.window, "E-A8");
        let mut careful = built(name, &[("response", "rfc4015")]);
        // RFC 4015 §3.4: 8000 outstanding and 1000 acknowledged; `pipe_prev` is what was outstanding, being
        // more than the threshold.
        assert_eq!(careful.resume(&ack(2001, 1000), &t, &v), Window { cwnd: 9000, ssthresh: 10_000 });
        assert_eq!(
            careful.resume(&ack(2001, 6000), &t, &v).cwnd,
            12_000,
            "no more than the initial window at once"
        );
        assert_eq!(
            careful.resume(&AckInfo { ece: true, ..ack(2001, 1000) }, &t, &v),
            v.window,
            "the echoed congestion counts"
        );
    }
}
