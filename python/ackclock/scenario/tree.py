"""From Python values to the TOML of a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import tomli_w

from ackclock._core import InputError

Tree = dict[str, Any]
"""A table of a scenario file."""


def table(**values: Any) -> Tree:
    """The given values as a table of a scenario file."""
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """A value as a scenario file holds it. Objects with `to_scenario` are converted, in lists and tables
    too.
    """
    if hasattr(value, "to_scenario"):
        return value.to_scenario()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "shape", ()):
        # A number of NumPy's.
        return value.item()
    return value


def to_toml(tree: Tree) -> str:
    """The scenario file of a tree."""
    try:
        return tomli_w.dumps(tree)
    except TypeError as e:
        raise InputError(
            f"the scenario: a value is of a kind that no scenario holds ({e}); text, numbers, true and "
            "false, lists and tables do"
        ) from None


def inline(value: Any) -> str:
    """A plain value on one line, as TOML has it: what `--set` takes after the equals sign."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{inline(k)} = {inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return repr(value)
