from __future__ import annotations

from typing import Any

from ackclock import _core

SET_UP = 0.5
"""Seconds that a run takes beside its own time, about."""


def expected_seconds(tree: dict[str, Any]) -> float:
    """The most seconds that all runs of a resolved scenario take on the testbed, one after the other."""
    stacks = [name for name in tree["stacks"] if name not in _named(tree)]
    runs = 1 if "mix" in tree else max(len(stacks), 1)
    each = sum(_core.quantity("time", str(tree[key])) for key in ("duration", "drain"))
    return runs * len(tree["seeds"]) * (each + SET_UP)


def _named(tree: dict[str, object]) -> set[str]:
    """The stacks that workloads name: they are in every run."""
    workloads = tree["workload"]
    assert isinstance(workloads, list)
    return {str(w["stack"]) for w in workloads if "stack" in w}
