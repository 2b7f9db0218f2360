"""Ids of the papers' items, such as `M-F3`, in text. Texts for a terminal and figures have none, unless it is
what a reader types; on the site they are links to the list of items.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ID = re.compile(r"\b[A-Z][A-Za-z0-9]*-[AEFTNXSU]\d+[a-z]?\b")
"""An id: the prefix of its paper, a letter for its kind, a number."""
BRACKETED = re.compile(rf" \(({ID.pattern}(?:\.\.[A-Z]\d+)?(?:, {ID.pattern}(?:\.\.[A-Z]\d+)?)*)\)")
"""Brackets that hold ids alone, and the space before them. `E-E14..E16` is a range."""


def without(text: str) -> str:
    """The text without the brackets that hold ids alone."""
    return BRACKETED.sub("", text)


UNLINKED = re.compile(
    r"^```.*?^```|^(?: {4}|\t)[^\n]*|^\#[^\n]*|`[^`]*`|<[^>\n]*>"
    rf"|!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^)]*\)|(?P<id>{ID.pattern})",
    re.DOTALL | re.MULTILINE,
)
"""Markdown in which an id stays as it is: code, headings, tags, figures and links. Or an id elsewhere."""


def linked(text: str, to: Callable[[str], str | None]) -> str:
    """Markdown in which ids are links. to: where an id leads, or None for one that stays a word."""

    def link(found: re.Match[str]) -> str:
        target = to(found["id"]) if found["id"] else None
        return f"[{found['id']}]({target})" if target else found[0]

    return UNLINKED.sub(link, text)


def named(text: str) -> list[str]:
    """The ids in a text, each once."""
    return list(dict.fromkeys(ID.findall(text)))
