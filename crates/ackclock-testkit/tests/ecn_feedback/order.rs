//! The order in which a window learns of an ack and of the echo on it.

use std::sync::atomic::{AtomicU64, Ordering};

use ackclock_engine::EcnFeedback;
use ackclock_policy::{
    Congestion, CongestionControl, Control, Entry, Feedback, Needs, Policy, Registry, SenderView,
};
use ackclock_testkit::choose;
use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_units::{Duration, Instant};

use super::setup;

/// Echoes that windows with [`ORDERED`] responded to.
static ECHOES: AtomicU64 = AtomicU64::new(0);

/// DCTCP's window, which checks in what order it learns of an ack and of the echo on it.
#[derive(Debug)]
struct Ordered {
    base: Box<dyn CongestionControl>,
    ack_had_echo: bool,
}

impl Policy for Ordered {
    fn name(&self) -> &str {
        ORDERED.name
    }
}

impl CongestionControl for Ordered {
    fn needs(&self) -> Needs {
        self.base.needs()
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.base.start(v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        if let Feedback::Congestion(Congestion::Ecn) = f {
            assert!(self.ack_had_echo, "the echo came before its ack");
            ECHOES.fetch_add(1, Ordering::Relaxed);
        }
        self.ack_had_echo = matches!(&f, Feedback::Ack(a, _) if a.ece);
        self.base.on(f, v)
    }
}

static ORDERED: Entry<dyn CongestionControl> = Entry {
    name: "ordered",
    about: "DCTCP's window, checking the order of its feedback.",
    source: "a test",
    params: &[],
    build: |_| {
        let base = choose::<dyn CongestionControl>("dctcp").build();
        Box::new(Ordered { base, ack_had_echo: false })
    },
};

#[test]
fn dctcp_updates_its_estimate_before_it_reduces() {
    // RFC 8257 §3.3: steps 1 to 8 update alpha on an ack, step 9 reduces the window by it.
    let mut registry = Registry::builtin();
    registry.register(&ORDERED).unwrap();
    let window = registry.choose::<dyn CongestionControl>("ordered").unwrap();
    for feedback in [EcnFeedback::Dctcp, EcnFeedback::Accurate] {
        let setup = setup(feedback).with_policies(|s| s.sender.window = window.clone());
        let path = Path::clean(Duration::from_millis(20));
        let paths = [Path { mark: 0.1, ..path }, path];
        let before = ECHOES.load(Ordering::Relaxed);
        let mut pipe = Pipe::new([&setup; 2], [Plan::send(400_000), Plan::receive()], paths, 7);
        pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
        assert!(ECHOES.load(Ordering::Relaxed) > before + 5, "{feedback:?}");
    }
}
