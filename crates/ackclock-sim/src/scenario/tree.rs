//! Parses a scenario into a tree of values with their lines, and applies overrides.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, Result, ScenarioError};

/// The longest scenario text, which bounds the memory.
const LONGEST_TEXT: usize = 64 << 20;

/// Largest number of parts in the key of an override.
const DEEPEST: usize = 32;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    List(Vec<Item>),
    /// Entries in the order of the file.
    Table(Vec<(String, Item)>),
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Item {
    pub(super) node: Node,
    pub(super) place: Place,
}

impl Item {
    /// The value as text, for a parameter to parse; `None` for lists and tables.
    pub(super) fn scalar(&self) -> Option<String> {
        match &self.node {
            Node::Text(text) => Some(text.clone()),
            Node::Integer(n) => Some(n.to_string()),
            Node::Float(x) => Some(x.to_string()),
            Node::Flag(b) => Some(b.to_string()),
            Node::List(_) | Node::Table(_) => None,
        }
    }

    /// The value for an error message.
    pub(super) fn describe(&self) -> String {
        match &self.node {
            Node::List(_) => "a list".to_owned(),
            Node::Table(_) => "a table".to_owned(),
            _ => format!("`{}`", self.scalar().unwrap_or_default()),
        }
    }
}

/// Parses the text of a scenario.
pub(super) fn parse(text: &str) -> Result<Item> {
    if text.len() > LONGEST_TEXT {
        return Err(ScenarioError::new(format!(
            "the scenario is {} bytes long; at most {LONGEST_TEXT} are allowed",
            text.len()
        )));
    }
    let lines: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
    let line = |offset: usize| Place::Line(lines.partition_point(|start| *start <= offset));
    let root = DeTable::parse(text).map_err(|e| {
        let place = e.span().map_or(Place::Nowhere, |span| line(span.start));
        ScenarioError::at(&place, format!("this is not TOML: {}", e.message().replace('\n', "; ")))
    })?;
    table(root.get_ref(), Place::Nowhere, &line)
}

fn table(entries: &DeTable<'_>, place: Place, line: &dyn Fn(usize) -> Place) -> Result<Item> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(|(key, _)| key.span().start);
    let mut out = Vec::with_capacity(sorted.len());
    for (key, value) in sorted {
        // The place of a `[table]` is its header, not its first key.
        out.push((key.get_ref().to_string(), item(value, line(key.span().start), line)?));
    }
    Ok(Item { node: Node::Table(out), place })
}

fn item(value: &Spanned<DeValue<'_>>, place: Place, line: &dyn Fn(usize) -> Place) -> Result<Item> {
    let number = |text: &str| ScenarioError::at(&place, format!("`{text}` is a number that is too large"));
    let node = match value.get_ref() {
        DeValue::String(text) => Node::Text(text.to_string()),
        DeValue::Integer(n) => {
            Node::Integer(i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| number(n.as_str()))?)
        }
        DeValue::Float(x) => Node::Float(x.as_str().parse().map_err(|_| number(x.as_str()))?),
        DeValue::Boolean(b) => Node::Flag(*b),
        DeValue::Datetime(d) => {
            return Err(ScenarioError::at(&place, format!("`{d}` is a date, which no key accepts")));
        }
        DeValue::Array(items) => {
            Node::List(items.iter().map(|i| item(i, line(i.span().start), line)).collect::<Result<_>>()?)
        }
        DeValue::Table(entries) => return table(entries, place, line),
    };
    Ok(Item { node, place })
}

/// Overrides one value: `path.rtt` and `50ms`. A value in TOML syntax is read as such (`0.1`, `true`, `["a",
/// "b"]`); anything else is text.
pub(super) fn set(root: &mut Item, key: &str, text: &str) -> Result<()> {
    let place = Place::Set(format!("{key}={text}"));
    let value = DeValue::parse(text).ok().and_then(|v| item(&v, place.clone(), &|_| place.clone()).ok());
    let value = value.unwrap_or_else(|| Item { node: Node::Text(text.to_owned()), place: place.clone() });
    let mut at = root;
    let mut walked = String::new();
    let parts = split(key)
        .ok_or_else(|| ScenarioError::at(&place, format!("`{key}` is not a key such as `path.rtt`")))?;
    for part in &parts {
        let of = if walked.is_empty() { "the scenario".to_owned() } else { format!("`{walked}`") };
        // A shorthand such as `queue = "red"` is expanded to a table.
        if let Node::Text(kind) = &mut at.node {
            let word = if parts[0] == "stacks" { "preset" } else { "kind" };
            let kind = Item { node: Node::Text(std::mem::take(kind)), place: at.place.clone() };
            at.node = Node::Table(vec![(word.to_owned(), kind)]);
        }
        if parts[0] == "path" && walked.ends_with(".faults") {
            as_list_with(at, part, &place);
        }
        let met = at.describe();
        at = match &mut at.node {
            Node::Table(entries) => {
                let i = entries.iter().position(|(k, _)| k == part).unwrap_or_else(|| {
                    entries
                        .push((part.clone(), Item { node: Node::Table(Vec::new()), place: place.clone() }));
                    entries.len() - 1
                });
                &mut entries[i].1
            }
            Node::List(items) => {
                let n = items.len();
                let wrong = || {
                    ScenarioError::at(
                        &place,
                        format!(
                            "{of} is a list of {n}, and `{part}` is not the index of one of them, counted \
                             from 0"
                        ),
                    )
                };
                let index =
                    part.parse::<usize>().ok().or_else(|| items.iter().position(|i| is_of_kind(i, part)));
                index.and_then(|i| items.get_mut(i)).ok_or_else(wrong)?
            }
            _ => return Err(ScenarioError::at(&place, format!("{of} is {met}, which has no `{part}`"))),
        };
        walked = if walked.is_empty() { part.clone() } else { format!("{walked}.{part}") };
    }
    *at = value;
    Ok(())
}

/// Makes the faults of a link a list that has the fault `part`, the name of a kind or the index after the
/// last, so that an override such as `path.link.faults.loss.p=0.01` adds what is not there.
fn as_list_with(faults: &mut Item, part: &str, place: &Place) {
    match &mut faults.node {
        Node::List(_) => {}
        Node::Table(entries) if entries.is_empty() => faults.node = Node::List(Vec::new()),
        _ => {
            let single = Item {
                node: std::mem::replace(&mut faults.node, Node::Flag(false)),
                place: faults.place.clone(),
            };
            faults.node = Node::List(vec![single]);
        }
    }
    let Node::List(items) = &mut faults.node else { return };
    let kind = match part.parse::<usize>() {
        Ok(n) if n == items.len() => None,
        Err(_) if !items.iter().any(|item| is_of_kind(item, part)) => Some(part),
        _ => return,
    };
    let kind = kind
        .map(|kind| ("kind".to_owned(), Item { node: Node::Text(kind.to_owned()), place: place.clone() }));
    items.push(Item { node: Node::Table(kind.into_iter().collect()), place: place.clone() });
}

/// True for a policy of that kind: the word, or a table with it.
fn is_of_kind(item: &Item, kind: &str) -> bool {
    match &item.node {
        Node::Text(word) => word == kind,
        Node::Table(entries) => {
            entries.iter().any(|(key, value)| key == "kind" && value.node == Node::Text(kind.to_owned()))
        }
        _ => false,
    }
}

/// The parts of a dotted key; a part may be in quotes.
fn split(key: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), key);
    loop {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (part, after) = match quote {
            Some(q) => rest[1..].split_once(q)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part.to_owned());
        if parts.len() > DEEPEST {
            return None;
        }
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(parts),
            None => return None,
        }
    }
}
