"""A chain of congested gateways (M-F12), as M-E6 derives equations (12) and (13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ackclock as ac
from ackclock.reproduce.mathis97 import steady, stock

PACKET = 1000
"""Bytes on the wire."""
END_TO_END = "connection 0"


@dataclass(frozen=True)
class Chain:
    """2n gateways in a row; every second of the 2n - 1 lines between them is congested."""

    n: int
    rate: float
    """Of the congested lines, bit/s; the others have ten times that."""
    delay: float
    """Of each line, ms."""
    queue: Any
    """At the congested lines."""
    datagrams: float = 0.0
    """Share of each congested line that single datagrams at random times take."""
    overhead: bool = False
    """Whether each sender delays its packets by a random time, up to that of a packet on a congested line: as
    ns's overhead, against phase effects.
    """

    def path(self) -> ac.Graph:
        """The gateways and their lines."""
        wide = ac.DropTail(limit="100000packets")
        edges = []
        for k in range(2 * self.n - 1):
            congested = k % 2 == 0
            line = {
                "rate": f"{self.rate * (1 if congested else 10):.0f}bit/s",
                "delay": f"{1e3 * self.delay:.0f}us",
            }
            there = ac.Link(**line, queue=self.queue if congested else wide)
            edges.append(
                ac.Edge(
                    f"g{k}",
                    f"g{k + 1}",
                    there,
                    name=f"line {k // 2 + 1}" if congested else f"between {k // 2 + 1}",
                    back=ac.Link(**line, queue=wide),
                )
            )
        if self.overhead:
            edges += [self.host(*ends) for ends in self.ends()]
        return ac.Graph(edges)

    def ends(self) -> list[tuple[str, int, int]]:
        """Each connection's name, and the gateways that it enters and leaves at."""
        return [
            (END_TO_END, 0, 2 * self.n - 1),
            *((f"connection {i}", 2 * i - 2, 2 * i - 1) for i in range(1, self.n + 1)),
        ]

    def host(self, name: str, first: int, _: int) -> ac.Edge:
        """The sender's own line, in which each packet waits for a random time and stays in order."""
        most = 8 * PACKET / self.rate
        jitter = {
            "distribution": "uniform",
            "mean": f"{1e9 * most / 2:.0f}ns",
            "deviation": f"{1e9 * most / 12**0.5:.0f}ns",
        }
        wide = ac.DropTail(limit="100000packets")
        line = {"rate": f"{100 * self.rate:.0f}bit/s", "delay": "0s", "queue": wide}
        return ac.Edge(
            name,
            f"g{first}",
            ac.Link(**line, jitter=jitter),
            name=f"overhead of {name}",
            back=ac.Link(**line),
        )

    def workload(self) -> list[Any]:
        """One connection from end to end, and a local one over each congested line."""
        return [
            *(
                ac.Bulk(name=name, client=name if self.overhead else f"g{a}", server=f"g{b}", spread="1s")
                for name, a, b in self.ends()
            ),
            *(self.noise() if self.datagrams else ()),
        ]

    def noise(self) -> list[Any]:
        """Datagrams over each congested line, one by one."""
        one = 8e6 * PACKET / self.rate
        each = {"rate": f"{self.rate:.0f}bit/s", "bytes": f"{PACKET}B", "periods": "exponential"}
        each |= {"on": f"{one:.0f}us", "off": f"{one * (1 / self.datagrams - 1):.0f}us"}
        return [
            ac.UdpOnOff(name=f"datagrams {i}", client=f"g{2 * i - 2}", server=f"g{2 * i - 1}", **each)
            for i in range(1, self.n + 1)
        ]

    def scenario(self, stack: ac.Stack, seed: int = 1) -> ac.Scenario:
        """All of them with one stack."""
        return ac.Scenario.of(self.path(), self.workload(), {"tcp": stack}, seed=seed)

    def measured(self, span: steady.Span) -> dict[str, Any]:
        """The end-to-end connection's share of the congested lines, and what the model takes for granted."""
        through = span.connections["tcp", END_TO_END]
        local = [c for c in span.of("tcp") if c.name.startswith("connection") and c is not through]
        lines = [span.lines["tcp", f"line {i}"] for i in range(1, self.n + 1)]
        capacity = self.rate / (8 * PACKET)
        rates = [c.rate for c in local]
        return {
            "n": self.n,
            "share": through.rate / capacity,
            "share_of_carried": through.rate / (through.rate + sum(rates) / self.n),
            "utilisation": sum(x.utilisation for x in lines) / self.n,
            "queue_delay": sum(x.delay for x in lines) / self.n,
            "rtt_0": through.rtt,
            "rtt_i": sum(c.rtt for c in local) / self.n,
            "p_0": through.p,
            "p_i": sum(c.p for c in local) / self.n,
            "ca_0": through.ca,
            "timeouts_0": through.timeouts,
            "timeouts_i": sum(c.timeouts for c in local),
            "window_0": through.window,
            "window_i": sum(c.window for c in local) / self.n,
        }


def tcp() -> ac.Stack:
    """The TCP of all connections."""
    return stock.tcp("sack", PACKET)
