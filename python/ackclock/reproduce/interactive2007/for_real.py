"""Plain and padded typing above two kernels' own sockets, its twin in the simulator, and what the closed
forms say of the same run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.models import interactive2007 as closed
from ackclock.reproduce.item import Setting
from ackclock.reproduce.real import side_by_side

PLAIN, PADDED = "telnet", "padded"
"""The two applications, and the names of their workloads."""
SACK, NEWRENO, AS_IS = "SACK, RTO 1 s, no probes", "NewReno, RTO 1 s", "Linux as it is"
"""The kernels: two set up towards the paper's TCP, one at its defaults."""
RTT = 0.1
RTO = 1.0
"""Of the paper's TCP, which is what equations (3) and (12) are evaluated with (register, section (c))."""
THINK = 4.0
"""Mean time (s) between the packets of a flow: "several seconds for telnet in general" (I-A1)."""
M = 4
"""Packets of a padded flow that follow each other: the data and three dummies (I-A6)."""
PACKET, DUMMY = 500, 20
"""Bytes of payload of a packet and of a dummy."""
STAMPS = 12
"""Bytes that timestamps take of a segment."""
MOST_LOST = 12
"""Transmissions of one packet that are lost, beyond which the formulas' sums are cut off."""

NO_MEMORY = {"net.ipv4.tcp_no_metrics_save": "1"}
"""No memory of earlier connections to a host."""


@dataclass(frozen=True)
class Linux:
    """A way of running Linux's TCP, and its twin."""

    twin: ac.Stack
    parameters: dict[str, str]
    quick_acks: bool
    """Whether the receiving application has each packet acknowledged at once (TCP_QUICKACK after every
    read).
    """


def slow_timer(recovery: Any) -> ac.Stack:
    """A twin with the paper's timer: at least 1 s, doubled until a packet that was sent once is
    acknowledged.
    """
    return ac.Stack(
        recovery=recovery,
        estimator=ac.Rfc6298(min_rto=f"{RTO:g}s", initial_rto=f"{RTO:g}s"),
        window=ac.window.Reno(initial_window="rfc6928", byte_counting=False),
        ack=ac.Every(),
        nagle=False,
    )


SLOW_TIMER = {
    **NO_MEMORY,
    "net.ipv4.tcp_congestion_control": "reno",
    # Linux's timeout is SRTT and at least this much more.
    "net.ipv4.tcp_rto_min_us": f"{1e6 * (RTO - RTT):.0f}",
    "net.ipv4.tcp_early_retrans": "0",
    "net.ipv4.tcp_recovery": "0",
    "net.ipv4.tcp_frto": "0",
    "net.ipv4.tcp_timestamps": "0",
    # A packet is retransmitted as it was.
    "net.ipv4.tcp_retrans_collapse": "0",
}
"""The paper's timer, no loss probes, no timestamps: a dummy is 60 bytes (I-A6), and a doubled timeout stays
as in I-X3.
"""

KERNELS = {
    SACK: Linux(slow_timer(ac.recovery.Rack(tlp=False)), SLOW_TIMER, quick_acks=True),
    AS_IS: Linux(
        ac.Stack(
            "cubic",
            recovery="rack",
            # Linux's RTO is SRTT and at least 200 ms more, which makes the variation's floor as well.
            estimator=ac.Rfc6298(clock_granularity="200ms", min_rto="200ms", initial_rto="1s"),
            undo="f-rto",
            # After a gap longer than the RTO Linux acknowledges at once again.
            ack=ac.Every(),
            timestamps=True,
            karn_backoff=False,
            nagle=False,
        ),
        {**NO_MEMORY, "net.ipv4.tcp_congestion_control": "cubic"},
        quick_acks=False,
    ),
}
"""Those of the quick form."""
THREE_DUPLICATES = {
    NEWRENO: Linux(slow_timer("newreno"), SLOW_TIMER | {"net.ipv4.tcp_sack": "0"}, quick_acks=True)
}
"""With --full: the recovery that counts duplicates, which is left to connections without SACK."""
ALL = KERNELS | THREE_DUPLICATES


@dataclass(frozen=True)
class Load:
    """What is typed."""

    losses: tuple[float, ...]
    """Probabilities with which the link loses each packet of data."""
    flows: int
    """Of either kind, in each run."""
    seconds: float
    kernels: tuple[str, ...]
    """Of `ALL`."""

    def scenario(
        self, p: float, twin: ac.Stack, label: str, *, dummy: int = DUMMY, seed: int = 1
    ) -> ac.Scenario:
        """The scenario of one loss; dummy: bytes of each."""
        path = ac.Single(
            link=ac.Link("1Gbit/s", faults=[ac.fault.Loss(p=p, of="data")]), rtt=f"{1e3 * RTT:g}ms"
        )
        own = {"flows": self.flows, "bytes": f"{PACKET}B", "think": f"{THINK:g}s", "spread": "1s"}
        flows = [ac.Telnet(**own), ac.Padded(min_window=M, dummy_bytes=f"{dummy}B", **own)]
        return ac.Scenario.of(path, flows, {label: twin}, seed=seed, duration=f"{self.seconds:g}s")


@dataclass
class Measured:
    """The packets of one application in one run."""

    world: str
    kernel: str
    app: str
    p: float
    counts: np.ndarray
    """Packets acknowledged in the run, by flow."""
    sums: np.ndarray
    """Their response times (s), all together, by flow."""
    timeouts: int
    segments: int
    """Data segments sent."""
    retransmitted: int
    times: np.ndarray | None = None
    """Response times (s) of the packets, where they are known one by one."""

    @property
    def packets(self) -> int:
        """How many were acknowledged."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean response time (s)."""
        return float(self.sums.sum() / max(self.packets, 1))

    @property
    def half(self) -> float:
        """Half of the mean's 95 % confidence interval: flows are independent of each other, their packets are
        not.
        """
        return float(
            1.96 * np.sqrt(((self.sums - self.mean * self.counts) ** 2).sum()) / max(self.packets, 1)
        )

    def slow(self, limit: float) -> float:
        """Share of the packets that took longer than `limit` seconds."""
        return (
            float((self.times > limit).mean()) if self.times is not None and self.times.size else float("nan")
        )

    def row(self) -> dict[str, Any]:
        """Its row in the table."""
        return {
            **{
                "world": self.world,
                "kernel": self.kernel,
                "application": self.app,
                "p": self.p,
                "flows": self.counts.size,
            },
            **{"packets": self.packets, "mean": self.mean, "half_width": self.half},
            **{
                "timeouts": self.timeouts,
                "data_segments_sent": self.segments,
                "retransmitted_segments": self.retransmitted,
            },
        }


@dataclass
class Found:
    """What the kernels' runs gave."""

    measured: list[Measured]
    runs: list[dict[str, Any]]
    """As `ackclock.cli.emulated` prints them, with `kernel` and `p`."""
    missing: str = ""

    def rto(self, kernel: str) -> float:
        """The kernel's own timeout (s) of plain flows as it stood at the end: the median over all, most of
        which are not backed off.
        """
        return float(np.median(self._of_flows("rto", kernel, PLAIN)))

    def windows(self, kernel: str, p: float) -> tuple[float, float]:
        """Congestion windows of padded flows as they stood at the end, packets: the median, and the share
        that is below `M`.
        """
        windows = np.array(self._of_flows("cwnd_segs", kernel, PADDED, p))
        return float(np.median(windows)), float((windows < M).mean())

    def _of_flows(self, key: str, kernel: str, app: str, p: float | None = None) -> list[float]:
        runs = [run["flows"] for run in self.runs if run["kernel"] == kernel and p in (None, run["p"])]
        return [
            value
            for flows in runs
            for value, group in zip(flows[key], flows["group"], strict=True)
            if value and group == app
        ]


def real(load: Load, setting: Setting, share: tuple[float, float]) -> Found:
    """The kernels' runs, four side by side for each core: a run takes a tenth of one."""
    wanted = [(label, p) for label in load.kernels for p in load.losses]
    side = 4 * max(os.cpu_count() or 1, 2)
    batches = [wanted[i : i + side] for i in range(0, len(wanted), side)]
    width = (share[1] - share[0]) / len(batches)
    found = Found([], [])
    for n, batch in enumerate(batches):

        def report(part: float, begin: float = share[0] + n * width) -> None:
            setting.progress(begin + part * width, "I-S1, real packets")

        sets = [[asked(load, p, label)] for label, p in batch]
        for (label, p), runs in zip(
            batch, side_by_side(sets, seconds=load.seconds + 1, progress=report), strict=True
        ):
            if isinstance(runs, str):
                return Found([], [], runs)
            found.runs.append({**runs[0], "kernel": label, "p": p})
            found.measured += [of_kernel(runs[0]["flows"], label, app, p) for app in (PLAIN, PADDED)]
    return found


def asked(load: Load, p: float, label: str) -> dict[str, Any]:
    """What `ackclock.cli.emulated` is asked for."""
    linux = ALL[label]
    # Without Nagle's algorithm each dummy is a packet of its own (I-A6).
    options = {"TCP_NODELAY": 1}
    scenario = load.scenario(p, linux.twin, label).resolve()
    return {
        "flows": scenario,
        "parameters": linux.parameters,
        "options": options,
        "quick_acks": linux.quick_acks,
    }


def of_kernel(flows: dict[str, list[Any]], label: str, app: str, p: float) -> Measured:
    """One application's flows of a kernel's run."""
    own = [n for n, group in enumerate(flows["group"]) if group == app]
    times = [np.array(flows["response_times"][n], float) for n in own]
    total = [
        sum(flows[key][n] or 0 for n in own)
        for key in ("timeouts", "data_segments_sent", "retransmitted_segments")
    ]
    counts, sums = np.array([t.size for t in times]), np.array([t.sum() for t in times])
    return Measured("kernel", label, app, p, counts, sums, *total, times=np.concatenate(times))


def in_packets(twin: ac.Stack) -> ac.Stack:
    """The twin with segments that hold one packet each; timestamps take their part of a segment."""
    return twin.but(mss=f"{PACKET + (STAMPS if twin.given.get('timestamps') else 0)}B")


def simulated(load: Load, setting: Setting, share: tuple[float, float]) -> list[Measured]:
    """The twins' runs: the same flows, typing at the same moments. Linux counts its window in packets,
    dummies too, and the engine in bytes: the twins' dummies are as long as packets, which are whole segments,
    so that both count the same."""
    wanted = [(label, p) for label in load.kernels for p in load.losses]
    scenarios = [load.scenario(p, in_packets(ALL[label].twin), label, dummy=PACKET) for label, p in wanted]
    runs = setting.run_all(scenarios, "I-S1, simulated", share)
    measured = []
    for (label, p), run in zip(wanted, runs, strict=True):
        flows = run.flows.to_pydict()
        for app in (PLAIN, PADDED):
            own = [n for n, group in enumerate(flows["group"]) if group == app]
            counts = np.array([flows["responses"][n] for n in own])
            sums = np.array([(flows["response_time"][n] or 0.0) * flows["responses"][n] for n in own])
            total = [
                sum(flows[key][n] for n in own)
                for key in ("timeouts", "data_segments_sent", "retransmitted_segments")
            ]
            measured.append(Measured("simulator", label, app, p, counts, sums, *total))
    return measured


Outcomes = Callable[[float, float], tuple[np.ndarray, np.ndarray]]


def plain(p: float, rto: float) -> tuple[np.ndarray, np.ndarray]:
    """Latencies (s) of an interactive packet by how often it is lost (I-E2), and their chances (I-E1); the
    mean is equation (3).
    """
    i = np.arange(MOST_LOST)
    return closed.failed_latency(i, RTT, rto), closed.failures(p, i)


def padded(p: float, rto: float) -> tuple[np.ndarray, np.ndarray]:
    """The same of a padded packet, whose first loss is a timeout in the share Q(m) of (11), and else found by
    duplicate acks (I-F2); mean (12).
    """
    i, q = np.arange(1, MOST_LOST), float(closed.padded_timeouts(p, M))
    by_timeout, by_duplicates = (
        closed.backlogged_failed_latency(i, 1.0, RTT, rto),
        closed.backlogged_failed_latency(i, 0.0, RTT, rto),
    )
    chance = closed.failures(p, i)
    return np.concatenate([[RTT], by_timeout, by_duplicates]), np.concatenate(
        [[1.0 - p], q * chance, (1.0 - q) * chance]
    )


CLOSED: dict[str, Outcomes] = {PLAIN: plain, PADDED: padded}


def expected(app: str, p: float, rto: float, seconds: float = np.inf) -> float:
    """Mean latency (s) by the formula; of packets sent at any time of a run of so many seconds, those
    that are acknowledged before its end.
    """
    times, chances = CLOSED[app](p, rto)
    counted = chances * np.clip(1.0 - times / seconds, 0.0, 1.0)
    return float((times * counted).sum() / counted.sum())


def expected_slow(app: str, p: float, rto: float) -> float:
    """Share of the packets that wait for a timeout, by the formula."""
    times, chances = CLOSED[app](p, rto)
    return float(chances[times > limit(rto)].sum())


def limit(rto: float) -> float:
    """Seconds: what takes longer has waited for a timeout, of its own or of a packet in front of it."""
    return max(RTT + rto / 2, 2.5 * RTT)


def of(measured: Sequence[Measured], kernel: str, app: str, p: float) -> Measured:
    """The one of that kernel, application and loss."""
    return next(m for m in measured if (m.kernel, m.app, m.p) == (kernel, app, p))
