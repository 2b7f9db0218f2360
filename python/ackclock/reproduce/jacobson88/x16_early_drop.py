from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, between, item
from ackclock.reproduce.jacobson88 import f12_window_adjustment as f12
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import CHOICES, MIX, RECEIVER_CHOICE
from ackclock.results.confidence import half_width

DELAYS = (10, 20, 30, 40, 50)
PAPER, FACTOR, PART = 4.0, 2.0, 1 / 3
LEAST = 2
"""Packets: with small windows spikes are lower than those that J-F12 reads."""
GATEWAYS = {
    "drop-tail": ac.DropTail(limit=f"{testbed.QUEUE}packets"),
    "RED": ac.Red(
        limit=f"{testbed.QUEUE}packets", max_p=0.02, gentle=False, mean_packet=f"{testbed.PACKET}B"
    ),
}
"""In place of the tail of the queue."""
BIN = 1.0
"""Seconds of a bin of the mean window's course."""


def scenario(gateway: Any, delay: int, order: tuple[str, ...]) -> ac.Scenario:
    """Four new TCPs behind this gateway."""
    path = ac.Dumbbell(
        bottleneck=ac.Link(f"{testbed.LINK}bit/s", delay=f"{delay}ms", queue=gateway),
        access=testbed.ethernet(),
    )
    return testbed.conversations(path, four.receivers(), order, trace=True)


def constant(run: Any, least: int) -> tuple[float, int]:
    """The time constant of the first three pairs of spikes (s), and how many pairs there are."""
    transfers = list(testbed.connections(run).values())
    time = np.concatenate([t.acked_at for t in transfers])
    amount = np.concatenate([t.acked_bytes for t in transfers]) / testbed.DATA
    end = min(t.acked_at[-1] for t in transfers)
    found = [
        s
        for s in f12.spikes(time, amount, f12.WIDTH, testbed.LINK_DATA / testbed.DATA, least, end)
        if s.at >= f12.FIRST
    ]
    if len(found) < f12.PAIRS:
        return np.nan, len(found)
    tau = f12.fitted(found[: f12.PAIRS])[1]
    # A fit that does not fall has no time constant.
    return (tau if tau > 0 else np.inf), len(found)


@item(
    "J-X16",
    kind="SIM",
    title="Windows adjust faster where a gateway drops early",
    choices={
        **CHOICES,
        **testbed.NEW_CHOICES,
        **RECEIVER_CHOICE,
        "gateway": "the paper's algorithm is not given: RED with thresholds of 5 and 15 packets, max_p 1/50, "
        "w_q 0.002, of as many packets at most as J-F12's queue",
        "runs": "those of J-F12: one-way delays of 10 to 50 ms, all six places of the two old receivers",
        "fit": "that of J-F12, through the first three pairs of spikes after 12 s; spikes from 10 packets on "
        "as there, and from 2 on beside it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The same fit with both gateways."""
    cases = list(itertools.product(DELAYS, sorted(set(itertools.permutations(MIX)))))
    rows: list[dict[str, Any]] = []
    for name, gateway in GATEWAYS.items():
        runs = setting.run_all([scenario(gateway, *case) for case in cases], f"J-X16 {name}")
        for (delay, order), run in zip(cases, runs, strict=True):
            for least in (f12.LEAST, LEAST):
                tau, pairs = constant(run, least)
                rows.append(
                    {
                        "gateway": name,
                        "one_way_ms": delay,
                        "receivers": ", ".join(order),
                        "least": least,
                        "tau": tau,
                        "pairs": pairs,
                    }
                )

    def taus(name: str, least: int) -> np.ndarray:
        return np.array(
            [
                r["tau"]
                for r in rows
                if (r["gateway"], r["least"]) == (name, least) and r["pairs"] >= f12.PAIRS
            ]
        )

    def middle(name: str, least: int) -> float:
        of = taus(name, least)
        return float(np.median(of)) if of.size else float("nan")

    # Where the spikes that J-F12 reads are there in too few runs, the lower ones have to do.
    least = f12.LEAST if taus("RED", f12.LEAST).size >= len(cases) / 2 else LEAST
    early, late = middle("RED", least), middle("drop-tail", least)
    checks = [
        between("time constant with RED (s), median of the runs", early, PAPER / FACTOR, PAPER * FACTOR),
        at_most("over that of drop-tail in the same fit", early / late, PART, "at most a third"),
    ]
    notes = []
    for name, of_least in itertools.product(GATEWAYS, (f12.LEAST, LEAST)):
        of = taus(name, of_least)
        finite = of[np.isfinite(of)]
        notes.append(
            f"{name}, spikes of {of_least} packets and more: three pairs in {of.size} of {len(cases)} runs; "
            + (
                f"time constants {quartiles(of)} s "
                f"(quartiles), mean {finite.mean():.0f} +/- {half_width(finite):.0f} s of the {finite.size} "
                "that fall"
                if of.size and finite.size > 1
                else "no fit"
            )
        )
    notes.append(f"The checks take spikes of {least} packets and more.")
    fig, axes = style.figure(
        "How fast windows adjust, by gateway",
        "Time constants of the first three pairs of spikes, four conversations as in figure 12",
    )
    for i, name in enumerate(GATEWAYS):
        of = np.sort(np.minimum(taus(name, least), 200))
        if of.size:
            axes.step(of, np.arange(1, of.size + 1) / of.size, where="post", label=name, **style.line(i))
    axes.axvspan(
        PAPER / FACTOR, PAPER * FACTOR, color="#eeeeee", label="paper's estimate, within a factor of 2"
    )
    axes.axvline(f12.PAPER, color="#999999", linewidth=1, linestyle=(0, (2, 2)), label="paper's fit, 28 s")
    axes.set(xscale="log", xlabel="time constant (s)", ylabel="share of the runs", ylim=(0, 1.02))
    axes.grid(True)
    axes.legend(loc="upper left", fontsize=9)
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"constants": fig}, notes)


def quartiles(of: np.ndarray) -> str:
    """Quartiles as text; of an even number the upper ones, since a fit that does not fall has no end."""
    ordered = np.sort(of)
    return ", ".join(f"{ordered[min(int(q * of.size), of.size - 1)]:.0f}" for q in (0.25, 0.5, 0.75))
