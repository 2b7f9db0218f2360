"""The modem user and the research user behind one lossy link (M-F13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ackclock as ac
from ackclock.models import jacobson88 as j
from ackclock.reproduce.mathis97 import lossy, stock

LINE = 28_800
"""bit/s of the modem."""
PACKET, ACK = 1000, 40
"""Bytes on the wire."""
QUEUE = 5
"""Packets before the modem."""
UNLOADED, SHARED = 400.0, 100.0
"""Round-trip times of the modem user and over the shared part of the path, ms."""
SIZES = (536, 1460, 4312)
"""MSS of the research user, bytes."""
PRESET = "fack-rh"
MODEM, RESEARCH = "modem user", "research user"

CHOICES = {
    **stock.CHOICES,
    "shared link L": "a pure delay of 50 ms each way that loses data packets at random, each by itself; it "
    "never queues",
    "modem": f"{LINE / 1e3:g} kbit/s both ways; packets of {PACKET} bytes, acks of {ACK}; {QUEUE} packets "
    "wait at most, the one in service not counted; what is missing to a round trip of 400 ms is "
    "delay of its line (11.1 ms, M-E17)",
    "users": "each alone: L has room for both",
    "delayed acks": "within 200 ms here, as the paper has them in section 7",
    "lost retransmissions": lossy.CHOICES["lost retransmissions"],
    "acks": "delayed; those of the modem user come at once, since its packets are more than 200 ms apart, "
    "and its unloaded round trip of 400 ms leaves no time for a delay",
}


def copying() -> float:
    """Time that a packet and its ack take on the modem line, ms."""
    return 1e3 * float(j.packet_spacing(PACKET + ACK, LINE))


def path(loss: float) -> ac.Graph:
    """The server, L, the router, and both users."""
    faults = ac.fault.Loss(p=loss, of="data") if loss else None
    rest = (UNLOADED - SHARED - copying()) / 2
    wide = ac.DropTail(limit="1000packets")
    line = {"rate": f"{LINE}bit/s", "delay": f"{1e3 * rest:.0f}us"}
    return ac.Graph(
        [
            ac.Edge(
                "server",
                "R",
                ac.Link(delay=f"{SHARED / 2:g}ms", faults=faults),
                name="L",
                back=ac.Link(delay=f"{SHARED / 2:g}ms"),
            ),
            ac.Edge(
                "R",
                "home",
                ac.Link(**line, queue=ac.DropTail(limit=f"{QUEUE}packets")),
                name="modem",
                back=ac.Link(**line, queue=wide),
            ),
            ac.Edge("R", "laboratory", ac.Link(delay="0s"), name="campus"),
        ]
    )


def modem_stack() -> ac.Stack:
    """Of the modem user: its acks have 40 bytes, so that it goes without timestamps, and each packet is
    acknowledged at once (M-F14).
    """
    return stock.tcp(PRESET, PACKET, timestamps=False, mss=f"{PACKET - ACK}B", ack="every")


def research_stack(mss: int, **changes: Any) -> ac.Stack:
    """Of the research user."""
    return stock.tcp(PRESET, mss + stock.HEADERS, **{"ack": ac.Delayed(), **changes})


def modem(loss: float, seed: int = 1, stacks: Mapping[str, ac.Stack] | None = None) -> ac.Scenario:
    """The modem user downloads, once with each stack."""
    return ac.Scenario.of(
        path(loss),
        ac.Bulk(name=MODEM, client="server", server="home"),
        dict(stacks or {"tcp": modem_stack()}),
        seed=seed,
    )


def research(
    loss: float, sizes: Sequence[int] = SIZES, seed: int = 1, changes: Mapping[str, Any] | None = None
) -> ac.Scenario:
    """The research user downloads, once with each size of segments."""
    stacks = {f"{mss} bytes": research_stack(mss, **(changes or {})) for mss in sizes}
    return ac.Scenario.of(
        path(loss), ac.Bulk(name=RESEARCH, client="server", server="laboratory"), stacks, seed=seed
    )
