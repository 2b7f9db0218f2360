"""Whether retransmission timers are safe over a series of round-trip times: the answer in a sentence, and
what it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ackclock.plain import listed
from ackclock.quantities import count, seconds

SAFE, NEARLY, UNSAFE = "safe", "nearly safe", "not safe"
RARE = 1e-3
"""The share of spurious timeouts up to which a timer is nearly safe. A limit of our own: RFC 8961 asks for a
balance of correct and timely timers, and gives no number.
"""
CONFIDENCE = 0.95
ALIKE = 0.02
"""Timers whose waits differ by a smaller share wait alike. A limit of our own."""


def verdict(timer: dict[str, Any]) -> str:
    """What a replayed timer is on its series."""
    if not timer["spurious"]:
        return SAFE
    return NEARLY if timer["spurious"] <= RARE * _compared(timer) else UNSAFE


def answer(timers: Sequence[dict[str, Any]]) -> list[str]:
    """The answer for timers replayed over one series: which of them are safe. Then, where a timer is, how
    little a short series shows, and which of several safe timers waits least.
    """
    by_verdict = {v: [t for t in timers if verdict(t) == v] for v in (SAFE, NEARLY, UNSAFE)}
    safe, n = by_verdict[SAFE], _compared(timers[0])
    if len(timers) == 1:
        (timer,) = timers
        said = [
            f"{timer['timer']} is {verdict(timer)} on this series: {_counted(timer)} in {_round_trips(n)}."
        ]
    else:
        groups = (f"{v}: {', '.join(map(_named, found))}" for v, found in by_verdict.items() if found)
        said = [f"On this series of {_round_trips(n)}, {'; '.join(groups)}."]
    unseen = 1 - (1 - CONFIDENCE) ** (1 / n)
    if safe and unseen > RARE:
        said.append(
            f"So short a series shows only that fewer than {100 * unseen:.2g} % of such timeouts are "
            "spurious (95 % confidence, if round trips are independent); a longer one says more."
        )
    if len(safe) > 1:
        soonest = min(map(_waits, safe))
        first = [t["timer"] for t in safe if _waits(t) <= soonest * (1 + ALIKE)]
        send = "sends" if len(first) == 1 else "send"
        said.append(
            f"Of the safe ones, {listed(first)} {send} a lost segment "
            f"again soonest, after {seconds(soonest)} on average."
        )
    return said


def _compared(timer: dict[str, Any]) -> int:
    """The round trips that were compared with a timeout: all but the first, which sets it."""
    return timer["ratio"]["count"]


def _waits(timer: dict[str, Any]) -> float:
    return timer["cost_precise"]["mean"]


def _named(timer: dict[str, Any]) -> str:
    return f"{timer['timer']} ({_counted(timer)})" if timer["spurious"] else timer["timer"]


def _counted(timer: dict[str, Any]) -> str:
    n = timer["spurious"]
    return f"{count(n) if n else 'no'} spurious timeout{'' if n == 1 else 's'}"


def _round_trips(n: int) -> str:
    return f"{count(n)} round trip{'' if n == 1 else 's'} after the first"
