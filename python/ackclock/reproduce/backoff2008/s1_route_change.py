from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item
from ackclock.scenario import Workload

EXTRAS = (0.5, 2.0)
"""Seconds by which the round-trip time grows."""
CHANGE = 20
"""Seconds: when the route changes."""
SECONDS, FULL, SEEDS = 50, 320, 3
RULES: dict[str, dict[str, Any]] = {
    "timestamps": {"timestamps": True, "karn_backoff": True},
    "Karn": {"karn_backoff": True},
    "reset by any ack": {"karn_backoff": False},
}
"""How the timer learns, and when the backoff ends."""
NAMES = {
    "timestamps": "timestamps",
    "Karn": "Karn's rule",
    "reset by any ack": "a backoff that any new ack resets",
}
LONG, WEB = "100 endless transfers", "web flows at 80 %"


def workload(name: str) -> Workload:
    """Connections whose timeouts were learnt before the change, or ever new ones."""
    return (
        ac.Bulk(flows=100, spread="5s") if name == LONG else ac.Web(trace="I", load=0.8, load_counts="wire")
    )


def scenario(name: str, extra: float, setting: Setting) -> ac.Scenario:
    """One population, one change of route, and six stacks."""
    red = testbed.link(10)
    detour = ac.fault.Detour(from_=f"{CHANGE}s", extra=f"{extra}s")
    path = ac.Dumbbell(bottleneck=ac.Link(red.rate, queue=red.queue, faults=[detour]), rtt=testbed.RTT)
    stacks = {
        f"{label}, {rule}, {name}, {extra:g} s": stack.but(**options)
        for rule, options in RULES.items()
        for label, stack in testbed.stacks("200ms", TCP, NONE).items()
    }
    seconds = FULL if setting.full else SECONDS
    more = {"warmup": f"{CHANGE}s", "measure_from": f"{CHANGE}s", "drain": "0s" if name == LONG else "600s"}
    return testbed.scenario(path, workload(name), stacks, seconds, repeat=SEEDS, **more)


@item(
    "B-S1",
    kind="SIM",
    title="What if the round-trip time of everyone suddenly exceeds the timeout?",
    choices={
        **{key: testbed.CHOICES[key] for key in ("round-trip times", "queue", "RED", "packets", "giving up")},
        "change": f"after {CHANGE} s every packet to the clients travels 0.5 or 2 s longer, for good; "
        "timeouts have a floor of 0.2 s",
        "chosen after a first run": "half of the time before and after the change, for less work; over 60 "
        "s after it, goodput by Karn's rule and 2 s longer was 0.24 of TCP's, "
        "whose windows grow with time",
        "populations": "100 endless transfers, which have timeouts to unlearn; web flows of Trace-I at 80 "
        "% of the bottleneck, headers included, which come anew with 3 s",
        "rules": "timestamps (a sample with every ack, as FreeBSD 6.1 had it); Karn's rule whole (no "
        "samples of segments sent twice, a backed-off timeout kept until a sample); Karn's rule "
        "for samples alone, the backoff reset by any new ack",
        "goodput": "payload carried by the bottleneck for the first time, from the change to the end, "
        f"{SECONDS - CHANGE} s later ({FULL - CHANGE} with --full)",
        "tolerances": "goodput of TCP*(inf) at least 0.95 of TCP's, as in B-X13; 99th percentile of flows "
        "that begin after the change at most 1.05 of TCP's",
        "random numbers": f"seeds 1 to {SEEDS}",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Goodput after the change, spurious retransmissions, and the response times of flows that begin after
    it.
    """
    cases = [(name, extra) for name in (LONG, WEB) for extra in EXTRAS]
    found = comparison.run([scenario(name, extra, setting) for name, extra in cases], setting, "B-S1")
    checks: dict[str, list[Check]] = {rule: [] for rule in RULES}
    rows = []
    for name, extra in cases:
        for rule in RULES:
            tcp, none = (f"{label}, {rule}, {name}, {extra:g} s" for label in (TCP, NONE))
            words = f"{rule}, {name}, + {extra:g} s"
            checks[rule].append(
                ratio(
                    f"{words}: goodput of TCP*(inf) over TCP",
                    *(found.number(s, "goodput") for s in (none, tcp)),
                    least=0.95,
                )
            )
            if name == WEB:
                checks[rule].append(
                    ratio(
                        f"{words}: P99 of TCP*(inf) over TCP",
                        *(late(found, s) for s in (none, tcp)),
                        most=1.05,
                    )
                )
            rows += [
                {
                    "population": name,
                    "extra": extra,
                    "rule": rule,
                    "stack": label,
                    "spurious": spurious(found, stack),
                    "mean": float(np.mean(late(found, stack, 50))),
                }
                | {key: float(found.number(stack, key).mean()) for key in ("goodput", "loss")}
                for label, stack in ((TCP, tcp), (NONE, none))
            ]
    notes = [
        (
            f"{r['population']}, + {r['extra']:g} s, {r['rule']}, {r['stack']}: goodput "
            f"{r['goodput'] / 1e6:.3g} Mbit/s, {100 * r['spurious']:.3g} % of data segments spuriously "
            f"retransmitted, loss {100 * r['loss']:.3g} %"
        )
        + (f", median response {r['mean']:.3g} s" if r["population"] == WEB else "")
        for r in rows
    ]
    every = [c for rule in RULES for c in checks[rule]]
    return Outcome(
        every,
        {"stacks": pa.Table.from_pylist(rows)},
        {"spurious": picture(rows)},
        notes,
        answer(checks, rows),
    )


def late(found: Comparison, stack: str, percentile: float = 99) -> np.ndarray:
    """A percentile of the response times (s) of each run's flows that began after the change; 0 without
    any.
    """
    values = []
    for flows in found.of(stack):
        times = flows.filter(pc.greater_equal(flows["start"], CHANGE))["response_time"].drop_null().to_numpy()
        values.append(np.percentile(times, percentile) if times.size else 0.0)
    return np.array(values)


def spurious(found: Comparison, stack: str) -> float:
    """Spurious retransmissions over all data segments sent after the change."""
    runs = found.of(stack)
    copies, sent = (
        sum(pc.sum(flows[c]).as_py() or 0 for flows in runs)
        for c in ("unneeded_retransmissions", "data_segments_sent")
    )
    return copies / max(sent, 1)


def answer(checks: dict[str, list[Check]], rows: list[dict[str, Any]]) -> str:
    """What the results say."""
    by = {(r["population"], r["extra"], r["rule"], r["stack"]): r for r in rows}
    cases = list(dict.fromkeys((r["population"], r["extra"]) for r in rows))

    def goodput(case: tuple[str, float], rule: str, label: str) -> float:
        return by[(*case, rule, label)]["goodput"] / 1e6

    parts = []
    for rule, mine in checks.items():
        case = min(cases, key=lambda c: goodput(c, rule, NONE) / goodput(c, best(by, c), TCP))
        share = 100 * max(r["spurious"] for r in rows if r["rule"] == rule and r["stack"] == NONE)
        least = (
            f"{goodput(case, rule, NONE):.3g} Mbit/s without backoff and "
            f"{goodput(case, rule, TCP):.3g} with it"
        )
        where = f"({case[0]}, {case[1]:g} s longer)"
        verdict = "removal does no harm" if all(c.holds for c in mine) else "removal does harm"
        if all(c.holds for c in mine) and goodput(case, rule, TCP) < 0.5 * goodput(case, best(by, case), TCP):
            verdict = f"backoff itself does not help, as {best(by, case)} would"
        parts.append(
            f"With {NAMES[rule]} {verdict}: at worst {least} {where}; up to {share:.2g} % of segments are "
            "spurious retransmissions."
        )
    return " ".join(parts)


def best(by: dict[Any, dict[str, Any]], case: tuple[str, float]) -> str:
    """The rule with which TCP carries most."""
    return max(RULES, key=lambda rule: by[(*case, rule, TCP)]["goodput"])


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Segments spuriously retransmitted after the change: bars by rule, with and without backoff."""
    fig, axes = style.figure(
        "Segments spuriously retransmitted after the round-trip time grew",
        "10 Mbit/s RED, SACK, minimum RTO 0.2 s; bars without a number are below 1 %",
    )
    cases = list(dict.fromkeys((r["population"], r["extra"]) for r in rows))
    kinds = [(rule, label) for rule in RULES for label in (TCP, NONE)]
    with mpl.rc_context(style.SETTINGS):
        width = 0.8 / len(kinds)
        for i, (rule, label) in enumerate(kinds):
            y = [
                100
                * next(
                    r["spurious"]
                    for r in rows
                    if (r["population"], r["extra"], r["rule"], r["stack"]) == (*case, rule, label)
                )
                for case in cases
            ]
            at = np.arange(len(cases)) + (i - (len(kinds) - 1) / 2) * width
            look = {
                "color": style.COLOURS[i // 2],
                "hatch": "//" if label == NONE else "",
                "edgecolor": "white",
                "linewidth": 0.5,
            }
            bars = axes.bar(at, y, width, label=f"{label}, {rule}", **look)
            axes.bar_label(bars, [f"{v:.2g}" if v >= 1 else "" for v in y], fontsize=7.5, padding=1)
        axes.set_xticks(range(len(cases)), [f"{name},\n+ {extra:g} s" for name, extra in cases], fontsize=9)
        axes.set(ylabel="data segments spuriously retransmitted (%)")
        axes.grid(True, axis="y")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=9, ncols=3)
    return fig
