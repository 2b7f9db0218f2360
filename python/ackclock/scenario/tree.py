"""From Python values to the TOML of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli_w

Tree = dict[str, Any]
"""A table of a scenario file."""


def table(**values: Any) -> Tree:
    """The values that are given, as a scenario file holds them."""
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """A value as a scenario file holds it: what knows how to turn itself into a table does, and lists and tables are gone through."""
    if hasattr(value, "to_scenario"):
        return value.to_scenario()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def to_toml(tree: Tree) -> str:
    """The scenario file of a tree."""
    return tomli_w.dumps(tree)
