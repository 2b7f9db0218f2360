from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, between, exactly, item
from ackclock.scenario import variation

TICKS = (0.5, 0.1, 0.01, 0.001)
"""Seconds."""
NUMBERS = (100, 1000, 10_000)
"""Connections."""
RTO = 1.0
ACKS, PAUSE, SHARE = 0.1, 5.0, 0.01
"""Mean time between acks, the pause after some of them, and their share: then the timer expires."""


@dataclass(frozen=True)
class Load:
    """When each connection gets acks that restart its timer, all together in order: time and connection."""

    number: int
    seconds: float
    events: list[tuple[float, int]]

    @staticmethod
    def of(number: int, busy: bool, seconds: float) -> Load:
        """Busy connections, or idle ones without acks."""
        if not busy:
            return Load(number, seconds, [])
        rng = np.random.default_rng(variation.seed(2000))
        size = int(3 * seconds / ACKS) + 20
        gaps = rng.exponential(ACKS, (number, size))
        gaps = np.where(rng.random((number, size)) < SHARE, PAUSE, gaps)
        times = np.cumsum(gaps, axis=1)
        at, which = np.nonzero(times < seconds)[1], np.nonzero(times < seconds)[0]
        events = list(zip(times[which, at].tolist(), which.tolist(), strict=True))
        return Load(number, seconds, sorted(events))


@dataclass(frozen=True)
class Cost:
    """What a timer did."""

    operations: int
    """Visits of connections by the clock, or operations on the heap."""
    expiries: int
    processor: float


def heartbeat(load: Load, tick: float) -> Cost:
    """E-A5: at every tick each connection is visited, and the countdown of an active one falls by one."""
    began, whole = time.process_time(), max(round(RTO / tick), 1)
    left = [0] * load.number
    visits = expiries = 0
    events = iter(load.events)
    due = next(events, None)
    for n in range(1, round(load.seconds / tick) + 1):
        now = n * tick
        while due is not None and due[0] <= now:
            left[due[1]] = whole
            due = next(events, None)
        for i, count in enumerate(left):
            visits += 1
            if count:
                left[i] = count - 1
                if count == 1:
                    expiries += 1
    return Cost(visits, expiries, time.process_time() - began)


def armed(load: Load) -> Cost:
    """A heap with an entry for each connection whose timer runs. A restart only notes the new deadline; the
    entry moves when its old one comes.
    """
    began = time.process_time()
    heap: list[tuple[float, int]] = []
    deadline = [0.0] * load.number
    operations = expiries = 0
    for now, i in [*load.events, (load.seconds, -1)]:
        while heap and heap[0][0] <= now:
            at, j = heapq.heappop(heap)
            operations += 1
            if deadline[j] > at:
                heapq.heappush(heap, (deadline[j], j))
                operations += 1
            else:
                deadline[j] = 0.0
                expiries += 1
        if i >= 0:
            if not deadline[i]:
                heapq.heappush(heap, (now + RTO, i))
                operations += 1
            deadline[i] = now + RTO
    return Cost(operations, expiries, time.process_time() - began)


@item(
    "E-X12",
    kind="CF, SIM",
    title="What a fine heartbeat costs",
    choices={
        "connections": f"busy ones get an ack every {1e3 * ACKS:g} ms on average, after one in a hundred "
        f"none "
        f"for {PAUSE:g} s; idle ones have no timer running",
        "timeout": f"{RTO:g} s, restarted by every ack",
        "heartbeat": "one pass over all connections at every tick, as in BSD",
        "armed timer": "a binary heap; an operation is an entry that is put in or taken out",
        "time": "5 s (60 s with --full), of which for 10,000 connections at 1 ms one second",
        "processor time": "of two loops in one language; its ratios differ from run to run and from "
        "machine to "
        "machine, and decide nothing",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Four ticks and three numbers of connections, busy and idle, beside a timer for each connection."""
    rows = []
    for number in NUMBERS:
        for busy in (True, False):
            for tick in (*TICKS, None):
                seconds = 60.0 if setting.full else 5.0
                if number == max(NUMBERS):
                    seconds = 5.0 if tick is None or tick > 0.005 else 1.0
                load = Load.of(number, busy, seconds)
                cost = armed(load) if tick is None else heartbeat(load, tick)
                rows.append(
                    {
                        "connections": number,
                        "busy": busy,
                        "tick": tick,
                        "per_second": cost.operations / seconds,
                        "useful": cost.expiries / cost.operations if cost.operations else 0.0,
                        "expiries": cost.expiries,
                        # Each ack lets a segment be sent.
                        "needed": 2 * len(load.events) + cost.expiries,
                        "operations": cost.operations,
                        "processor": cost.processor / seconds,
                    }
                )
    beats = [r for r in rows if r["tick"]]
    own = [r for r in rows if not r["tick"]]
    checks = [
        exactly(
            f"visits per second of {n} connections at 500, 100, 10, 1 ms",
            [round(r["per_second"]) for r in beats if r["connections"] == n and r["busy"]],
            [round(n / t) for t in TICKS],
        )
        for n in NUMBERS
    ]
    checks.append(
        exactly(
            "visits of idle connections, over those of busy ones",
            sum(r["operations"] for r in beats if not r["busy"])
            / sum(r["operations"] for r in beats if r["busy"]),
            1.0,
        )
    )
    thousand = [r for r in beats if r["busy"] and r["connections"] == 1000]
    fall = [
        (a["useful"] / b["useful"]) / (a["tick"] / b["tick"]) for a, b in pairwise(thousand) if b["useful"]
    ]
    checks += [
        between("useful share of the visits from tick to tick, over the ratio of the ticks", fall, 0.8, 1.25),
        at_most(
            "armed timers: operations over sends, acks and expiries",
            max(r["operations"] / r["needed"] for r in own if r["busy"]),
            1.0,
            "at most",
        ),
        exactly(
            "armed timers: operations for idle connections",
            sum(r["operations"] for r in own if not r["busy"]),
            0,
        ),
    ]
    notes = []
    for n in NUMBERS:
        base = next(r for r in own if r["connections"] == n and r["busy"])
        words = ", ".join(
            f"{1e3 * r['tick']:g} ms {r['per_second']:.3g} visits a second, {100 * r['useful']:.2g} % "
            f"useful, "
            f"{r['processor'] / base['processor']:.2g} times the processor time"
            for r in beats
            if r["connections"] == n and r["busy"]
        )
        notes.append(
            f"{n} busy connections, armed timers {base['per_second']:.3g} operations a second; {words}"
        )
    fig, axes = style.figure(
        "What timers do each second",
        "Heartbeats visit every connection at every tick; an armed timer acts when something happens",
    )
    for i, n in enumerate(NUMBERS):
        of = [r for r in beats if r["connections"] == n and r["busy"]]
        axes.plot(
            [1e3 * r["tick"] for r in of],
            [r["per_second"] for r in of],
            marker="o",
            label=f"{n} connections",
            **style.line(i),
        )
        base = next(r for r in own if r["connections"] == n and r["busy"])
        axes.axhline(base["per_second"], color=style.COLOURS[i], linewidth=0.9, linestyle=(0, (1, 2)))
    axes.set(
        xscale="log", yscale="log", xlabel="tick (ms)", ylabel="operations per second (dotted: armed timers)"
    )
    axes.grid(True)
    axes.legend(loc="upper right", fontsize=9)
    return Outcome(checks, {"costs": pa.Table.from_pylist(rows)}, {"costs": fig}, notes)
