from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock import _core

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

SET_UP = 0.5
"""Seconds that a run takes beside its own time, about."""


def expected_seconds(scenario: Scenario) -> float:
    """The most seconds that all its runs take on the testbed, one after the other. Raises ScenarioError when
    it is invalid.
    """
    tree = scenario.resolve_tree()
    stacks = [name for name in tree["stacks"] if name not in _named(tree)]
    runs = 1 if "mix" in tree else max(len(stacks), 1)
    each = sum(_core.quantity("time", str(tree[key])) for key in ("duration", "drain"))
    return runs * len(tree["seeds"]) * (each + SET_UP)


def _named(tree: dict[str, object]) -> set[str]:
    """The stacks that workloads name: they are in every run."""
    workloads = tree["workload"]
    assert isinstance(workloads, list)
    return {str(w["stack"]) for w in workloads if "stack" in w}
