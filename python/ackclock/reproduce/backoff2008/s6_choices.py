from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, flash, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.testbed import BACKOFFS, NONE, STAR, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item

SECONDS, FULL = {"I": 16, "II": 48}, {"I": 60, "II": 200}
SEEDS, FULL_SEEDS = 1, 4
SHARE = 0.9
"""Of TCP*(inf) in mixes."""
BURST = 1
"""Seconds of ON and of OFF."""
PATIENCE = {TCP: 4, STAR: 7, NONE: 24}
"""Retransmissions of a SYN within the 75 s after which FreeBSD 6.1 gives a connection up, 3 s before the
first.
"""


@dataclass(frozen=True)
class Choice:
    """One way to fill in what the paper leaves open."""

    name: str
    offered: float = testbed.OFFERED_MBIT
    """Payload, Mbit/s."""
    queue: Any = None
    """The bottleneck's; that of the testbed by default."""
    part: float = 1.0
    """Of the usual time of arrivals."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of every stack."""
    backoffs: dict[str, Any] = field(default_factory=dict)
    """In place of some stack's."""
    patience: dict[str, int] = field(default_factory=dict)
    """Retransmissions of a SYN before a stack gives up."""
    sizes: Any = None

    def stacks(self, *labels: str) -> dict[str, ac.Stack]:
        """The stacks of those labels."""
        found = {}
        for label, stack in testbed.stacks("200ms", *labels).items():
            changed = {
                **self.options,
                **({"syn_retries": self.patience[label]} if label in self.patience else {}),
            }
            found[label] = stack.but(**changed, backoff=self.backoffs.get(label, BACKOFFS[label]))
        return found


def red(bdp: float, **more: Any) -> ac.queue.Red:
    """RED over so many bytes of a bandwidth-delay product, as the testbed has it where nothing else is
    said.
    """
    given = {"limit": f"{2 * bdp:.0f}B", "min_th": f"{bdp / 3:.0f}B", "max_th": f"{bdp:.0f}B"}
    return ac.queue.Red(**{**given, **more})


BDP = testbed.bdp(10)
CHOICES = (
    Choice("as chosen"),
    Choice("10 Mbit/s offered", offered=10),
    Choice("15 Mbit/s offered", offered=15),
    Choice("half as long", part=0.5),
    Choice("twice as long", part=2.0),
    Choice("RED between 1/12 and 1/4", queue=red(BDP, min_th=f"{BDP / 6:.0f}B", max_th=f"{BDP / 2:.0f}B")),
    Choice("RED that aims at 5 ms", queue=ac.queue.Red(target_delay="5ms", limit=f"{2 * BDP:.0f}B")),
    Choice("drop-tail", queue=ac.queue.DropTail(limit=f"{2 * BDP:.0f}B")),
    Choice("queue by 200 ms", queue=red(10e6 / 8 * 0.2)),
    Choice("backoff kept until a sample", options={"karn_backoff": True}),
    Choice("timestamps", options={"timestamps": True}),
    Choice("FreeBSD's SYNs for TCP", backoffs={TCP: ac.backoff.FreebsdSyn(r2_retries="inf")}),
    Choice(
        "gives up as FreeBSD",
        backoffs={
            TCP: ac.backoff.Exponential(r2_retries=12, r2_time="0s"),
            STAR: ac.SubExponential(n=3, r2_retries=12, r2_time="0s"),
            NONE: ac.backoff.None_(r2_retries=12, r2_time="0s"),
        },
        patience=PATIENCE,
    ),
    Choice("sizes with a lognormal body", sizes=ac.sizes.LognormalPareto()),
)


@dataclass(frozen=True)
class Found:
    """What one choice gave: the three worlds of a trace, bursts, and a mix."""

    alone: dict[str, Comparison]
    bursts: Comparison
    mix: dict[str, Comparison]

    def p99(self, c: Comparison, top: str, bottom: str) -> float:
        """Ratio of 99th percentiles."""
        return float(c.p99(top).mean() / c.p99(bottom).mean())

    def slowdown(self, trace: str) -> float:
        """Mean of TCP in the mix over its mean alone."""
        return float(self.mix[trace].mean(TCP).mean() / self.alone[trace].mean(TCP).mean())

    def goodput(self) -> float:
        """The lesser of both traces' goodput of TCP*(inf) over TCP."""
        return min(
            float(c.number(NONE, "goodput").mean() / c.number(TCP, "goodput").mean())
            for c in self.alone.values()
        )

    def violations(self) -> float:
        """Timeouts below the round-trip time over retransmissions (%), the larger of both traces'."""
        return max(flash.violations(c, NONE).percent for c in self.alone.values())

    def copies(self) -> float:
        """All spurious retransmissions over retransmissions (%), the larger of both traces'."""
        return max(
            100 * v.copies / max(v.retransmissions, 1)
            for v in (flash.violations(c, NONE) for c in self.alone.values())
        )


@dataclass(frozen=True)
class Headline:
    """A figure's main check: a number, and its bounds."""

    id: str
    words: str
    number: Callable[[Found], float]
    least: float = -np.inf
    most: float = np.inf

    def row(self) -> str:
        """What it is, and what is asked of it."""
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (("at least", self.least), ("at most", self.most))
            if np.isfinite(bound)
        ]
        return f"{self.words} ({', '.join(bounds)})"

    def holds(self, value: float) -> bool:
        """Whether a number is within the bounds of its item."""
        return bool(self.least <= value <= self.most)


HEADLINES = (
    Headline(
        "B-F2a", "Trace-I: P99 of TCP*(inf) over TCP", lambda f: f.p99(f.alone["I"], NONE, TCP), most=1.05
    ),
    Headline(
        "B-F2b", "Trace-II: P99 of TCP*(inf) over TCP", lambda f: f.p99(f.alone["II"], NONE, TCP), most=1.10
    ),
    Headline("B-X2", "goodput of TCP*(inf) over TCP", lambda f: f.goodput(), least=0.98),
    Headline("B-X3", "timeouts below RTT (% of retransmissions)", lambda f: f.violations(), most=1.0),
    Headline(
        "B-X3", "spurious retransmissions of any cause (% of retransmissions)", lambda f: f.copies(), most=1.0
    ),
    Headline(
        "B-F3", "Trace-I: P99 of TCP over TCP*(inf)", lambda f: f.p99(f.alone["I"], TCP, NONE), least=1.5
    ),
    Headline(
        "B-F4",
        "bursts of 1 s: P99 of TCP over TCP*(inf)",
        lambda f: f.p99(f.bursts, TCP, NONE),
        least=1.4,
        most=3.0,
    ),
    Headline("B-F12a", "Trace-I: slowdown of TCP beside 90 %", lambda f: f.slowdown("I"), least=1.0),
    Headline(
        "B-F12b", "Trace-II: slowdown of TCP beside 90 %", lambda f: f.slowdown("II"), least=1.5, most=2.5
    ),
)


def scenarios(c: Choice, full: bool) -> list[ac.Scenario]:
    """Both traces with each stack alone, bursts, and both traces mixed."""
    own = testbed.link(10)
    path = ac.Dumbbell(bottleneck=ac.Link(own.rate, queue=c.queue or own.queue), rtt=testbed.RTT)
    times = {trace: c.part * (FULL if full else SECONDS)[trace] for trace in SECONDS}
    more = {"repeat": FULL_SEEDS if full else SEEDS}

    def web(trace: str, **arrivals: Any) -> Any:
        return ac.Web(trace=trace, load=c.offered / 10, **({"sizes": c.sizes} if c.sizes else {}), **arrivals)

    bursts = web("I", arrivals=ac.arrivals.OnOff(on=f"{BURST}s", off=f"{BURST}s", periods="constant"))
    mix = {TCP: 1 - SHARE, NONE: SHARE}
    found = [testbed.scenario(path, web(t), c.stacks(TCP, NONE), times[t], **more) for t in SECONDS]
    found.append(testbed.scenario(path, bursts, c.stacks(TCP, NONE), times["I"], **more))
    return found + [
        testbed.scenario(path, web(t), c.stacks(TCP, NONE), times[t], mix=mix, **more) for t in SECONDS
    ]


def measure(setting: Setting) -> dict[str, Found]:
    """All choices, as one sweep."""
    count = FULL_SEEDS if setting.full else SEEDS
    each = {c.name: [one for s in scenarios(c, setting.full) for one in comparison.seeds(s)] for c in CHOICES}
    runs = iter(setting.run_all([s for mine in each.values() for s in mine], "B-S6"))
    found = {}
    for name, mine in each.items():
        own = [next(runs) for _ in mine]
        parts = [comparison.gather(own[i : i + count]) for i in range(0, len(own), count)]
        found[name] = Found(
            dict(zip(SECONDS, parts[:2], strict=True)), parts[2], dict(zip(SECONDS, parts[3:], strict=True))
        )
    return found


@item(
    "B-S6",
    kind="SIM",
    title="How much depends on what the paper leaves open?",
    choices={
        **testbed.CHOICES,
        "choices": "; ".join(c.name for c in CHOICES) + ": one thing differs each time",
        "gives up as FreeBSD": "after 75 s without an answer to the SYN (4, 7 and 24 retransmissions for "
        "TCP, TCP*(3) and TCP*(inf)), or after 12 retransmissions of a data "
        "segment; flows that gave up have no response time",
        "headlines": "; ".join(f"{h.id} {h.words}" for h in HEADLINES)
        + "; with a minimum RTO of 0.2 s and the bounds of the items",
        "checks": "a headline's verdict is the same under every choice",
        "random numbers": f"seed 1 alone (1 to {FULL_SEEDS} with --full): a ratio of tails varies by about "
        "0.1 from seed to seed",
        "duration": f"arrivals for {SECONDS['I']} s of Trace-I and {SECONDS['II']} s of Trace-II "
        f"({FULL['I']} and {FULL['II']} s with --full); Trace-II went up from 24 s after "
        "results had been seen, to steady it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Each headline under each choice."""
    found = measure(setting)
    values = np.array([[h.number(f) for f in found.values()] for h in HEADLINES])
    held = np.array([[h.holds(v) for v in line] for h, line in zip(HEADLINES, values, strict=True)])
    checks = [steady(h, mine) for h, mine in zip(HEADLINES, held, strict=True)]
    names = [c.name for c in CHOICES]
    rows = [
        {
            "id": h.id,
            "headline": h.words,
            "choice": name,
            "value": float(values[i, j]),
            "holds": bool(held[i, j]),
        }
        for i, h in enumerate(HEADLINES)
        for j, name in enumerate(names)
    ]
    notes = [
        f"{h.id}, {h.words}: "
        + ", ".join(
            f"{name} {v:.3g}{'' if ok else ' (not)'}" for name, v, ok in zip(names, line, mine, strict=True)
        )
        for h, line, mine in zip(HEADLINES, values, held, strict=True)
    ]
    notes.append(
        f"gave up, TCP and TCP*(inf), Trace-I, {CHOICES[-2].name}: "
        + ", ".join(f"{lost(found[CHOICES[-2].name].alone['I'], s)}" for s in (TCP, NONE))
    )
    return Outcome(
        checks,
        {"headlines": pa.Table.from_pylist(rows)},
        {"headlines": picture(values, held)},
        notes,
        answer(held),
    )


def lost(found: Comparison, stack: str) -> str:
    """How many flows failed."""
    mine = [row for row in found.rows if row["stack"] == stack]
    return f"{sum(row['failed'] for row in mine)} of {sum(row['flows'] for row in mine)}"


def steady(h: Headline, held: np.ndarray) -> Check:
    """Whether the verdict is the same under every choice."""
    names = [c.name for c in CHOICES]
    fewer = bool(held.sum() * 2 <= held.size)
    odd = [name for name, ok in zip(names, held, strict=True) if ok == fewer]
    got = f"holds under {int(held.sum())} of {held.size}"
    if odd and len(odd) < held.size:
        got += f"; {'only' if fewer else 'not'} with: {', '.join(odd)}"
    return Check(
        f"{h.id}, {h.words}: the same verdict",
        f"under all {held.size} choices",
        got,
        bool(held.all() or not held.any()),
    )


def answer(held: np.ndarray) -> str:
    """What the results say."""
    named = [(f"{h.id}, {h.words}", mine) for h, mine in zip(HEADLINES, held, strict=True)]
    groups = {
        "Whatever is chosen, these checks hold": [name for name, mine in named if mine.all()],
        "Whatever is chosen, these checks fail": [name for name, mine in named if not mine.any()],
        (
            f"These checks depend on the choice (in brackets: under how many of the {len(CHOICES)} they hold)"
        ): [f"{name} ({int(mine.sum())})" for name, mine in named if mine.any() and not mine.all()],
    }
    return " ".join(f"{what}: {'; '.join(names)}." for what, names in groups.items() if names)


def picture(values: np.ndarray, held: np.ndarray) -> Figure:
    """A table of numbers, coloured by verdict."""
    fig, axes = style.figure(
        "Headline checks under other choices",
        "Blue: the check in brackets holds; orange: it fails. Each column changes one choice of the first",
        size=(12.0, 5.4),
    )
    with mpl.rc_context(style.SETTINGS):
        colours = np.where(held[:, :, None], mpl.colors.to_rgb("#a9cfe8"), mpl.colors.to_rgb("#f0b58a"))
        axes.imshow(colours, aspect="auto")
        for i, j in np.ndindex(values.shape):
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=8.5)
        axes.set_xticks(range(len(CHOICES)), [textwrap.fill(c.name, 10) for c in CHOICES], fontsize=7.5)
        axes.set_yticks(range(len(HEADLINES)), [textwrap.fill(h.row(), 38) for h in HEADLINES], fontsize=9)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
    return fig
