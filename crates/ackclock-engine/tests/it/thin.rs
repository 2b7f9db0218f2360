//! Differentiated minRTO (I-A5): a separate minimum of the timeout for a flow that uses little of its window.

use crate::support::{DELAY, Pipe, endpoint, ms};
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_units::Instant;

/// A connection with 500-byte segments that loses all data sent before `lost_until`, in ms.
fn lossy(stack: &str, lost_until: u64) -> Pipe {
    let stack = format!("{stack}+mss(500B)+iw(4)+ack-every+no-nagle");
    let clock = std::rc::Rc::<std::cell::Cell<Instant>>::default();
    let seen = clock.clone();
    let mut pipe = Pipe::with(endpoint(&stack, 1), endpoint(&stack, 2), move |_, from, s| {
        if from == 0 && s.len > 0 && seen.get() < ms(lost_until) { vec![] } else { vec![DELAY] }
    });
    pipe.clock = clock;
    pipe.open();
    pipe
}

/// Runs to the end. Returns when each data segment was sent, in ms after the first second.
fn departures(pipe: &mut Pipe) -> Vec<u64> {
    pipe.run(ms(30_000));
    assert_eq!(pipe.ends[0].unacked(), 0);
    pipe.log
        .iter()
        .filter(|(_, from, s)| *from == 0 && s.len > 0)
        .map(|(at, ..)| (at.as_nanos() - 1_000_000_000) / 1_000_000)
        .collect()
}

/// Sends `packets` of 500 bytes at one second. Returns when each data segment was sent.
fn sent(stack: &str, packets: u32, lost_until: u64) -> Vec<u64> {
    let mut pipe = lossy(stack, lost_until);
    pipe.run(ms(1000));
    pipe.ends[0].write(pipe.now, &vec![1; packets as usize * 500]);
    pipe.drain();
    departures(&mut pipe)
}

#[test]
fn a_single_packet_uses_the_smaller_minimum_at_every_expiry() {
    // I-E2 with RTO = 500 ms: retransmitted after 0.5, 1.5 and 3.5 s.
    assert_eq!(sent("sack+thin-min-rto(500ms)", 1, 3000), [0, 500, 1500, 3500]);
    assert_eq!(sent("sack", 1, 3000), [0, 1000, 3000]);
    for estimator in ["lite(100ms)", "eifel-timer", "eifel-agg"] {
        let stack = format!("sack+{estimator}+min-rto(1s)");
        let thin = sent(&format!("{stack}+thin-min-rto(800ms)"), 1, 500);
        let plain = sent(&stack, 1, 500);
        assert!(
            thin[1] < plain[1] && thin[1] >= 800 && plain[1] >= 1000,
            "{estimator}: {thin:?} and {plain:?}"
        );
    }
}

#[test]
fn above_the_fraction_the_usual_minimum_applies() {
    // Two packets of a window of four are half of it.
    assert_eq!(sent("sack+thin-min-rto(500ms)", 2, 500), [0, 0, 1000, 1020]);
}

#[test]
fn a_second_packet_extends_the_timer_of_the_first_to_the_usual_timeout() {
    // The second is sent 300 ms later. The first is retransmitted one second after it was sent, as without
    // the smaller minimum.
    for stack in ["sack+thin-min-rto(500ms)", "sack+thin-min-rto(1s)", "sack"] {
        let mut pipe = lossy(stack, 1500);
        for at in [1000, 1300] {
            pipe.run(ms(at));
            pipe.ends[0].write(pipe.now, &[1; 500]);
            pipe.drain();
        }
        assert_eq!(departures(&mut pipe)[..3], [0, 300, 1000], "{stack}");
    }
}

#[test]
fn the_fraction_is_an_option() {
    let mut stack = Stack::named(&Registry::builtin(), "sack+thin-min-rto(500ms)").expect("a stack");
    stack.set("thin_window", "0.5").expect("a ratio");
    assert_eq!((stack.config().thin_window, stack.config().thin_min_rto.as_millis()), (0.5, 500));
    assert_eq!(
        stack.set("thin_window", "1.5").unwrap_err().to_string(),
        "`thin_window` is `1.5`, which is not between 0 and 1"
    );
    assert_eq!(
        stack.set("thin_min_rto", "4000s").unwrap_err().to_string(),
        "`thin_min_rto` is `4000s`, which is not between 0s and 3600s"
    );
}
