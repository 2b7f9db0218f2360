from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock import ids
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.item import Outcome, Setting, at_least, item

TIMERS = {"mean x 2 (J-A3)": "rfc793", "mean + 4 deviations (J-A4)": "jacobson88"}
KARN = {"Karn": True, "no Karn": False}
FLOWS = (10, 20, 40, 80)
"""Senders at the end; they arrive one by one, which makes the load rise."""
WINDOW, RATE, RTT = 16_384, 2, 0.1
SECONDS, SEEDS = 60, 3
RISE = 5
"""Seconds within which all begin."""


def scenario(flows: int, seconds: int) -> ac.Scenario:
    """Senders without congestion windows and without backoff, each with either timer."""
    path = ac.Dumbbell(
        bottleneck=ac.Link(f"{RATE}Mbit/s", queue=ac.queue.DropTail(limit="4MB")), rtt=f"{RTT}s"
    )
    stacks = {}
    for name, kind in TIMERS.items():
        for rule, karn in KARN.items():
            timer = (
                ac.estimator.Rfc793(min_rto="10ms")
                if kind == "rfc793"
                else ac.estimator.Jacobson88(min_rto="10ms")
            )
            stacks[f"{name}, {rule}, {flows}"] = ac.Stack(
                "rfc793",
                estimator=timer,
                backoff=testbed.BACKOFFS[testbed.NONE],
                rcv_buf=f"{WINDOW}B",
                karn_samples=karn,
                rtt_sampling="once-per-rtt",
            )
    load = ac.Bulk(flows=flows, stagger=f"{RISE / flows:g}s", spread="200ms")
    return testbed.scenario(path, load, stacks, seconds, repeat=SEEDS, drain="0s")


@item(
    "B-X12",
    kind="SIM",
    title="No backoff with the timers of 1981 and of 1988",
    choices={
        "senders": f"endless transfers of the TCP of before 1988: windows of {WINDOW} bytes, no congestion "
        "window, go-back-N; no backoff",
        "rising load": f"{', '.join(map(str, FLOWS))} senders that begin one after the other within {RISE} s",
        "path": f"{RATE} Mbit/s, {1000 * RTT:g} ms, drop-tail of 4 MB: nothing is lost, and only the timer "
        "makes copies",
        "chosen after first runs": "the set-up (the queue that loses nothing, how senders begin, the "
        "floor), so that copies are the timer's doing alone",
        "timers": "J-A3 with beta = 2 and alpha = 0.9, J-A4 with gains of 1/8 and 1/4; a floor of 10 ms; "
        "one sample a round trip",
        "violations": "timeouts whose original had not been lost (B-A4); in the figure, the copies that "
        "they made, over all data segments",
        "much more": "at least twice as many, with Karn's rule, added over all numbers of senders",
        "collapse": "payload delivered falls below half of the capacity",
        "duration": f"{SECONDS} s (600 s with --full), seeds 1 to {SEEDS}",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Violations and goodput against the number of senders."""
    found = comparison.run([scenario(n, 600 if setting.full else SECONDS) for n in FLOWS], setting, "B-X12")
    rows = [
        _row(found, name, rule, n, 600 if setting.full else SECONDS)
        for name in TIMERS
        for rule in KARN
        for n in FLOWS
    ]
    timeouts = {(row["timer"], row["karn"], row["flows"]): row["timeouts"] for row in rows}
    old, new = TIMERS
    total = {name: sum(timeouts[name, "Karn", n] for n in FLOWS) for name in TIMERS}
    sound = [row["goodput"] for row in rows if not row["timeouts"]]
    collapsed = [row["timeouts"] for row in rows if row["goodput"] < 0.5]
    few, many = (timeouts[old, "Karn", n] for n in (FLOWS[0], FLOWS[-1]))
    checks = [
        at_least("Karn: violations with J-A3", total[old], 2 * total[new], "twice those with J-A4"),
        at_least(f"J-A3: violations of {FLOWS[-1]} senders", many, few, f"those of {FLOWS[0]}"),
        at_least("least goodput without a violation", min(sound, default=0.0), 0.5, "no collapse:"),
        at_least("fewest violations where goodput collapses", min(collapsed, default=1), 1, "some"),
    ]
    notes = [
        (
            f"{row['timer']}, {row['karn']}, {row['flows']} senders: {row['timeouts']} violations, "
            f"{100 * row['spurious']:.3g} % of segments spuriously retransmitted, goodput "
            f"{row['goodput']:.3f} of the capacity"
        )
        for row in rows
    ]
    return Outcome(checks, {"senders": pa.Table.from_pylist(rows)}, {"violations": picture(rows)}, notes)


def _row(found: Comparison, name: str, rule: str, flows: int, seconds: int) -> dict[str, object]:
    runs = found.of(f"{name}, {rule}, {flows}")
    columns = ("spurious_timeouts", "unneeded_retransmissions", "data_segments_sent", "bytes_delivered")
    total = {c: sum(pc.sum(r[c]).as_py() or 0 for r in runs) for c in columns}
    return {
        "timer": name,
        "karn": rule,
        "flows": flows,
        "timeouts": total["spurious_timeouts"],
        "spurious": total["unneeded_retransmissions"] / max(total["data_segments_sent"], 1),
        "goodput": total["bytes_delivered"] * 8 / (RATE * 1e6 * seconds * len(runs)),
    }


def picture(rows: list[dict[str, object]]) -> Figure:
    """Share of segments spuriously retransmitted against the number of senders."""
    fig, axes = style.figure(
        "Segments spuriously retransmitted without backoff",
        f"{RATE} Mbit/s, RTT {1000 * RTT:g} ms, senders of before 1988",
    )
    with mpl.rc_context(style.SETTINGS):
        cases = [(name, rule) for name in TIMERS for rule in KARN]
        for i, (name, rule) in enumerate(cases):
            mine = [row for row in rows if (row["timer"], row["karn"]) == (name, rule)]
            y = 100 * np.array([row["spurious"] for row in mine], float)
            axes.plot(
                [row["flows"] for row in mine],
                y,
                marker="o",
                markersize=4,
                label=f"{ids.without(name)}, {rule}",
                **style.line(i),
            )
        axes.set(xlabel="senders", ylabel="data segments spuriously retransmitted (%)", xscale="log")
        axes.set_xticks(FLOWS, [str(n) for n in FLOWS])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig
