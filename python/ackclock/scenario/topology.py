"""Networks by rule, and figures of any network. `python -m ackclock.scenario.topology [SEED]` prints the
HOT-like one as a list of edges.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ackclock import files
from ackclock._core import InputError

CORE = 6
CHORDS = ((0, 3), (1, 4))
GATEWAYS = 8
FANS = (14, 10, 8, 6, 5, 4, 3, 3)
"""Edge nodes at each gateway."""
SERVERS = 0.1
"""Part of the edge nodes that serve (B-F10)."""
CORE_RATE, SERVER_RATE, CLIENT_RATES = "10Gbit/s", "100Mbit/s", (1.0, 10.0)
"""Rates of links (B-F10); those of clients, in Mbit/s, are uniform between the two."""
DELAY = "10ms"


@dataclass(frozen=True)
class Topology:
    """A network: edges as `(from, to, rate, delay)`, and which edge nodes are servers and clients."""

    edges: tuple[tuple[str, str, str, str], ...]
    servers: tuple[str, ...]
    clients: tuple[str, ...]

    @property
    def nodes(self) -> list[str]:
        """Every node, in the order in which the edges name them."""
        return list(dict.fromkeys(end for edge in self.edges for end in edge[:2]))


def hot_like(seed: int = 1) -> Topology:
    """A network like those of heuristically optimal topologies: a sparse fast core, gateways, and edge nodes
    of low degree fanned out behind them.

    A ring of 6 core nodes with two chords; 8 gateways on core node k mod 6, every other one on the next core
    node too; 53 edge nodes behind them, 14 at the first gateway and 3 at the last. 67 nodes, 73 links. The
    graph is always the same; the seed draws which edge nodes serve and rates of the others. It takes the
    place of the paper's topology, whose edges are not published (B-F10).
    """
    rng = random.Random(f"hot-like {seed}")
    core = [(f"core{k}", f"core{(k + 1) % CORE}") for k in range(CORE)] + [
        (f"core{a}", f"core{b}") for a, b in CHORDS
    ]
    for k in range(GATEWAYS):
        core.append((f"core{k % CORE}", f"gw{k}"))
        if k % 2 == 0:
            core.append((f"core{(k + 1) % CORE}", f"gw{k}"))
    hosts = [(f"gw{k}", f"h{sum(FANS[:k]) + i}") for k, fan in enumerate(FANS) for i in range(fan)]
    names = [host for _, host in hosts]
    servers = set(rng.sample(names, round(SERVERS * len(names))))
    edges = [(a, b, CORE_RATE, DELAY) for a, b in core]
    for gateway, host in hosts:
        # Drawn for servers as well, so that who serves does not change the others' rates.
        drawn = rng.uniform(*CLIENT_RATES)
        edges.append((gateway, host, SERVER_RATE if host in servers else f"{drawn:.3f}Mbit/s", DELAY))
    return Topology(
        tuple(edges), tuple(n for n in names if n in servers), tuple(n for n in names if n not in servers)
    )


def read(file: str | Path) -> list[tuple[str, str]]:
    """The pairs of nodes in a list of edges such as scenarios name: lines of `from to [rate] [delay]`; `#`
    begins a comment.
    """
    pairs = []
    for number, line in enumerate(
        files.text(Path(file), files.EDGES, "give a list of edges").splitlines(), 1
    ):
        fields = line.split("#")[0].replace(",", " ").split()
        if len(fields) == 1 or len(fields) > 4:
            raise InputError(f"{file}: line {number}: this is no edge such as `a b 10Mbit/s 5ms`")
        if fields:
            pairs.append((fields[0], fields[1]))
    return pairs


def degrees(pairs: Iterable[Sequence[str]]) -> Counter[str]:
    """Links at each node, those both ways counted once."""
    links = {frozenset(pair[:2]) for pair in pairs}
    return Counter(node for link in links for node in link)


def assortativity(pairs: Iterable[Sequence[str]]) -> float:
    """Correlation of the degrees at the two ends of a link (Newman 2002): negative where hubs link to leaves.
    NaN where all degrees are the same.
    """
    links = {frozenset(pair[:2]) for pair in pairs}
    degree = degrees(map(tuple, links))
    ends = np.array([[degree[a], degree[b]] for a, b in map(sorted, links)], float)
    both = np.concatenate([ends, ends[:, ::-1]])
    spread = both[:, 0].std()
    return (
        float(((both[:, 0] - both[:, 0].mean()) * (both[:, 1] - both[:, 1].mean())).mean() / spread**2)
        if spread > 0
        else float("nan")
    )


def text(topology: Topology, seed: int = 1) -> str:
    """The list of edges as a file."""
    lines = [
        "# A HOT-like network of 67 nodes and 73 links (B-F10), written by `python -m "
        f"ackclock.scenario.topology {seed}`.",
        f"# Servers: {' '.join(topology.servers)}",
        *(" ".join(edge) for edge in topology.edges),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(text(hot_like(_seed), _seed), end="")
