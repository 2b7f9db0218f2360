from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import latency, seen, testbed
from ackclock.reproduce.item import Check, Outcome, Setting, between, item, stated, within
from ackclock.results import Run
from ackclock.results.confidence import half_width

RTT = 0.1
"""Seconds."""
RATE = 50.0
"""Mbit/s: so much that sending a burst takes little time."""
BURSTS = (1, 4, 10, 28)
"""Packets of a burst."""
PAUSES = (1.0, 2.0, 5.0)
"""Mean pauses, seconds."""
DUMMIES, KEPT, DECAYED, RESTARTED = (
    "kept by dummies",
    "kept without dummies",
    "decayed (RFC 2861)",
    "restarted at 4 (RFC 3390)",
)
FULL_WINDOW = round(RATE * 1e6 * RTT / 8 / (testbed.PAYLOAD + testbed.HEADERS))
"""Packets of the window of the flow with dummies: what the path holds, so that acks come evenly."""
FLOWS = 20
SECONDS, FULL = 60.0, 300.0
LOSS = 0.01
START = 4
"""Packets of the initial and of the restart window."""


def rounds_after_restart(burst: int) -> int:
    """Round trips of a burst that begins with the restart window, which doubles in each."""
    return int(np.ceil(np.log2(burst / START + 1)))


def stack(window: str) -> ac.Stack:
    """The stack with one rule for idle periods."""
    standard = {"initial_window": "rfc3390", "byte_counting": False, "validate": False}
    if window == DUMMIES:
        return testbed.tcp(rcv_buf=f"{FULL_WINDOW * testbed.PAYLOAD}B")
    if window == KEPT:
        return testbed.tcp(idle_restart=False)
    if window == DECAYED:
        decay = {"after_idle": "decay", "half_life": f"{testbed.RTO:g}s"}
        return testbed.tcp(window=ac.window.Reno(**standard, **decay))
    return testbed.tcp()


def scenario(window: str, burst: int, pause: float, loss: float, seconds: float) -> ac.Scenario:
    """Bursts of one size with one rule."""
    link = {"rate": f"{RATE:g}Mbit/s", "queue": ac.DropTail(limit="10MB")}
    faults = [ac.fault.Loss(p=loss, of="data")] if loss else None
    path = ac.Dumbbell(
        bottleneck=ac.Link(**link, faults=faults), back=ac.Link(**link), rtt=f"{1e3 * RTT:g}ms"
    )
    load: dict[str, Any] = {"think": f"{pause:g}s", "bytes": f"{burst * testbed.PAYLOAD}B"}
    if window == DUMMIES:
        dummies = {"dummy_bytes": f"{testbed.PAYLOAD}B", "since": "typed"}
        flows = ac.Backlogged(name="bursts", **load, **dummies, **testbed.measured())
        return testbed.scenario(path, flows, {window: stack(window)}, seconds)
    flows = ac.Telnet(name="bursts", flows=FLOWS, **load, **testbed.measured())
    return testbed.scenario(path, flows, {window: stack(window)}, seconds, trace=["packets"])


@dataclass(frozen=True)
class Bursts:
    """Bursts of one size with one rule: round trips that each took."""

    rounds: np.ndarray
    every: float
    """Mean over all bursts, whatever the pause before them."""

    @property
    def mean(self) -> float:
        """Mean."""
        return float(self.rounds.mean())


def after_pauses(run: Run, burst: int) -> np.ndarray:
    """The round trips of the bursts that began longer than the timeout after the last packet was sent; the
    first burst of a flow is left out.
    """
    found = []
    for r in seen.responses(run, "bursts"):
        n = np.arange(r.sent.size) // burst
        whole = n < r.sent.size // burst
        sent, done = r.sent[whole].reshape(-1, burst), (r.sent + r.time)[whole].reshape(-1, burst)
        paused = sent[1:, 0] - sent[:-1, -1] > testbed.RTO
        found.append((done[1:].max(axis=1) - sent[1:, 0])[paused] / RTT)
    return seen.finite(found)


def read(run: Run, window: str, burst: int) -> tuple[np.ndarray, float]:
    """The round trips of the bursts after a pause, and the mean of all bursts. What an application with
    dummies recorded are means for each flow.
    """
    every = latency.mean(run, "bursts") / RTT
    if window == DUMMIES:
        flows = latency.of(run, "bursts")["response_time"].drop_null().to_numpy()
        return flows / RTT, every
    return after_pauses(run, burst), every


@item(
    "I-X8",
    kind="CF, SIM",
    title="What it is worth alone not to lose the window while idling",
    choices={
        "path": f"{1e3 * RTT:g} ms, {RATE:g} Mbit/s, no loss ({100 * LOSS:g} % in the notes)",
        "packets": testbed.CHOICES["packets"],
        "TCP": testbed.CHOICES["TCP"],
        "timer": testbed.CHOICES["timer"],
        "bursts": f"{FLOWS} flows at a time (one with dummies), pauses exponential with means of "
        f"{', '.join(f'{p:g}' for p in PAUSES)} s, all together",
        "bursts that count": f"those that begin more than {testbed.RTO:g} s, the least timeout, after the "
        "packet before: earlier ones are no idle period to the standard. With dummies all: these flows "
        "never idle",
        "time": "from the first packet of a burst to the ack of the last; with dummies from when the "
        "burst is typed, since it waits for room behind them",
        "decayed": f"by half for each {testbed.RTO:g} s of idling, the least timeout, down to the restart "
        "window; the decay of a window that is used in part (RFC 2861 3.2) is left out",
        "dummies": f"fill a receiver's window of {FULL_WINDOW} packets, what the path holds: acks then come "
        "evenly. With a window that leaves in one bunch a round trip, at 1 Gbit/s, a burst waited for half "
        "a round trip on average (a first run)",
        "duration": f"{SECONDS:g} s for each mean pause ({FULL:g} s with --full)",
    },
    points_at=["window reno(after_idle=decay)", "option idle_restart(false)", "application backlogged"],
    tests=["tests/test_reproduce_interactive2007_kept.py::test_a_restart_takes_a_doubling_each_round_trip"],
)
def reproduce(setting: Setting) -> Outcome:
    """Round trips of bursts after pauses, by what became of the window."""
    windows = (DUMMIES, KEPT, DECAYED, RESTARTED)
    seconds = FULL if setting.full else SECONDS
    jobs = {
        (window, burst, pause, loss): scenario(window, burst, pause, loss, seconds)
        for loss in (0.0, LOSS)
        for window in windows
        for burst in BURSTS
        for pause in PAUSES
    }
    single = seen.each(setting, jobs, lambda key, run: read(run, key[0], key[1]), "I-X8")

    def together(window: str, burst: int, loss: float) -> Bursts:
        parts = [single[window, burst, pause, loss] for pause in PAUSES]
        return Bursts(np.concatenate([p[0] for p in parts]), float(np.mean([p[1] for p in parts])))

    found, lossy = ({(w, b): together(w, b, loss) for w in windows for b in BURSTS} for loss in (0.0, LOSS))
    rows = [
        {"loss": loss, "window": w, "burst": b, "bursts": f.rounds.size, "rounds": f.mean, "every": f.every}
        for loss, some in ((0.0, found), (LOSS, lossy))
        for (w, b), f in some.items()
    ]
    notes = [
        f"{w}, {100 * loss:g} % loss, round trips of bursts of {', '.join(map(str, BURSTS))}: "
        + ", ".join(f"{some[w, b].mean:.3g}" for b in BURSTS)
        + "; whatever the pause before them "
        + ", ".join(f"{some[w, b].every:.3g}" for b in BURSTS)
        for loss, some in ((0.0, found), (LOSS, lossy))
        for w in windows
    ]
    return Outcome(checks(found), {"bursts": pa.Table.from_pylist(rows)}, {"bursts": picture(found)}, notes)


def checks(found: dict[tuple[str, int], Bursts]) -> list[Check]:
    """Those of the register."""
    made: list[Check] = []
    for burst in BURSTS:
        wanted = rounds_after_restart(burst)
        made.append(
            within(
                f"{burst} packets, {RESTARTED}: round trips",
                found[RESTARTED, burst].mean,
                wanted,
                wanted / 10,
            )
        )
        made += [
            within(f"{burst} packets, {w}: round trips", found[w, burst].mean, 1.0, 0.1)
            for w in (DUMMIES, KEPT)
        ]
        low, middle, high = (found[w, burst].mean for w in (KEPT, DECAYED, RESTARTED))
        made.append(
            stated(
                f"{burst} packets: decayed lies between kept and restarted",
                f"{low:.3g}, {middle:.3g}, {high:.3g}",
                low <= middle + 1e-3 and middle <= high + 1e-3,
            )
        )
    one = [found[w, 1].mean for w in (DUMMIES, KEPT, DECAYED, RESTARTED)]
    made.append(between("1 packet: all four over their mean", np.array(one) / np.mean(one), 0.95, 1.05))
    return made


def picture(found: dict[tuple[str, int], Bursts]) -> Figure:
    """Round trips against the size of a burst."""
    sizes = np.array(BURSTS, float)
    fine = np.linspace(1, BURSTS[-1], 200)
    return measured(
        [
            Measured(
                w,
                sizes,
                np.array([found[w, b].mean for b in BURSTS]),
                np.array([half_width(found[w, b].rounds) for b in BURSTS]),
            )
            for w in (RESTARTED, DECAYED, KEPT, DUMMIES)
        ],
        [("restarted, by the formula", fine, np.ceil(np.log2(fine / START + 1)))],
        title="Bursts after a pause, by what became of the window",
        subtitle=f"No loss, {1e3 * RTT:g} ms; pauses of more than {testbed.RTO:g} s; 95 % bands",
        xlabel="packets of a burst",
        ylabel="round trips until it is acknowledged",
    )
