"""The strategies of applications and stacks above our engine, whose packets a Linux kernel takes over an
emulated path, and the same simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import interactive2007 as closed
from ackclock.reproduce.interactive2007.for_real import NO_MEMORY, Found, Measured
from ackclock.reproduce.item import Setting
from ackclock.reproduce.real import side_by_side

RTT = 0.1
RTO = 1.0
LOWER_RTO = 0.5
"""The floor of approach I."""
THINK = 2.0
"""Mean time (s) between the packets of a flow."""
SEEDS = range(1, 4)
"""Of the simulator's runs; in the first of them all type as on real packets."""
BUSY_THINK = 0.25
"""Mean time (s) between the packets of a backlogged flow."""
PACKET, DUMMY, M, COPIES = 500, 20, 4, 2
BASE = "sack"


@dataclass(frozen=True)
class Strategy:
    """What an interactive flow does about losses."""

    preset: str = BASE
    kind: str = "telnet"
    keys: dict[str, Any] = field(default_factory=dict)
    closed: Any = None
    """Mean latency (s) by the formula, of loss; `None` where the paper has none."""
    part: float = 1.0
    """Its flows over those of most: more where packets are few and wait for long, fewer where much is sent
    for each.
    """

    def number(self, flows: int) -> int:
        """How many flows it has where most have so many."""
        return max(round(self.part * flows), 1)

    def stack(self) -> ac.Stack:
        """Its stack: the paper's timer, windows of four packets to begin with, and no segment larger than a
        packet.
        """
        return ac.Stack(
            f"{self.preset}+no-nagle+mss({PACKET}B)+ack-every+min-rto({RTO:g}s)+init-rto({RTO:g}s)",
            window=ac.window.Reno(initial_window="rfc3390", byte_counting=False),
        )

    def flows(self, name: str, flows: int, **more: Any) -> Any:
        """Its workload. A bulk flow fills the path all the time: there are few."""
        kinds = {"telnet": ac.Telnet, "padded": ac.Padded, "backlogged": ac.Backlogged}
        think = BUSY_THINK if self.kind == "backlogged" else THINK
        return kinds[self.kind](
            name=name,
            flows=self.number(flows),
            bytes=f"{PACKET}B",
            think=f"{think:g}s",
            spread="1s",
            **self.keys,
            **more,
        )


PLAIN, LOWER, PADDED, COPIED, BACKLOGGED = (
    "telnet",
    "I: smaller minRTO",
    "II: padding",
    "III: diversity",
    "backlogged",
)
FRAMING, EARLY, TLP = "Smart Framing", "II, m = 3, Early Retransmit", "RACK-TLP"

STRATEGIES = {
    PLAIN: Strategy(closed=lambda p: closed.interactive_latency(p, RTT, RTO), part=2.0),
    LOWER: Strategy(
        f"{BASE}+thin-min-rto({1e3 * LOWER_RTO:g}ms)",
        closed=lambda p: closed.interactive_latency(p, RTT, LOWER_RTO),
        part=2.0,
    ),
    PADDED: Strategy(
        kind="padded",
        keys={"min_window": M, "dummy_bytes": f"{DUMMY}B"},
        closed=lambda p: closed.padded_latency(p, RTT, RTO),
        part=2 / 3,
    ),
    EARLY: Strategy(
        f"{BASE}+early-retransmit", "padded", {"min_window": M - 1, "dummy_bytes": f"{DUMMY}B"}, part=2 / 3
    ),
    COPIED: Strategy(
        f"{BASE}+diversity({COPIES})", closed=lambda p: closed.diversity_latency(p, RTT, RTO, COPIES)
    ),
    BACKLOGGED: Strategy(kind="backlogged", keys={"dummy_bytes": f"{PACKET}B"}, part=0.2),
    FRAMING: Strategy(f"{BASE}+smart-framing"),
    TLP: Strategy(f"{BASE}+rack"),
}


@dataclass(frozen=True)
class Load:
    """What is typed."""

    losses: tuple[float, ...]
    """Probabilities with which the link loses each packet of data."""
    flows: int
    """Of most strategies in each run (`Strategy.part`)."""
    seconds: float

    def path(self, p: float) -> ac.Single:
        """A link without a queue to speak of that loses data at random."""
        return ac.Single(
            link=ac.Link("1Gbit/s", faults=[ac.fault.Loss(p=p, of="data")]), rtt=f"{1e3 * RTT:g}ms"
        )

    def together(self, p: float, seed: int = 1) -> ac.Scenario:
        """All strategies at once, each flow with the stack of its own."""
        labels = {name: f"s{n}" for n, name in enumerate(STRATEGIES)}
        flows = [s.flows(labels[name], self.flows, stack=labels[name]) for name, s in STRATEGIES.items()]
        stacks = {labels[name]: s.stack() for name, s in STRATEGIES.items()}
        return ac.Scenario.of(self.path(p), flows, stacks, seed=seed, duration=f"{self.seconds:g}s")

    def alone(self, p: float, name: str, seed: int = 1) -> ac.Scenario:
        """One of them, with the same flows, which type at the same moments."""
        label = f"s{list(STRATEGIES).index(name)}"
        flows = STRATEGIES[name].flows(label, self.flows)
        return ac.Scenario.of(
            self.path(p), flows, {label: STRATEGIES[name].stack()}, seed=seed, duration=f"{self.seconds:g}s"
        )


def asked(load: Load, p: float) -> dict[str, Any]:
    """What `ackclock.cli.emulated` is asked for: our engine sends, and the kernel acknowledges each packet at
    once.
    """
    return {
        "flows": load.together(p).resolve(),
        "carriers": ["engine", "kernel"],
        "parameters": NO_MEMORY,
        "quick_acks": True,
    }


def real(load: Load, setting: Setting, share: tuple[float, float]) -> Found:
    """The runs on real packets, side by side."""

    def report(part: float) -> None:
        setting.progress(share[0] + part * (share[1] - share[0]), "I-S2, real packets")

    found = Found([], [])
    for p, runs in zip(
        load.losses,
        side_by_side([[asked(load, p)] for p in load.losses], seconds=load.seconds + 1, progress=report),
        strict=True,
    ):
        if isinstance(runs, str):
            return Found([], [], runs)
        found.runs.append({**runs[0], "p": p})
        found.measured += [of_engine(runs[0]["flows"], name, p) for name in STRATEGIES]
    return found


def of_engine(flows: dict[str, list[Any]], name: str, p: float) -> Measured:
    """One strategy's flows of a run."""
    label = f"s{list(STRATEGIES).index(name)}"
    own = [n for n, group in enumerate(flows["group"]) if group == label]
    times = [np.array(flows["response_times"][n], float) for n in own]
    total = [
        sum(flows[key][n] or 0 for n in own)
        for key in ("timeouts", "data_segments_sent", "retransmitted_segments")
    ]
    counts, sums = np.array([t.size for t in times]), np.array([t.sum() for t in times])
    return Measured("real packets", BASE, name, p, counts, sums, *total, times=np.concatenate(times))


def simulated(load: Load, setting: Setting, share: tuple[float, float]) -> list[Measured]:
    """The same flows in the simulator."""
    wanted = [(name, p) for p in load.losses for name in STRATEGIES]
    runs = iter(
        setting.run_all(
            [load.alone(p, name, seed) for name, p in wanted for seed in SEEDS], "I-S2, simulated", share
        )
    )
    measured = []
    for name, p in wanted:
        flows = pa.concat_tables([next(runs).flows for _ in SEEDS]).to_pydict()
        counts = np.array(flows["responses"])
        sums = np.array(
            [(mean or 0.0) * n for mean, n in zip(flows["response_time"], flows["responses"], strict=True)]
        )
        total = [sum(flows[key]) for key in ("timeouts", "data_segments_sent", "retransmitted_segments")]
        measured.append(Measured("simulator", BASE, name, p, counts, sums, *total))
    return measured


def of(measured: Sequence[Measured], name: str, p: float) -> Measured:
    """The one of that strategy and loss."""
    return next(m for m in measured if (m.app, m.p) == (name, p))
