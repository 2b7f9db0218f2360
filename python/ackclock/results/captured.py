"""The summary of a capture, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ackclock.quantities import count, seconds
from ackclock.results.cause_words import BESIDES, WHY
from ackclock.results.overview import by_silence, expiries, stalled

WAITED = ("waited", "waited_least", "waited_most", "rerun_least", "rerun_most")
"""Times of a what-if that add up."""
HELD = {
    "handshake": "the handshake",
    "slow_start": "slow start",
    "congestion_window": "the congestion window",
    "receiver_window": "the receiver's window",
    "application": "having nothing to send",
    "timeouts": "waiting for timers",
}
"""What limits a sender, in the words of the summary."""


def summary(connections: Iterable[dict[str, Any]]) -> list[str]:
    """What happened to some connections: a sentence on stalls, one on retransmissions, and one on what other
    timers would have done.
    """
    connections = list(connections)
    directions = [d for c in connections for d in c["directions"]]
    lasted = sum(c["duration"] for c in connections)
    timeouts = [t for d in directions for t in expiries(d)]
    said = [
        _stalls(timeouts, sum(map(stalled, connections)), lasted, len(connections)),
        _retransmissions(directions),
    ]
    if any(d["massive_reordering"] for d in directions):
        said.append("Most retransmissions triggered by acks were spurious: the path reorders packets.")
    if asked := [d["by_stack"] for d in directions if d.get("by_stack")]:
        said.append(_by_stack(asked))
    if timers := totals(directions):
        unreplayed = [d for d in directions if expiries(d) and not d["what_if"]]
        if unreplayed and not any(expiries(d) and d["what_if"] for d in directions):
            said.append(
                "What other timers would have done is unknown: the capture was taken near the receiver."
            )
        else:
            said.append(_alternatives(timers, "of senders near the capture" if unreplayed else ""))
    return said


def _by_stack(asked: list[dict[str, Any]]) -> str:
    """What the stacks that fit say of the retransmissions, and how many causes that changes."""
    fitting = [a for a in asked if a["stack"]]
    if not fitting:
        why = asked[0]["why_not"]
        return f"No stack names the causes of retransmissions: {why}."
    names = sorted({a["stack"] for a in fitting})
    explained, of = sum(a["explained"] for a in fitting), sum(a["retransmissions"] for a in asked)
    changed = [c for a in fitting for c in a["changed"]]
    first = (
        f"As {' and '.join(names)} send{'s' if len(names) == 1 else ''}, {count(explained)} of {count(of)} "
    )
    first += "retransmissions are explained"
    if not changed:
        return f"{first}; no cause is another than acks and silences suggest."
    one = changed[0]
    return (
        f"{first}; {count(len(changed))} have another cause than acks and silences suggest (packet "
        f"{count(one['frame'])}: {one['stack']}, not {one['rules']})."
    )


def totals(directions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each timer of a what-if would have done, summed over directions; the senders as they ran come
    first.
    """
    found: dict[str, dict[str, Any]] = {}
    for d in directions:
        for w in d["what_if"]:
            into = found.setdefault(w["timer"], {"timer": w["timer"], "rounds": 0})
            for key in ("timeouts", "spurious", "early", *WAITED):
                into[key] = into.get(key, 0) + w.get(key, 0)
            into["rounds"] = max(into["rounds"], w["rounds"])
    return list(found.values())


def held_back(direction: dict[str, Any]) -> str:
    """What limited a sender, the largest share first: "the congestion window (61 % of the time), waiting for
    timers (30 %), slow start (9 %)".
    """
    limits = direction["limits"]
    total = sum(limits.values())
    shares = sorted(
        ((t / total, HELD[k]) for k, t in limits.items() if total > 0 and t / total >= 0.005), reverse=True
    )
    return ", ".join(
        f"{what} ({100 * share:.0f} %{'' if i else ' of the time'})" for i, (share, what) in enumerate(shares)
    )


def sends_little(direction: dict[str, Any], c: dict[str, Any]) -> bool:
    """Whether an end sent little more than requests, and nothing limited it most of the time."""
    limits = direction["limits"]
    idle = limits.get("application", 0.0) >= 0.5 * sum(limits.values())
    return idle and 20 * direction["unique_bytes"] < max(d["unique_bytes"] for d in c["directions"])


def limited(who: str, direction: dict[str, Any], c: dict[str, Any]) -> str:
    """A sentence on what limited a sender. One that sent a request and little else was limited by nothing."""
    if sends_little(direction, c):
        return f"The {who} sent {direction['unique_bytes']:,} B and had nothing more to send."
    if direction["view"] == "client" and direction["share"] is None:
        return f"What limited the {who} cannot be told from this end."
    return f"The {who} was limited by {held_back(direction)}."


def _stalls(timeouts: list[dict[str, Any]], waited: float, lasted: float, connections: int) -> str:
    of = f"{seconds(lasted)}{f' ({connections:,} connections)' if connections > 1 else ''}"
    if not timeouts:
        return f"No timeout in {of}."
    backed_off = [t["rto"] for t in timeouts if t["round"] > 1]
    more = f" ({len(backed_off):,} with backoff, up to {seconds(max(backed_off))})" if backed_off else ""
    return (
        f"Stalled {seconds(waited)} of {of} in {_many(len(timeouts), 'timeout')}{more}; {_causes(timeouts)}."
    )


def _is(key: str, value: object) -> Callable[[dict[str, Any]], bool]:
    return lambda t: t[key] == value


CAUSES: tuple[tuple[str, str, str, Callable[[dict[str, Any]], bool]], ...] = (
    ("in the handshake", "it came in the handshake", "came in the handshake", _is("of", "syn")),
    (
        "that a longer timer would have avoided",
        "a longer timer would have avoided it",
        "would have been avoided by a longer timer",
        _is("eifel_spurious", True),
    ),
    (
        "inferred from silences near the receiver",
        "it is inferred from a silence near the receiver",
        "are inferred from silences near the receiver",
        by_silence,
    ),
    (
        "for lost retransmissions, with backoff",
        "its retransmission was lost",
        "were for lost retransmissions",
        lambda t: t["round"] > 1,
    ),
    (
        "for tail losses that a probe would have recovered",
        "it was a tail loss that a probe would have recovered",
        "were tail losses that a probe would have recovered",
        _is("remedy", "probe"),
    ),
    (
        "that early retransmit would have avoided",
        "early retransmit would have avoided it",
        "would have been avoided by early retransmit",
        _is("remedy", "early-retransmit"),
    ),
    (
        "that limited transmit would have avoided",
        "limited transmit would have avoided it",
        "would have been avoided by limited transmit",
        _is("remedy", "limited-transmit"),
    ),
    (
        "after a whole window was lost",
        "it came after a whole window was lost",
        "came after whole windows were lost",
        _is("outage", True),
    ),
    (
        "after losses that no ack reported in time",
        "no ack had reported the loss in time",
        "came after losses that no ack reported in time",
        lambda _: True,
    ),
)
"""Kinds of timeouts; the first whose test holds applies. Each has its words among several kinds, for a single
timeout and for all of several timeouts, and its test.
"""


def _causes(timeouts: list[dict[str, Any]]) -> str:
    counted = [0] * len(CAUSES)
    for t in timeouts:
        counted[next(i for i, (*_, holds) in enumerate(CAUSES) if holds(t))] += 1
    if len(timeouts) in counted:
        _, one, all_of_them, _ = CAUSES[counted.index(len(timeouts))]
        return one if len(timeouts) == 1 else f"{'both' if len(timeouts) == 2 else 'all'} {all_of_them}"
    return ", ".join(f"{n:,} {CAUSES[i][0]}" for i, n in enumerate(counted) if n)


def _retransmissions(directions: list[dict[str, Any]]) -> str:
    packets, sent = sum(d["retransmitted_packets"] for d in directions), sum(d["packets"] for d in directions)
    if not packets:
        none = f"None of {sent:,} packets was retransmitted"
        if any(map(by_silence, (t for d in directions for t in expiries(d)))):
            return (
                f"{none}, as far as can be seen near the receiver: a retransmission looks new there if "
                "nothing sent after the lost original had arrived."
            )
        return f"{none}."
    kinds: dict[str, int] = {}
    for r in (r for d in directions for r in d["retransmissions"]):
        kinds[r["kind"]] = kinds.get(r["kind"], 0) + max(r["packets"], 1)
    most_first = sorted(kinds.items(), key=lambda k: (-k[1], k[0]))
    why = ", ".join(f"{n:,} {WHY[kind]}" for kind, n in most_first if kind in WHY)
    besides = " and ".join(_many(n, BESIDES[kind]) for kind, n in most_first if kind in BESIDES)
    spurious = sum(d["unneeded_packets"] for d in directions)
    return (
        f"{packets:,} of {sent:,} packets were retransmitted, {spurious or 'none'} of them spuriously as far "
        f"as is known: {why}" + (f"; besides, {besides} repeated bytes." if besides else ".")
    )


def _alternatives(timers: list[dict[str, Any]], of: str) -> str:
    def one(t: dict[str, Any]) -> str:
        least, most = t["waited_least"], t["waited_most"]
        known = most - least <= 0.05
        more = [] if known else [f"at least {seconds(least)}, at most {seconds(most)}"]
        more += [_many(t["spurious"], "spurious timeout")] if t["spurious"] else []
        who = "actual" if t["timer"] == "as-run" else f"with {t['timer']}{'' if known else ' about'}"
        return f"{who} {seconds(t['waited'])}" + (f" ({'; '.join(more)})" if more else "")

    return f"Time spent waiting for timeouts{of and f', {of}'}: {'; '.join(map(one, timers))}."


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
