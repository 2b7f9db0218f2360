use std::fmt;

/// A place in a scenario.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Place {
    /// A line of the file, counted from 1.
    Line(usize),
    /// An override, by its key.
    Set(String),
    /// No place: the value is missing or a default.
    #[default]
    Nowhere,
}

/// Why a scenario was refused: one sentence with the place, the value found and the values allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    file: Option<String>,
    place: Place,
    message: String,
    size: bool,
}

impl ScenarioError {
    pub(super) fn at(place: &Place, message: impl Into<String>) -> Self {
        Self { file: None, place: place.clone(), message: message.into(), size: false }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::at(&Place::Nowhere, message)
    }

    /// A scenario that would exceed the memory limit.
    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self { size: true, ..Self::new(message) }
    }

    /// True when the scenario is valid but exceeds the limits of memory or trace.
    pub fn is_size(&self) -> bool {
        self.size
    }

    /// What is wrong, without the place: the value found and the values allowed.
    pub fn reason(&self) -> &str {
        &self.message
    }

    /// Where it is wrong, as messages name it: `file:line`, `line 3`, `--set key`, or the file alone.
    pub fn place(&self) -> Option<String> {
        match (&self.file, &self.place) {
            (_, Place::Set(key)) => Some(format!("--set {key}")),
            (Some(file), Place::Line(n)) => Some(format!("{file}:{n}")),
            (None, Place::Line(n)) => Some(format!("line {n}")),
            (file, Place::Nowhere) => file.clone(),
        }
    }

    /// The key of the override that is wrong; `None` if an override is not at fault.
    pub fn override_key(&self) -> Option<&str> {
        match &self.place {
            Place::Set(key) => Some(key),
            Place::Line(_) | Place::Nowhere => None,
        }
    }

    /// Adds the name of the scenario's file, unless the error is about a file that the scenario names.
    pub fn in_file(self, name: &str) -> Self {
        Self { file: self.file.or_else(|| Some(name.to_owned())), ..self }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ScenarioError {}

pub(super) type Result<T> = std::result::Result<T, ScenarioError>;
