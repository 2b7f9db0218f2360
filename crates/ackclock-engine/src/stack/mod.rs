//! Stacks: eight policies and the options of a connection, chosen by name.

mod error;
mod preset;

use std::sync::Arc;

use ackclock_policy::{
    AckPolicy, Chosen, Modifier, Params, Registry, RegistryError, Role, RttEstimator, nearest,
};

pub use error::StackError;
pub use preset::{PRESETS, Preset};

use crate::{Config, OPTIONS, Policies, SenderChoice};

/// A TCP: a policy of each kind and the connection's options, every parameter with a value.
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
    options: Params,
}

/// Two stacks are equal when they do the same, whatever they are called.
impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl Stack {
    /// The stack called `name`: one of [`PRESETS`], followed by any number of [`ackclock_policy::MODIFIERS`],
    /// each with a `+` before it and its argument in parentheses: `newreno+star(3)`,
    /// `cubic+no-backoff+iw(4)`. Modifiers act from left to right.
    pub fn named(registry: &Registry, name: &str) -> Result<Self, StackError> {
        let name = name.trim();
        let mut parts = name.split('+').map(str::trim);
        let mut stack = preset::find(parts.next().unwrap_or_default(), registry)?;
        for part in parts {
            for (key, value) in Modifier::read(part)? {
                stack.set(key, &value)?;
            }
        }
        stack.name = name.to_owned();
        Ok(stack)
    }

    /// A stack from what [`Stack::entries`] listed, in any order; what is missing has its default.
    pub fn from_entries<'a>(
        registry: &Registry,
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, StackError> {
        let mut stack = Self::plain(Arc::new(registry.clone()))?;
        stack.name = name.to_owned();
        // Choosing a policy resets its parameters, so choices come first.
        let (choices, values): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| KINDS.contains(key));
        for (key, value) in choices.into_iter().chain(values) {
            stack.set(key, value)?;
        }
        Ok(stack)
    }

    /// Today's standard policies and the options' defaults.
    fn plain(registry: Arc<Registry>) -> Result<Self, StackError> {
        Ok(Self {
            name: String::new(),
            estimator: registry.choose("rfc6298")?,
            sender: Arc::new(SenderChoice {
                backoff: registry.choose("exponential")?,
                timer: registry.choose("restart-on-ack")?,
                recovery: registry.choose("sack")?,
                undo: registry.choose("none")?,
                window: registry.choose("reno")?,
                framing: registry.choose("full")?,
            }),
            ack: Arc::new(registry.choose("delayed")?),
            options: Params::defaults(OPTIONS),
            registry,
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls it something else.
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
            "backoff" => adjust(&registry, &mut self.sender_mut().backoff, param, value)?,
            "timer" => adjust(&registry, &mut self.sender_mut().timer, param, value)?,
            "recovery" => adjust(&registry, &mut self.sender_mut().recovery, param, value)?,
            "undo" => adjust(&registry, &mut self.sender_mut().undo, param, value)?,
            "window" => adjust(&registry, &mut self.sender_mut().window, param, value)?,
            "framing" => adjust(&registry, &mut self.sender_mut().framing, param, value)?,
            "ack" => adjust(&registry, Arc::make_mut(&mut self.ack), param, value)?,
            _ => {
                let option = OPTIONS.iter().find(|o| o.name == key).ok_or_else(|| self.unknown(key))?;
                let value = option.parse(value).map_err(RegistryError::Param)?;
                self.options.set(option.name, value);
            }
        }
        Ok(())
    }

    /// Everything explicit: keys and values that [`Stack::set`] reads, each policy before its parameters.
    pub fn entries(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        list(&self.estimator, &mut all);
        list(&self.sender.backoff, &mut all);
        list(&self.sender.timer, &mut all);
        list(&self.sender.recovery, &mut all);
        list(&self.sender.undo, &mut all);
        list(&self.sender.window, &mut all);
        list(&self.sender.framing, &mut all);
        list(&self.ack, &mut all);
        all.extend(self.options.iter().map(|(name, value)| (name.to_owned(), value.to_string())));
        all
    }

    /// Makes the policies of one connection.
    pub fn build(&self) -> Policies {
        Policies { estimator: self.estimator.build(), ack: (&self.ack).into(), sender: (&self.sender).into() }
    }

    fn sender_mut(&mut self) -> &mut SenderChoice {
        Arc::make_mut(&mut self.sender)
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

/// The kinds of policy that make a stack.
const KINDS: &[&str] = &["estimator", "backoff", "timer", "recovery", "undo", "window", "framing", "ack"];

fn adjust<T: Role + ?Sized>(
    registry: &Registry,
    chosen: &mut Chosen<T>,
    param: Option<&str>,
    value: &str,
) -> Result<(), RegistryError> {
    match param {
        None => *chosen = registry.choose(value)?,
        Some(param) => chosen.set(param, value)?,
    }
    Ok(())
}

fn list<T: Role + ?Sized>(chosen: &Chosen<T>, all: &mut Vec<(String, String)>) {
    all.push((T::KIND.to_owned(), chosen.name().to_owned()));
    all.extend(
        chosen.params().iter().map(|(param, value)| (format!("{}.{param}", T::KIND), value.to_string())),
    );
}

#[cfg(test)]
mod tests;
