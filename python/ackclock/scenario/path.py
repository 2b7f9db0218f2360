"""Where packets go: links, and how they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.policy import Policy
from ackclock.scenario.tree import Tree, table

Queue = Policy | str
"""A queue discipline such as `ac.Red(limit="2bdp")`, or its name."""


@dataclass(frozen=True)
class Link:
    """A link in one direction, with the queue in front of it; without a rate a pure delay."""

    rate: str | None = None
    """Such as `10Mbit/s`."""
    delay: str | None = None
    """Propagation delay one way, such as `5ms`."""
    queue: Queue | None = None
    """Drop-tail by default."""
    faults: Sequence[Policy | Tree | str] | Policy | Tree | str | None = None
    """What can happen on it, such as `ac.fault.Loss(p="1%")`."""

    def to_scenario(self) -> Tree:
        """The link's table in a scenario file."""
        return table(rate=self.rate, delay=self.delay, queue=self.queue, faults=self.faults)


@dataclass(frozen=True)
class Uniform:
    """Round-trip times drawn for each flow, uniformly between two times."""

    least: str
    most: str

    def to_scenario(self) -> Tree:
        """The table in a scenario file."""
        return {"uniform": [self.least, self.most]}


Rtt = str | Uniform | Sequence[str]
"""Round-trip time of flows without queues: one for all, one drawn for each, or a list that is gone through."""


@dataclass(frozen=True)
class Single:
    """One link between two hosts, and its way back."""

    link: Link
    rtt: Rtt | None = None
    back: Link | None = None

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="single", link=self.link, back=self.back, rtt=self.rtt)


@dataclass(frozen=True)
class Dumbbell:
    """Many hosts on either side of one bottleneck."""

    bottleneck: Link
    rtt: Rtt | None = None
    """Round-trip times of flows, without queues."""
    back: Link | None = None
    """The bottleneck's way back; like the way there by default, faults excepted."""
    access: Link | None = None
    """A link that all hosts of a side share; pure delays by default."""

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="dumbbell", bottleneck=self.bottleneck, back=self.back, access=self.access, rtt=self.rtt)


@dataclass(frozen=True)
class Chain:
    """Gateways in a row: either `hops` links of one kind, or `links` one after the other."""

    link: Link | None = None
    hops: int | None = None
    links: Sequence[Link] | None = None
    rtt: Rtt | None = None

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="chain", link=self.link, hops=self.hops, links=self.links, rtt=self.rtt)


@dataclass(frozen=True)
class Edge:
    """A link of a graph from one node to another, and back."""

    start: str
    end: str
    link: Link
    name: str | None = None
    back: Link | bool | None = None
    """The way back where it differs; False for none."""

    def to_scenario(self) -> Tree:
        """The edge's table in a scenario file."""
        return {**table(**{"from": self.start, "to": self.end, "name": self.name, "back": self.back}), **self.link.to_scenario()}


@dataclass(frozen=True)
class Graph:
    """Any nodes and links; packets take the shortest paths."""

    edges: Sequence[Edge]
    nodes: Sequence[str] | None = None
    rtt: Rtt | None = None

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="graph", edges=self.edges, nodes=self.nodes, rtt=self.rtt)


Path = Single | Dumbbell | Chain | Graph
