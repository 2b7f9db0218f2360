"""Names in sentences, and text from files and names made safe to show: a terminal or a spreadsheet must not
interpret any of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Categories of Unicode that a terminal obeys or hides: controls, formats such as those that turn text round,
surrogates, separators of lines.
"""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters with which a formula of a spreadsheet begins."""


def plain(text: str, keep: str = "") -> str:
    """The text with invisible characters written as `\\x1b` and the like, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in HIDDEN else _escaped(c) for c in text)


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _escaped(c: str) -> str:
    n = ord(c)
    return f"\\x{n:02x}" if n < 0x100 else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}"


def cell(value: Any) -> Any:
    """A value as a cell of CSV: text that a spreadsheet would take for a formula has a quotation mark before
    it.
    """
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if value.startswith(FORMULA) else text
