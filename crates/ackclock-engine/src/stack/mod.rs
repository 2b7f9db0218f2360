//! Stacks: a policy of each kind and the options of a connection, chosen by name.

mod error;
mod preset;

use std::iter;
use std::sync::Arc;

use ackclock_policy::{
    AckPolicy, Chosen, Modifier, Params, Registry, RegistryError, Role, RttEstimator, nearest,
};

pub use error::StackError;
pub use preset::{PRESETS, Preset};

use crate::policies::{adjust, list};
use crate::{Config, OPTIONS, Policies, SenderChoice};

/// A TCP variant: a policy of each kind and the options of a connection, every parameter with a value.
///
/// ```
/// use ackclock_engine::Stack;
/// use ackclock_policy::Registry;
///
/// let mut stack = Stack::named(&Registry::builtin(), "sack+star(3)+min-rto(200ms)")?;
/// stack.set("window", "cubic")?;
/// stack.set("window.beta_cubic", "0.8")?;
/// stack.set("ecn", "true")?;
/// let (policies, config) = (stack.build(), stack.config());
/// # Ok::<(), ackclock_engine::StackError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    name: String,
    registry: Arc<Registry>,
    estimator: Chosen<dyn RttEstimator>,
    sender: Arc<SenderChoice>,
    ack: Arc<Chosen<dyn AckPolicy>>,
    ack_follows_events: bool,
    options: Params,
}

/// Two stacks are equal when they behave the same; their names do not matter.
impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl Stack {
    /// The stack called `name`: one of [`PRESETS`], followed by any number of [`ackclock_policy::MODIFIERS`],
    /// each with a `+` before it and its argument in parentheses: `newreno+star(3)`,
    /// `cubic+no-backoff+iw(4)`. Modifiers are applied from left to right.
    pub fn named(registry: &Registry, name: &str) -> Result<Self, StackError> {
        let name = name.trim();
        let mut parts = name.split('+').map(str::trim);
        let preset = parts.next().unwrap_or_default();
        let mut stack = preset::find(preset, registry)?;
        for part in parts {
            let settings = Modifier::read(part).map_err(|e| {
                preset::window(part, &format!("+{part}"), preset, registry).unwrap_or_else(|| e.into())
            })?;
            for (key, value) in settings {
                stack.set(key, &value)?;
            }
        }
        stack.name = name.to_owned();
        Ok(stack)
    }

    /// A stack from entries as [`Stack::entries`] lists them, in any order. Missing ones have their defaults.
    pub fn from_entries<'a>(
        registry: &Registry,
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, StackError> {
        let mut stack = Self::plain(Arc::new(registry.clone()))?;
        stack.name = name.to_owned();
        // Choosing a policy resets its parameters, so choices come first.
        let (choices, values): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| Self::kinds().any(|kind| kind == *key));
        for (key, value) in choices.into_iter().chain(values) {
            stack.set(key, value)?;
        }
        Ok(stack)
    }

    /// The standard policies of today and the defaults of the options.
    fn plain(registry: Arc<Registry>) -> Result<Self, StackError> {
        Ok(Self {
            name: String::new(),
            estimator: registry.choose("rfc6298")?,
            sender: Arc::new(SenderChoice::standard(&registry)?),
            ack: Arc::new(registry.choose("delayed")?),
            ack_follows_events: false,
            options: Params::defaults(OPTIONS),
            registry,
        })
    }

    /// Names of the kinds of policy that make a stack, in the order in which they are listed.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        let sender = SenderChoice::KINDS.iter().copied();
        iter::once(<dyn RttEstimator>::KIND).chain(sender).chain(iter::once(<dyn AckPolicy>::KIND))
    }

    /// The name of the stack.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes the name.
    pub fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Sets one thing from text: a policy (`estimator`, with the defaults of its parameters), a policy's
    /// parameter (`estimator.min_rto`) or an option of the connection (`sack`).
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), StackError> {
        let registry = Arc::clone(&self.registry);
        let (kind, param) = key.split_once('.').map_or((key, None), |(kind, param)| (kind, Some(param)));
        match kind {
            "estimator" => adjust(&registry, &mut self.estimator, param, value)?,
            "ack" => {
                adjust(&registry, Arc::make_mut(&mut self.ack), param, value)?;
                self.ack_follows_events = self.ack.build().follows_events();
            }
            kind if SenderChoice::KINDS.contains(&kind) => {
                Arc::make_mut(&mut self.sender).set(&registry, kind, param, value)?;
            }
            _ => {
                let option = OPTIONS.iter().find(|o| o.name == key).ok_or_else(|| self.unknown(key))?;
                let value = option.parse(value).map_err(RegistryError::Param)?;
                self.options.set(option.name, value);
            }
        }
        Ok(())
    }

    /// All choices as keys and values that [`Stack::set`] accepts, each policy before its parameters.
    pub fn entries(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        list(&self.estimator, &mut all);
        self.sender.list(&mut all);
        list(&self.ack, &mut all);
        all.extend(self.options.iter().map(|(name, value)| (name.to_owned(), value.to_string())));
        all
    }

    /// Builds the policies of one connection.
    pub fn build(&self) -> Policies {
        // A policy that follows events has to see them from the beginning.
        let ack = match self.ack_follows_events {
            true => self.ack.build().into(),
            false => (&self.ack).into(),
        };
        Policies { estimator: self.estimator.build(), ack, sender: (&self.sender).into() }
    }

    /// The connection's options.
    pub fn config(&self) -> Config {
        Config::from_params(&self.options)
    }

    fn unknown(&self, key: &str) -> StackError {
        let keys: Vec<String> = self.entries().into_iter().map(|(key, _)| key).collect();
        StackError::UnknownKey {
            met: key.to_owned(),
            nearest: nearest(key, keys.iter().map(String::as_str)).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests;
