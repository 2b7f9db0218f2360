//! Makes a conversation smaller as long as it shows the same.

use ackclock_units::{Duration, Ecn};
use ackclock_wire::Flags;

use super::conversation::{Ack, Act, Conversation, Op, Segment, Stamp};
use super::generate::{OPEN, SETTINGS};

/// The smallest conversation that `shows` still what the given one does. `budget` is how many are tried at
/// most.
pub fn shrink(
    conversation: Conversation,
    budget: u32,
    shows: &mut dyn FnMut(&Conversation) -> bool,
) -> Conversation {
    let (mut best, mut left) = (conversation, budget);
    let mut attempt = |smaller: Conversation, best: &mut Conversation| {
        if left == 0 || smaller == *best {
            return false;
        }
        left -= 1;
        let does = shows(&smaller);
        if does {
            *best = smaller;
        }
        does
    };
    loop {
        let before = best.clone();
        // Steps from the end first: what comes after the difference shows nothing.
        let mut size = best.steps.len().div_ceil(2);
        while size > 0 {
            let mut end = best.steps.len();
            while end > 0 {
                let from = end.saturating_sub(size);
                let mut smaller = best.clone();
                smaller.steps.drain(from..end);
                attempt(smaller, &mut best);
                end = from.min(best.steps.len());
            }
            size /= 2;
        }
        for simpler in simpler_wholes() {
            let mut smaller = best.clone();
            simpler(&mut smaller);
            attempt(smaller, &mut best);
        }
        for i in 0..best.settings.len() {
            let mut smaller = best.clone();
            // Those that every conversation sets stay: a machine may have other defaults.
            if smaller.settings.get(i).is_some_and(|setting| !SETTINGS.contains(setting)) {
                smaller.settings.remove(i);
                attempt(smaller, &mut best);
            }
        }
        for i in 0..best.steps.len() {
            for simpler in simpler_steps() {
                let mut smaller = best.clone();
                simpler(&mut smaller, i);
                attempt(smaller, &mut best);
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Ways to make a whole conversation simpler.
fn simpler_wholes() -> Vec<fn(&mut Conversation)> {
    vec![
        |c| c.options.clear(),
        |c| {
            c.options.pop();
        },
        |c| c.peer.ecn = false,
        |c| c.peer.timestamps = false,
        |c| c.peer.sack = false,
        |c| c.peer.window_scale = None,
        |c| c.peer.window_scale = c.peer.window_scale.map(|_| 7),
        |c| c.peer.mss = Some(1000),
        |c| c.rest = c.rest.min(Duration::from_millis(60)),
        |c| c.steps.iter_mut().enumerate().for_each(|(i, s)| s.after = usual(i)),
    ]
}

/// The usual time before step `i`. Later ones are longer: what is equal to an earlier round trip in virtual
/// time is longer or shorter by chance on a real host.
fn usual(i: usize) -> Duration {
    Duration::from_millis(8 + 2 * i.min(10) as u64)
}

type SimplerStep = fn(&mut Conversation, usize);

/// Ways to make one step simpler.
fn simpler_steps() -> Vec<SimplerStep> {
    fn segment(c: &mut Conversation, i: usize) -> Option<&mut Segment> {
        match &mut c.steps[i].act {
            Act::Inject(segment) => Some(segment),
            Act::Call(_) => None,
        }
    }
    vec![
        |c, i| c.steps[i].after = usual(i),
        |c, i| {
            if let Act::Call(Op::Write(len, more)) = &mut c.steps[i].act {
                (*len, *more) = ((*len).min(1000), false);
            }
        },
        |c, i| {
            if let Act::Call(Op::Write(len, _)) = &mut c.steps[i].act {
                *len /= 2;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.len = s.len.min(1);
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.len = 0;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.sack.pop();
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.stamp = Stamp::Fresh;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.ecn = Ecn::NotEct;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.offset = 0;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i).filter(|s| !matches!(s.ack, Ack::Arrived(_))) {
                s.ack = Ack::All;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.flags &= !(Flags::PSH | Flags::URG | Flags::ECE | Flags::CWR).0;
                s.urgent = None;
            }
        },
        |c, i| {
            if let Some(s) = segment(c, i) {
                s.window = OPEN;
            }
        },
    ]
}
