"""What the time of a captured connection went to, in order of time: the causes behind the answer to "why
was it slow?".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ackclock.results.cause_words import WHO, Words
from ackclock.results.overview import expiries, stalled


@dataclass
class Cause:
    """A part of a connection's time, and what it went to."""

    cause: str
    """Its name in JSON."""
    who: str
    """The end whose sending it held up, `client` or `server`."""
    time: float
    """How long (s)."""
    share: float
    """The same as a share of the connection's time."""
    frame: int | None
    """The packet where it begins."""
    t: float | None
    """When it begins (s)."""
    longest: float | None
    """The longest of it without a break (s)."""
    longest_frame: int | None
    """The packet where that begins."""
    words: str
    """What it is, in words."""
    also: list[str]
    """Sentences on what else was there in that time."""


def main_side(c: dict[str, Any]) -> int:
    """The direction whose time is explained: the one with more payload, 0 for the client's."""
    client, server = c["directions"]
    return int(server["unique_bytes"] >= client["unique_bytes"] and server["unique_bytes"] > 0)


def both_ways(c: dict[str, Any]) -> bool:
    """Whether both ends send much."""
    few, many = sorted(d["unique_bytes"] for d in c["directions"])
    return few > 10_000 and 4 * few >= many


def causes(c: dict[str, Any], side: int | None = None) -> list[Cause]:
    """The causes of a connection's time, those that took longest first; time at its end in which nothing was
    sent any more comes last.
    """
    side = main_side(c) if side is None else side
    parts = _parts(c, side)
    lasted = c["duration"]
    words = Words(c, side, parts, _held(c))
    found = []
    for name, time in parts.items():
        if time <= 0 or lasted <= 0:
            continue
        at = _place(c, side, name)
        first, longest = at.get("first") or {}, at.get("longest_at") or {}
        found.append(
            Cause(
                name,
                WHO[1 - side] if name == "nagle" and c["directions"][1 - side] is _held(c) else WHO[side],
                time,
                min(time / lasted, 1.0),
                first.get("frame") or None,
                first.get("t"),
                at.get("longest"),
                longest.get("frame") or None,
                *words.of(name, time),
            )
        )
    return sorted(found, key=lambda f: (f.cause == "idle", -f.time))


def _parts(c: dict[str, Any], side: int) -> dict[str, float]:
    """The time of each cause."""
    d = c["directions"][side]
    parts = {name: d["limits"][name] for name in d["limits"] if name != "application"}
    rest = d["limits"]["application"]
    # What silences near the receiver took from it is not known in detail.
    for name in ("idle", "delivery", "peer", "answer"):
        at = d["limits_at"].get(name)
        parts[name] = min(at["total"] if at else 0.0, rest)
        rest -= parts[name]
    parts["application"] = rest

    def carve(name: str, time: float, *of: str) -> None:
        taken = 0.0
        for other in of:
            more = min(parts[other], time - taken)
            parts[other] -= more
            taken += more
        parts[name] = parts.get(name, 0.0) + taken

    if c["handshake"] is not None and parts["handshake"] > c["handshake"]:
        # Near the client, a server's handshake ends when the ack has reached it.
        parts["peer"] += parts["handshake"] - c["handshake"]
        parts["handshake"] = c["handshake"]
    waited = stalled(c) - d["limits"]["timeouts"]
    if waited > 0:
        # The other end's timers: this one waited for what had been lost.
        carve("timeouts", waited, "peer", "answer", "application", "idle")
    carve("syn_timeouts", stalled(c, "syn"), "timeouts")
    if c["tls"] and c["tls"]["handshake"]:
        # A round trip of it is the path's, the rest what the server computed.
        took, path = c["tls"]["handshake"], (d["round_trips"] or {"low": 0.0})["low"]
        carve("tls", max(took - path, 0.0), "answer")
        carve("tls", took - parts["tls"], "peer", "answer", "application", "slow_start", "congestion_window")
    held = _held(c)
    if held:
        own = held is d
        order = ("application", "answer", "peer") if own else ("peer", "answer", "application")
        carve("nagle", held["nagle"]["total"], *order, "congestion_window", "slow_start")
    return parts


def _held(c: dict[str, Any]) -> dict[str, Any] | None:
    """The direction in which Nagle's algorithm waited for delayed acks, if that cost more than a hundredth of
    the time: more than once, or for a tenth of it.
    """
    d = max(c["directions"], key=lambda d: d["nagle"]["total"])
    held = d["nagle"]
    enough = held["count"] >= 2 or held["total"] >= 0.1 * c["duration"]
    return d if held["count"] and enough and held["total"] >= 0.01 * c["duration"] else None


def _place(c: dict[str, Any], side: int, name: str) -> dict[str, Any]:
    """Where a cause begins and lasted longest, as the report has it."""
    d = c["directions"][side]
    if name == "nagle":
        return (_held(c) or d)["nagle"]
    if name == "tls":
        return {"first": c["tls"]["hello"], "longest": c["tls"]["handshake"], "longest_at": c["tls"]["hello"]}
    if name in ("timeouts", "syn_timeouts"):
        waits = [
            t for e in c["directions"] for t in expiries(e) if (t["of"] == "syn") == (name != "timeouts")
        ]
        if waits:
            first, longest = min(waits, key=lambda t: t["t"]), max(waits, key=lambda t: t["rto"])
            return {"first": first, "longest": longest["rto"], "longest_at": longest}
    return d["limits_at"].get(name) or {}
