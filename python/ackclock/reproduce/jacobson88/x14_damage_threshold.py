from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import jacobson88 as j
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, between, item, stated
from ackclock.reproduce.jacobson88 import senders
from ackclock.results.confidence import half_width

WINDOWS = (8, 16, 32)
PARTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Damage loss over the threshold p*."""
ROUND_TRIP = 0.5
"""Seconds; long beside the time that 32 packets take, so that the window is the limit."""
FLOWS = 12
"""Connections of a run, each with losses of its own: what the intervals rest on."""
FIXED, AVOIDANCE, COMBINED = "fixed window", "avoidance alone", "slow-start and avoidance"
MONTE_CARLO = {8: (0.958, 0.772), 16: (0.960, 0.744), 32: (0.961, 0.725)}
"""Of the register: a window alone, two round trips for each loss, at p*/10 and p*."""


def scenario(window: int, p: float, losses: int) -> ac.Scenario:
    """The three senders over a path that damages packets; so long that a connection has so many losses."""
    timer = {
        "estimator": ac.Rfc793(min_rto="0s"),
        "timer": "precise",
        "backoff": "none",
        "ack": "every",
        "karn_samples": True,
    }
    fixed = senders.old(window, **timer)
    stacks = {
        FIXED: fixed,
        AVOIDANCE: fixed.but(window=senders.slow_start(phases="avoidance", initial_segs=window)),
        COMBINED: fixed.but(window=senders.slow_start(initial_segs=window)),
    }
    faults = [ac.fault.Corrupt(p=p, of="data")] if p else None
    path = ac.Single(ac.Link("10Mbit/s", f"{ROUND_TRIP / 2}s", faults=faults))
    # A fixed window delivers at least a fifth of what it does without loss.
    seconds = ROUND_TRIP * losses / (p or 1.0) / window * (1 + 2 * p * window)
    return ac.Scenario.of(path, ac.Bulk(flows=FLOWS), stacks, duration=f"{max(seconds, 300):.0f}s")


@item(
    "J-X14",
    kind="SIM",
    title="Damage-loss threshold of the window control itself",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "old TCP (J-A16)")},
        "senders": "one timer and one repair (J-A16's) for all three, with no window control, with "
        "avoidance alone (J-A9), and with slow-start and avoidance (J-A10); windows of 8, 16 and 32 packets "
        "at most, which they have from the beginning",
        "timer": "RFC 793's without a floor and without backoff, counted from when a packet was sent, and no "
        "samples of copies, so that a timeout is the two round trips of J-E8 however many are lost",
        "path": f"10 Mbit/s and a round-trip time of {ROUND_TRIP:g} s, no queue; data packets are damaged "
        "independently, with p from p*/10 to 5 p* where p* = 3/w^2",
        "duration": f"{FLOWS} connections with 60 losses each on average (600 with --full); intervals are "
        "over connections",
        "non-increasing": "from one p to the next by no more than the half widths of both intervals",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Throughput against damage, relative to a sender whose window is fixed."""
    losses = 600 if setting.full else 60
    cases = [(w, 0.0) for w in WINDOWS]
    cases += [(w, part * float(j.loss_threshold(w))) for w, part in product(WINDOWS, PARTS)]
    runs = dict(zip(cases, setting.run_all([scenario(w, p, losses) for w, p in cases], "J-X14"), strict=True))
    goodput = {
        (w, p, name): np.array([f["goodput"] for f in run.flows.to_pylist() if f["stack"] == name])
        for (w, p), run in runs.items()
        for name in (FIXED, AVOIDANCE, COMBINED)
    }
    rows = []
    for w, part in product(WINDOWS, PARTS):
        p = part * float(j.loss_threshold(w))
        whole, fixed = goodput[w, 0.0, FIXED].mean(), goodput[w, p, FIXED]
        row = {"window": w, "part": part, "p": p, "J-E8": float(j.damage_goodput(p, w))}
        row |= {"fixed": fixed.mean() / whole, "fixed_half": half_width(fixed) / whole}
        for name, key in ((AVOIDANCE, "avoidance"), (COMBINED, "combined")):
            of = goodput[w, p, name] / fixed.mean()
            row |= {key: float(of.mean()), f"{key}_half": float(half_width(of))}
        rows.append(row)
    checks = []
    for w in WINDOWS:
        of = {r["part"]: r for r in rows if r["window"] == w}
        ratio = np.array([r["avoidance"] for r in of.values()])
        half = np.array([r["avoidance_half"] for r in of.values()])
        checks += [
            at_least(
                f"w = {w}, p = p*/10: avoidance alone over the fixed window", ratio[0], 0.93, "at least"
            ),
            between(f"w = {w}, p = p*: the same", float(of[1.0]["avoidance"]), 0.65, 0.85),
            stated(
                f"w = {w}: it does not rise with p",
                ", ".join(f"{x:.3f}" for x in ratio),
                bool((np.diff(ratio) <= half[1:] + half[:-1]).all()),
            ),
            between(
                f"w = {w}: fixed window against J-E8, points",
                [100 * (r["fixed"] - r["J-E8"]) for r in of.values()],
                -5,
                5,
            ),
        ]
    notes = [
        f"w = {r['window']}, p = {r['part']:g} p*: avoidance alone {r['avoidance']:.3f} +/- "
        f"{r['avoidance_half']:.3f} of the fixed window, with slow-start {r['combined']:.3f} +/- "
        f"{r['combined_half']:.3f}; fixed window {r['fixed']:.3f} of the whole (J-E8: {r['J-E8']:.3f})"
        for r in rows
    ]
    notes.append(
        "A Monte Carlo of the window alone has, at p*/10 and p*: "
        + "; ".join(f"w = {w}: {a} and {b}" for w, (a, b) in MONTE_CARLO.items())
    )
    fig, axes = style.figure(
        "What damaged packets cost congestion avoidance",
        "Throughput relative to that of a fixed window of w packets with the same timer",
    )
    for i, w in enumerate(WINDOWS):
        of = [r for r in rows if r["window"] == w]
        for key, words, marker in (
            ("avoidance", "avoidance only", "o"),
            ("combined", "with slow-start", "x"),
        ):
            look = {**style.line(i), "linestyle": "-" if key == "avoidance" else ":"}
            axes.errorbar(
                [r["part"] for r in of],
                [r[key] for r in of],
                yerr=[r[f"{key}_half"] for r in of],
                marker=marker,
                capsize=2,
                label=f"w = {w}, {words}",
                **look,
            )
    axes.set(xscale="log", xlabel="share of packets damaged, relative to 3/w²", ylabel="relative throughput")
    axes.set_ylim(0, 1.05)
    axes.grid(True)
    axes.legend(loc="lower left", fontsize=9)
    return Outcome(checks, {"ratios": pa.Table.from_pylist(rows)}, {"ratios": fig}, notes)
