//! Which stack sent what a capture shows.

use ackclock_engine::Stack;
use ackclock_policy::{CongestionControl, Registry};
use ackclock_units::Duration;

use crate::score::{Difference, Round};
use crate::timer::TICK;
use crate::{Conversation, Expiry, Followed, MinRto, ShadowError, follow, min_rto};

/// Round trips with data that a verdict needs.
pub const LEAST_ROUNDS: usize = 5;
/// The logarithm of the likelihood per round trip from which on a stack's timers and causes are taken for the
/// sender's. Below, windows may differ in so many round trips that a silence is another one than the sender's.
pub const TIMED: f64 = -0.5;
/// A stack deviates where it has become so much less likely than the one that fits, in logarithms: 20 times.
const DEVIATES: f64 = 3.0;

/// A stack, and how well it fits.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The stack.
    pub stack: String,
    /// Its congestion window.
    pub window: String,
    /// The logarithm of the likelihood, per round trip, without the constant that all stacks share: 0 is a
    /// perfect fit.
    pub fit: f64,
    /// The logarithm of how much likelier the first stack of the list is, rare windows being rarer to begin with.
    pub behind: f64,
    /// The first packet at which it deviates from the first stack.
    pub deviates: Option<Deviation>,
}

/// Where a stack would have done something else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Deviation {
    /// The packet's number in the file, from 1 on.
    pub packet: u64,
    /// What it would have done.
    pub what: Difference,
}

/// The result for a connection.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// All stacks that were tried, the likeliest first.
    pub candidates: Vec<Candidate>,
    /// Round trips that were scored.
    pub rounds: usize,
    /// Segments of the first flight, where more was waiting.
    pub initial_segs: Option<u32>,
    /// The stack's pacing is that of its window.
    pub paces: bool,
    /// The minimum of the timeout, where a timeout shows it.
    pub min_rto: Option<MinRto>,
    /// Otherwise, why none does.
    pub no_minimum: Option<NoMinimum>,
    /// And what it is at most, by the timeouts.
    pub at_most: Option<Duration>,
    /// Expiries of the retransmission timer.
    pub timeouts: usize,
}

/// Why no minimum of the timeout is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoMinimum {
    /// The retransmission timer did not fire.
    NoTimeout,
    /// The stack does not fit well enough for its timers to be the sender's.
    Unlike,
    /// The variation of round trips was larger than the minimum, or was falling to it.
    Variation,
    /// None explains when the timer fired, or another one does so as well.
    Undecided,
}

impl NoMinimum {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoTimeout => "no-timeout",
            Self::Unlike => "unlike",
            Self::Variation => "variation",
            Self::Undecided => "undecided",
        }
    }
}

/// Windows that no system has by default. CUBIC had 36 % and BBR 22 % of 20,000 sites (Mishra et al., The Great
/// Internet TCP Congestion Control Census, 2019).
const RARE_WINDOWS: [&str; 4] = ["vegas", "westwood", "ledbat-pp", "copa"];
/// The logarithm of how much rarer they are, 20 times: chosen, as large as what names a stack. As much rarer is a Linux
/// that sends no tail loss probes (`tcp_early_retrans`), which it does by default since 3.10.
const RARE: f64 = 3.0;
/// Minima of the timeout that are supposed, ms: Linux's default first.
const SUPPOSED_MS: [u64; 9] = [200, 25, 50, 75, 100, 150, 300, 400, 1000];
/// What a retransmission that a stack does not explain costs it where its timers are sought: as much as a timer
/// that is off by five ticks in a round without another difference, ln(1 + 5).
const UNEXPLAINED: f64 = 1.8;
/// The timers of so many stacks are sought, of the likeliest.
const MOST_TIMED: usize = 4;
/// How often the minimum that timeouts show is supposed in turn.
const MOST_REFINED: usize = 3;

/// The stacks that are tried where none are named: the presets of Linux and of other systems, and `linux` with
/// every other window of `registry`.
///
/// # Errors
/// None with the built-in policies.
pub fn default_stacks(registry: &Registry) -> Result<Vec<Stack>, ShadowError> {
    let mut stacks = Vec::new();
    for name in ["linux", "linux-reno", "linux-bbr", "freebsd", "newreno", "sack"] {
        stacks.push(Stack::named(registry, name)?);
    }
    for window in ["bbr", "vegas", "westwood", "ledbat-pp", "copa"] {
        if registry.find::<dyn CongestionControl>(window).is_ok() {
            let mut stack = Stack::named(registry, "linux")?;
            stack.set("window", window)?;
            stack.rename(&format!("linux with {window}"));
            stacks.push(stack);
        }
    }
    Ok(stacks)
}

/// Follows `conversation` with each of `stacks` and ranks them.
///
/// # Errors
/// Too little was sent.
pub fn name_sender(conversation: &Conversation, stacks: &[Stack]) -> Result<Verdict, ShadowError> {
    let Ranked { tried, timed, rounds, initial_segs } = rank(conversation, stacks)?;
    let trusted = timed.followed.log_likelihood() / rounds as f64 >= TIMED;
    let best = &tried[0];
    let candidates = tried.iter().map(|t| Candidate {
        stack: t.stack.name().to_owned(),
        window: window_of(&t.stack),
        fit: t.followed.log_likelihood() / rounds as f64,
        behind: best.posterior() - t.posterior(),
        deviates: deviation(&best.followed, &t.followed),
    });
    Ok(Verdict {
        candidates: candidates.collect(),
        rounds,
        initial_segs,
        paces: ["bbr", "bbr1", "copa"].contains(&window_of(&best.stack).as_str()),
        min_rto: timed.minimum.filter(|_| trusted),
        no_minimum: match timed.minimum {
            _ if timed.timeouts == 0 => Some(NoMinimum::NoTimeout),
            _ if !trusted => Some(NoMinimum::Unlike),
            None if timed.varies => Some(NoMinimum::Variation),
            None => Some(NoMinimum::Undecided),
            Some(_) => None,
        },
        at_most: timed.at_most.filter(|_| trusted && timed.minimum.is_none()),
        timeouts: timed.timeouts,
    })
}

/// A stack that has followed a conversation.
pub(crate) struct Tried {
    stack: Stack,
    /// With its own timers, or with those that fit.
    followed: Followed,
    /// The logarithm of how much rarer it is than others.
    rare: f64,
    /// The timers that fit, where they were sought.
    timed: Option<Timed>,
}

impl Tried {
    fn of(stack: Stack, conversation: &Conversation) -> Self {
        let followed = follow(&stack, conversation);
        // Where a capture does not tell a window from the others that no system has by default, and that a program
        // needs privileges to choose (`tcp_allowed_congestion_control` of Linux), it is not the sender's.
        let rare = if RARE_WINDOWS.contains(&window_of(&stack).as_str()) { RARE } else { 0.0 };
        Self { stack, followed, rare, timed: None }
    }

    /// The logarithm of the likelihood, less that of how rare it is.
    fn posterior(&self) -> f64 {
        self.followed.log_likelihood() - self.rare
    }

    /// How much likelier other timers may make it: by what its timeouts cost, and the retransmissions that it does not
    /// explain.
    fn hopes(&self) -> f64 {
        (self.followed.expiries.len() + self.followed.unexplained) as f64 * -Round::least()
    }

    /// Seeks the timers that fit, which count from then on unless its own fit better.
    fn fit_timers(&mut self, conversation: &Conversation) -> Result<(), ShadowError> {
        let timed = timers_of(&self.stack, conversation)?;
        let fitted = Self {
            stack: self.stack.clone(),
            followed: timed.followed.clone(),
            rare: self.rare + if timed.probes { 0.0 } else { RARE },
            timed: Some(timed),
        };
        if fitted.posterior() > self.posterior() {
            *self = fitted;
        } else {
            self.timed = fitted.timed;
        }
        Ok(())
    }
}

/// Stacks that have followed a conversation.
pub(crate) struct Ranked {
    /// The likeliest first; not empty.
    pub tried: Vec<Tried>,
    /// The first, with the timers that fit.
    pub timed: Timed,
    /// Round trips that were scored.
    pub rounds: usize,
    initial_segs: Option<u32>,
}

/// Follows `conversation` with each of `stacks`. Those whose timers may decide are ranked with the timers that fit them:
/// a minimum of the timeout is the host's setting, and not its stack's.
pub(crate) fn rank(conversation: &Conversation, stacks: &[Stack]) -> Result<Ranked, ShadowError> {
    let initial_segs = conversation.initial_burst().map(|b| b.div_ceil(conversation.segment_size()).max(1));
    let mut tried: Vec<Tried> = Vec::with_capacity(stacks.len());
    for stack in stacks {
        let mut stack = stack.clone();
        if let Some(n) = initial_segs.filter(|n| *n != 10) {
            // Windows without this parameter keep their own.
            let _ = stack.set("window.initial_window", "segments");
            let _ = stack.set("window.initial_segs", &n.to_string());
        }
        tried.push(Tried::of(stack, conversation));
    }
    tried.sort_by(|a, b| b.posterior().total_cmp(&a.posterior()));
    let rounds = tried.first().map_or(0, |t| t.followed.rounds.iter().filter(|r| r.counts).count());
    if rounds < LEAST_ROUNDS {
        return Err(ShadowError::TooShort { rounds });
    }
    let mut most = f64::NEG_INFINITY;
    for stack in tried.iter_mut().take(MOST_TIMED) {
        if stack.posterior() + stack.hopes() > most {
            stack.fit_timers(conversation)?;
            most = most.max(stack.posterior());
        }
    }
    tried.sort_by(|a, b| b.posterior().total_cmp(&a.posterior()));
    let first = &mut tried[0];
    let timed = match first.timed.take() {
        Some(timed) => timed,
        None => timers_of(&first.stack, conversation)?,
    };
    Ok(Ranked { tried, timed, rounds, initial_segs })
}

fn window_of(stack: &Stack) -> String {
    stack.entries().into_iter().find(|(key, _)| key == "window").map_or(String::new(), |(_, value)| value)
}

/// A stack with the timers that fit.
pub(crate) struct Timed {
    pub stack: Stack,
    pub followed: Followed,
    /// It sends tail loss probes, if its stack does.
    pub probes: bool,
    /// The minimum of the timeout, where a timeout shows it.
    pub minimum: Option<MinRto>,
    /// No timeout says anything of it, since round trips varied by more.
    pub varies: bool,
    /// What it is at most, by the timeouts.
    pub at_most: Option<Duration>,
    /// Expiries of the retransmission timer.
    pub timeouts: usize,
}

/// The stack with the minimum of the timeout that fits, and with or without tail loss probes, whichever is likelier.
///
/// A minimum changes when probes are sent, after which the timer starts anew: so minima are supposed, and what timeouts
/// show under each of them. The one under which the capture is likeliest says when the timer was started. What that
/// shows is supposed next.
pub(crate) fn timers_of(stack: &Stack, conversation: &Conversation) -> Result<Timed, ShadowError> {
    let (mut tried, mut variations): (Vec<Supposed>, Vec<Supposed>) = Default::default();
    let mut without = stack.clone();
    let may_probe = without.set("recovery.tlp", "false").is_ok();
    without.rename(&format!("{} without probes", stack.name()));
    for stack in [Some(stack), Some(&without).filter(|_| may_probe)].into_iter().flatten() {
        let first = tried.len();
        for minimum in SUPPOSED_MS {
            tried.push(Supposed::of(stack, minimum, conversation)?);
        }
        variations.push(Supposed::of(stack, 0, conversation)?);
        let others = others(stack, &tried, &variations);
        let shown = tried[first..].iter().filter_map(|s| s.shows(&others));
        let mut shown: Vec<u64> = shown.map(|m| m.likeliest.as_millis()).collect();
        shown.sort_unstable();
        shown.dedup();
        shown.retain(|ms| tried[first..].iter().all(|s| s.minimum.abs_diff(*ms) > TICK.as_millis()));
        for minimum in shown {
            tried.push(Supposed::of(stack, minimum, conversation)?);
        }
    }
    let best = |tried: &[Supposed]| {
        (0..tried.len())
            .rev()
            .max_by(|a, b| tried[*a].likelihood.total_cmp(&tried[*b].likelihood))
            .unwrap_or(0)
    };
    let stack = tried[best(&tried)].stack.clone();
    let mut found = None;
    for _ in 0..MOST_REFINED {
        let supposed = &tried[best(&tried)];
        found = supposed.shows(&others(&stack, &tried, &variations));
        let Some(next) = found.map(|m| m.likeliest.as_millis()).filter(|next| *next != supposed.minimum)
        else {
            break;
        };
        let next = Supposed::of(&stack, next, conversation)?;
        if next.likelihood < supposed.likelihood {
            // A silence that no minimum explains says nothing.
            let supposed = Duration::from_millis(supposed.minimum);
            found = found.filter(|m| m.low <= supposed && supposed <= m.high);
            break;
        }
        tried.push(next);
    }
    let first = &tried[best(&tried)];
    // What is explained as well by another minimum, or without any timeout, shows none.
    // One retransmission that is not explained does not decide.
    let as_well = |s: &&Supposed| {
        let behind = first.likelihood - s.likelihood;
        behind < UNEXPLAINED || behind < DEVIATES && s.followed.unexplained <= first.followed.unexplained
    };
    let agrees = |s: &Supposed, found: &MinRto| {
        let shown = s.shows(&others(&s.stack, &tried, &variations))?;
        (shown.low <= found.high && found.low <= shown.high).then_some(())
    };
    let minimum = found.filter(|found| tried.iter().filter(as_well).all(|s| agrees(s, found).is_some()));
    let varies = first.shows(&others(&first.stack, &tried, &variations)).is_none();
    // The timer may have been started when another minimum that explains as much would have it.
    let most = |s: &Supposed| s.followed.expiries.iter().map(Expiry::most).min();
    let at_most = tried.iter().filter(as_well).map(most).try_fold(Duration::ZERO, |a, b| Some(a.max(b?)));
    let number = best(&tried);
    let Supposed { stack, followed, .. } = tried.swap_remove(number);
    Ok(Timed {
        timeouts: followed.expiries.len(),
        probes: probes(&stack),
        stack,
        followed,
        minimum,
        varies,
        at_most,
    })
}

/// The timeouts of `stack` with each minimum that was supposed, in their order.
fn others<'a>(
    stack: &Stack,
    tried: &'a [Supposed],
    variations: &'a [Supposed],
) -> Vec<(Duration, &'a [Expiry])> {
    let mut others: Vec<(Duration, &[Expiry])> = tried
        .iter()
        .chain(variations)
        .filter(|s| s.stack.name() == stack.name())
        .map(|s| (Duration::from_millis(s.minimum), &s.followed.expiries[..]))
        .collect();
    others.sort_by_key(|(minimum, _)| *minimum);
    others.dedup_by_key(|(minimum, _)| *minimum);
    others
}

/// A stack with a minimum that is supposed, and exact timers.
struct Supposed {
    stack: Stack,
    /// ms
    minimum: u64,
    followed: Followed,
    likelihood: f64,
}

impl Supposed {
    fn of(stack: &Stack, minimum: u64, conversation: &Conversation) -> Result<Self, ShadowError> {
        let followed = follow(&with_minimum(stack, minimum)?, conversation);
        // A round bounds what a timer that is off costs, so that one which never fires would be the cheapest.
        let likelihood = followed.log_likelihood() - UNEXPLAINED * followed.unexplained as f64;
        let likelihood = if probes(stack) { likelihood } else { likelihood - RARE };
        Ok(Self { stack: stack.clone(), minimum, followed, likelihood })
    }

    /// The minimum that its timeouts show; `others` are the timeouts with other minima, 0 among them.
    fn shows(&self, others: &[(Duration, &[Expiry])]) -> Option<MinRto> {
        let Followed { expiries, probes, .. } = &self.followed;
        min_rto(expiries, others, probes, Duration::from_millis(self.minimum))
    }
}

/// False where tail loss probes are switched off.
fn probes(stack: &Stack) -> bool {
    stack.entries().iter().all(|(key, value)| key != "recovery.tlp" || value == "true")
}

/// The same stack with exact timers, and this minimum of its timeout, ms.
fn with_minimum(stack: &Stack, minimum: u64) -> Result<Stack, ShadowError> {
    let mut stack = stack.clone();
    stack.set("timer_tick", "0ms")?;
    stack.set("estimator", "linux")?;
    stack.set("estimator.variation_floor", &format!("{minimum}ms"))?;
    stack.set("estimator.min_rto", "1ms")?;
    Ok(stack)
}

/// Where `other` has become so much less likely than `best` that it is not by chance.
fn deviation(best: &Followed, other: &Followed) -> Option<Deviation> {
    let (mut behind, mut found): (f64, Option<(f64, Deviation)>) = (0.0, None);
    for (b, o) in best.rounds.iter().zip(&other.rounds) {
        let difference = b.log_likelihood - o.log_likelihood;
        behind += difference;
        if let Some((packet, what)) = o.worst
            && difference > 0.0
            && found.is_none_or(|(most, _)| difference > most)
        {
            found = Some((difference, Deviation { packet, what }));
        }
        if behind > DEVIATES {
            return found.map(|(_, deviation)| deviation);
        }
    }
    None
}
