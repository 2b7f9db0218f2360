"""Flash crowds over the testbed (B-A10): one crowd in steady surroundings, and crowds that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import ccdf_bands
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio, shown
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, between
from ackclock.scenario import Workload

ON, OFF = 16.0, 8.0
"""Mean periods, seconds."""
ONSET, UNTIL = 20.0, 36.0
"""The one crowd, seconds."""
NEAR = 2.0
"""Seconds on either side of the onset that count as near it."""
UDP_RATE, TCP_RATE = 10.0, 200
"""Mbit/s of datagrams, and connections per second, during ON."""
SECONDS, FULL = 60, 300

CHOICES = {
    **testbed.ON_FREEBSD,
    "load": "80 % of the bottleneck, headers included, by web flows of Trace-I; the crowd comes on top",
    "queue": "drop-tail of 2 bandwidth-delay products of the mean round-trip time, both ways",
    "crowds": "Pareto periods of shape 1.5, means 16 s ON and 8 s OFF",
    "UDP crowd": f"one source of {UDP_RATE:g} Mbit/s, datagrams of 1000 bytes: what makes the loss of "
    "about 45 %; raised from 9 Mbit/s after a first run, which lost less",
    "TCP crowd": f"{TCP_RATE} connections a second of Trace-I during ON",
    "loss in ON": f"measured in runs of their own with one crowd from {ONSET:g} to {UNTIL:g} s, at the "
    "bottleneck in that time",
    "near the onset": f"flows that begin within {NEAR:g} s of that crowd's onset",
    "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), then as long as the last flows need",
    "flows counted": "those of the base load and, in a TCP crowd, the crowd's as well",
}


def base() -> Workload:
    """The web flows that are always there."""
    return ac.Web(trace="I", load=0.8, load_counts="wire")


def crowds(kind: str) -> Workload:
    """Crowds that come and go: `udp` or `tcp`."""
    if kind == "udp":
        return ac.UdpOnOff(
            name="crowd",
            rate=f"{UDP_RATE}Mbit/s",
            bytes="1000B",
            on=f"{ON}s",
            off=f"{OFF}s",
            periods="pareto",
            shape=1.5,
        )
    arrivals = ac.arrivals.OnOff(on=f"{ON}s", off=f"{OFF}s", periods="pareto", shape=1.5)
    return ac.Web(name="crowd", trace="I", arrival_rate=TCP_RATE * ON / (ON + OFF), arrivals=arrivals)


def one_crowd(kind: str) -> Workload:
    """A single crowd of the usual length."""
    period: dict[str, Any] = {"name": "crowd", "start": f"{ONSET}s", "stop": f"{UNTIL}s"}
    if kind == "udp":
        return ac.Udp(rate=f"{UDP_RATE}Mbit/s", bytes="1000B", **period)
    return ac.Web(trace="I", arrival_rate=TCP_RATE, **period)


def stacks() -> dict[str, ac.Stack]:
    """TCP and TCP*(inf)."""
    return testbed.freebsd("200ms", TCP, NONE)


def scenario(workload: Workload, seconds: float, **more: Any) -> ac.Scenario:
    """A crowd on top of the base load."""
    return testbed.scenario(testbed.dumbbell(10, "drop-tail"), [base(), workload], stacks(), seconds, **more)


def onset(kind: str, setting: Setting, label: str, *, share: tuple[float, float] = (0.0, 0.4)) -> Comparison:
    """Runs with one crowd, whose links are watched from its onset to its end."""
    return comparison.run(scenario(one_crowd(kind), UNTIL, warmup=f"{ONSET}s"), setting, label, share=share)


@dataclass(frozen=True)
class Violations:
    """How often packet conservation was violated (B-A4): timeouts below the round-trip time, all copies of
    what was not lost, retransmissions.
    """

    timeouts: int
    copies: int
    retransmissions: int

    @property
    def percent(self) -> float:
        """Timeouts below the round-trip time, over all retransmissions."""
        return 100 * self.timeouts / max(self.retransmissions, 1)

    @property
    def percent_by_any_cause(self) -> float:
        """Copies of what was not lost, over all retransmissions."""
        return 100 * self.copies / max(self.retransmissions, 1)

    def __str__(self) -> str:
        words = (
            f"{self.timeouts} timeouts below RTT and {self.copies} ({self.percent_by_any_cause:.3g} %) "
            "spurious retransmissions by any cause"
        )
        return f"{words}, in {self.retransmissions} retransmissions"


def violations(found: Comparison, stack: str, since: float = 0.0, until: float = np.inf) -> Violations:
    """Those of the flows that began in a time."""
    counts = np.zeros(3, int)
    for flows in found.of(stack):
        mine = flows.filter(
            pc.and_(pc.greater_equal(flows["start"], since), pc.less_equal(flows["start"], until))
        )
        counts += [
            pc.sum(mine[c]).as_py() or 0
            for c in ("spurious_timeouts", "unneeded_retransmissions", "retransmitted_segments")
        ]
    return Violations(*counts.tolist())


def experiment(kind: str, loss: tuple[float, float], title: str, setting: Setting, label: str) -> Outcome:
    """One crowd for loss and violations, many for response times. loss: between which the register has it."""
    once = onset(kind, setting, label)
    found = comparison.run(
        scenario(crowds(kind), FULL if setting.full else SECONDS), setting, label, share=(0.4, 1.0)
    )
    near = violations(once, NONE, ONSET - NEAR, ONSET + NEAR)
    measured = once.number(TCP, "loss")
    checks = [
        ratio("P99 of TCP*(inf) over TCP", found.p99(NONE), found.p99(TCP), most=1.0),
        between("loss of TCP in ON (%)", 100 * measured.mean(), *loss),
    ]
    if kind == "udp":
        checks.append(at_least("timeouts below RTT near the onset", near.timeouts, 1, "some"))
    notes = [
        *found.notes(),
        f"loss in ON: TCP {shown(100 * measured)} %, TCP*(inf) {shown(100 * once.number(NONE, 'loss'))} %",
        f"near the onset, TCP*(inf): {near}",
        f"all crowds, TCP*(inf): {violations(found, NONE)}",
        f"mean of TCP*(inf) over TCP: {found.mean(NONE).mean() / found.mean(TCP).mean():.3f}",
    ]
    words = "10 Mbit/s drop-tail, 80 % load of Trace-I, SACK, minimum RTO 0.2 s; crowds of 16 s, 8 s apart"
    figure = ccdf_bands({stack: found.times(stack) for stack in found.stacks}, title=title, subtitle=words)
    return Outcome(checks, found.tables(), {"ccdf": figure}, notes)
