from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import jacobson88 as j
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.results.confidence import half_width

WINDOWS = (8, 16, 32, 64, 128)
LARGEST = 256
"""With --full."""
PARTS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Loss over 3/w^2, for a window of 8; others have as many, times w/8, so that both laws are in reach."""
ROUND_TRIP, FLOWS = 0.2, 10
COST = 0.75
"""Share of the throughput without loss at which the threshold is read."""
RULES = {
    "half": senders.slow_start(),
    "less 4 packets": ac.window.ConstantDecrease(initial_window="segments", initial_segs=1, decrease_segs=4),
    "increment w/16": senders.slow_start(increase_factor=1.0625),
}
"""J-A10; a decrease by a constant; an increment that grows with the window."""
LEGEND = {
    "half": "halved at a loss",
    "less 4 packets": "4 packets less at a loss",
    "increment w/16": "halved, increment w/16",
}
FAIR_RATE, FAIR_DELAY, FAIR_PIPE = 1e6, 0.05, 24
FIRST, END = 60.0, 300.0


def losses(w: int) -> list[float]:
    """Losses that a window of w is tried at."""
    return [part * float(j.loss_threshold(w)) * w / 8 for part in PARTS]


def scenario(w: int, p: float, lost: int) -> ac.Scenario:
    """A window limit of w on a path that damages packets, with each rule."""
    stacks = {name: senders.new(w, recovery="sack", window=rule, sack=True) for name, rule in RULES.items()}
    faults = [ac.fault.Corrupt(p=p, of="data")] if p else None
    path = ac.Single(ac.Link("1Gbit/s", f"{ROUND_TRIP / 2}s", faults=faults))
    packets = lost / p if p else 200 * w
    seconds = max(packets / w * ROUND_TRIP, 40)
    return ac.Scenario.of(
        path, ac.Bulk(flows=FLOWS), stacks, measure_from="20s", duration=f"{seconds + 20:.0f}s"
    )


def threshold(p: np.ndarray, share: np.ndarray) -> float:
    """The loss at which the share falls below `COST`, between two points by the logarithm."""
    below = np.flatnonzero(share < COST)
    if not below.size or not below[0]:
        return float("nan")
    k = int(below[0])
    return float(np.exp(np.interp(-COST, -share[k - 1 : k + 1], np.log(p[k - 1 : k + 1]))))


def crowd(seed: int) -> ac.Scenario:
    """Two transfers through a full drop-tail gateway, of which the second begins later."""
    stacks = {
        name: senders.new(8 * FAIR_PIPE, recovery="sack", window=rule, sack=True)
        for name, rule in RULES.items()
    }
    path = ac.Single(senders.line(FAIR_RATE, FAIR_DELAY, FAIR_PIPE))
    flows = [
        ac.Bulk(flows=1, name="first"),
        ac.Bulk(flows=1, name="second", start=f"{FIRST}s", spread="10s"),
    ]
    return ac.Scenario.of(path, flows, stacks, seed=seed, duration=f"{END}s", series="1s")


def shares(run: Any, name: str) -> tuple[float, float, float]:
    """Seconds until the second has 45 % of what both get, over 10 s; drops for each packet; mean queue."""
    table = run.traces["flow_series"].to_pylist()
    flows = {f["flow"]: f for f in run.flows.to_pylist() if f["run"] == name}
    got = {f["group"]: np.zeros(int(END) + 1) for f in flows.values()}
    for r in table:
        if r["run"] == name:
            got[flows[r["flow"]]["group"]][min(round(r["time"]), int(END))] += r["bytes_delivered"]
    begin = next(f["start"] for f in flows.values() if f["group"] == "second")
    window = np.ones(10)
    first, second = (np.convolve(got[g], window, "valid") for g in ("first", "second"))
    t = np.arange(first.size) + 10.0
    fair = np.flatnonzero((t > begin + 10) & (second >= 0.45 * (first + second)))
    link = next(x for x in run.links.to_pylist() if x["run"] == name and x["dropped_queue"] is not None)
    time = float(t[fair[0]]) - begin if fair.size else END - begin
    return time, link["dropped_queue"] / link["packets_offered"], link["queue_mean_packets"]


@item(
    "J-X19",
    kind="CF, SIM",
    title="Which change makes the damage sensitivity linear in the window?",
    choices={
        "packets": senders.CHOICES["packets"],
        "candidates": "the window less a constant of 4 packets at a loss; an increment of 1 packet and a "
        "sixteenth of the window; half of the window and 1 packet (J-A10) beside them",
        "repair": "SACK, an ack for each packet, so that a loss costs no more than the window rule makes "
        "of it",
        "threshold": f"the loss at which a sender limited to w packets has {100 * COST:g} % of its "
        f"throughput "
        "without loss",
        "path": f"{ROUND_TRIP:g} s there and back, no queue, independent damage; intervals over {FLOWS} "
        "connections with some 12 losses each; 150, and a window of 256, with --full",
        "fair shares": f"two transfers, {FAIR_RATE / 1e6:g} Mbit/s, a pipe and a drop-tail queue of "
        f"{FAIR_PIPE} "
        "packets, the second from 60 s on; until it has 45 % of both over 10 s; 10 seeds",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Thresholds against the window, and what the rules do to a shared gateway."""
    windows, lost = ((*WINDOWS, LARGEST), 150) if setting.full else (WINDOWS, 12)
    cases = [(w, p) for w in windows for p in (0.0, *losses(w))]
    runs = dict(
        zip(cases, setting.run_all([scenario(*c, lost) for c in cases], "J-X19", (0, 0.7)), strict=True)
    )
    rows = []
    for name, w in product(RULES, windows):
        goodput = {
            p: np.array([f["goodput"] for f in runs[w, p].flows.to_pylist() if f["run"] == name])
            for p in (0.0, *losses(w))
        }
        share = np.array([goodput[p].mean() / goodput[0.0].mean() for p in losses(w)])
        half = max(half_width(goodput[p] / goodput[0.0].mean()) for p in losses(w))
        rows.append(
            {
                "rule": name,
                "window": w,
                "threshold": threshold(np.array(losses(w)), share),
                "half": half,
                "shares": share.tolist(),
            }
        )
    powers = {}
    for name in RULES:
        of = [r for r in rows if r["rule"] == name and np.isfinite(r["threshold"])]
        slope = np.polyfit(np.log([r["window"] for r in of]), np.log([r["threshold"] for r in of]), 1)
        powers[name] = float(slope[0])
    seeds = range(1, 11)
    crowds = setting.run_all([crowd(s) for s in seeds], "J-X19", (0.7, 1))
    kept = {name: np.array([shares(run, name) for run in crowds]) for name in RULES}
    notes = [
        f"{name}: threshold "
        + ", ".join(f"{100 * r['threshold']:.2g} % at {r['window']}" for r in rows if r["rule"] == name)
        + f"; it falls as w^{powers[name]:.2f}; shares within +/- "
        f"{max(r['half'] for r in rows if r['rule'] == name):.3f}"
        for name in RULES
    ]
    notes += [
        f"{name}: fair shares after {k[:, 0].mean():.0f} +/- {half_width(k[:, 0]):.0f} s, "
        f"{100 * k[:, 1].mean():.2f} +/- {100 * half_width(k[:, 1]):.2f} % dropped, mean queue "
        f"{k[:, 2].mean():.1f} of {FAIR_PIPE}"
        for name, k in kept.items()
    ]
    times = {name: float(k[:, 0].mean()) for name, k in kept.items()}
    drops = {name: 100 * float(k[:, 1].mean()) for name, k in kept.items()}
    nearest = min(powers, key=lambda name: abs(powers[name] + 1))
    answer = (
        f"None of the candidates makes it linear in windows of {windows[0]} to {windows[-1]} packets; "
        f"nearest is "
        f"`{nearest}`: the threshold falls as "
        + ", ".join(f"w^{x:.2f} ({name})" for name, x in powers.items())
        + ". The rest is not kept: fair shares take "
        + ", ".join(f"{t:.0f} s ({name})" for name, t in times.items())
        + ", and a full gateway drops "
        + ", ".join(f"{d:.2f} % ({name})" for name, d in drops.items())
        + ". Not sure of the exponents: a constant of 4 packets is half of the smallest window, and a "
        "connection has "
        "a dozen losses; sure that both candidates drop more at a shared gateway, over ten seeds."
    )
    fig, axes = style.figure(
        "Share of damaged packets that a window bears",
        f"Where {100 * COST:g} % of the throughput is left, and the fitted power; dotted: 3/w² and 1/(4w)",
    )
    for i, name in enumerate(RULES):
        of = [r for r in rows if r["rule"] == name]
        axes.plot(
            [r["window"] for r in of],
            [100 * r["threshold"] for r in of],
            marker="o",
            label=f"{LEGEND[name]}: w^{powers[name]:.2f}",
            **style.line(i),
        )
    w = np.array(windows, float)
    for y in (300 / w**2, 25 / w):
        axes.plot(w, y, color="#999999", linewidth=1, linestyle=(0, (1, 2)))
    axes.set(xscale="log", yscale="log", xlabel="largest window w (packets)", ylabel="packets damaged (%)")
    axes.grid(True)
    axes.legend(loc="lower left", fontsize=9)
    return Outcome([], {"thresholds": pa.Table.from_pylist(rows)}, {"thresholds": fig}, notes, answer)
