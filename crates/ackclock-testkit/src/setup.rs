use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ackclock_engine::{Config, Connection, Lazy, Policies, SenderChoice};
use ackclock_policy::{AckPolicy, Chosen, CongestionControl, LossRecovery, Registry, Role, RttEstimator};
use ackclock_units::{Rng, SeqNumber};

/// Options and policies of one endpoint, from the built-in registry.
#[derive(Clone)]
pub struct Setup {
    /// Options.
    pub config: Config,
    /// Samples to timeout.
    pub estimator: Chosen<dyn RttEstimator>,
    /// The sending side's policies, which are also fields of `Setup` itself: `setup.window`.
    pub sender: SenderChoice,
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
            sender: SenderChoice::standard(&Registry::builtin()).expect(
                "the built-in policies are \
                                                                         registered",
            ),
            ack: choose("delayed"),
        }
    }
}

impl Deref for Setup {
    type Target = SenderChoice;

    fn deref(&self) -> &SenderChoice {
        &self.sender
    }
}

impl DerefMut for Setup {
    fn deref_mut(&mut self) -> &mut SenderChoice {
        &mut self.sender
    }
}

/// The built-in policy of that name with its defaults.
pub fn choose<T: Role + ?Sized>(name: &str) -> Chosen<T> {
    Registry::builtin().choose(name).unwrap_or_else(|e| panic!("{e}"))
}

impl Setup {
    /// This setup with changed options.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// This setup with changed policies.
    #[must_use]
    pub fn with_policies(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// New instances of the policies.
    pub fn policies(&self) -> Policies {
        Policies {
            estimator: self.estimator.build(),
            ack: Lazy::Built(self.ack.build()),
            sender: Lazy::Built(Box::new(self.sender.build())),
        }
    }

    /// A closed connection with real bytes.
    pub fn connection(&self, iss: SeqNumber, rng: Rng) -> Connection {
        Connection::new(Arc::new(self.config.clone()), self.policies(), iss, rng)
    }

    /// A seed for each case. It is derived from the names of the policies, so that a policy added to the
    /// registry does not change the seeds of the others.
    pub fn seed(&self, case: u64) -> u64 {
        Rng::stream(0, &self.to_string(), case).next_u64()
    }

    /// One of `stacks`, drawn by a hash of its name: an added stack changes only the draws that it wins.
    ///
    /// # Panics
    /// If there are none.
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

    /// The same for any registry.
    pub fn every_stack_of(registry: &Registry) -> Vec<Self> {
        let mut all = Vec::new();
        for recovery in <dyn LossRecovery>::entries(registry) {
            for window in <dyn CongestionControl>::entries(registry) {
                for ack in <dyn AckPolicy>::entries(registry) {
                    all.push(Self { ack: Chosen::new(ack), ..Self::default() }.with_policies(|s| {
                        (s.recovery, s.window) = (Chosen::new(recovery), Chosen::new(window));
                    }));
                }
            }
        }
        all
    }
}

/// The short name that a failing test prints.
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
