from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import interactive2007 as i
from ackclock.plot import style
from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, exactly, item, stated
from ackclock.results import Run

CASES: dict[str, tuple[int, ...]] = {
    "both copies arrive": (),
    "the first is lost": (3,),
    "the second is lost": (4,),
    "both are lost": (3, 3),
}
"""What becomes of the second packet: the numbers of the data segments that are lost, copies counted. Each
fault sees what those before it let pass."""
LOSSES = (0.02, 0.05, 0.1, 0.2)
THINK = 60.0
"""Seconds between packets on average: each is alone."""
PACKETS, FULL_PACKETS = 20_000, 100_000
SIGMAS = 3.0
WHAT = ("all copies lost", "and the first retransmission", "window reduced")
"""What is counted of packets."""


def scenario(packets: int, faults: Any, seconds: float, seed: int = 1) -> ac.Scenario:
    """One flow with two copies of each packet."""
    path = ac.Dumbbell(
        bottleneck=ac.Link(
            f"{testbed.RATE:g}Mbit/s", queue=testbed.queue(testbed.DROP_TAIL_BYTES), faults=faults
        ),
        back=ac.Link(f"{testbed.RATE:g}Mbit/s", queue=testbed.queue(testbed.DROP_TAIL_BYTES)),
        rtt=f"{1e6 * testbed.RTT:.0f}us",
    )
    stack = testbed.tcp("sack+no-limited-transmit+diversity(2)")
    flow = ac.Telnet(flows=1, think=f"{THINK:g}s", bytes=f"{testbed.PAYLOAD}B", packets=packets)
    return ac.Scenario.of(path, flow, {"III": stack}, seed=seed, duration=f"{seconds:.0f}s")


def single(run: Run) -> dict[str, Any]:
    """The numbers of the one flow."""
    (flow,) = run.flows.to_pylist()
    return flow


def scripted(setting: Setting) -> list[tuple[str, dict[str, Any]]]:
    """Three packets, of whose second some copies are lost."""
    todo = [
        scenario(3, [ac.NthLoss(number=n, of="data") for n in lost] or None, 3000.0)
        for lost in CASES.values()
    ]
    return [
        (name, single(run))
        for name, run in zip(CASES, setting.run_all(todo, "I-X5", (0.0, 0.1)), strict=True)
    ]


def accounted(found: list[tuple[str, dict[str, Any]]]) -> list[Check]:
    """What the sender does in each case."""
    wanted = {
        name: [int(len(lost) == 2), int(len(lost) > 0), int(len(lost) == 2)] for name, lost in CASES.items()
    }
    return [
        exactly(
            f"{name}: timeouts, window reductions, retransmissions",
            [f["timeouts"], f["window_cuts"], f["retransmitted_segments"]],
            wanted[name],
        )
        for name, f in found
    ]


def shares(flow: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """How often, and of how many: packets whose copies are all lost, first retransmissions that are lost too,
    and window reductions.
    """
    rounds, packets = flow["timeouts_by_round"], flow["responses"]
    return {
        "all copies lost": (rounds[0], packets),
        "and the first retransmission": (rounds[1], packets),
        "window reduced": (flow["window_cuts"], packets),
    }


def expected(p: float) -> dict[str, float]:
    """The same by equation (13); the window is reduced when any copy is lost."""
    all_lost = 1.0 - float(i.diversity_failures(p, 0))
    return {
        "all copies lost": all_lost,
        "and the first retransmission": all_lost - float(i.diversity_failures(p, 1)),
        "window reduced": 1 - (1 - p) ** 2,
    }


def judged(p: float, flow: dict[str, Any]) -> list[Check]:
    """Whether each share lies within `SIGMAS` standard deviations of what is expected."""
    checks = []
    for name, (count, of) in shares(flow).items():
        wanted = expected(p)[name]
        away = (count / of - wanted) / math.sqrt(wanted * (1 - wanted) / of)
        got = f"{count / of:.4g} ({count} of {of}), {away:+.2f} sigma"
        checks.append(
            stated(f"p = {p:g}: {name}", got, abs(away) <= SIGMAS, f"{wanted:.4g} within {SIGMAS:g} sigma")
        )
    return checks


@item(
    "I-X5",
    kind="SIM",
    title="Diversity's account of its window",
    choices={
        "path": "the default dumbbell with nothing else on it",
        "flow": f"one telnet flow with two copies of each packet, {THINK:g} s apart on average rather than "
        "1 s, so that each is alone",
        "acks": testbed.CHOICES["acks"] + ": delayed acks are off, as in the paper",
        "waiting": "a duplicate ack is waited for as long as a retransmission timeout: the paper does not "
        "say",
        "random numbers": "seed 1",
        "packets": f"three where losses are scripted; {PACKETS:,} at each random loss ({FULL_PACKETS:,} "
        "with --full)",
    },
    points_at=[
        "framing diversity(copies=2)",
        "stack sack+diversity(2)",
        "formula diversity-failures",
        "item I-A7",
    ],
    tests=[
        "crates/ackclock-engine/tests/it/diversity.rs::both_copies_arrive_and_nothing_happens",
        "crates/ackclock-engine/tests/it/diversity.rs::one_lost_copy_reduces_the_window_without_a_timeout",
        "crates/ackclock-engine/tests/it/diversity.rs::with_all_copies_lost_a_timeout_retransmits_once",
        "tests/test_reproduce_interactive2007_copies.py::test_single_packets_are_not_accounted_as_copies",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Which losses reduce the window and which time out: scripted, and counted with random losses."""
    checks = accounted(scripted(setting))
    packets = FULL_PACKETS if setting.full else PACKETS
    loss = [[ac.Loss(p=p, of="data")] for p in LOSSES]
    runs = setting.run_all(
        [scenario(packets, faults, 1.5 * packets * THINK) for faults in loss], "I-X5", (0.1, 1.0)
    )
    flows = {p: single(run) for p, run in zip(LOSSES, runs, strict=True)}
    checks += [c for p, flow in flows.items() for c in judged(p, flow)]
    rows = [
        {"p": p, "what": name, "count": count, "of": of, "expected": expected(p)[name]}
        for p, flow in flows.items()
        for name, (count, of) in shares(flow).items()
    ]
    return Outcome(checks, {"shares": pa.Table.from_pylist(rows)}, {"shares": picture(flows)})


def picture(flows: dict[float, dict[str, Any]]) -> Figure:
    """Shares against loss: lines by the formula, points simulated."""
    fig, axes = style.figure(
        "Two copies of each packet: what a loss does",
        f"Lines: equation (13); points: one flow, bars of {SIGMAS:g} sigma",
    )
    with mpl.rc_context(style.SETTINGS):
        fine = np.geomspace(LOSSES[0], LOSSES[-1], 60)
        for k, name in enumerate(expected(0.1)):
            look = style.line(k)
            counted = [(p, *shares(flow)[name]) for p, flow in flows.items()]
            bars = [
                SIGMAS * math.sqrt(expected(p)[name] * (1 - expected(p)[name]) / of) for p, _, of in counted
            ]
            axes.plot(fine, [expected(p)[name] for p in fine], label=name, **look)
            dots = {"color": look["color"], "linestyle": "none", "marker": "o", "markersize": 4}
            axes.errorbar([p for p, *_ in counted], [c / of for _, c, of in counted], yerr=bars, **dots)
        axes.set(xscale="log", yscale="log", xlabel="loss ratio", ylabel="share of packets")
        axes.set_xticks(LOSSES, [f"{p:g}" for p in LOSSES])
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        axes.grid(True)
        axes.legend(loc="best", fontsize=9, handlelength=2.6)
    return fig
