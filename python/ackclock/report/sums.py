"""Sums on the page of a capture: the totals of servers, what limited a sender, and what models predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.quantities import percent, rate
from ackclock.results.answer import cause_of

MOST_SERVERS = 50
"""Rows of the table of servers."""


def servers(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The totals of servers with several connections, those that took longest first."""
    if not any(g["connections"] > 1 for g in groups):
        return []
    return [g | {"cause": cause_of(g)} for g in groups[:MOST_SERVERS]]


def limits(shares: Mapping[str, float]) -> list[tuple[str, float, str]]:
    """What limited a sender, the largest share first: words, share of the time, and the share as text."""
    whole = sum(shares.values())
    found = sorted(
        ((t / whole, name) for name, t in shares.items() if whole > 0 and t / whole >= 0.005), reverse=True
    )
    return [(name.replace("_", " "), share, f"{100 * share:.0f} %") for share, name in found]


def models(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rate that a sender achieved, and those that models of long transfers predict."""
    said = []
    for words, key in (("Mathis et al.", "mathis"), ("PFTK", "pftk")):
        m = found.get(key) or {}
        if m.get("ratio") is not None:
            said.append(
                (
                    f"{words} predicts",
                    f"{rate(m['rate'])} for p of {percent(m['p'])}; achieved {100 * m['ratio']:.0f} % of it"
                    + (", few loss episodes" if m.get("p_uncertain") else ""),
                )
            )
    return [("achieved while sending", rate(found.get("achieved"))), *said] if said else []
