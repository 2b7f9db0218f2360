//! Linux's receiver. The delays were worked out by hand from the rules of Linux's `tcp_event_data_recv` and
//! `tcp_send_delayed_ack`: ato / 2 + 20 ms after gaps of up to 20 ms, ato / 2 + gap after longer ones.

use ackclock_units::Duration;

use super::{at, chosen};
use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, ReceiverEvent, ReceiverView};

const MSS: u32 = 1000;

/// A policy, and what its engine knows.
struct Receiver {
    policy: Box<dyn AckPolicy>,
    pending: AckPending,
    view: ReceiverView,
}

impl Receiver {
    fn new(sets: &[(&str, &str)]) -> Self {
        let mut choice = chosen("linux");
        for (param, value) in sets {
            choice.set(param, value).expect("a parameter");
        }
        Self {
            policy: choice.build(),
            pending: AckPending {
                bytes: 0,
                full_segments: 0,
                segments: 0,
                rcv_wnd: 65_535,
                rmss: MSS,
                deadline: None,
            },
            view: ReceiverView {
                now: at(0),
                srtt: Some(Duration::from_millis(100)),
                rto: Some(Duration::from_millis(300)),
                mss: MSS,
                window_shrinks: false,
                window_opens: false,
                gap: false,
                unread: 0,
            },
        }
    }

    /// One without quick acks.
    fn slow() -> Self {
        Self::new(&[("quick_acks", "0")])
    }

    /// The delay of an ack in ms after `event` at `ms`; 0 for one that was sent, `None` where nothing changes.
    fn on(&mut self, ms: u64, event: ReceiverEvent) -> Option<u64> {
        self.view.now = at(ms);
        if self.pending.deadline.is_some_and(|deadline| deadline <= at(ms)) {
            self.policy.on_event(ReceiverEvent::Deadline, &self.pending, &self.view);
            self.acked();
        }
        if let ReceiverEvent::Arrived(s) = event {
            self.pending.bytes += u64::from(s.bytes);
            self.pending.segments += 1;
        }
        match self.policy.on_event(event, &self.pending, &self.view) {
            AckAction::Now => {
                self.acked();
                Some(0)
            }
            AckAction::By(by) => {
                self.pending.deadline = Some(by);
                Some(by.since(at(ms)).as_millis())
            }
            AckAction::Hold | AckAction::Forge(_) => None,
        }
    }

    fn acked(&mut self) {
        (self.pending.bytes, self.pending.segments, self.pending.deadline) = (0, 0, None);
        self.policy.on_event(ReceiverEvent::Acked, &self.pending, &self.view);
    }

    fn arrives(&mut self, ms: u64, bytes: u32, push: bool) -> Option<u64> {
        let s = ArrivedSegment { now: at(ms), bytes, full_sized: bytes == MSS, push };
        self.on(ms, ReceiverEvent::Arrived(s))
    }

    fn full(&mut self, ms: u64) -> Option<u64> {
        self.arrives(ms, MSS, false)
    }

    fn above_gap(&mut self, ms: u64, bytes: u32) -> Option<u64> {
        let segment = ArrivedSegment { now: at(ms), bytes, full_sized: bytes == MSS, push: false };
        self.on(ms, ReceiverEvent::OutOfOrder(segment))
    }
}

#[test]
fn sixteen_acks_at_the_start_are_quick() {
    let mut r = Receiver::new(&[]);
    let quick = (0..40).take_while(|i| r.full(10 * i) == Some(0)).count();
    assert_eq!(quick, 16, "TCP_MAX_QUICKACKS");
    assert_eq!(r.full(165), Some(0), "the second segment");
}

#[test]
fn a_small_window_has_fewer_quick_acks() {
    let mut r = Receiver::new(&[]);
    r.pending.rcv_wnd = 10_000;
    let quick = (0..40).take_while(|i| r.full(10 * i) == Some(0)).count();
    assert_eq!(quick, 5, "half a window of segments");
}

#[test]
fn delays_follow_the_spacing() {
    // Each is a single segment, whose ack is sent before the next one arrives.
    let mut r = Receiver::slow();
    assert_eq!(r.full(1000), Some(40), "TCP_ATO_MIN");
    r.acked();
    assert_eq!(r.full(1035), Some(55), "20 + 35");
    r.acked();
    assert_eq!(r.full(1085), Some(77), "27.5 + 50");
    r.acked();
    assert_eq!(r.full(1095), Some(58), "38.75 + 20");
    r.acked();
    assert_eq!(r.full(1115), Some(49), "29.375 + 20");
    r.acked();
    assert_eq!(r.full(1265), Some(49), "a longer gap than ato leaves it");
}

#[test]
fn an_ack_that_nothing_carried_doubles_the_delay_up_to_the_round_trip_time() {
    let mut r = Receiver::slow();
    r.view.srtt = Some(Duration::from_millis(130));
    assert_eq!(r.full(1000), Some(40));
    assert_eq!(r.full(1100), Some(80), "missed once");
    assert_eq!(r.full(1250), Some(130), "160, but no longer than a round trip");
    r.view.srtt = None;
    assert_eq!(r.full(1500), Some(200), "300, the timeout, but no more than TCP_DELACK_MAX");
}

#[test]
fn a_delayed_ack_that_would_be_sent_soon_is_sent_now() {
    let mut r = Receiver::slow();
    assert_eq!(r.arrives(1000, 100, true), Some(40));
    assert_eq!(r.arrives(1010, 100, true), Some(30), "its own would be 40 ms later");
    assert_eq!(r.arrives(1030, 100, true), Some(0), "10 ms are a quarter of the delay");
}

#[test]
fn replies_make_a_session_interactive_until_an_ack_waits_too_long() {
    let mut r = Receiver::new(&[]);
    assert_eq!(r.arrives(0, 100, true), Some(0), "quick");
    assert_eq!(r.on(5, ReceiverEvent::Sent), None);
    assert_eq!(r.arrives(100, 100, true), Some(40));
    assert_eq!(r.on(100, ReceiverEvent::Read), None, "the reply will carry it");
    assert_eq!(r.arrives(300, 100, true), Some(0), "no reply came: quick again");
}

#[test]
fn more_replies_may_be_asked_for() {
    let mut r = Receiver::new(&[("pingpong_thresh", "3")]);
    for i in 0..3 {
        assert_eq!(r.arrives(100 * i, 100, true), Some(0));
        r.on(100 * i + 5, ReceiverEvent::Sent);
    }
    assert_eq!(r.arrives(300, 100, true), Some(40));
}

#[test]
fn a_reply_that_comes_late_is_none() {
    let mut r = Receiver::new(&[]);
    assert_eq!(r.arrives(0, 100, true), Some(0));
    r.on(45, ReceiverEvent::Sent);
    assert_eq!(r.arrives(100, 100, true), Some(0));
}

#[test]
fn reading_what_was_pushed_acknowledges_it() {
    let mut r = Receiver::slow();
    assert_eq!(r.arrives(0, MSS, true), Some(40));
    r.view.unread = 500;
    assert_eq!(r.on(1, ReceiverEvent::Read), None);
    r.view.unread = 0;
    assert_eq!(r.on(2, ReceiverEvent::Read), Some(0));
    assert_eq!(r.on(3, ReceiverEvent::Read), None, "nothing is due");
    assert_eq!(r.full(100), Some(40));
    assert_eq!(r.on(101, ReceiverEvent::Read), None, "a full segment without PSH");
}

#[test]
fn a_window_that_would_shrink_delays_the_ack_until_something_is_read() {
    let mut r = Receiver::slow();
    r.view.window_shrinks = true;
    assert_eq!(r.full(0), Some(40));
    assert_eq!(r.full(1), Some(39));
    assert_eq!(r.on(2, ReceiverEvent::Read), Some(0), "more than one segment");
}

#[test]
fn two_smaller_segments_of_one_size_are_full_ones() {
    let mut r = Receiver::slow();
    assert_eq!(r.full(0), Some(40));
    r.acked();
    assert_eq!(r.arrives(100, 600, false), Some(40));
    assert_eq!(r.arrives(101, 600, false), Some(0), "the estimate is 600 from here on");
    assert_eq!(r.arrives(102, 600, false), Some(40), "the next one waits");
    assert_eq!(r.arrives(103, 600, false), Some(0));
}

#[test]
fn a_long_pause_makes_acks_quick() {
    let mut r = Receiver::new(&[("quick_acks", "2")]);
    assert_eq!([0, 1, 2].map(|ms| r.full(ms)), [Some(0), Some(0), Some(40)]);
    r.acked();
    assert_eq!(r.full(400), Some(0), "398 ms are more than the timeout");
}

#[test]
fn repeated_data_ends_an_interactive_session() {
    let mut r = Receiver::new(&[]);
    r.on(0, ReceiverEvent::Quick(false));
    assert_eq!(r.arrives(1, 100, true), Some(40));
    r.on(20, ReceiverEvent::Repeated);
    r.acked();
    assert_eq!(r.arrives(30, 100, true), Some(0));
}

#[test]
fn two_acks_after_a_mark_are_quick() {
    let mut r = Receiver::slow();
    assert_eq!(r.full(0), Some(40));
    r.acked();
    r.on(100, ReceiverEvent::Marked);
    assert_eq!([100, 101, 102].map(|ms| r.full(ms)), [Some(0), Some(0), Some(40)]);
}

#[test]
fn the_ack_of_a_fin_waits_for_ours() {
    let mut r = Receiver::new(&[]);
    assert_eq!(r.full(0), Some(0));
    assert_eq!(r.on(10, ReceiverEvent::Fin), Some(40));
    assert_eq!(Receiver::new(&[]).on(10, ReceiverEvent::Fin), Some(0), "no delay where no data came");
}

#[test]
fn the_ack_of_a_syn_ack_waits_where_the_application_is_about_to_write() {
    let mut r = Receiver::new(&[]);
    assert_eq!(r.on(0, ReceiverEvent::SynAck), None);
    r.on(0, ReceiverEvent::Quick(false));
    assert_eq!(r.on(0, ReceiverEvent::SynAck), Some(200));
}

#[test]
fn three_duplicate_acks_are_sent_and_others_held_back_for_a_millisecond() {
    let mut r = Receiver::slow();
    assert_eq!(r.full(0), Some(40));
    r.acked();
    r.view.gap = true;
    assert_eq!([0; 5].map(|_| r.above_gap(10, MSS)), [0, 0, 0, 1, 1].map(Some));
    assert_eq!(r.above_gap(12, MSS), Some(1), "the timer began anew");
    r.view.srtt = Some(Duration::ZERO);
    assert_eq!(r.above_gap(20, MSS), Some(0), "5 % of the round-trip time");
}

#[test]
fn a_block_that_moves_back_was_reported_near_the_front_once() {
    let mut r = Receiver::slow();
    r.view.gap = true;
    for _ in 0..3 {
        assert_eq!(r.on(10, ReceiverEvent::Displaced(3)), None, "no ack is held back");
        assert_eq!(r.above_gap(10, MSS), Some(0));
    }
    assert_eq!(r.above_gap(10, MSS), Some(1));
    assert_eq!(r.on(10, ReceiverEvent::Displaced(1)), None, "TCP_SACK_BLOCKS_EXPECTED");
    assert_eq!(r.on(10, ReceiverEvent::Displaced(2)), Some(0));
    r.acked();
    assert_eq!(r.above_gap(10, MSS), None, "the segment that displaces it is not acknowledged itself");
    assert_eq!(r.on(10, ReceiverEvent::Displaced(3)), None, "and no ack is held back for it");
    assert_eq!(r.above_gap(10, MSS), Some(1));
}

#[test]
fn what_waits_above_a_gap_shows_the_size_of_segments() {
    let two =
        |r: &mut Receiver| [(10, 600), (11, 300)].map(|(ms, bytes)| r.arrives(ms, bytes, false) == Some(0));
    assert_eq!(two(&mut Receiver::slow()), [false, true], "more than the 600 bytes of the largest");
    let mut r = Receiver::slow();
    r.view.gap = true;
    r.above_gap(0, MSS);
    r.view.gap = false;
    r.acked();
    assert_eq!(two(&mut r), [false, false]);
}

#[test]
fn no_more_than_44_acks_are_held_back() {
    let mut r = Receiver::slow();
    r.view.gap = true;
    let acks: Vec<_> = (0..60).map(|_| r.above_gap(10, MSS)).collect();
    assert_eq!(acks.iter().filter(|a| **a == Some(0)).count(), 3 + 1, "the 48th, and three before");
    assert_eq!(acks[3 + 44], Some(0), "tcp_comp_sack_nr");
}
