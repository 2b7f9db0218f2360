//! The retransmission timing of a stack alone, by name: estimator, backoff and timer.

use std::fmt;

use crate::{
    Backoff, Chosen, Modifier, ModifierError, Registry, RegistryError, RetransmissionTimer, Role,
    RttEstimator, nearest,
};

/// The part of a stack that decides when a segment is retransmitted without any ack having indicated its
/// loss.
#[derive(Clone, Debug)]
pub struct Timing {
    name: String,
    /// From samples to a timeout; `None` for the timeouts of the recorded sender ([`AS_RUN`]).
    pub estimator: Option<Chosen<dyn RttEstimator>>,
    /// What consecutive expiries do to the timeout.
    pub backoff: Chosen<dyn Backoff>,
    /// When the timer is restarted.
    pub timer: Chosen<dyn RetransmissionTimer>,
}

/// In place of an estimator: the timeouts of the recorded sender.
pub const AS_RUN: &str = "as-run";

/// Estimators with a timer of their own: the modifier that sets both, and whether that timer expires on the
/// estimator's ticks.
const COUNTDOWNS: &[(&str, &str, bool)] = &[
    ("eifel", "eifel-timer", false),
    ("eifel-agg", "eifel-agg", false),
    ("lite", "lite(500ms)", true),
    ("jacobson88-ticks", "ticks(500ms)", true),
];

impl Timing {
    /// The timing called `name`: an estimator, with parameters in parentheses (`rfc6298(min_rto=200ms)`), or
    /// [`AS_RUN`]; then, each after a `+`, any number of [`crate::MODIFIERS`] that concern it, or a backoff
    /// by its own name (`+linear`). An estimator sets the timer that it was made for.
    ///
    /// # Errors
    /// A part is not known, or does not concern a timer.
    pub fn named(registry: &Registry, name: &str) -> Result<Self, TimingError> {
        let mut parts = split(name, '+').into_iter();
        let base = parts.next().unwrap_or_default();
        let (estimator, params) = with_params(base)?;
        let mut timing = Self {
            name: name.trim().to_owned(),
            estimator: None,
            backoff: registry.choose("exponential")?,
            timer: registry.choose("restart-on-ack")?,
        };
        if estimator != AS_RUN {
            let known = || <dyn RttEstimator>::entries(registry).iter().map(|e| e.name);
            timing.estimator = Some(registry.choose(estimator).map_err(|_| TimingError::Unknown {
                met: estimator.to_owned(),
                nearest: nearest(estimator, known().chain([AS_RUN])),
                known: known().chain([AS_RUN]).collect(),
            })?);
        }
        let countdown = COUNTDOWNS.iter().find(|c| c.0 == estimator);
        if let Some((_, modifier, _)) = countdown {
            timing.modify(registry, modifier)?;
        }
        for (param, value) in params {
            timing.set(registry, base, &format!("estimator.{param}"), value)?;
        }
        let tick = |e: &Chosen<dyn RttEstimator>| {
            e.params().iter().find(|(name, _)| *name == "tick").map(|(_, tick)| tick.to_string())
        };
        if let (Some((.., true)), Some(tick)) = (countdown, timing.estimator.as_ref().and_then(tick)) {
            timing.set(registry, base, "timer.heartbeat", &tick)?;
        }
        for part in parts {
            let (name, params) = with_params(part).unwrap_or((part, Vec::new()));
            match registry.choose::<dyn Backoff>(name) {
                Ok(chosen) if Modifier::read(part).is_err() => {
                    timing.backoff = chosen;
                    for (param, value) in params {
                        timing.set(registry, part, &format!("backoff.{param}"), value)?;
                    }
                }
                _ => timing.modify(registry, part)?,
            }
        }
        Ok(timing)
    }

    /// One for every estimator, and one for every backoff on the recorded sender's timeouts.
    pub fn all(registry: &Registry) -> Vec<Self> {
        let estimators = <dyn RttEstimator>::entries(registry).iter().map(|e| e.name.to_owned());
        let backoffs = <dyn Backoff>::entries(registry).iter().map(|e| format!("{AS_RUN}+{}", e.name));
        estimators.chain(backoffs).filter_map(|name| Self::named(registry, &name).ok()).collect()
    }

    /// Several, with commas between; [`Timing::all`] for `all`.
    ///
    /// # Errors
    /// As for [`Timing::named`].
    pub fn list(registry: &Registry, names: &str) -> Result<Vec<Self>, TimingError> {
        let mut found: Vec<Self> = Vec::new();
        for name in split(names, ',') {
            let more = if name == "all" { Self::all(registry) } else { vec![Self::named(registry, name)?] };
            for timing in more {
                if !found.iter().any(|t| t.name == timing.name) {
                    found.push(timing);
                }
            }
        }
        Ok(found)
    }

    /// It is Linux's: its timer runs on a wheel ([`crate::timer_wheel`]), and SACKs set it anew.
    pub fn is_linux(&self) -> bool {
        self.estimator.as_ref().is_some_and(|e| e.name() == "linux")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn modify(&mut self, registry: &Registry, modifier: &str) -> Result<(), TimingError> {
        for (key, value) in Modifier::read(modifier)? {
            self.set(registry, modifier, key, &value)?;
        }
        Ok(())
    }

    fn set(&mut self, registry: &Registry, part: &str, key: &str, value: &str) -> Result<(), TimingError> {
        let (kind, param) = key.split_once('.').map_or((key, None), |(kind, param)| (kind, Some(param)));
        match (kind, &mut self.estimator) {
            ("backoff", _) => adjust(registry, &mut self.backoff, param, value)?,
            ("timer", Some(_)) => adjust(registry, &mut self.timer, param, value)?,
            ("estimator", Some(estimator)) => adjust(registry, estimator, param, value)?,
            ("timer" | "estimator", None) => return Err(TimingError::AsRun { part: part.to_owned() }),
            _ => return Err(TimingError::NoTimer { part: part.to_owned() }),
        }
        Ok(())
    }
}

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

/// The parts of `text` between separators outside parentheses.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0_i32;
    let outside = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == at && depth <= 0
    };
    text.split(outside).map(str::trim).collect()
}

/// A name, and parameters with their values.
type NamedParams<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// `name(key=value, ...)` taken apart.
fn with_params(text: &str) -> Result<NamedParams<'_>, TimingError> {
    let Some((name, rest)) = text.split_once('(') else { return Ok((text, Vec::new())) };
    let malformed = || TimingError::Malformed { met: text.to_owned() };
    let inside = rest.strip_suffix(')').ok_or_else(malformed)?;
    let params = inside
        .split(',')
        .filter(|p| !p.trim().is_empty())
        .map(|p| p.split_once('=').map(|(k, v)| (k.trim(), v.trim())).ok_or_else(malformed));
    Ok((name.trim(), params.collect::<Result<_, _>>()?))
}

/// Why a timing could not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimingError {
    /// It does not begin with a timer.
    Unknown {
        /// The name met.
        met: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// Its parameters are not written correctly.
    Malformed {
        /// The text met.
        met: String,
    },
    /// A modifier that changes something else.
    NoTimer {
        /// The modifier.
        part: String,
    },
    /// Of the recorded sender's timeouts only the backoff can be changed.
    AsRun {
        /// The change asked for.
        part: String,
    },
    /// A modifier is not valid.
    Modifier(ModifierError),
    /// A parameter or value is not valid.
    Registry(RegistryError),
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { met, nearest, known } => {
                let hint = nearest.map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
                write!(f, "`{met}` is not a known timer{hint}; expected one of {}", known.join(", "))
            }
            Self::Malformed { met } => {
                write!(f, "`{met}` is not a timer with parameters such as `rfc6298(min_rto=200ms)`")
            }
            Self::NoTimer { part } => {
                write!(
                    f,
                    "`+{part}` changes no timer: modifiers that do are star, no-backoff, freebsd-syn, \
                     min-rto and the like"
                )
            }
            Self::AsRun { part } => {
                write!(
                    f,
                    "`{part}` cannot change `{AS_RUN}`, the timeouts of the recorded sender: only their \
                     backoff can be changed"
                )
            }
            Self::Modifier(e) => e.fmt(f),
            Self::Registry(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for TimingError {}

impl From<ModifierError> for TimingError {
    fn from(e: ModifierError) -> Self {
        Self::Modifier(e)
    }
}

impl From<RegistryError> for TimingError {
    fn from(e: RegistryError) -> Self {
        Self::Registry(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Duration;

    fn named(name: &str) -> Timing {
        Timing::named(&Registry::builtin(), name).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn refused(name: &str) -> String {
        Timing::named(&Registry::builtin(), name).expect_err(name).to_string()
    }

    #[test]
    fn names_compose_as_those_of_stacks() {
        let t = named("rfc6298(min_rto=200ms, max_rto=10s)+star(2)");
        assert_eq!((t.backoff.name(), t.timer.name()), ("sub-exponential", "restart-on-ack"));
        let e = t.estimator.expect("an estimator").build();
        assert_eq!((e.name(), e.initial_rto()), ("rfc6298", Duration::from_secs(1)));
        assert_eq!(named("rfc6298+no-backoff").backoff.name(), "none");
        assert_eq!(named("rfc6298+linear").backoff.name(), "linear");
        assert_eq!(named("as-run + none").backoff.name(), "none");
        assert!(named("as-run+star(3)").estimator.is_none());
    }

    #[test]
    fn an_estimator_sets_its_timer() {
        for (name, timer, heartbeat) in [
            ("eifel", "precise", 0),
            ("lite", "restart-on-ack", 500),
            ("lite(tick=100ms)", "restart-on-ack", 100),
        ] {
            let t = named(name);
            assert_eq!(
                (t.timer.name(), t.timer.params().duration("heartbeat")),
                (timer, Duration::from_millis(heartbeat)),
                "{name}"
            );
        }
    }

    #[test]
    fn all_are_every_estimator_and_every_backoff() {
        let registry = Registry::builtin();
        let all = Timing::list(&registry, "rfc6298, all").expect("known");
        let (estimators, backoffs) =
            (<dyn RttEstimator>::entries(&registry).len(), <dyn Backoff>::entries(&registry).len());
        assert_eq!(all.len(), estimators + backoffs);
    }

    #[test]
    fn errors_name_the_valid_choices() {
        assert!(
            refused("rfc6289").starts_with(
                "`rfc6289` is not a known timer (did you mean `rfc6298`?); expected one of rfc793"
            )
        );
        assert!(refused("").starts_with("`` is not a known timer; expected one of"));
        assert!(
            refused("rfc6298+sta(3)").starts_with("`+sta` is not a known modifier (did you mean `star`?)")
        );
        assert!(
            refused("rfc6298(minrto=1s)")
                .starts_with("`minrto` is not a parameter of `rfc6298` (did you mean `min_rto`?)")
        );
        assert!(refused("rfc6298(min_rto=1)").starts_with("`min_rto` is `1`, which is not a time"));
        assert!(refused("rfc6298(min_rto").starts_with("`rfc6298(min_rto` is not a timer with parameters"));
        assert!(refused("rfc6298+iw(10)").starts_with("`+iw(10)` changes no timer"));
        assert!(refused("as-run+min-rto(1s)").starts_with("`min-rto(1s)` cannot change `as-run`"));
        assert!(refused("as-run(min_rto=1s)").contains("cannot change"));
    }
}
