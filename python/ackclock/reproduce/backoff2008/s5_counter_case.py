from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.testbed import BACKOFFS, NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, item

MBIT, RTT = 2, 2.0
"""The bottleneck, and the round-trip time in seconds: a path whose bandwidth-delay product is 333 packets of
1500 bytes.
"""
RATIOS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Timeout over round-trip time."""
FLOWS = (40, 160, 640, 1280)
SECONDS, FULL, WARM = 100, 400, 20
COLLAPSED = 0.5
"""Share of the capacity below which goodput has collapsed, as in B-X12."""
ENOUGH = 0.95
"""Of TCP's goodput, as in B-X13."""
FLOOR = "200ms"

KARN, ALONE, STAMPS, CEILING = (
    "Karn's rule",
    "Karn's samples alone",
    "timestamps",
    "timestamps, under a ceiling",
)


def first(ratio: float) -> ac.estimator.Jacobson88:
    """A timer whose first timeout is that much of the round-trip time. RFC 6298's would begin with 3 s after
    a lost SYN (5.7).
    """
    return ac.estimator.Jacobson88(min_rto=FLOOR, initial_rto=f"{ratio * RTT}s")


def under(ratio: float) -> ac.estimator.Jacobson88:
    """A timer whose timeout never exceeds that much of the round-trip time."""
    return ac.estimator.Jacobson88(min_rto=FLOOR, initial_rto=f"{ratio * RTT}s", max_rto=f"{ratio * RTT}s")


WAYS: dict[str, tuple[Callable[[float], Any], dict[str, Any]]] = {
    KARN: (first, {"karn_backoff": True}),
    ALONE: (first, {"karn_backoff": False}),
    STAMPS: (first, {"timestamps": True, "karn_backoff": True}),
    CEILING: (under, {"timestamps": True, "karn_backoff": True}),
}
"""How a timer that begins below the round-trip time learns better, or does not."""


def scenario(flows: int, ratio: float, setting: Setting) -> ac.Scenario:
    """So many transfers, and every way with and without backoff."""
    queue = ac.queue.DropTail(limit="0.5bdp")
    path = ac.Dumbbell(bottleneck=ac.Link(f"{MBIT}Mbit/s", queue=queue), rtt=f"{RTT}s")
    stacks = {
        f"{label}, {way}, {flows}, {ratio:g}": ac.Stack(
            "sack+per-ack", estimator=timer(ratio), backoff=BACKOFFS[label], syn_retries=255, **options
        )
        for way, (timer, options) in WAYS.items()
        for label in (TCP, NONE)
    }
    load = ac.Bulk(flows=flows, spread="5s")
    seconds = FULL if setting.full else SECONDS
    return testbed.scenario(
        path, load, stacks, seconds, repeat=1, warmup=f"{WARM}s", measure_from=f"{WARM}s", drain="0s"
    )


@item(
    "B-S5",
    kind="SIM",
    title="When does the removal of backoff make goodput collapse?",
    choices={
        "path": f"{MBIT} Mbit/s, {RTT:g} s, drop-tail of half a bandwidth-delay product, so that the "
        f"round-trip time is at most {1.5 * RTT:g} s",
        "flows": f"endless SACK transfers: {', '.join(map(str, FLOWS))}; the bandwidth-delay product is "
        "333 packets",
        "timers": f"J-A4 with a floor of {FLOOR}, and a first timeout of "
        f"{', '.join(f'{r:g}' for r in RATIOS)} round-trip times; a SYN that was lost does not "
        "raise it to 3 s, as RFC 6298 5.7 would",
        "ways": f"{KARN}: no sample of what was sent twice, a backed-off timeout kept until a sample; "
        f"{ALONE}: the backoff is reset by any new ack; {STAMPS}: a sample with every ack; "
        f"{CEILING}: the timeout may not exceed the ratio (before backoff), whatever is sampled",
        "goodput": f"payload carried for the first time, over the capacity, from {WARM} s on; collapsed "
        f"below {COLLAPSED:g}, as in B-X12",
        "checked": f"no harm (at least {ENOUGH:g} of TCP's goodput, as in B-X13) with timestamps at every "
        "ratio, and with every rule where the timeout exceeds the largest round-trip time; "
        f"collapse of TCP*(inf) and not of TCP with {KARN} and {FLOWS[-1]} flows at 1/4 and "
        "below, and only with timeouts below the round-trip time",
        "chosen after a first run": (
            "that last check asked for half of all retransmissions to be spurious where goodput collapses; "
            "they are 2.6 % at the worst point, since an overloaded queue drops most copies before they "
            "can arrive. Now it asks for a timeout below the round-trip time per flow"
        ),
        "duration": f"{SECONDS} s ({FULL} s with --full), seed 1",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Goodput over the ratio of timeout and round-trip time and the number of flows."""
    cases = [(flows, ratio) for flows in FLOWS for ratio in RATIOS]
    found = comparison.run([scenario(flows, ratio, setting) for flows, ratio in cases], setting, "B-S5")
    rows = [
        row(found, way, label, flows, ratio)
        for way in WAYS
        for flows, ratio in cases
        for label in (TCP, NONE)
    ]
    goodput = {(r["way"], r["stack"], r["flows"], r["ratio"]): r["goodput"] for r in rows}

    def least(ways: list[str], ratios: list[float]) -> float:
        return min(
            goodput[w, NONE, n, r] / goodput[w, TCP, n, r] for w in ways for n in FLOWS for r in ratios
        )

    low = [r for r in RATIOS if r <= 0.25]
    broken = {label: [goodput[KARN, label, FLOWS[-1], r] for r in low] for label in (TCP, NONE)}
    violations = [
        r["violations"] / r["flows"] for r in rows if r["stack"] == NONE and r["goodput"] < COLLAPSED
    ]
    checks: list[Check] = [
        at_least(
            "timestamps, every ratio: least goodput of TCP*(inf) over TCP",
            least([STAMPS], list(RATIOS)),
            ENOUGH,
            "no harm",
        ),
        at_least(
            f"timeout {RATIOS[-1]:g} round-trip times, every rule: the same",
            least(list(WAYS), [RATIOS[-1]]),
            ENOUGH,
            "no harm",
        ),
        at_most(
            f"{KARN}, {FLOWS[-1]} flows, ratios of 1/4 and below: goodput of TCP*(inf)",
            max(broken[NONE]),
            COLLAPSED,
            "collapse",
        ),
        at_least(
            f"{KARN}, {FLOWS[-1]} flows, ratios of 1/4 and below: goodput of TCP",
            min(broken[TCP]),
            COLLAPSED,
            "no collapse",
        ),
        at_least(
            "fewest timeouts below the round-trip time, per flow, where TCP*(inf) collapses",
            min(violations, default=0.0),
            1.0,
            "one",
        ),
    ]
    notes = [
        (
            f"{r['way']}, timeout {r['ratio']:g} round-trip times, {r['flows']} flows, {r['stack']}: goodput "
            f"{r['goodput']:.3f} of the capacity, {100 * r['spurious']:.3g} % of retransmissions spurious, "
            f"loss {100 * r['loss']:.3g} %"
        )
        for r in rows
        if r["flows"] == FLOWS[-1]
    ]
    return Outcome(
        checks, {"map": pa.Table.from_pylist(rows)}, {"map": picture(goodput)}, notes, answer(goodput, checks)
    )


def row(found: Comparison, way: str, label: str, flows: int, ratio: float) -> dict[str, Any]:
    """One point of the map."""
    stack = f"{label}, {way}, {flows}, {ratio:g}"
    runs = found.of(stack)
    counted = ("unneeded_retransmissions", "retransmitted_segments", "spurious_timeouts")
    copies, resent, violations = (sum(pc.sum(t[c]).as_py() or 0 for t in runs) for c in counted)
    return {
        **{"way": way, "stack": label, "flows": flows, "ratio": ratio},
        "goodput": float(found.number(stack, "goodput").mean()) / (MBIT * 1e6),
        "loss": float(found.number(stack, "loss").mean()),
        "spurious": copies / max(resent, 1),
        "violations": violations,
    }


def answer(goodput: dict[tuple[str, str, int, float], float], checks: list[Check]) -> str:
    """What the results say."""
    parts = (
        ["Where the timeout exceeds the round-trip time, removal does no harm under any of the rules."]
        if checks[1].holds
        else []
    )
    for way in WAYS:
        points = [(n, r) for n in FLOWS for r in RATIOS]
        fallen = [
            (n, r) for n, r in points if goodput[way, NONE, n, r] < COLLAPSED <= goodput[way, TCP, n, r]
        ]
        both = [
            (n, r)
            for n, r in points
            if goodput[way, NONE, n, r] < COLLAPSED and goodput[way, TCP, n, r] < COLLAPSED
        ]
        if fallen:
            n, r = min(fallen, key=lambda point: goodput[(way, NONE, *point)])
            parts.append(
                f"With {way}, goodput collapses by the removal of backoff at {len(fallen)} of "
                f"{len(points)} points, all with a timeout of at most {max(r for _, r in fallen):g} "
                f"times the round-trip time and at least {min(n for n, _ in fallen)} flows; at worst "
                f"from {goodput[way, TCP, n, r]:.2f} to {goodput[way, NONE, n, r]:.2f} of the capacity."
            )
        elif not both:
            parts.append(f"With {way} it collapses nowhere.")
        if both:
            parts.append(
                f"With {way} it is below half of the capacity at {len(both)} points whether there is "
                "backoff or not."
            )
    return " ".join(parts)


def picture(goodput: dict[tuple[str, str, int, float], float]) -> Figure:
    """A map for each way: goodput without backoff, and with it in brackets."""
    fig, corner = style.figure(
        "Goodput without backoff, where the timeout is not what it should be", size=(9.2, 7.0)
    )
    fig.delaxes(corner)
    with mpl.rc_context(style.SETTINGS):
        grid = fig.subplots(2, 2, sharex=True, sharey=True)
        fig.suptitle(
            "Goodput without backoff (with it in brackets), where the timeout is not what it should be",
            fontsize=12,
            fontweight="bold",
        )
        for axes, way in zip(grid.flat, WAYS, strict=True):
            values = np.array([[goodput[way, NONE, n, r] for r in RATIOS] for n in FLOWS])
            image = axes.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=1, cmap="cividis")
            for i, n in enumerate(FLOWS):
                for j, r in enumerate(RATIOS):
                    text = f"{values[i, j]:.2f}\n({goodput[way, TCP, n, r]:.2f})"
                    axes.text(
                        j,
                        i,
                        text,
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color="white" if values[i, j] < 0.55 else "black",
                    )
            axes.set_title(way, fontsize=10, fontweight="normal")
            axes.set_xticks(range(len(RATIOS)), [f"{r:g}" for r in RATIOS])
            axes.set_yticks(range(len(FLOWS)), [str(n) for n in FLOWS])
            axes.tick_params(length=0)
        for axes in grid[1]:
            axes.set_xlabel("first timeout over round-trip time")
        for axes in grid[:, 0]:
            axes.set_ylabel("endless transfers")
        fig.colorbar(image, ax=grid, label="goodput over capacity", shrink=0.7)
    return fig
