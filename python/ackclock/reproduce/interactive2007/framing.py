"""TCP Smart Framing against TCP for interactive flows (I-F12): response time by loss, which cross traffic
controls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.interactive2007 import break_even_loss
from ackclock.plot import style
from ackclock.reproduce.interactive2007 import latency, testbed
from ackclock.reproduce.item import Setting
from ackclock.results.confidence import half_width

TCP, FRAMED = "TCP", "TCP-SF"
FLOWS = 30
"""Interactive flows of a run, so that there are packets enough to count."""
FTP = (4, 8, 16, 32)
"""Endless transfers of the cross traffic."""
RANGE = (0.02, 0.10)
"""Loss of TCP's packets between which the register compares (I-F12)."""
SECONDS, SEEDS, FULL_SEEDS = 50.0, 3, 10
SMALL = (testbed.PAYLOAD / 4 + testbed.HEADERS) / (testbed.PAYLOAD + testbed.HEADERS)
"""Size of a small segment over that of a whole packet, on the wire."""

CHOICES = {
    **testbed.CHOICES,
    "cross traffic": f"that of the default mixes with {', '.join(map(str, FTP))} FTP flows",
    "flows": f"{FLOWS} telnet flows at a time, all with TCP or all with TCP-SF: as many packets in less "
    "time; not stated",
    "compared": "mean response times of the two beside the same cross traffic, wherever TCP's packets are "
    f"lost with {100 * RANGE[0]:g} to {100 * RANGE[1]:g} %",
    "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full); bars and bands are 95 % "
    "confidence from the spread between them",
    "duration": f"{SECONDS:g} s ({testbed.FULL:g} s with --full), after {testbed.WARM:g} s of cross "
    "traffic alone",
}


@dataclass(frozen=True)
class Point:
    """Both TCPs beside one mix of cross traffic, by seed."""

    ftp: int
    times: dict[str, np.ndarray]
    """Mean response time (s) by TCP."""
    loss: dict[str, np.ndarray]
    """Share of data packets lost, by TCP."""
    timeouts: dict[str, float]
    """Timeouts per packet of the application, by TCP."""

    @property
    def ratio(self) -> float:
        """Mean response time of TCP-SF over that of TCP."""
        return float(self.times[FRAMED].mean() / self.times[TCP].mean())

    @property
    def width(self) -> float:
        """Half width of its interval: runs with the same seed are pairs."""
        return half_width(self.times[FRAMED] / self.times[TCP])

    @property
    def compared(self) -> bool:
        """Whether the register compares here."""
        return bool(RANGE[0] <= self.loss[TCP].mean() <= RANGE[1])

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """A row for each TCP and seed."""
        return [
            {
                "queue": kind,
                "ftp": self.ftp,
                "tcp": name,
                "seed": seed,
                "response": float(t),
                "loss": float(p),
            }
            for name in self.times
            for seed, (t, p) in enumerate(zip(self.times[name], self.loss[name], strict=True), 1)
        ]

    def __str__(self) -> str:
        p, ps = (100 * self.loss[name].mean() for name in (TCP, FRAMED))
        t, f = (1e3 * self.times[name].mean() for name in (TCP, FRAMED))
        out = " and ".join(f"{100 * self.timeouts[name]:.3g}" for name in (TCP, FRAMED))
        return (
            f"{self.ftp} FTP: loss {p:.3g} % and {ps:.3g} %, {t:.4g} and {f:.4g} ms (ratio {self.ratio:.3g} "
            f"+/- {self.width:.2g}), {out} timeouts per 100 packets"
        )


def stacks(preset: str = testbed.RENO) -> dict[str, ac.Stack]:
    """Both TCPs."""
    return {TCP: testbed.tcp(preset), FRAMED: testbed.tcp(f"{preset}+smart-framing")}


def measure(
    kinds: list[str], setting: Setting, label: str, preset: str = testbed.RENO
) -> dict[str, list[Point]]:
    """By queue, a point for each mix of cross traffic. preset: of both TCPs."""
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    seconds = testbed.FULL if setting.full else SECONDS
    both = stacks(preset)
    cases = [(kind, n, name, seed) for kind in kinds for n in FTP for name in (TCP, FRAMED) for seed in seeds]
    todo = [
        testbed.scenario(
            testbed.dumbbell(kind),
            testbed.telnet(FLOWS),
            {name: both[name]},
            seconds,
            mix=testbed.Mix(ftp=n, http=0.2, udp=0.5),
            seed=seed,
        )
        for kind, n, name, seed in cases
    ]
    found = dict(zip(cases, setting.run_all(todo, label), strict=True))

    def point(kind: str, n: int) -> Point:
        runs = {name: [found[kind, n, name, seed] for seed in seeds] for name in both}
        times = {name: np.array([latency.mean(r, "telnet") for r in mine]) for name, mine in runs.items()}
        loss = {name: np.array([latency.loss(r, "telnet") for r in mine]) for name, mine in runs.items()}
        sums = {
            name: [sum(latency.total(r, c, "telnet") for r in mine) for c in ("timeouts", "responses")]
            for name, mine in runs.items()
        }
        return Point(n, times, loss, {name: timeouts / packets for name, (timeouts, packets) in sums.items()})

    return {kind: [point(kind, n) for n in FTP] for kind in kinds}


def compared(points: list[Point]) -> list[Point]:
    """Those at which the register compares."""
    return [p for p in points if p.compared]


def notes(found: dict[str, list[Point]]) -> list[str]:
    """Each queue's points in a line, and how much less often small segments are lost than they would have to
    be.
    """
    lines = [f"{kind} (TCP, TCP-SF): " + "; ".join(map(str, points)) for kind, points in found.items()]
    for kind, points in found.items():
        own = [p for p in compared(points) if p.loss[TCP].mean() > 0]
        ratios = ", ".join(f"{p.loss[FRAMED].mean() / p.loss[TCP].mean():.3g}" for p in own)
        even = ", ".join(
            f"{float(break_even_loss(p.loss[TCP].mean())) / p.loss[TCP].mean():.3g}" for p in own
        )
        apart = [f"{3 * p.loss[FRAMED].mean() / (p.timeouts[FRAMED] or np.nan):.3g}" for p in own]
        lines.append(
            f"{kind}: timeouts that small segments lost each by itself would bring, 3 ps, over those "
            f"counted: {', '.join(apart)}"
        )
        lines.append(
            f"{kind}: loss of small segments over that of whole packets {ratios}; as many timeouts as TCP "
            f"would need {even} (I-E15)"
        )
    return lines


def mean_ratio(points: list[Point]) -> float:
    """Response time of TCP-SF over that of TCP, the mean over the losses compared."""
    return float(np.mean([p.ratio for p in compared(points)]))


def more_timeouts(points: list[Point]) -> str:
    """How often TCP-SF timed out for each timeout of TCP, as its segments' size alone would have it and as
    counted.
    """
    own = compared(points)
    by_size = ", ".join(f"{_by_size(p.loss[TCP].mean()):.3f}" for p in own)
    counted = ", ".join(f"{p.timeouts[FRAMED] / (p.timeouts[TCP] or np.nan):.3g}" for p in own)
    return (
        f"timeouts of TCP-SF for each of TCP: with losses by size alone (ps = {SMALL:.3g} p, I-E15) "
        f"{by_size}; counted {counted}"
    )


def _by_size(p: float) -> float:
    return float((1 - (1 - SMALL * p) ** 3) / p)


def beside(kinds: list[str], setting: Setting, label: str) -> list[str]:
    """What a SACK sender gives, in a line for each queue."""
    return [
        f"{kind}, SACK in place of Reno: TCP-SF over TCP {mean_ratio(points):.3g}"
        for kind, points in measure(kinds, setting, label, testbed.SACK).items()
    ]


def picture(found: dict[str, list[Point]], title: str) -> Figure:
    """Response time against the loss of TCP's packets beside the same cross traffic."""
    words = f"5 Mbit/s, 12 ms, packets of {testbed.PAYLOAD} bytes; bars: 95 %; grey: where they are compared"
    fig, axes = style.figure(title, words)
    with mpl.rc_context(style.SETTINGS):
        axes.axvspan(100 * RANGE[0], 100 * RANGE[1], color="#f0f0f0", zorder=0)
        for k, (kind, points) in enumerate(found.items()):
            x = [100 * p.loss[TCP].mean() for p in points]
            for name, marker in ((TCP, "o"), (FRAMED, "s")):
                look = {
                    "color": style.COLOURS[2 * k + (name == FRAMED)],
                    "linestyle": style.DASHES[int(name == FRAMED)],
                    "marker": marker,
                }
                bars = [half_width(p.times[name]) for p in points]
                means = [p.times[name].mean() for p in points]
                axes.errorbar(
                    x,
                    means,
                    yerr=bars,
                    markersize=4,
                    capsize=2.5,
                    label=f"{name}, {kind}" if len(found) > 1 else name,
                    **look,
                )
        axes.set(xlabel="loss of TCP's packets (%)", ylabel="mean response time (s)")
        # What is compared reaches beyond what traffic has made here.
        axes.set_xlim(0, 105 * max(p.loss[TCP].mean() for points in found.values() for p in points))
        if len(found) > 1:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        else:
            axes.set_ylim(bottom=0)
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9, handlelength=2.6)
    return fig
