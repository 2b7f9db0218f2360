"""The first answer about a captured connection: why it took as long as it did, in one sentence; and what
else an engineer asks first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ackclock.quantities import percent, rate, seconds
from ackclock.results.cause_words import WHO, size, times
from ackclock.results.causes import Cause, both_ways, causes, main_side

LEAST = 0.05
"""Causes with a smaller share of the time are left out of the sentence."""
MOST = 4
"""Causes that a sentence names."""
BLOCKS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
"""An interval in which nothing was sent; no space, at which a terminal would break the line."""
COLUMNS = 32
"""Intervals of the throughput that a line shows."""


def answer(c: dict[str, Any]) -> dict[str, Any]:
    """The answer for one connection: a sentence with what took longest, one for each further cause, all
    causes, and further sentences.
    """
    found = causes(c)
    sentence, others = _told(c, found)
    return {
        "sentence": sentence,
        "others": others,
        "causes": [asdict(f) for f in found],
        "more": [*_other_way(c), *_facts(c)],
    }


def _told(c: dict[str, Any], found: list[Cause]) -> tuple[str, list[str]]:
    """The first sentence, and those on further causes."""
    lasted = seconds(c["duration"])
    if not any(d["unique_bytes"] for d in c["directions"]):
        ended = {"opening": "no reply to its SYN came", "refused": "it was refused"}
        return f"It lasted {lasted} and carried no data: {ended.get(c['state'], 'none was sent')}.", []
    side = main_side(c)
    d = c["directions"][side]
    if d["view"] == "client" and d["share"] is None:
        known = [f for f in found if f.cause in ("timeouts", "syn_timeouts", "receiver_window")]
        rest = f"hat {'else ' if known else ''}limited the {WHO[side]} cannot be told from this end."
        if not known:
            return f"It took {lasted}: w{rest}", []
        first, *others = _listed(known)
        return f"It took {lasted}, of which {first}", [*others, f"W{rest}"]
    worth = [f for f in found if f.share >= LEAST][:MOST] or found[:1]
    first, *others = _listed(worth)
    return f"It took {lasted}, of which {first}", others


def _listed(found: Iterable[Cause]) -> list[str]:
    """A sentence for each cause, and those on what else was there; the first begins within a sentence."""
    said = []
    for i, f in enumerate(found):
        said += [f"{'Another ' if i else ''}{_cause(f)}.", *f.also]
    return said


def _cause(f: Cause) -> str:
    place = f", from packet {f.frame:,}" if f.frame else ""
    if f.longest and f.longest_frame and f.frame != f.longest_frame and f.longest < 0.9 * f.time:
        place += f", longest {seconds(f.longest)} from packet {f.longest_frame:,}"
    return f"{100 * f.share:.0f} % ({seconds(f.time)}{place}): {f.words}"


def _other_way(c: dict[str, Any]) -> list[str]:
    """The same for the other direction, where that carries much as well."""
    if not both_ways(c):
        return []
    side = 1 - main_side(c)
    worth = [f for f in causes(c, side) if f.share >= LEAST][:MOST]
    if not worth:
        return []
    first, *others = _listed(worth)
    return [f"In the other direction, the {WHO[side]}'s: {first}", *others]


def _facts(c: dict[str, Any]) -> list[str]:
    said = []
    if c["handshake"] is not None or c["tls"]:
        opened = f"Set up in {seconds(c['handshake'])}" if c["handshake"] is not None else "Set up before"
        if c["tls"]:
            took = c["tls"]["handshake"]
            opened += "; its content is TLS" + (
                f", whose handshake took {seconds(took)} (from packet {c['tls']['hello']['frame']:,})"
                if took
                else ""
            )
        said.append(f"{opened}.")
    for side, d in enumerate(c["directions"]):
        carries = d["unique_bytes"] * 20 >= max(e["unique_bytes"] for e in c["directions"])
        if carries and d["throughput"] and d["unique_bytes"] > 10_000:
            said.append(_throughput(WHO[side], d))
        if carries and d["round_trips"] and d["unique_bytes"]:
            said.append(_round_trips(WHO[side], WHO[1 - side], d))
        z = d["zero_windows"]
        if z["count"]:
            said.append(
                f"The {WHO[1 - side]} closed its window {times(z['count'])}, for {seconds(z['total'])} in "
                f"all (the longest {seconds(z['longest'])}, from packet {z['longest_at']['frame']:,})."
            )
        if d["super_segments"]:
            said.append(offload(WHO[side], d))
    return said


def _throughput(who: str, d: dict[str, Any]) -> str:
    t = d["throughput"]
    each, bytes_ = t["interval"], list(t["bytes"])
    # The last interval is not a whole one.
    while len(bytes_) > COLUMNS:
        bytes_ = [sum(bytes_[i : i + 2]) for i in range(0, len(bytes_), 2)]
        each *= 2
    lasted = len(t["bytes"]) * t["interval"]
    most = max(bytes_)
    drawn = "".join(BLOCKS[round((len(BLOCKS) - 1) * b / most)] if b else NOTHING for b in bytes_)
    return (
        f"The {who} sent {size(d['unique_bytes'])} in {seconds(lasted)}, from its first data to its last, "
        f"without the set-up: {rate(8 * sum(bytes_) / lasted)} on average, {rate(8 * most / each)} at most: "
        f"|{drawn}|, {seconds(each)} each."
    )


def _round_trips(who: str, other: str, d: dict[str, Any]) -> str:
    r = d["round_trips"]
    if r["high"] is None:
        by = "by the handshake" if r["by"] == "handshake" else "a few samples"
        return f"Round trip {seconds(r['low'])} ({by})."
    said = (
        f"Round trips of the {who}'s data: {seconds(r['low'])} to {seconds(r['most'])}, median "
        f"{seconds(r['median'])}, 95 % below {seconds(r['high'])}"
    )
    if r["high"] - r["low"] >= 0.002 and r["queue_there"] is not None:
        said += (
            f"; of these, up to {seconds(r['queue_there'])} of waiting on the way to the {other} and "
            f"{seconds(r['queue_back'])} on the way back"
        )
    return f"{said}; at most {size(r['under_way'])} under way."


def offload(who: str, d: dict[str, Any]) -> str:
    """What captured segments larger than a packet mean."""
    near = (
        "the capture saw them before the device cut them into packets"
        if d["view"] == "sender"
        else "the device had joined them before the capture saw them"
    )
    return (
        f"{d['super_segments']:,} captured segments of the {who} are larger than a packet ({d['mss']:,} B): "
        f"{near} (segmentation offload), so that times and losses of single packets in them are not seen."
    )


def whole(connections: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer for all connections of a capture."""
    if len(connections) == 1:
        return {**connections[0]["answer"], "servers": []}
    carried = [c for c in connections if any(d["unique_bytes"] for d in c["directions"])]
    groups = [_group(name, members) for name, members in _by_server(carried).items()]
    groups.sort(key=lambda g: (-g["lost"], g["server"]))
    lasted = sum(c["duration"] for c in carried)
    sums = _sums(carried)
    worth = [s for s in sums if s["share"] >= LEAST][:MOST] or sums[:1]
    said = [
        f"{100 * s['share']:.0f} % ({seconds(s['time'])}, longest {seconds(s['worst'])} in connection "
        f"{s['connection']}" + (f" from packet {s['frame']:,}" if s["frame"] else "") + f"): {s['words']}."
        for s in worth
    ]
    if not said:
        sentence = f"None of {len(connections):,} connections carried data."
    elif len(carried) == 1:
        took = f"carried data, and took {seconds(lasted)}"
        sentence = f"One of {len(connections):,} connections {took}, of which {said[0]}"
    else:
        sentence = (
            f"{len(carried):,} connections with data took {seconds(lasted)} together, of which {said[0]}"
        )
    others = [f"Another {one}" for one in said[1:]]
    return {"sentence": sentence, "others": others, "causes": sums, "more": [], "servers": groups}


GENERAL = {
    "handshake": "setting up connections",
    "tls": "TLS handshakes",
    "slow_start": "slow start",
    "congestion_window": "full congestion windows",
    "receiver_window": "full receive windows",
    "timeouts": "waiting for retransmission timers",
    "syn_timeouts": "waiting for the timers of lost SYNs",
    "nagle": "Nagle's algorithm with delayed acks",
    "application": "applications with nothing to send",
    "answer": "applications that took their time to answer",
    "peer": "waiting for the other end's next data",
    "delivery": "the last data on its way",
    "idle": "nothing was sent any more",
}
"""The causes in words that fit any number of connections."""


def _sums(connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each cause over some connections, with the one where it took longest."""
    lasted = sum(c["duration"] for c in connections)
    found: dict[str, dict[str, Any]] = {}
    for c in connections:
        for f in c["answer"]["causes"]:
            into = found.setdefault(
                f["cause"], {"cause": f["cause"], "words": GENERAL[f["cause"]], "time": 0.0, "worst": -1.0}
            )
            into["time"] += f["time"]
            if f["time"] > into["worst"]:
                into["worst"], into["connection"], into["frame"] = f["time"], c["number"], f["frame"]
    for into in found.values():
        into["share"] = into["time"] / lasted if lasted else 0.0
    return sorted(found.values(), key=lambda s: (s["cause"] == "idle", -s["time"]))


def _by_server(connections: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for c in connections:
        found.setdefault(c["server"], []).append(c)
    return found


def _group(server: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    """The totals of all connections to one server; what it did not send any more does not count as lost."""
    sums = _sums(members)
    counted = [s for s in sums if s["cause"] != "idle"]
    first = counted[0] if counted else None
    return {
        "server": server,
        "connections": len(members),
        "bytes": sum(d["unique_bytes"] for c in members for d in c["directions"]),
        "time": sum(c["duration"] for c in members),
        "lost": sum(s["time"] for s in counted),
        "mean": sum(c["duration"] for c in members) / len(members),
        "handshake": sum(s["time"] for s in sums if s["cause"] in ("handshake", "tls")),
        "timeouts": sum(s["time"] for s in sums if s["cause"] in ("timeouts", "syn_timeouts")),
        "most": first["cause"] if first else None,
        "most_share": first["share"] if first else None,
        "worst": max(members, key=lambda c: c["duration"])["number"],
    }


def cause_of(group: dict[str, Any]) -> str:
    """What most of a server's time went to, for a table."""
    return "-" if group["most"] is None else f"{GENERAL[group['most']]} {percent(group['most_share'])}"
