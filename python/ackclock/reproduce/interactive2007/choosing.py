"""Clients that choose among the paper's strategies: response times in a mix, and how a mix changes when
clients move to what is fastest (I-X10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.reproduce.interactive2007 import latency, testbed
from ackclock.reproduce.item import Setting
from ackclock.results import Run

RATE, RTT = 1.5, 0.1
"""Mbit/s of the bottleneck and seconds of round trip of clients alone, as in I-F9."""
CROSS = testbed.Mix(ftp=16, http=0.2, udp=0.5)
"""What else is on the link otherwise, on the path of the default scenario."""
INTERACTIVE, BACKLOGGED, MINIMUM, PADDED, DIVERSE, FRAMED = (
    "interactive",
    "backlogged",
    "minRTO' (I)",
    "padding (II)",
    "diversity (III)",
    "Smart Framing",
)
STRATEGIES = (INTERACTIVE, BACKLOGGED, MINIMUM, PADDED, DIVERSE, FRAMED)
MODIFIERS = {MINIMUM: "+thin-min-rto(500ms)", DIVERSE: "+diversity(2)", FRAMED: "+smart-framing"}
RENO, RACK = "Reno", "RACK-TLP"
PRESETS = {RENO: testbed.RENO, RACK: "rack"}
TRIAL = 0.02
"""Share of the clients, at least one, that try a strategy which hardly anybody has."""
TRIED = 0.05
"""A strategy with at least this share needs no trial."""
MARGIN = 1.1
"""A strategy that is slower than the fastest by no more than this factor keeps its clients."""


@dataclass(frozen=True)
class Case:
    """How many clients choose, on which queue, with which recovery, alone or beside cross traffic."""

    clients: int
    queue: str
    recovery: str
    crossed: bool = False

    def start(self) -> np.ndarray:
        """Shares by strategy: all interactive."""
        return np.array([float(s == INTERACTIVE) for s in STRATEGIES])

    def counts(self, shares: np.ndarray, tried: int | None = None) -> np.ndarray:
        """Clients by strategy: by shares, after those that try one."""
        few = 0 if tried is None else max(1, round(TRIAL * self.clients))
        exact = (self.clients - few) * shares
        whole = np.floor(exact).astype(int)
        for i in np.argsort(whole - exact, kind="stable")[: self.clients - few - whole.sum()]:
            whole[i] += 1
        if tried is not None:
            whole[tried] += few
        return whole

    def mixes(self, shares: np.ndarray) -> list[np.ndarray]:
        """The clients as they are, and with some that try each strategy which hardly anybody has."""
        rare = [i for i in range(shares.size) if shares[i] < TRIED]
        return [self.counts(shares), *(self.counts(shares, i) for i in rare)]

    def scenario(self, counts: np.ndarray, seed: int, seconds: float) -> ac.Scenario:
        """So many clients of each strategy on one link."""
        preset = PRESETS[self.recovery]
        stacks = {s: testbed.tcp(preset + MODIFIERS.get(s, "")) for s in STRATEGIES}
        used = {s: stacks[s] for s, n in zip(STRATEGIES, counts, strict=True) if n}
        loads = [load(s, int(n)) for s, n in zip(STRATEGIES, counts, strict=True) if n]
        if self.crossed:
            path = testbed.dumbbell(self.queue)
            return testbed.scenario(path, loads, used, seconds, mix=CROSS, seed=seed)
        path = testbed.dumbbell(self.queue, mbit=RATE, rtt=RTT)
        return testbed.scenario(path, loads, used, seconds, seed=seed)

    @property
    def place(self) -> str:
        """Alone or beside cross traffic."""
        return "beside cross traffic" if self.crossed else "alone"

    def __str__(self) -> str:
        return f"{self.clients} clients {self.place}, {self.queue}, {self.recovery}"


def load(strategy: str, flows: int) -> Any:
    """Clients of one strategy, with its stack."""
    kind = {PADDED: ac.Padded, BACKLOGGED: ac.Backlogged}.get(strategy, ac.Telnet)
    own: dict[str, Any] = {"think": f"{testbed.THINK:g}s", "bytes": f"{testbed.PAYLOAD}B"}
    if strategy == BACKLOGGED:
        own |= {"dummy_bytes": f"{testbed.PAYLOAD}B", "since": "typed"}
    return kind(name=strategy, flows=flows, stack=strategy, **own, **testbed.measured())


@dataclass(frozen=True)
class Seen:
    """What one mix gave: mean response time (s) by strategy, NaN where nobody had it; over all clients; and
    the payload of packets that were acknowledged, Mbit/s.
    """

    times: np.ndarray
    mean: float
    goodput: float
    loss: float


def read(runs: list[Run], counts: np.ndarray, seconds: float) -> Seen:
    """Means over the runs of several seeds."""
    times = np.array(
        [[latency.mean(r, s) if n else np.nan for s, n in zip(STRATEGIES, counts, strict=True)] for r in runs]
    ).mean(axis=0)
    acked = np.array([sum(latency.total(r, "responses", s) for s in STRATEGIES) for r in runs])
    known = np.isfinite(times)
    links = [r.links.to_pylist()[0] for r in runs]
    return Seen(
        times,
        float(np.average(times[known], weights=counts[known])),
        float(acked.mean() * testbed.PAYLOAD * 8 / seconds / 1e6),
        float(np.mean([x["dropped_queue"] / max(x["packets_offered"], 1) for x in links])),
    )


def payoffs(shares: np.ndarray, found: list[Seen]) -> np.ndarray:
    """Response times (s) by strategy: of the mix itself where it is frequent, otherwise of those that try."""
    times = found[0].times.copy()
    rare = [i for i in range(shares.size) if shares[i] < TRIED]
    for i, tried in zip(rare, found[1:], strict=True):
        times[i] = tried.times[i]
    return times


def moved(shares: np.ndarray, times: np.ndarray, part: float) -> np.ndarray:
    """The shares after a round: a part of the clients of slower strategies has moved to the fastest."""
    best = int(np.nanargmin(times))
    leaves = np.where(times > MARGIN * times[best], part * shares, 0.0)
    after = shares - leaves
    after[best] += leaves.sum()
    return after


def at_rest(shares: np.ndarray, times: np.ndarray) -> bool:
    """Whether nobody who moves would be faster, by more than the margin."""
    played = shares >= TRIED
    return bool((times[played] <= MARGIN * np.nanmin(times)).all())


@dataclass
class Path:
    """The rounds of one case."""

    case: Case
    shares: list[np.ndarray]
    times: list[np.ndarray]
    """Response times (s) by strategy in each round, of those who have it or try it."""
    seen: list[Seen]
    """What the mix of each round gave, without anybody who tries."""
    uniform: list[Seen]
    """All clients with one strategy, by strategy."""

    @property
    def last(self) -> np.ndarray:
        """Shares at the end."""
        return self.shares[-1]

    @property
    def end(self) -> Seen:
        """What they give."""
        return self.seen[-1]

    @property
    def rests(self) -> bool:
        """Whether the end is an equilibrium, within the margin."""
        return at_rest(self.last, self.times[-1])

    @property
    def best(self) -> int:
        """The strategy with which all clients together are fastest."""
        return int(np.argmin([s.mean for s in self.uniform]))

    @property
    def anarchy(self) -> float:
        """Mean response time at the end over that of the best common strategy."""
        return self.end.mean / self.uniform[self.best].mean

    @property
    def wasted(self) -> float:
        """Goodput at the end over that of the best common strategy."""
        return self.end.goodput / self.uniform[self.best].goodput


def play(
    cases: list[Case], rounds: int, seeds: range, seconds: float, setting: Setting, label: str
) -> list[Path]:
    """Best-response dynamics in each case, side by side, and all clients with one strategy. In round k (from
    1) a part 1 / (k + 1) of those who want to moves, so that mixes settle. The last round moves nobody.
    """
    paths = [Path(c, [c.start()], [], [], []) for c in cases]
    parts = rounds + 2

    def run(mixes: list[list[np.ndarray]], first: int, part: int) -> list[list[Seen]]:
        jobs = [(p.case, n, s) for p, some in zip(paths, mixes, strict=True) for n in some for s in seeds]
        todo = [c.scenario(n, first + s, seconds) for c, n, s in jobs]
        runs = iter(setting.run_all(todo, label, (part / parts, (part + 1) / parts)))
        return [[read([next(runs) for _ in seeds], n, seconds) for n in some] for some in mixes]

    ones = np.eye(len(STRATEGIES))
    for p, found in zip(paths, run([[c.counts(row) for row in ones] for c in cases], 0, 0), strict=True):
        p.uniform = found
    for k in range(1, rounds + 2):
        for p, found in zip(paths, run([p.case.mixes(p.shares[-1]) for p in paths], 100 * k, k), strict=True):
            p.seen.append(found[0])
            p.times.append(payoffs(p.shares[-1], found))
            if k <= rounds:
                p.shares.append(moved(p.shares[-1], p.times[-1], 1 / (k + 1)))
    return paths
