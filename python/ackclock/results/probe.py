"""The report of a probe run (M-U3): its numbers, what the models predict, and notes."""

from __future__ import annotations

from typing import Any

CERTAIN = 4
"""The least number of CA events from which p is estimated (M-F11)."""
STACK = "fack-rh+per-ack"
"""The default stack of a probe: the paper's (M-U3, M-A8), whose window grows by acks."""
HELD = 0.05
"""Share of the time from which on the maximum rate counts as having limited the sender."""


def summary(found: dict[str, Any], stack: str) -> dict[str, Any]:
    """The report of a result of `_core.probe` and its like, in seconds, bytes and bit/s. Unknown values are
    None.
    """
    m = found["measured"]
    if m is None:
        test: dict[str, Any] = dict.fromkeys(("capacity", "p", "loss", "rtt", "window", "model"))
    else:
        rtt = m["rtt_sampled"]
        test = {
            "capacity": m["capacity"],
            "p": m["p"],
            "loss": 1 - m["answered"] / m["sent"] if m["sent"] else None,
            "rtt": {**times(m["rtt"]), "sampled": rtt},
            "window": m["capacity"] * rtt / (8 * found["mss"]) if m["capacity"] is not None and rtt else None,
            "model": models(m, found["mss"], found["each_segment"]),
            **{name: m[name] for name in COUNTED},
            "probes_sent": m["sent"],
            "probes_answered": m["answered"],
        }
    return {
        "stack": stack,
        "mss": found["mss"],
        "answered": found["answered"],
        "interrupted": found.get("interrupted", False),
        **test,
        "background": background(found),
        "limit": found["limit"],
        "replies": {
            **found["replies"],
            "foreign": found.get("foreign", 0),
            "overflowed": found.get("overflowed", 0),
        },
        "answered_by": found.get("answered_by"),
        "notes": notes(found),
    }


COUNTED = (
    "seconds",
    "after",
    "slow_start_excluded",
    "segments_acked",
    "ca_events",
    "non_ca_events",
    "other_losses",
    "timeouts",
    "rto",
    "held",
)
"""Counters that are passed on unchanged."""


def times(rtt: dict[str, Any]) -> dict[str, Any]:
    """Round-trip times, from the least to the largest."""
    return {name: rtt[name] for name in ("min", "mean", "median", "p90", "p99", "max")}


def models(m: dict[str, Any], mss: int, each_segment: bool) -> dict[str, Any]:
    """What M-E3 and PFTK predict from p and the round-trip time that the connection sampled, and how the
    capacity found compares.
    """
    from ackclock.models import mathis97, pftk98

    # C for random loss (M-T1c, M-T1d); packets per step of the window, which counts them or the acks of them.
    c, b = (1.31, 1.0) if each_segment else (0.93, 2.0)
    rtt, capacity, acked = m["rtt_sampled"], m["capacity"], m["segments_acked"]
    indications = (m["ca_events"] + m["non_ca_events"]) / acked if acked else 0.0
    mathis = float(mathis97.bandwidth(m["p"], rtt, mss, c)) if m["p"] and rtt else None
    pftk = (
        float(pftk98.send_rate(indications, rtt, m["rto"], mss, b)) if 0 < indications < 1 and rtt else None
    )
    return {
        "mathis": {"c": c, "p": m["p"], "capacity": mathis, "ratio": capacity / mathis if mathis else None},
        "pftk": {
            "b": b,
            "p": indications or None,
            "rto": m["rto"],
            "capacity": pftk,
            "ratio": capacity / pftk if pftk else None,
        },
    }


def background(found: dict[str, Any]) -> dict[str, Any]:
    """The background probe (M-U5): minimum, mean and median of means, under test and not under test."""
    phases: dict[str, Any] = {}
    for name in ("before", "during", "after"):
        phases[name] = {
            **{key: found[name][key] for key in ("sent", "answered", "median_of_means")},
            **times(found[name]["rtt"]),
        }
    idle = [
        (found[name]["rtt"]["mean"], found[name]["answered"])
        for name in ("before", "after")
        if found[name]["answered"]
    ]
    total = sum(n for _, n in idle)
    mean = sum(mean * n for mean, n in idle) / total if total else None
    under = found["during"]["rtt"]["mean"]
    return {
        **phases,
        "not_under_test": mean,
        "under_test": under,
        "ratio": under / mean if under and mean else None,
    }


def notes(found: dict[str, Any]) -> list[str]:
    """Notes that qualify the numbers."""
    said = []
    m = found["measured"]
    limit = found["limit"]
    if limit:
        how = (
            "replies to evenly spaced probes were evenly spaced, and most were missing"
            if limit["probes"] is None
            else (
                f"probes were lost although no queue was building up, and of {limit['probes']} at half "
                "the rate none was"
            )
        )
        said.append(
            f"Replies look rate-limited, at about {limit['per_second']:.3g} a second: {how}. "
            "The numbers measure that limit, not the path; another host or hop may reply at full rate."
        )
    if found["gave_up"]:
        said.append("The connection gave up: replies stopped.")
    if found.get("answered_by") and found["answered_by"]["several"]:
        said.append("Several hosts or routers replied: the path changed, or packets take several paths.")
    if found.get("overflowed"):
        said.append(f"This machine was too busy to read {found['overflowed']} replies, which count as lost.")
    if found["replies"]["not_sent"]:
        said.append(
            f"This machine's own queue did not take {found['replies']['not_sent']} probes, which count "
            "as lost."
        )
    if m is None:
        return said
    if m["seconds"] and m["held"] > HELD * m["seconds"]:
        said.append(
            f"The largest rate held the sender back for {m['held'] / m['seconds']:.0%} of the time: "
            "the path may carry more."
        )
    if not m["slow_start_excluded"] and m["segments_acked"]:
        said.append("No congestion signal ended the initial slow start, so the numbers include it.")
    elif m["ca_events"] < CERTAIN:
        said.append(f"Only {m['ca_events']} CA events: p, and with it the models, are uncertain.")
    return said
