from __future__ import annotations

from typing import Any

import numpy as np

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, between, item
from ackclock.reproduce.mathis97 import lossy, scatter
from ackclock.scenario import variation

ROW = "FACK-RH DA"
CHOICES = {
    **lossy.CHOICES,
    "losses": "3e-5 to 0.3 in steps spaced logarithmically; without --full the smallest with one or three "
    "of the fifteen paths each",
}


def cases(full: bool) -> list[lossy.Case]:
    """Every size with every delay; long runs at the least losses with few of them, so that the quick form is
    quick.
    """
    paths = [(mss, one_way) for one_way in lossy.DELAYS for mss in lossy.SIZES]
    chosen = []
    for i, p in enumerate(lossy.grid(3e-5, 0.3, 17 if full else 13)):
        few = (
            [paths[(4 * i) % 15]]
            if p < 8e-5
            else [paths[(4 * i + 5 * n) % 15] for n in range(3)]
            if p < 5e-4
            else paths
        )
        seeds = range(1, 4) if full else range(1, 2)
        chosen += [
            lossy.Case(ROW, p, one_way, mss, seed)
            for mss, one_way in (paths if full else few)
            for seed in seeds
        ]
    return chosen


def runs(setting: Setting) -> list[dict[str, Any]]:
    """The runs, which figures 3 and 4 share."""
    return variation.once(
        ("M-F3", setting.full), lambda: lossy.measure(setting, cases(setting.full), "random loss")
    )


def over(rows: list[dict[str, Any]]) -> np.ndarray:
    """Bandwidths over those of equation (3) with C = 1."""
    return np.array([r["bandwidth"] / m.bandwidth(r["p"], r["rtt"], r["mss"], 1.0) for r in rows])


@item(
    "M-F3",
    kind="SIM",
    title="Simulated bandwidth against the model, random loss without a queue",
    choices=CHOICES,
)
def reproduce(setting: Setting) -> Outcome:
    """FACK with rate-halving and delayed acks; three segment sizes, five delays, four decades of loss."""
    rows = [r for r in runs(setting) if r["p"] > 0]
    good = [r for r in rows if r["p"] < 0.01 and not r["timeouts"]]
    ratios, all_ratios = over(good), over(rows)
    bandwidths = np.array([r["bandwidth"] for r in rows])
    cycles = [r["ca"] for r in rows if r["loss"] <= 0.01]
    rate = float(lossy.RATE.removesuffix("Gbit/s")) * 1e9
    packet_time = max(lossy.SIZES) * 8 / rate
    longest = max(r["longest"] for r in rows)
    checks = [
        between("bandwidth over the model's, p < 0.01 and no timeouts", ratios, 0.75, 1.15),
        at_most("the largest of all", float(all_ratios.max()), 1.2, "at most"),
        at_least("window cycles of a run, loss up to 0.01", min(cycles), 50, "at least"),
        at_least(
            "rate of the link over the largest estimate",
            rate / max(m.bandwidth(r["loss"], r["rtt"], r["mss"], 1.0) for r in rows),
            10,
            "at least",
        ),
        at_most("mean queue (packets)", max(r["queue"] for r in rows), 0.01, "next to nothing"),
    ]
    notes = [
        f"bandwidths span {np.log10(bandwidths.max() / bandwidths.min()):.2f} decades",
        f"outliers lie below: the least is {all_ratios.min():.3g} of the model",
        f"longest queue: {longest} packets of a burst, which leave within "
        f"{longest * packet_time * 1e6:.1f} us",
    ]
    title, subtitle = (
        "Bandwidth against the model",
        "FACK-RH, delayed acks, random loss, no queue; open markers: runs with timeouts",
    )
    fig, axes = scatter.figure(
        title, subtitle, "model: MSS/RTT 1/sqrt(p) (bit/s)", "simulated bandwidth (bit/s)"
    )
    for i, mss in enumerate(lossy.SIZES):
        mine = [r for r in rows if r["mss"] == mss]
        x = [float(m.bandwidth(r["p"], r["rtt"], mss, 1.0)) for r in mine]
        scatter.points(
            axes, i, f"MSS {mss} bytes", x, [r["bandwidth"] for r in mine], [r["timeouts"] for r in mine]
        )
    ends = [bandwidths.min(), bandwidths.max()]
    axes.plot(ends, ends, color="#555555", linewidth=1.2, label="C = 1")
    axes.legend(loc="upper left", fontsize=9)
    return Outcome(checks, {"runs": lossy.table(rows)}, {"bandwidth": fig}, notes)
