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

    /// Adds the name of the scenario's file, unless the error is about a file that the scenario names.
    pub fn in_file(self, name: &str) -> Self {
        Self { file: self.file.or_else(|| Some(name.to_owned())), ..self }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.place) {
            (_, Place::Set(key)) => write!(f, "--set {key}: ")?,
            (Some(file), Place::Line(n)) => write!(f, "{file}:{n}: ")?,
            (None, Place::Line(n)) => write!(f, "line {n}: ")?,
            (Some(file), Place::Nowhere) => write!(f, "{file}: ")?,
            (None, Place::Nowhere) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

pub(super) type Result<T> = std::result::Result<T, ScenarioError>;
