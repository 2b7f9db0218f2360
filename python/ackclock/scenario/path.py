"""The path of packets: links, and how they are connected."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock import _core
from ackclock._core import InputError, PolicyError, ScenarioError
from ackclock.policy import Policy, declarations
from ackclock.policy.declared import class_name, scalar, shown
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
    """Faults on the link, such as `ac.fault.Loss(p="1%")`."""
    mtu: str | None = None
    """The largest packet that it carries, such as `1500B`; larger ones are dropped."""
    policer: Policy | Tree | None = None
    """Such as `ac.Policer(rate="5Mbit/s", burst="30kB")`."""
    shaper: Policy | Tree | None = None
    """Such as `ac.Shaper(rate="5Mbit/s", burst="30kB")`."""
    schedule: Policy | Tree | None = None
    """Rate, delay and loss over time, such as `ac.Schedule(points=[{"at": "5s", "rate": "1Mbit/s"}])`."""
    mahimahi: Policy | Tree | None = None
    """A packet-delivery trace in place of a rate, such as `ac.Mahimahi(file="lte.down")`."""
    jitter: Policy | Tree | None = None
    """A random extra delay of each packet, such as `ac.Jitter(mean="5ms")`."""
    half_duplex: Policy | Tree | bool | None = None
    """True, or such as `ac.HalfDuplex(gap="100us")`: both directions share one medium. It is given for the
    way there.
    """

    def __post_init__(self) -> None:
        for key, value in (("rate", self.rate), ("delay", self.delay), ("mtu", self.mtu)):
            if value is not None:
                word = _single(value, f"`{key}` of a link")
                try:
                    _core.check_value("link", "", key, word)
                except PolicyError as e:
                    raise ScenarioError(f"a link's {e}") from None
        _check_kind(self.queue, "queue")
        for fault in self.faults if isinstance(self.faults, list | tuple) else [self.faults]:
            _check_kind(fault, "fault")
        for name, element in self._elements().items():
            said = isinstance(element, Mapping) or (name == "half_duplex" and isinstance(element, bool))
            if element is not None and not said:
                _check_element(name, element)

    def _elements(self) -> dict[str, Policy | Tree | bool | None]:
        return {
            "policer": self.policer,
            "shaper": self.shaper,
            "schedule": self.schedule,
            "mahimahi": self.mahimahi,
            "jitter": self.jitter,
            "half_duplex": self.half_duplex,
        }

    def to_scenario(self) -> Tree:
        """The link's table in a scenario file."""
        return table(
            rate=self.rate,
            delay=self.delay,
            mtu=self.mtu,
            queue=self.queue,
            faults=self.faults,
            **self._elements(),
        )


@dataclass(frozen=True)
class Uniform:
    """Round-trip times drawn for each flow, uniformly between two times."""

    least: str
    most: str

    def __post_init__(self) -> None:
        _check_rtt([self.least, self.most])

    def to_scenario(self) -> Tree:
        """The table in a scenario file."""
        return {"uniform": [self.least, self.most]}


Rtt = str | Uniform | Sequence[str]
"""Round-trip time of flows without queues: one for all, one drawn for each, or a list that flows take in
turn.
"""


@dataclass(frozen=True)
class Over:
    """The base of all paths."""

    def __post_init__(self) -> None:
        _check_rtt(getattr(self, "rtt", None))


@dataclass(frozen=True)
class Single(Over):
    """One link between two hosts, and its reverse direction."""

    link: Link
    rtt: Rtt | None = None
    back: Link | None = None

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="single", link=self.link, back=self.back, rtt=self.rtt)


@dataclass(frozen=True)
class Dumbbell(Over):
    """Many hosts on either side of one bottleneck."""

    bottleneck: Link
    rtt: Rtt | None = None
    """Round-trip times of flows, without queues."""
    back: Link | None = None
    """The reverse direction of the bottleneck; by default like the forward one, without its faults."""
    access: Link | None = None
    """A link that all hosts of a side share; pure delays by default."""

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(
            kind="dumbbell", bottleneck=self.bottleneck, back=self.back, access=self.access, rtt=self.rtt
        )


@dataclass(frozen=True)
class Chain(Over):
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
    """The reverse direction where it differs; False for none."""

    def to_scenario(self) -> Tree:
        """The edge's table in a scenario file."""
        return {
            **table(**{"from": self.start, "to": self.end, "name": self.name, "back": self.back}),
            **self.link.to_scenario(),
        }


@dataclass(frozen=True)
class Graph(Over):
    """Any nodes and links; packets take the shortest paths."""

    edges: Sequence[Edge]
    nodes: Sequence[str] | None = None
    rtt: Rtt | None = None

    def to_scenario(self) -> Tree:
        """The table `[path]` of a scenario file."""
        return table(kind="graph", edges=self.edges, nodes=self.nodes, rtt=self.rtt)


Path = Single | Dumbbell | Chain | Graph


def _single(value: object, what: str) -> str:
    word = scalar(value)
    if word is None:
        raise ScenarioError(f"{what} is {shown(value)}, where a single value belongs")
    return word


def _check_rtt(rtt: object) -> None:
    """Refuses a round-trip time that no scenario takes."""
    for one in rtt if isinstance(rtt, list | tuple) else [rtt]:
        if isinstance(one, str) and one == "links" and one is rtt:
            continue
        if one is None or (isinstance(one, Uniform | Mapping) and one is rtt):
            continue
        word = _single(one, "a round-trip time")
        try:
            _core.quantity("time", word)
        except InputError as e:
            others = ", `links`, a list of times, or `ac.Uniform`" if one is rtt else ""
            raise ScenarioError(f"a round-trip time: {e}{others}") from None


def _check_element(name: str, value: object) -> None:
    """Refuses what is not the element of that name."""
    if not isinstance(value, Policy) or (value.kind, value.name) != ("element", name):
        met = f"`{value.name}`" if isinstance(value, Policy) else shown(value)
        raise ScenarioError(f"the `{name}` of a link is {met}, where `ac.{class_name(name)}(...)` belongs")


def _check_kind(value: object, kind: str) -> None:
    """Refuses what is no policy of that kind, and no name of one."""
    known = [d.name for d in declarations() if d.kind == kind]
    name = value.name if isinstance(value, Policy) else value
    if value is None or isinstance(value, Mapping):
        return
    if isinstance(value, Policy) and value.kind != kind:
        raise ScenarioError(
            f"`{value.name}` is of the kind {value.kind}, where a {kind} belongs; expected one of "
            f"{', '.join(known)}"
        )
    if name not in known:
        near = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
        hint = f" (did you mean `{near[0]}`?)" if near else ""
        raise ScenarioError(
            f"{shown(name) if not isinstance(name, str) else f'`{name}`'} is not a known {kind}{hint}; "
            f"expected one of {', '.join(known)}"
        )
