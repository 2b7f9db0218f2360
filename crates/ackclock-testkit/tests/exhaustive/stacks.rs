//! Every stack of the registry's policies.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ackclock_engine::{Config, Connection, PRESETS};
use ackclock_policy::{
    AckPolicy, Backoff, CongestionControl, LossRecovery, Reduction, Registry, Role, RttEstimator, SlowStart,
    SpuriousTimeout,
};
use ackclock_units::{Duration, Rng, SeqNumber};

/// Payload of every segment, bytes.
pub const SEGMENT: u64 = 1000;

/// The estimator of all stacks.
const ESTIMATOR: &str = "rfc6298";

/// The policies that compared stacks share; they differ in recovery, undo and timestamps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Family {
    /// Congestion window.
    pub window: &'static str,
    /// When the receiver acknowledges.
    pub ack: &'static str,
    /// Timeout after timeouts.
    pub backoff: &'static str,
}

/// One stack, used by both ends.
#[derive(Debug)]
pub struct Stack {
    /// The policies shared with the stacks it is compared with.
    pub family: Family,
    /// Loss recovery.
    pub recovery: &'static str,
    /// Detection of spurious timeouts.
    pub undo: &'static str,
    /// Whether timestamps are in use.
    pub timestamps: bool,
    /// Whether SACK is in use.
    pub sack: bool,
    /// The recovery is time-based (RFC 8985).
    pub time_based: bool,
    /// The recovery ignores duplicate acks of retransmitted data (RFC 6582 §3.2), or recognises duplicates by
    /// SACK.
    pub guarded: bool,
    /// The recovery infers losses from the forward-most SACK (M-A7).
    pub forward: bool,
    /// After a timeout, slow start grows by no more than a segment for each ack, as RFC 5681 §3.1 and RFC 3465
    /// §2.3 have it; Linux's grow by what was delivered.
    pub limited: bool,
    /// The window keeps the rules of RFC 5681 for slow start, thresholds and timeouts.
    pub loss_based: bool,
    /// The threshold is what the path delivers in its smallest round-trip time, whatever is outstanding.
    pub measures_bandwidth: bool,
    /// The undo looks at whole episodes: it may end a repair by what arrived twice, or undo a timeout within a
    /// recovery that then goes on.
    pub undoes_episodes: bool,
    /// A probe timer restarts the retransmission timer from when the oldest segment was sent, as Linux's does.
    pub rearms: bool,
    /// The estimator's smallest timeout.
    pub min_rto: Duration,
    tcp: ackclock_engine::Stack,
    config: Arc<Config>,
}

/// A loss recovery and its parameters.
#[derive(Debug)]
pub struct Recovery {
    /// Its name in a replay line: the name of the policy, or `preset:` and that of the preset whose
    /// parameters it has, or the policy's and that of a rule that few senders have, such as `sack/prr`.
    pub name: &'static str,
    /// Its name in the registry.
    policy: &'static str,
    /// Parameters that differ from the defaults, as keys and values of a stack.
    sets: Vec<(String, String)>,
    /// It is used with SACK: the preset does not turn SACK off.
    sack: bool,
}

/// Every recovery with its defaults; then the recoveries of presets that set parameters of them; then some
/// with each rule that few senders have.
pub fn recoveries() -> &'static [Recovery] {
    static ALL: OnceLock<Vec<Recovery>> = OnceLock::new();
    ALL.get_or_init(|| {
        let registry = Registry::builtin();
        let presets = PRESETS
            .iter()
            .map(|p| (p.name, ackclock_engine::Stack::named(&registry, p.name).expect("presets are stacks")));
        let presets: Vec<_> =
            presets.map(|(name, stack)| (name, stack.config().sack, stack.entries())).collect();
        let of = |entries: &[(String, String)]| {
            entries.iter().find(|(key, _)| key == "recovery").map(|(_, name)| name.clone())
        };
        let recovery = |policy: &'static str| {
            let sack =
                presets.iter().all(|(_, sack, entries)| *sack || of(entries).as_deref() != Some(policy));
            Recovery { name: policy, policy, sets: Vec::new(), sack }
        };
        let mut all: Vec<_> = names::<dyn LossRecovery>().into_iter().map(recovery).collect();
        for (name, _, entries) in &presets {
            let Some(policy) = names::<dyn LossRecovery>()
                .into_iter()
                .find(|policy| of(entries).as_deref() == Some(*policy))
            else {
                continue;
            };
            let defaults = registry.choose::<dyn LossRecovery>(policy).expect("it is the registry's");
            let default = |key: &str| {
                defaults
                    .params()
                    .iter()
                    .find(|(param, _)| key == format!("recovery.{param}"))
                    .map(|(_, value)| value.to_string())
            };
            let sets: Vec<_> = entries
                .iter()
                .filter(|(key, value)| default(key).is_some_and(|default| default != *value))
                .cloned()
                .collect();
            let known = all.iter().any(|r: &Recovery| r.policy == policy && r.sets == sets);
            if !sets.is_empty() && !known {
                all.push(Recovery {
                    name: Box::leak(format!("preset:{name}").into_boxed_str()),
                    sets,
                    ..recovery(policy)
                });
            }
        }
        for (key, rule, beside) in rules_of_few_senders() {
            for policy in beside {
                all.push(Recovery {
                    name: Box::leak(format!("{policy}/{rule}").into_boxed_str()),
                    sets: vec![(key.to_owned(), rule.to_owned())],
                    ..recovery(policy)
                });
            }
        }
        all
    })
}

/// The rules of kinds that few senders have, but for the usual ones, with the recoveries that they are searched
/// beside: a reduction acts within a recovery, the others on what is sent before and after it.
fn rules_of_few_senders() -> Vec<(&'static str, &'static str, &'static [&'static str])> {
    let of = |key, names: Vec<&'static str>, usual, beside| {
        names.into_iter().filter(move |name| *name != usual).map(move |name| (key, name, beside))
    };
    of("reduction", names::<dyn Reduction>(), "at-once", &["sack", "fack", "rack"] as &'static [_])
        .chain(of("slow_start", names::<dyn SlowStart>(), "classic", &["sack"]))
        .collect()
}

/// The names of the registry's policies of one kind, in its order.
pub fn names<T: Role + ?Sized>() -> Vec<&'static str> {
    T::entries(&Registry::builtin()).iter().map(|entry| entry.name).collect()
}

/// Undo rules with and without timestamps. Eifel detection needs timestamps (RFC 3522 §3.2), without which it
/// never undoes anything, and Linux has them; that by DSACK does not look at them (RFC 3708).
pub fn undos() -> Vec<(&'static str, bool)> {
    let all = names::<dyn SpuriousTimeout>();
    all.into_iter()
        .flat_map(|undo| [(undo, false), (undo, true)])
        .filter(|(undo, timestamps)| match *undo {
            "eifel" | "linux" => *timestamps,
            "dsack" => !*timestamps,
            _ => true,
        })
        .collect()
}

impl Family {
    /// Every window with every acknowledgment rule and every backoff.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for window in names::<dyn CongestionControl>() {
            for ack in names::<dyn AckPolicy>() {
                all.extend(names::<dyn Backoff>().into_iter().map(|backoff| Self { window, ack, backoff }));
            }
        }
        all
    }

    /// True for the standard window and backoff, and the acknowledgment rules of RFC 5681 §4.2.
    pub fn is_standard(&self) -> bool {
        let of_a_host = matches!(self.ack, "bsd43" | "linux" | "offload");
        self.window == "reno" && self.backoff == "exponential" && !of_a_host
    }

    /// Those with no more than `most` policies that are not the standard ones.
    pub fn near_standard(most: usize) -> impl Iterator<Item = Self> {
        let others = |f: &Self| {
            [f.window != "reno", f.ack != "delayed", f.backoff != "exponential"]
                .iter()
                .filter(|o| **o)
                .count()
        };
        Self::all().into_iter().filter(move |f| others(f) <= most)
    }

    /// One in eight of them all.
    pub fn drawn() -> impl Iterator<Item = Self> {
        let chosen = |f: &Self| Rng::stream(0, &format!("{f:?}"), 0).chance(0.125);
        Self::all().into_iter().filter(chosen)
    }

    /// How many stacks it has.
    pub fn size(&self) -> usize {
        self.recoveries().count() * undos().len()
    }

    fn recoveries(self) -> impl Iterator<Item = &'static Recovery> {
        recoveries().iter().filter(move |recovery| recovery.sets.is_empty() || self.is_standard())
    }

    /// Its stacks: each recovery in turn, with each of [`undos`]. The presets' recoveries are part of the
    /// standard families alone.
    pub fn stacks(self, initial_segs: u32) -> Vec<Stack> {
        self.recoveries()
            .flat_map(|recovery| {
                undos().into_iter().map(move |u| Stack::new(self, recovery, u, initial_segs))
            })
            .collect()
    }
}

impl Stack {
    /// The stack of these policies; with this initial window if the window policy has one.
    pub fn new(
        family: Family,
        recovery: &Recovery,
        (undo, timestamps): (&'static str, bool),
        initial_segs: u32,
    ) -> Self {
        let registry = Registry::builtin();
        let sack = recovery.sack;
        let mut tcp = ackclock_engine::Stack::from_entries(&registry, recovery.name, [])
            .expect("the defaults make a stack");
        let mut set =
            |key: &str, value: &str| tcp.set(key, value).unwrap_or_else(|e| panic!("{key} = {value}: {e}"));
        let policies = [
            ("recovery", recovery.policy),
            ("window", family.window),
            ("ack", family.ack),
            ("undo", undo),
            ("backoff", family.backoff),
        ];
        policies.into_iter().for_each(|(key, value)| set(key, value));
        recovery.sets.iter().for_each(|(key, value)| set(key, value));
        set("estimator", ESTIMATOR);
        set("sack", if sack { "true" } else { "false" });
        set("timestamps", if timestamps { "true" } else { "false" });
        // The option takes twelve bytes of every segment: all segments carry the same payload.
        set("mss", if timestamps { "1012B" } else { "1000B" });
        let declared =
            registry.find::<dyn CongestionControl>(family.window).expect("it is the registry's").params;
        let values = [("initial_window", "segments".to_owned()), ("initial_segs", initial_segs.to_string())];
        for (name, value) in values.iter().filter(|(name, _)| declared.iter().any(|p| p.name == *name)) {
            set(&format!("window.{name}"), value);
        }
        let of_recovery = |key: &str| {
            tcp.entries().into_iter().any(|(k, value)| k == format!("recovery.{key}") && value == "true")
        };
        let careful = of_recovery("careful");
        let time_based = sack
            && registry
                .choose::<dyn LossRecovery>(recovery.policy)
                .expect("it is the registry's")
                .build()
                .is_time_based();
        let min_rto = registry
            .choose::<dyn RttEstimator>(ESTIMATOR)
            .expect("it is the registry's")
            .params()
            .duration("min_rto");
        let config = Arc::new(tcp.config());
        let built = "it is the registry's";
        let window = registry.choose::<dyn CongestionControl>(family.window).expect(built).build();
        let detection = registry.choose::<dyn SpuriousTimeout>(undo).expect(built).build();
        Self {
            loss_based: window.family() == ackclock_policy::Family::LossBased,
            measures_bandwidth: family.window == "westwood",
            undoes_episodes: detection.examines_episodes(),
            rearms: recovery.sets.iter().any(|(key, _)| key == "recovery.sample_before_probe"),
            family,
            recovery: recovery.name,
            undo,
            timestamps,
            sack,
            time_based,
            guarded: careful || sack,
            forward: recovery.policy.starts_with("fack"),
            limited: !recovery.sets.iter().any(|(key, _)| key == "slow_start"),
            min_rto,
            tcp,
            config,
        }
    }

    /// A connection of this stack whose payload is counted.
    pub fn connection(&self, side: u32) -> Connection {
        Connection::counted(
            Arc::clone(&self.config),
            self.tcp.build(),
            iss(side),
            Rng::stream(u64::from(side), "exhaustive", 0),
        )
    }

    /// How often a SYN is retransmitted.
    pub fn syn_retries(&self) -> u32 {
        self.config.syn_retries
    }

    /// True where nothing but the receiver's window limits the sender (J-A16): it has no slow start and
    /// retransmits everything at once.
    pub fn has_no_congestion_window(&self) -> bool {
        self.family.window == "receiver-only"
    }

    /// The stack that a replay line names, `words` being what [`Stack`]'s `Display` writes.
    pub fn read(words: &str, initial_segs: u32) -> Option<Self> {
        let words: Vec<_> = words.split_whitespace().collect();
        let [recovery, window, ack, undo, backoff, timestamps] = words[..] else { return None };
        let family =
            Family::all().into_iter().find(|f| (f.window, f.ack, f.backoff) == (window, ack, backoff))?;
        let recovery = recoveries().iter().find(|known| known.name == recovery)?;
        let undo = undos().into_iter().find(|(name, with)| *name == undo && *with == (timestamps == "ts"))?;
        Some(Self::new(family, recovery, undo, initial_segs))
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Family { window, ack, backoff } = self.family;
        write!(
            f,
            "{} {window} {ack} {} {backoff} {}",
            self.recovery,
            self.undo,
            if self.timestamps { "ts" } else { "no-ts" }
        )
    }
}

/// Initial sequence number of a side.
pub fn iss(side: u32) -> SeqNumber {
    SeqNumber(1_000_000 * (side + 1))
}
