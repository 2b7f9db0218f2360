//! Reading a table of a scenario: typed values, defaults, and a refusal of keys that nobody asked for.

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
    /// Keys asked for so far.
    known: RefCell<Vec<String>>,
}

impl<'a> Reader<'a> {
    /// Reads `item`, which stands at `key`, as a table.
    pub(super) fn new(item: &'a Item, key: &str) -> Result<Self> {
        let Node::Table(entries) = &item.node else {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` is {}, which is not a table", item.describe()),
            ));
        };
        Ok(Self { key: key.to_owned(), place: item.place.clone(), entries, known: RefCell::default() })
    }

    /// Reads `item` as a table, or as the word that stands for a table with that `kind` alone.
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

    /// The value of `name`, without which the scenario says too little.
    pub(super) fn require(&self, name: &str, would_do: &str) -> Result<&'a Item> {
        if let Some(item) = self.get(name) {
            return Ok(item);
        }
        // A slip of the pen says more than a gap.
        let known = self.known.borrow();
        let slip =
            self.entries.iter().find(|(key, _)| !known.contains(key) && nearest(key, [name]).is_some());
        Err(match slip {
            Some((key, item)) => ScenarioError::at(
                &item.place,
                format!("`{}` is not a known key (did you mean `{name}`?)", self.key(key)),
            ),
            None => {
                ScenarioError::at(&self.place, format!("`{}` is missing: give {would_do}", self.key(name)))
            }
        })
    }

    /// All entries, whatever their keys; for tables whose keys are the author's own names.
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

    /// The same from a text that stands in place of the item's own; `None` where a list or a table was met.
    pub(super) fn parse_text(&self, param: &Param, item: &Item, text: Option<&str>) -> Result<Value> {
        let key = self.key(param.name);
        let Some(text) = text else {
            let such = format!("such as `{}`", param.default);
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` is {}, where a single value belongs {such}", item.describe()),
            ));
        };
        param.parse(text).map_err(|e| refused(&key, &item.place, &e))
    }

    /// A word.
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

    /// One item or a list of them.
    pub(super) fn list(&self, name: &str) -> Option<&'a [Item]> {
        self.get(name).map(|item| match &item.node {
            Node::List(items) => items.as_slice(),
            _ => std::slice::from_ref(item),
        })
    }

    /// Refuses keys that were not asked for.
    pub(super) fn finish(&self) -> Result<()> {
        let known = self.known.borrow();
        let Some((key, item)) = self.entries.iter().find(|(k, _)| !known.contains(k)) else { return Ok(()) };
        Err(ScenarioError::at(
            &item.place,
            format!("`{}` is not a known key{}", self.key(key), hint(key, &known)),
        ))
    }
}

/// The longest name, bytes: tables repeat it in each row.
const LONGEST_NAME: usize = 200;

/// Refuses a name that is too long; errors call it `key`.
pub(super) fn check_name(key: &str, name: &str, place: &Place) -> Result<()> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let begin: String = name.chars().take(20).collect();
    let message = format!(
        "`{key}` has a name of {} bytes that begins with `{begin}`; at most {LONGEST_NAME} would do",
        name.len()
    );
    Err(ScenarioError::at(place, message))
}

/// A parameter's refusal with its full key.
pub(super) fn refused(key: &str, place: &Place, e: &ParamError) -> ScenarioError {
    ScenarioError::at(place, format!("`{key}` is `{}`, which is not {}", e.met, e.wanted))
}

/// " (did you mean `x`?); known are ..."
pub(super) fn hint<S: AsRef<str>>(met: &str, known: &[S]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in known {
        if !names.contains(&name.as_ref()) {
            names.push(name.as_ref());
        }
    }
    let list = names.join(", ");
    match nearest(met, names.iter().copied()) {
        Some(name) => format!(" (did you mean `{name}`?); known are {list}"),
        None => format!("; known are {list}"),
    }
}
