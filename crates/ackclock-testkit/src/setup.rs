use std::fmt;
use std::sync::Arc;

use ackclock_engine::{AtNeed, Config, Connection, Policies, SenderPolicies};
use ackclock_policy::{
    AckPolicy, Backoff, Chosen, CongestionControl, Framing, LossRecovery, Registry, RetransmissionTimer,
    Role, RttEstimator, SpuriousTimeout,
};
use ackclock_units::{Rng, SeqNumber};

/// Options and policies of one endpoint, from the built-in registry.
#[derive(Clone)]
pub struct Setup {
    /// Options.
    pub config: Config,
    /// Samples to timeout.
    pub estimator: Chosen<dyn RttEstimator>,
    /// Timeout after timeouts.
    pub backoff: Chosen<dyn Backoff>,
    /// Countdown.
    pub timer: Chosen<dyn RetransmissionTimer>,
    /// What is lost and what goes next.
    pub recovery: Chosen<dyn LossRecovery>,
    /// Whether a timeout was spurious.
    pub undo: Chosen<dyn SpuriousTimeout>,
    /// Congestion window.
    pub window: Chosen<dyn CongestionControl>,
    /// In what segments new data leaves.
    pub framing: Chosen<dyn Framing>,
    /// When to acknowledge.
    pub ack: Chosen<dyn AckPolicy>,
}

impl Default for Setup {
    /// What the standards recommend: RFC 6298, exponential backoff, SACK recovery, Reno's window, delayed
    /// acks.
    fn default() -> Self {
        Self {
            config: Config::default(),
            estimator: choose("rfc6298"),
            backoff: choose("exponential"),
            timer: choose("restart-on-ack"),
            recovery: choose("sack"),
            undo: choose("none"),
            window: choose("reno"),
            framing: choose("full"),
            ack: choose("delayed"),
        }
    }
}

/// The built-in policy of that name with its defaults.
pub fn choose<T: Role + ?Sized>(name: &str) -> Chosen<T> {
    Registry::builtin().choose(name).unwrap_or_else(|e| panic!("{e}"))
}

impl Setup {
    /// The same with other options.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// The same with other policies.
    #[must_use]
    pub fn but(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// A fresh set of its policies.
    pub fn policies(&self) -> Policies {
        Policies {
            estimator: self.estimator.build(),
            ack: AtNeed::Made(self.ack.build()),
            sender: AtNeed::Made(Box::new(SenderPolicies {
                backoff: self.backoff.build(),
                timer: self.timer.build(),
                recovery: self.recovery.build(),
                undo: self.undo.build(),
                window: self.window.build(),
                framing: Some(self.framing.build()).filter(|framing| !framing.is_plain()),
            })),
        }
    }

    /// A closed connection with real bytes.
    pub fn connection(&self, iss: SeqNumber, rng: Rng) -> Connection {
        Connection::new(Arc::new(self.config.clone()), self.policies(), iss, rng)
    }

    /// A seed of its own for each case that it is tried in. It follows from the names of its policies, so
    /// that a policy that is added to the registry changes nothing for the others.
    pub fn seed(&self, case: u64) -> u64 {
        Rng::stream(0, &self.to_string(), case).next_u64()
    }

    /// One of `stacks`, drawn by name: a stack that is added changes only those draws that fall on it.
    ///
    /// # Panics
    /// Without any.
    pub fn drawn(stacks: &[Self], seed: u64, draw: u64) -> &Self {
        stacks
            .iter()
            .max_by_key(|s| Rng::stream(seed, &s.to_string(), draw).next_u64())
            .expect("there are stacks to draw from")
    }

    /// Every built-in recovery with every window and every acknowledgment policy, in the order of the
    /// registry.
    pub fn every_stack() -> Vec<Self> {
        Self::every_stack_of(&Registry::builtin())
    }

    /// The same of a registry.
    pub fn every_stack_of(registry: &Registry) -> Vec<Self> {
        let mut all = Vec::new();
        for recovery in <dyn LossRecovery>::entries(registry) {
            for window in <dyn CongestionControl>::entries(registry) {
                for ack in <dyn AckPolicy>::entries(registry) {
                    all.push(Self {
                        recovery: Chosen::new(recovery),
                        window: Chosen::new(window),
                        ack: Chosen::new(ack),
                        ..Self::default()
                    });
                }
            }
        }
        all
    }
}

/// Names it briefly: what a failing test prints.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.recovery.name(), self.window.name(), self.ack.name())
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{self}, {}, {}, {}, {:?}",
            self.estimator.name(),
            self.backoff.name(),
            self.timer.name(),
            self.config
        )
    }
}
