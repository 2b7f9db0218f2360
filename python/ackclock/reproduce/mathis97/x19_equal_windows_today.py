from __future__ import annotations

from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.results.confidence import half_width

RATE, RTT = 8e6, 20
"""bit/s, and the round-trip time of the first flow, ms."""
RATIOS = (1, 4, 10)
"""Round-trip time of the second flow over that of the first."""
SENDERS = {"reno": "linux-reno", "cubic": "linux", "bbr": "linux-bbr"}
PAIRS = (
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bbr", "bbr"),
    ("cubic", "reno"),
    ("bbr", "reno"),
    ("bbr", "cubic"),
)
"""Senders of the first flow, whose round trip is shorter, and of the second."""
WARM, SECONDS, SEEDS = 10, 30, 10
QUEUES: dict[str, Any] = {
    "drop-tail": lambda ecn: ac.DropTail(limit="100packets"),
    "RED": lambda ecn: ac.Red(limit="200packets", max_p=0.1, mean_packet="1500B", ecn=ecn),
    "CoDel": lambda ecn: ac.queue.Codel(ecn=ecn),
    "PIE": lambda ecn: ac.queue.Pie(ecn=ecn),
}
MARKING = (False, True)
C = 1.31
"""Random loss, an ack for each packet (table 1): the larger of the two constants."""


def scenario(pair: tuple[str, str], ratio: int, queue: str, ecn: bool, seed: int) -> ac.Scenario:
    """Two transfers through one queue."""
    plus = "+ecn" if ecn else ""
    stacks = {f"{i} {name}": ac.Stack(SENDERS[name] + plus) for i, name in enumerate(pair, start=1)}
    flows = [
        ac.Bulk(name=f"flow {i}", stack=name, rtt=f"{RTT * r}ms", spread="2s")
        for (i, name), r in zip(enumerate(stacks, start=1), (1, ratio), strict=True)
    ]
    wide = ac.Link(f"{RATE:.0f}bit/s", queue=ac.DropTail(limit="10000packets"))
    path = ac.Dumbbell(ac.Link(f"{RATE:.0f}bit/s", queue=QUEUES[queue](ecn)), rtt=f"{RTT}ms", back=wide)
    return ac.Scenario.of(
        path, flows, stacks, seed=seed, measure_from=f"{WARM}s", duration=f"{WARM + SECONDS}s"
    )


def read(run: Any) -> dict[str, float]:
    """Windows, rates and p of both."""
    found: dict[str, float] = {}
    rows = sorted(run.flows.to_pylist(), key=lambda f: f["group"])
    for i, f in enumerate(rows, start=1):
        rate = f["segments_acked"] / SECONDS
        signals = f["dropped_packets"] + f["ecn_reductions"]
        p = signals / max(f["data_segments_sent"], 1)
        window = rate * (f["rtt_mean"] or 0.0)
        found |= {f"rate_{i}": rate, f"window_{i}": window, f"p_{i}": p}
        found[f"over_{i}"] = window * sqrt(p) / C
    x = np.array([found["rate_1"], found["rate_2"]])
    found["jain"] = float(x.sum() ** 2 / (2 * (x**2).sum())) if x.any() else 0.0
    found["log_windows"] = float(np.log2(max(found["window_1"], 0.1) / max(found["window_2"], 0.1)))
    return found


@item(
    "M-X19",
    kind="SIM",
    title="Do windows still equalise with today's senders and queues?",
    choices={
        "senders": "Linux's reno, cubic and bbr as the presets `linux-reno`, `linux` and `linux-bbr` have "
        "them; "
        "alone with their like, and mixed, the later-named one with the longer round trip",
        "path": f"{RATE / 1e6:g} Mbit/s, round-trip times of {RTT} ms and 1, 4 and 10 times that",
        "queues": "drop-tail of 100 packets; RED with max_p 0.1; CoDel and PIE as they stand; RED, CoDel "
        "and PIE "
        "also with marks",
        "p": "drops and reductions for marks over packets sent",
        "obeys": "window sqrt(p)/1.31 at most 1",
        "windows": "rate times the mean round-trip time that the connection measures",
        "duration": f"{SECONDS} s after {WARM} s, {SEEDS} seeds (30 with --full)",
        "kernel": "not beside it: the emulator between namespaces runs in real time, and 1260 runs take a "
        "day; "
        "how close the presets are to the kernel is in docs/linux.md",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Six pairs, three ratios of round-trip times, seven queues."""
    seeds = range(1, (30 if setting.full else SEEDS) + 1)
    queues = [(q, e) for q in QUEUES for e in MARKING if not (e and q == "drop-tail")]
    cases = list(product(PAIRS, RATIOS, queues))
    jobs = [(pair, ratio, q, e, seed) for pair, ratio, (q, e) in cases for seed in seeds]
    runs = setting.run_all([scenario(*job) for job in jobs], "M-X19")
    found: dict[Any, list[dict[str, float]]] = {}
    for (pair, ratio, q, e, _), run in zip(jobs, runs, strict=True):
        found.setdefault((pair, ratio, q + (" with marks" if e else "")), []).append(read(run))
    rows = [
        {"first": pair[0], "second": pair[1], "ratio": ratio, "queue": q}
        | {k: float(np.mean([r[k] for r in of])) for k in of[0]}
        | {f"{k}_half": half_width([r[k] for r in of]) for k in ("jain", "log_windows", "over_1", "over_2")}
        for (pair, ratio, q), of in found.items()
    ]
    names = list(dict.fromkeys(r["queue"] for r in rows))
    notes = [
        f"{a} and {b}, {q}: "
        + "; ".join(
            f"ratio {r['ratio']}: windows {r['window_1']:.0f} and {r['window_2']:.0f}, Jain's index of rates "
            f"{r['jain']:.2f} +/- {r['jain_half']:.2f}, window over C/sqrt(p) {r['over_1']:.2f} and "
            f"{r['over_2']:.2f}"
            for r in rows
            if (r["first"], r["second"], r["queue"]) == (a, b, q)
        )
        for a, b in PAIRS
        for q in names
    ]
    apart = {
        (a, b): [2 ** abs(r["log_windows"]) for r in rows if (r["first"], r["second"]) == (a, b)]
        for a, b in PAIRS
    }
    obeys = {
        name: [r[f"over_{i}"] for r in rows for i, side in ((1, "first"), (2, "second")) if r[side] == name]
        for name in SENDERS
    }
    equal = ", ".join(
        f"{a} and {b} {sum(x <= 1.35 for x in of)} of {len(of)}" for (a, b), of in apart.items()
    )
    bound = ", ".join(f"{n} {sum(x <= 1 for x in of)} of {len(of)}" for n, of in obeys.items())
    answer = (
        f"Windows lie within 35 % of each other (M-X8's bound) in so many of the cells of "
        f"queue and "
        f"ratio: {equal}. At most C/sqrt(p) are the windows of {bound}. Sure for two flows over one queue "
        f"in the "
        "simulator, with intervals over seeds; the kernel was not run beside it."
    )
    return Outcome([], {"cells": pa.Table.from_pylist(rows)}, {"windows": figure(rows, names)}, notes, answer)


def figure(rows: list[dict[str, Any]], queues: list[str]) -> Any:
    """Ratio of the windows against that of the round-trip times for each pair, a mark for each queue."""
    fig, axes = style.figure(
        "Window of the flow with the short round trip over the other's",
        f"{RATE / 1e6:g} Mbit/s, round trips of {RTT} ms and 1, 4, 10 times that; a mark for each queue; "
        "the shorter path is named first",
        (9.2, 5),
    )
    markers = "osD^vP*"
    for i, (a, b) in enumerate(PAIRS):
        for q, marker in zip(queues, markers, strict=True):
            of = [r for r in rows if (r["first"], r["second"], r["queue"]) == (a, b, q)]
            axes.plot(
                [r["ratio"] * 1.05 ** (i - 2.5) for r in of],
                [2 ** r["log_windows"] for r in of],
                marker,
                color=style.COLOURS[i % len(style.COLOURS)],
                markersize=5,
                label=f"{a}, {b}" if q == queues[0] else None,
            )
    axes.axhspan(1 / 1.35, 1.35, color="#eeeeee")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="ratio of the round-trip times",
        ylabel="ratio of the windows",
    )
    axes.set_xticks(RATIOS, [str(r) for r in RATIOS])
    axes.grid(True)
    pairs = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9, title="pair")
    axes.add_artist(pairs)
    marks = [
        axes.plot([], [], marker, color="#555555", markersize=5, label=q)[0]
        for q, marker in zip(queues, markers, strict=True)
    ]
    axes.legend(handles=marks, loc="lower left", bbox_to_anchor=(1.01, 0), fontsize=9, title="queue")
    return fig
