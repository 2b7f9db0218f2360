//! Reads a table of a scenario: typed values, defaults, an error for unknown keys.

use std::cell::RefCell;

use ackclock_policy::{Param, ParamError, Params, Value, nearest};

use super::error::{Place, Result, ScenarioError};
use super::tree::{Item, Node};

/// A table being read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// Its key, dotted; empty for the whole scenario.
    key: String,
    place: Place,
    entries: &'a [(String, Item)],
    /// Keys read so far.
    known: RefCell<Vec<String>>,
}

impl<'a> Reader<'a> {
    /// Reads `item`, the value of `key`, as a table.
    pub(super) fn new(item: &'a Item, key: &str) -> Result<Self> {
        let Node::Table(entries) = &item.node else {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` is {}, which is not a table", item.describe()),
            ));
        };
        Ok(Self { key: key.to_owned(), place: item.place.clone(), entries, known: RefCell::default() })
    }

    /// Reads `item` as a table, or as a word, which is short for a table with only that `kind`.
    pub(super) fn or_kind(item: &'a Item, key: &str) -> Result<(Self, Option<&'a str>)> {
        if let Node::Text(kind) = &item.node {
            let empty = Self {
                key: key.to_owned(),
                place: item.place.clone(),
                entries: &[],
                known: RefCell::default(),
            };
            return Ok((empty, Some(kind)));
        }
        Ok((Self::new(item, key)?, None))
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The full key of `name`.
    pub(super) fn key(&self, name: &str) -> String {
        if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) }
    }

    /// The value of `name`, which becomes a known key.
    pub(super) fn get(&self, name: &str) -> Option<&'a Item> {
        self.known.borrow_mut().push(name.to_owned());
        self.entries.iter().find(|(k, _)| k == name).map(|(_, item)| item)
    }

    /// The value of `name`; an error when it is missing.
    pub(super) fn require(&self, name: &str, example: &str) -> Result<&'a Item> {
        if let Some(item) = self.get(name) {
            return Ok(item);
        }
        // A misspelt key is a better error than a missing one.
        let known = self.known.borrow();
        let misspelt =
            self.entries.iter().find(|(key, _)| !known.contains(key) && nearest(key, [name]).is_some());
        Err(match misspelt {
            Some((key, item)) => ScenarioError::at(
                &item.place,
                format!("`{}` is not a known key (did you mean `{name}`?)", self.key(key)),
            ),
            None => {
                ScenarioError::at(&self.place, format!("`{}` is missing: give {example}", self.key(name)))
            }
        })
    }

    /// All entries; for tables whose keys are names chosen by the author.
    pub(super) fn entries(&self) -> &'a [(String, Item)] {
        self.entries
    }

    /// The value of a parameter, if given.
    pub(super) fn param(&self, param: &Param) -> Result<Option<Value>> {
        self.get(param.name).map(|item| self.parse(param, item)).transpose()
    }

    /// A value for each parameter declared, defaults filled in.
    pub(super) fn params(&self, declared: &'static [Param]) -> Result<Params> {
        let mut params = Params::defaults(declared);
        for param in declared {
            if let Some(value) = self.param(param)? {
                params.set(param.name, value);
            }
        }
        Ok(params)
    }

    /// Reads `item` as a value of `param`.
    pub(super) fn parse(&self, param: &Param, item: &Item) -> Result<Value> {
        self.parse_text(param, item, item.scalar().as_deref())
    }

    /// As [`Reader::parse`], with `text` instead of the item's own text; `None` for a list or a table.
    pub(super) fn parse_text(&self, param: &Param, item: &Item, text: Option<&str>) -> Result<Value> {
        let key = self.key(param.name);
        let Some(text) = text else {
            let such = format!("such as `{}`", param.default);
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` is {}, but it must be a single value {such}", item.describe()),
            ));
        };
        param.parse(text).map_err(|e| refused(&key, &item.place, &e))
    }

    /// The text of `name`, if given.
    pub(super) fn text(&self, name: &str) -> Result<Option<(&'a str, &'a Item)>> {
        let Some(item) = self.get(name) else { return Ok(None) };
        match &item.node {
            Node::Text(text) => Ok(Some((text, item))),
            _ => Err(ScenarioError::at(
                &item.place,
                format!("`{}` is {}, which is not text in quotes", self.key(name), item.describe()),
            )),
        }
    }

    /// The items of `name`, if given: a list or a single item.
    pub(super) fn list(&self, name: &str) -> Option<&'a [Item]> {
        self.get(name).map(|item| match &item.node {
            Node::List(items) => items.as_slice(),
            _ => std::slice::from_ref(item),
        })
    }

    /// Fails for keys that were not read.
    pub(super) fn finish(&self) -> Result<()> {
        let known = self.known.borrow();
        let Some((key, item)) = self.entries.iter().find(|(k, _)| !known.contains(k)) else { return Ok(()) };
        Err(ScenarioError::at(
            &item.place,
            format!("`{}` is not a known key{}", self.key(key), hint(key, &known)),
        ))
    }
}

/// The longest name, bytes. It is limited because tables repeat it in each row.
pub(super) const LONGEST_NAME: usize = 200;

/// Fails for a name that is too long. `key` is its key in errors.
pub(super) fn check_name(key: &str, name: &str, place: &Place) -> Result<()> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let begin: String = name.chars().take(20).collect();
    let message = format!(
        "`{key}` has a name of {} bytes that begins with `{begin}`; at most {LONGEST_NAME} bytes are allowed",
        name.len()
    );
    Err(ScenarioError::at(place, message))
}

/// The error of a parameter with its full key.
pub(super) fn refused(key: &str, place: &Place, e: &ParamError) -> ScenarioError {
    ScenarioError::at(place, format!("`{key}` is `{}`, which is not {}", e.met, e.wanted))
}

/// The end of an error message: " (did you mean `x`?); expected one of ...".
pub(super) fn hint<S: AsRef<str>>(met: &str, known: &[S]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in known {
        if !names.contains(&name.as_ref()) {
            names.push(name.as_ref());
        }
    }
    let list = names.join(", ");
    match nearest(met, names.iter().copied()) {
        Some(name) => format!(" (did you mean `{name}`?); expected one of {list}"),
        None => format!("; expected one of {list}"),
    }
}
