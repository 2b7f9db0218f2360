//! Edges of a graph, from a list of tables or from a text file.

use super::error::{Place, Result, ScenarioError};
use super::link::{DELAY, LinkContext, LinkPlan, MOST_LINKS, RATE};
use super::reader::Reader;
use super::tree::{Item, Node};

/// A link of a graph, with the link back unless it is one-way.
#[derive(Clone, PartialEq, Debug)]
pub struct Edge {
    /// Name of the link; the link back is `NAME.back`.
    pub name: String,
    /// Node at its start.
    pub from: String,
    /// Node at its end.
    pub to: String,
    /// The link from `from` to `to`.
    pub link: LinkPlan,
    /// The link from `to` to `from`.
    pub back: Option<LinkPlan>,
}

/// Reads edges given as tables.
pub(super) fn from_list(items: &[Item], ctx: &LinkContext<'_>) -> Result<Vec<Edge>> {
    if let Some(item) = items.get(MOST_LINKS) {
        return Err(ScenarioError::at(
            &item.place,
            format!("`path` has {} edges; 1 to {MOST_LINKS} are allowed", items.len()),
        ));
    }
    items.iter().map(|item| one(item, ctx)).collect()
}

fn one(item: &Item, ctx: &LinkContext<'_>) -> Result<Edge> {
    let reader = Reader::new(item, "path.edges")?;
    let end = |name: &str| {
        let item = reader.require(name, "the name of a node")?;
        item.scalar().ok_or_else(|| {
            ScenarioError::at(
                &item.place,
                format!("`{}` is {}, which is not the name of a node", reader.key(name), item.describe()),
            )
        })
    };
    let (from, to) = (end("from")?, end("to")?);
    let name = reader.text("name")?.map_or(String::new(), |(name, _)| name.to_owned());
    let link = ctx.fields(&reader, None, false)?;
    let back = match reader.get("back") {
        Some(Item { node: Node::Flag(false), .. }) => None,
        None | Some(Item { node: Node::Flag(true), .. }) => Some(link.way_back()),
        Some(item) => Some(ctx.link(item, "path.edges.back", Some(&link), false)?),
    };
    reader.finish()?;
    Ok(Edge { name, from, to, link, back })
}

const WRONG: &str =
    "this is not an edge: give two nodes and optionally a rate and a delay, such as `a b 10Mbit/s 5ms`";

/// Reads edges given as lines `from to [rate] [delay]`, separated by blanks or commas; `#` begins a comment.
/// `like` has the defaults of rate, delay, queue and faults.
pub(super) fn from_text(text: &str, file: &str, like: &LinkPlan, ctx: &LinkContext<'_>) -> Result<Vec<Edge>> {
    let mut edges = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let fields: Vec<_> =
            line.split(|c: char| c.is_whitespace() || c == ',').filter(|f| !f.is_empty()).collect();
        let place = Place::Line(n);
        let (from, to, rest) = match fields.as_slice() {
            [] => continue,
            [from, to, rest @ ..] if rest.len() <= 2 => (*from, *to, rest),
            _ => {
                return Err(ScenarioError::at(&place, WRONG).in_file(file));
            }
        };
        let mut table = Vec::new();
        for (field, param) in rest.iter().zip([&RATE, &DELAY]) {
            // Errors must not quote the file: an untrusted scenario may name any file it can reach.
            param.parse(field).map_err(|_| {
                let column = field.as_ptr() as usize - line.as_ptr() as usize + 1;
                ScenarioError::at(
                    &place,
                    format!(
                        "column {column}: this is not a {}: give an edge such as `a b 10Mbit/s 5ms`",
                        param.name
                    ),
                )
                .in_file(file)
            })?;
            table.push((
                param.name.to_owned(),
                Item { node: Node::Text((*field).to_owned()), place: place.clone() },
            ));
        }
        let item = Item { node: Node::Table(table), place };
        let place = item.place.clone();
        let link = ctx
            .link(&item, "path.edges", Some(like), false)
            .map_err(|_| ScenarioError::at(&place, WRONG).in_file(file))?;
        ctx.count_faults(like.faults.len(), &Place::Line(n)).map_err(|e| e.in_file(file))?;
        let elements = like.elements.clone();
        ctx.budget.count(&elements, &Place::Line(n)).map_err(|e| e.in_file(file))?;
        let link = LinkPlan { faults: like.faults.clone(), elements, ..link };
        if edges.len() == MOST_LINKS {
            return Err(ScenarioError::at(
                &place,
                format!("there are more than {MOST_LINKS} edges, which is the limit"),
            )
            .in_file(file));
        }
        edges.push(Edge {
            name: String::new(),
            from: from.to_owned(),
            to: to.to_owned(),
            back: Some(link.clone()),
            link,
        });
    }
    Ok(edges)
}
