"""Two captures side by side: the two ends of the same connections, or two captures of different times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock._core import compare_captures
from ackclock.quantities import count, percent, rate, seconds
from ackclock.results.capture import read_capture
from ackclock.results.cause_words import WHO, lost, size
from ackclock.results.causes import main_side
from ackclock.results.overview import expiries, stalled

FORMAT = "ackclock-compare"
VERSION = 1


def compare(first: str | Path, second: str | Path, flow: str | None = None) -> dict[str, Any]:
    """Compares two captures. If they hold the same connections, they are their two ends: `ends` has what was
    lost in between, delays each way and how far the clocks are apart. Otherwise `figures` has the numbers of
    both.
    """
    found = json.loads(compare_captures(Path(first), Path(second), flow))
    report = {"format": FORMAT, "version": VERSION, "files": [str(first), str(second)]}
    if found:
        for c in found:
            c["summary"] = ends(c)
        return {**report, "kind": "two-ends", "ends": found, "figures": []}
    both = [read_capture(file, flow, samples=False).report for file in (first, second)]
    return {**report, "kind": "before-after", "ends": [], "figures": figures(both)}


def ends(c: dict[str, Any]) -> list[str]:
    """A connection seen from both ends, in sentences."""
    said = []
    for side, way in enumerate(c["ways"]):
        who, other = WHO[side], WHO[1 - side]
        parts = [
            _gone(way["data_lost"], way["data"], "data packets"),
            _gone(way["acks_lost"], way["acks"], "others"),
        ]
        sentence = f"From the {who} to the {other}: {' and '.join(parts)} did not arrive."
        d = way["delay"]
        if d["samples"]:
            sentence += (
                f" The rest took {seconds(d['min'])} to {seconds(d['max'])}, half of it at most "
                f"{seconds(d['p50'])} and 95 % at most {seconds(d['p95'])}."
            )
        if way["lost"]:
            shown = ", ".join(f"{p['frame']:,}" for p in way["lost"][:8])
            more = len(way["lost"]) - 8
            sentence += (
                f" Lost, by their packets near the {who}: {shown}{f' and {more:,} more' if more > 0 else ''}."
            )
        if way["outside"]:
            sentence += f" {way['outside']:,} more packets lie outside of the other capture's time."
        if way["unsent"]:
            sentence += f" {way['unsent']:,} segments arrived that the capture near the {who} lacks."
        said.append(sentence)
    ahead, drift = c["ahead"], c["drift"]
    clocks = (
        f"The shortest round trip between the two captures is {seconds(c['round_trip'])}. The second "
        f"capture's clock is {seconds(abs(ahead))} {'ahead of' if ahead >= 0 else 'behind'} the first's, if "
        "the shortest way takes as long either way"
    )
    if drift is not None and abs(drift) > 0.002:
        clocks += (
            f"; that changes by {seconds(abs(drift))} during the connection, so that delays are less exact"
        )
    return [*said, f"{clocks}."]


def _gone(n: int, of: int, what: str) -> str:
    return f"{n:,} of {of:,} {what}" + (f" ({percent(n / of)})" if n and of else "")


def figures(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The numbers of two captures: name, the value in each, both as text."""
    columns = [_numbers(report["connections"]) for report in reports]
    return [
        {
            "figure": name,
            "values": [column[name][0] for column in columns],
            "text": [column[name][1] for column in columns],
        }
        for name in columns[0]
    ]


def _numbers(connections: list[dict[str, Any]]) -> dict[str, tuple[Any, str]]:
    """Each figure of a capture and its text. Rates and round trips are those of the connection with most
    payload.
    """
    carried = [c for c in connections if any(d["unique_bytes"] for d in c["directions"])]
    ways = [d for c in carried for d in c["directions"]]
    n = len(carried)
    lasted, sent = sum(c["duration"] for c in carried), sum(d["unique_bytes"] for d in ways)
    largest = max(carried, key=lambda c: max(d["unique_bytes"] for d in c["directions"]), default=None)
    d = largest["directions"][main_side(largest)] if largest else None
    trips = (d["round_trips"] if d else None) or dict.fromkeys(("low", "median", "high", "under_way"))
    gone, packets = sum(lost(w)[0] for w in ways), sum(w["data_packets"] for w in ways)
    timeouts = sum(len(expiries(w)) for w in ways)
    achieved = 8 * d["unique_bytes"] / largest["duration"] if d and largest and largest["duration"] else None
    set_up = [c["handshake"] for c in carried if c["handshake"] is not None]
    waited = sum(map(stalled, carried))
    closed = sum(w["zero_windows"]["count"] for w in ways)
    shut = sum(w["zero_windows"]["total"] for w in ways)
    first = largest["answer"]["causes"][0] if largest and largest["answer"]["causes"] else None
    share = gone / packets if packets else None
    mean = sum(set_up) / len(set_up) if set_up else None
    each = lasted / n if n else None
    return {
        "connections with data": (n, count(n)),
        "duration, on average": (each, seconds(each)),
        "payload": (sent, size(sent)),
        "rate of the largest": (achieved, rate(achieved)),
        "set-up, on average": (mean, seconds(mean)),
        "round trip, lowest": (trips["low"], seconds(trips["low"])),
        "round trip, median": (trips["median"], seconds(trips["median"])),
        "round trip, 95 %": (trips["high"], seconds(trips["high"])),
        "under way, most": (trips["under_way"], size(trips["under_way"])),
        "data packets lost": (share, percent(share)),
        "timeouts": (timeouts, count(timeouts)),
        "waited for timeouts": (waited, seconds(waited)),
        "closed windows": (closed, count(closed)),
        "time closed": (shut, seconds(shut)),
        "most of the largest's time": (
            first["cause"] if first else None,
            f"{first['cause'].replace('_', ' ')} {100 * first['share']:.0f} %" if first else "-",
        ),
    }
