"""Ids of the papers' items, such as `M-F3`, in text. Texts for a terminal and figures have none, unless it is
what a reader types; on the site they are links to the list of items.
"""

from __future__ import annotations

import re

ID = re.compile(r"\b[A-Z][A-Za-z0-9]*-[AEFTNXSU]\d+[a-z]?\b")
"""An id: the prefix of its paper, a letter for its kind, a number."""
BRACKETED = re.compile(rf" \(({ID.pattern}(?:\.\.[A-Z]\d+)?(?:, {ID.pattern}(?:\.\.[A-Z]\d+)?)*)\)")
"""Brackets that hold ids alone, and the space before them. `E-E14..E16` is a range."""


def without(text: str) -> str:
    """The text without the brackets that hold ids alone."""
    return BRACKETED.sub("", text)


def named(text: str) -> list[str]:
    """The ids in a text, each once."""
    return list(dict.fromkeys(ID.findall(text)))
