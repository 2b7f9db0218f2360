"""Ids of the papers' items (`M-U1`, `J-A6`) in the pages of the site link to the list of items, and never
break at their hyphen.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from ackclock.ids import ID
from ackclock.reproduce import ITEMS, PAPERS

KNOWN = {id for paper in PAPERS.values() for id in paper.ids()} | set(ITEMS)
PAGE = "reproductions"
CODE = (nodes.literal, nodes.literal_block, nodes.raw)
LINKED = (nodes.reference, addnodes.pending_xref, nodes.title)
"""Where no link can be put: in another one, and in headings."""


class Links(SphinxTransform):
    """Replaces ids in running text by links. Those of headings, of links and of the list itself stay words.
    Code stays as it is.
    """

    default_priority = 900

    def apply(self, **given: Any) -> None:
        """Replaces those of one page."""
        for text in list(self.document.findall(nodes.Text)):
            if inside(text, CODE) or not (parts := split(str(text))):
                continue
            linked = self.env.docname == PAGE or inside(text, LINKED)
            text.parent.replace(text, [self.node(part, linked) for part in parts])

    def node(self, part: str, linked: bool) -> nodes.Node:
        """An id on one line, as a link unless it is in one already, or else the text itself."""
        if part not in KNOWN:
            return nodes.Text(part)
        if linked:
            return nodes.inline("", part, classes=["item"])
        up = "../" * self.env.docname.count("/")
        suffix = getattr(self.app.builder, "link_suffix", None) or ".html"
        target = f"{up}{PAGE}{suffix}#{part.lower()}"
        return nodes.reference("", part, internal=True, refuri=target, classes=["item"])


def inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    """Whether a node lies in one of some kinds."""
    above = node.parent
    while above is not None and not isinstance(above, kinds):
        above = above.parent
    return above is not None


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
