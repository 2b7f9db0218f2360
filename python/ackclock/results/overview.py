"""A connection in one row, and which connections come first: the same in the terminal, in figures and on
pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SENT_AGAIN = "sent-again"
"""The rule that infers timeouts from retransmissions."""


def overview(c: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a connection of a capture's report, both directions together; `p` is that of the
    direction with more payload.
    """
    directions = c["directions"]
    main = max(directions, key=lambda d: d["bytes"])
    timeouts = [t for d in directions for t in expiries(d)]
    # From end to end: the sum of the median times on either side of the capture.
    rtts = [d["rtt"]["p50"] for d in directions if d["rtt"]["p50"] is not None]
    return {
        **{key: c[key] for key in ("number", "client", "server", "state", "duration")},
        "packets": total(c, "packets"),
        "bytes": total(c, "bytes"),
        "rtt": sum(rtts) if rtts else None,
        "retransmitted": total(c, "retransmitted_packets"),
        "spurious": total(c, "unneeded_packets"),
        "timeouts": len(timeouts),
        "rounds": max((t["round"] for t in timeouts), default=0),
        "stalled": stalled(c),
        "p": main["p"],
        "p_uncertain": bool(main["p_uncertain"] and main["ca_events"]),
    }


def worst_first(connections: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with the longest stalls first, then those that sent most again, then those that carried most."""
    return sorted(
        connections,
        key=lambda c: (-stalled(c), -total(c, "retransmitted_packets"), -total(c, "bytes"), c["number"]),
    )


def carrying(connections: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that carry payload; the others have nothing to draw."""
    return [c for c in connections if any(d["bytes"] for d in c["directions"])]


def expiries(direction: dict[str, Any]) -> list[dict[str, Any]]:
    """The timeouts that count: those inferred from retransmissions at the sender's side, from silences near
    the receiver. Other rules may find the same timeouts again.
    """
    return [t for t in direction["timeouts"] if t.get("counts", True)]


def by_silence(timeout: dict[str, Any]) -> bool:
    """Whether the timeout is inferred from a silence near the receiver."""
    return timeout.get("rule", SENT_AGAIN) != SENT_AGAIN


def stalled(c: dict[str, Any], of: str | None = None) -> float:
    """Time for which a connection waited for timeouts (s), or only for those of a `syn` or of `data`. Where
    both sides waited, it counts once.
    """
    found = [t for d in c["directions"] for t in expiries(d) if of in (None, t["of"])]
    waits = sorted((t["t"] - t["rto"], t["t"]) for t in found)
    waited, until = 0.0, float("-inf")
    for begin, end in waits:
        waited += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return waited


def total(c: dict[str, Any], key: str) -> int:
    """A count of both directions."""
    return sum(d[key] for d in c["directions"])
