"""Ids of the papers' items (`M-U1`, `J-A6`) in the pages of the site link to the list of items."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from ackclock.ids import ID
from ackclock.reproduce import ITEMS, PAPERS

KNOWN = {id for paper in PAPERS.values() for id in paper.ids()} | set(ITEMS)
PAGE = "reproductions"


class Links(SphinxTransform):
    """Replaces ids in running text by links. Code, headings and what is a link already stay as they are."""

    default_priority = 900

    def apply(self, **given: Any) -> None:
        """Replaces those of one page."""
        if self.env.docname == PAGE:
            return
        kept = (nodes.literal, nodes.literal_block, nodes.reference, nodes.title, nodes.raw)
        for text in list(self.document.findall(nodes.Text)):
            above = text.parent
            while above is not None and not isinstance(above, kept):
                above = above.parent
            if above is None and (parts := split(str(text))):
                text.parent.replace(text, [self.node(part) for part in parts])

    def node(self, part: str) -> nodes.Node:
        """A link for an id, or else the text itself."""
        if part not in KNOWN:
            return nodes.Text(part)
        up = "../" * self.env.docname.count("/")
        suffix = getattr(self.app.builder, "link_suffix", None) or ".html"
        return nodes.reference("", part, internal=True, refuri=f"{up}{PAGE}{suffix}#{part.lower()}")


def split(text: str) -> list[str]:
    """The text in parts, each id one of them; empty if it has none."""
    parts, at = [], 0
    for found in ID.finditer(text):
        if found[0] in KNOWN:
            parts += [text[at : found.start()], found[0]]
            at = found.end()
    return [part for part in (*parts, text[at:]) if part] if parts else []


def anchors(app: Sphinx, document: nodes.document) -> None:
    """Makes `<a id="m-u1"></a>` in the list of items a place that Markdown links to."""
    if app.env.docname != PAGE:
        return
    slugs = app.env.metadata[PAGE].setdefault("myst_slugs", {})
    for raw in list(document.findall(nodes.raw)):
        if found := re.fullmatch(r'<a id="([^"]+)">', raw.astext()):
            target = nodes.target("", "", ids=[found[1]])
            raw.parent.replace(raw, target)
            slugs[found[1]] = (0, found[1], found[1].upper())


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_transform(Links)
    app.connect("doctree-read", anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
