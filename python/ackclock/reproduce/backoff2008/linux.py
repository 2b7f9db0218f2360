"""Linux's own TCP over the testbed, and its twins in the simulator: the same transfers over the same path."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.item import Setting
from ackclock.reproduce.real import side_by_side

AS_IS = "Linux as it is"
LINEAR = "linear timeouts"
CAPPED = "RTO at most 1 s"
PLAIN = "tcp_recovery 0, no probes"
CLOSED = "linear timeouts, server closes first"

COMMON = {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_no_metrics_save": "1"}
"""Parameters of all kernels: the rule, which a namespace takes from the machine, and no memory of earlier
connections to a host.
"""
WITHOUT = {"net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0"}
"""No probe is sent for a lost tail and, in kernels before `RACK_ALWAYS`, losses are found by three duplicates
alone.
"""
RACK_ALWAYS = (6, 17)
"""Linux from which on RACK finds the losses whatever `tcp_recovery` says, where SACK is used."""


@dataclass(frozen=True)
class Linux:
    """A way of running Linux's TCP, and its twin."""

    twin: ac.Stack
    parameters: dict[str, str] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)
    server_closes: bool = False

    def run(self, scenario: ac.Scenario) -> dict[str, Any]:
        """What `ackclock.cli.emulated` is asked for."""
        return {
            "scenario": scenario.resolve(),
            "parameters": COMMON | self.parameters,
            "options": self.options,
            "server_closes": self.server_closes,
        }


def twin(backoff: Any, max_rto: str = "120s") -> ac.Stack:
    """Linux in the policies of the engine. Its RTO is SRTT and at least 200 ms more, which makes the
    variation's floor as well.
    """
    return ac.Stack(
        "cubic",
        estimator=ac.Rfc6298(clock_granularity="200ms", min_rto="200ms", max_rto=max_rto, initial_rto="1s"),
        backoff=backoff,
        undo="f-rto",
        ack=ac.ack.Delayed(ack_delay="40ms", quick_segs=16),
        timestamps=True,
        karn_backoff=False,
        syn_retries=10,
    )


DOUBLING = twin(ac.backoff.FreebsdSyn(max_timeout="120s"))
THIN = twin(ac.backoff.ThinLinear(max_timeout="120s"))
STACKS = {
    AS_IS: Linux(DOUBLING),
    LINEAR: Linux(THIN, options={"TCP_THIN_LINEAR_TIMEOUTS": 1}),
    CAPPED: Linux(
        twin(ac.backoff.FreebsdSyn(max_timeout="1s", r2_time="14s"), "1s"), options={"TCP_RTO_MAX_MS": 1000}
    ),
    PLAIN: Linux(DOUBLING, WITHOUT),
}
"""Those of the quick form."""
CLOSING = {CLOSED: Linux(DOUBLING, options={"TCP_THIN_LINEAR_TIMEOUTS": 1}, server_closes=True)}
"""Linear timeouts where they do not hold: a server that closes leaves the state ESTABLISHED, so that the twin
has none.
"""
WHEEL = "Linux as it is, timeouts on ticks of 32 ms"
WHEELED = {WHEEL: Linux(DOUBLING.but(timer=ac.timer.RestartOnAck(heartbeat="32ms")))}
"""A twin alone. At 250 Hz Linux's timer wheel rounds a timeout above 252 ms up to the next 32 ms, and one
above 2 s to the next 256 ms.
"""

TWIN_CHOICES = {
    "twin": "CUBIC, initial window 10, SACK, timestamps, F-RTO; RTO = SRTT + max(200 ms, 4 RTTVAR), 1 s "
    "before the first sample; five SYN timeouts of 1 s, then doubled, ten retries "
    "(tcp_syn_linear_timeouts 4, tcp_syn_retries 6); 16 quick acks, then every second segment or "
    "40 ms; backoff reset by a new acknowledgment. It has no RACK and no TLP, hence the fourth "
    "kernel, which has no probes and, before Linux 6.17, no RACK (later ones have it whatever "
    "tcp_recovery says), and the same twin as the first",
    "timer wheel": (
        "the twins' timers are exact; Linux's expire on ticks of 32 ms or more, so that flows retransmit "
        "together, in bursts. With --full there is one twin more with such ticks, added when the full form "
        "had been run and drop-tail's twins had fallen short"
    ),
    "twin of linear timeouts": "less than four full segments in flight (Linux counts packets): no backoff "
    "at the first six expiries in a row",
}


@dataclass
class Measured:
    """What one run of one stack gave, in either world."""

    world: str
    stack: str
    seed: int
    times: np.ndarray
    """Response times (s) of the flows; infinite for those that did not finish."""
    loss: float
    goodput: float
    """bit/s while flows arrived."""
    sent: int
    """Segments with payload that the servers sent."""
    timeouts: int
    """Expiries of the servers' timers, in the simulator with those of SYN-ACKs."""

    def quantile(self, q: float) -> float:
        """A quantile of the response times; flows that did not finish are above all others."""
        return float(np.quantile(self.times, q, method="inverted_cdf"))

    def row(self) -> dict[str, Any]:
        """Its row in the table."""
        finished = self.times[np.isfinite(self.times)]
        return {
            **{
                "world": self.world,
                "stack": self.stack,
                "seed": self.seed,
                "flows": self.times.size,
                "finished": finished.size,
            },
            **{"mean": float(finished.mean()), "median": self.quantile(0.5), "p99": self.quantile(0.99)},
            **{"loss": self.loss, "goodput": self.goodput, "sent": self.sent, "timeouts": self.timeouts},
        }


def recovery(release: str) -> str:
    """What `PLAIN` comes to in a kernel of that release, such as `6.12.3-generic`, in words."""
    found = re.match(r"(\d+)\.(\d+)", release)
    if found is None:
        return f"{PLAIN}: whether RACK is off is not known for the release `{release}`"
    number = (int(found[1]), int(found[2]))
    if number >= RACK_ALWAYS:
        return (
            f"{PLAIN}: Linux {found[0]} finds losses by RACK whatever tcp_recovery says, so that it "
            "lacks the probes alone"
        )
    return f"{PLAIN}: Linux {found[0]} has RACK off and finds losses by three duplicates"


def twin_of(label: str, stacks: dict[str, Linux]) -> str:
    """The name of a stack's twin: that of the first stack that has the same."""
    return next(name for name, s in stacks.items() if s.twin is stacks[label].twin)


@dataclass(frozen=True)
class Load:
    """What the stacks are put under: the transfers of Trace-I over the testbed's congested bottleneck
    (B-F2a).
    """

    queue: str
    seeds: int
    seconds: float
    """Time in which transfers start."""
    drain: float
    """Time after that."""

    def scenario(self, stacks: dict[str, Linux]) -> ac.Scenario:
        """The scenario for the twins of these stacks, each under the name of the first stack that it is a
        twin of.
        """
        twins = {twin_of(label, stacks): s.twin for label, s in stacks.items()}
        more = {"repeat": self.seeds, "drain": f"{self.drain:g}s"}
        return testbed.scenario(
            testbed.dumbbell(10, self.queue), testbed.web("I", 10), twins, self.seconds, **more
        )


def simulated(
    load: Load, stacks: dict[str, Linux], setting: Setting, share: tuple[float, float]
) -> list[Measured]:
    """The twins' runs."""
    found = comparison.run(load.scenario(stacks), setting, "B-S9", share=share)
    measured = []
    for stack in found.stacks:
        rows = [row for row in found.rows if row["stack"] == stack]
        for row, flows in zip(rows, found.of(stack), strict=True):
            counts = {key: int(sum(flows[key].to_pylist())) for key in ("data_segments_sent", "timeouts")}
            times = finite(flows["response_time"].to_pylist())
            numbers = (row["loss"], row["goodput"], counts["data_segments_sent"], counts["timeouts"])
            measured.append(Measured("simulator", stack, row["seed"], times, *numbers))
    return measured


@dataclass
class Kernels:
    """What the kernels' runs gave."""

    measured: list[Measured]
    runs: list[dict[str, Any]]
    """As `ackclock.cli.emulated` prints them, with `stack` and `seed`."""
    missing: dict[str, str]
    """What is missing for a stack, such as an option that the kernel does not have."""


def kernels(load: Load, stacks: dict[str, Linux], setting: Setting, share: tuple[float, float]) -> Kernels:
    """The kernels' runs: three side by side for each core, since a run takes a quarter of one."""
    scenario = load.scenario(stacks)
    wanted = [(seed, label) for seed in range(1, load.seeds + 1) for label in stacks]
    side = 3 * max(os.cpu_count() or 1, 2)
    batches = [wanted[i : i + side] for i in range(0, len(wanted), side)]
    width = (share[1] - share[0]) / len(batches)
    found = Kernels([], [], {})
    for n, batch in enumerate(batches):
        begin = share[0] + n * width

        def report(part: float, begin: float = begin) -> None:
            setting.progress(begin + part * width, "B-S9, real packets")

        sets = [[stacks[label].run(scenario.but({"seed": seed, "repeat": 1}))] for seed, label in batch]
        for (seed, label), runs in zip(
            batch, side_by_side(sets, seconds=load.seconds + load.drain + 1, progress=report), strict=True
        ):
            if isinstance(runs, str):
                found.missing[label] = runs
                continue
            found.runs.append({**runs[0], "stack": label, "seed": seed})
            found.measured.append(of_kernel(label, seed, runs[0], load.seconds))
    return found


def of_kernel(stack: str, seed: int, run: dict[str, Any], seconds: float) -> Measured:
    """A kernel's run in the words of both worlds."""
    flows, path = run["flows"], run["path_loaded"]["forward"]
    times = np.where([o == "finished" for o in flows["outcome"]], finite(flows["response_time"]), np.inf)
    count = {key: sum(v or 0 for v in flows[key]) for key in ("data_segments_sent", "timeouts")}
    loss = path["dropped_queue"] / max(path["offered"], 1)
    goodput = 8 * run["received_loaded"] / seconds
    return Measured(
        "kernel", stack, seed, times, loss, goodput, count["data_segments_sent"], count["timeouts"]
    )


def finite(times: Sequence[float | None]) -> np.ndarray:
    """Times that have not come are infinite."""
    return np.array([np.inf if t is None or np.isnan(t) else t for t in times], float)
