"""The HOT-like network of B-F10 and the load on it (B-F11)."""

from __future__ import annotations

from typing import Any

import ackclock as ac
from ackclock.reproduce.backoff2008 import testbed
from ackclock.scenario import Edge, Workload, topology
from ackclock.scenario.topology import Topology

TARGET = "5ms"
PEERS = 5
"""Files that each client fetches from its peers (B-A11)."""

NS2: dict[str, Any] = {"karn_backoff": True, "rtt_sampling": "once-per-rtt"}
"""ns-2's published defaults, which the paper's simulations are taken to have."""
CHOICES = {
    **{key: testbed.CHOICES[key] for key in ("packets", "giving up", "numbers checked")},
    "backoff counter": "ns-2's published defaults: no timestamps, one segment timed per round trip, and "
    "Karn's rule: the backoff lasts until a segment that was sent once is acknowledged",
    "edges": "the paper's are not published: a HOT-like network by a rule of our own, "
    "`ackclock.scenario.topology.hot_like`, with seed 1",
    "servers": "10 % of the 53 edge nodes, rounded to 5, drawn at random",
    "rates": "10 Gbit/s among core nodes and gateways; 100 Mbit/s to servers; uniform between 1 and 10 "
    "Mbit/s to each client, the same both ways",
    "queue": f"RED that aims at {TARGET} and adapts itself, with room for 200 ms",
    "round-trip times": "what the links take, 10 ms each: 80 to 140 ms between a client and a server",
}


def network(seed: int = 1) -> Topology:
    """The network."""
    return topology.hot_like(seed)


def path(t: Topology) -> ac.Graph:
    """Its links with their queues."""
    red = ac.queue.Red(target_delay=TARGET, limit="200ms")
    return ac.Graph(
        [Edge(a, b, ac.Link(rate, delay=delay, queue=red), f"{a}-{b}") for a, b, rate, delay in t.edges],
        rtt="links",
    )


def http(t: Topology, per_client: float, **more: Any) -> Workload:
    """Web flows of Trace-I from any server to any client: so many Mbit/s of payload for each client on
    average.
    """
    rate = per_client * 1e6 * len(t.clients) / 8 / 3351.19
    return ac.Web(
        name="http", trace="I", arrival_rate=rate, server=list(t.servers), client=list(t.clients), **more
    )


def p2p(t: Topology, spread: str = "5s") -> Workload:
    """Endless files that every client fetches from five others, beginning within so long."""
    return ac.Bulk(
        name="p2p", client=list(t.clients), server=list(t.clients), per_server=PEERS, spread=spread
    )


def stacks(*labels: str) -> dict[str, ac.Stack]:
    """The stacks of those labels as ns-2 has them, with a least timeout of 200 ms."""
    return {label: s.but(**NS2) for label, s in testbed.stacks("200ms", *labels).items()}
