from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock._core import InputError
from ackclock.results.trace import Trace

MOST_FIGURES = 12
"""Connections that have figures of their own where none are chosen: those with the longest stalls."""
MOST_KEPT = 4
"""Traces of directions that are kept: figures of one connection share theirs."""
SHOWN = 6
"""Connections that a sequence plot of several shows: there are as many colours."""
TIMERS = ("rfc6298", "rfc6298(min_rto=200ms)", "eifel")
"""Timers that are drawn over the round-trip times where none is chosen: RFC 6298, the same with the floor
that kernels have, and the Eifel timer.
"""


@dataclass(frozen=True)
class CapturePlots:
    """The figures of a capture that was read with `packets=True`. Each is a matplotlib figure, shown as it is
    in a notebook. The fields are those of `Capture`.
    """

    connections: list[dict[str, Any]]
    packets: pa.Table
    retransmissions: pa.Table
    timeouts: pa.Table
    samples: pa.Table
    traces: dict[int, Trace]

    def sequence(
        self,
        flows: int | Sequence[int] | None = None,
        *,
        details: bool | None = None,
        until: float | None = None,
    ) -> Any:
        """When each segment was sent against its sequence number.

        flows: numbers of connections; by default the only one, or the first six with data. details: with
        acknowledgments, the receiver's window, SACK, kinds of retransmissions and the waits of timeouts, as a
        single connection is drawn by default. until: the last moment shown (s).
        """
        from ackclock import plot

        wanted = (
            [flows]
            if isinstance(flows, int)
            else list(flows)
            if flows is not None
            else self._numbers()[:SHOWN]
        )
        traces = {f"connection {n}": self.trace(n) for n in wanted}
        if details is None:
            details = len(traces) == 1
        if details:
            if len(traces) != 1:
                raise InputError(f"details are those of one connection; {len(traces)} are chosen")
            (t,) = traces.values()
            return labelled(plot.details(t, until=until, **self._words(wanted[0], "segments over time")), t)
        begin = min((t.origin for t in traces.values()), default=0.0)
        left = (
            f", {len(wanted)} of {len(self._numbers())} connections"
            if len(wanted) < len(self._numbers())
            else ""
        )
        return plot.sequence(
            {name: t.moved(begin) for name, t in traces.items()}, title=f"Segments sent{left}", until=until
        )

    def rtt(
        self, flow: int | None = None, timers: Sequence[str] = TIMERS, *, until: float | None = None
    ) -> Any:
        """Samples of the round-trip time, the timeouts that `timers` would have set after each, and those
        that expired.

        A capture nearer to the receiver shows only a part of the round trip, from which the timeouts of the
        sender cannot be computed: then no timer is drawn.
        """
        from ackclock import plot

        n = self._one(flow)
        t = self.trace(n)
        time, rtt, rto = self.replayed(n, timers, t.origin)
        words = self._words(n, "round-trip times and timeouts")
        if not rto:
            words["subtitle"] += "; too little of the round trip for timers"
        return labelled(
            plot.round_trips(time, rtt, rto, waits=t.waits, until=t.end if until is None else until, **words),
            t,
        )

    def flight(self, flow: int | None = None, *, until: float | None = None) -> Any:
        """Bytes in flight under the receiver's window and the congestion window that they show."""
        from ackclock import plot

        n = self._one(flow)
        t = self.trace(n)
        return labelled(
            plot.flight(
                t, window="congestion window, inferred", until=until, **self._words(n, "bytes in flight")
            ),
            t,
        )

    def what_if(self, flow: int | None = None) -> Any:
        """How long other timers would have waited in a connection, both ends together, for a capture that was
        read with `what_if`.
        """
        from ackclock import plot
        from ackclock.results.captured import totals

        n = self._one(flow)
        c = self.connection(n)
        rows = totals(c["directions"])
        if not rows:
            raise InputError(
                f"connection {n} has no what-if of other timers; read the capture with `what_if`, such "
                'as `what_if="all"`'
            )
        return plot.what_if(
            rows,
            title=f"Connection {n}: what other timers would have done",
            subtitle=f"{c['client']} and {c['server']}",
        )

    def trace(self, flow: int, side: int | None = None) -> Trace:
        """The trace that the figures draw of connection `flow`: the direction that carries more payload, or
        that of the client (0) or the server (1).
        """
        direction = 2 * flow + (self.side(flow) if side is None else side)
        if direction in self.traces:
            return self.traces[direction]
        rows = self.packets.filter(pc.equal(pc.bit_wise_or(self.packets["connection"], 1), 2 * flow + 1))
        if not rows.num_rows:
            raise InputError(
                f"no packet of connection {flow} is listed; read the capture with `packets=True`, and "
                "choose with `flow`"
            )
        if len(self.traces) >= MOST_KEPT:
            self.traces.clear()
        trace = Trace.of_packets(rows, direction, self.retransmissions, self.timeouts, self.samples)
        self.traces[direction] = trace
        return trace

    def side(self, flow: int) -> int:
        """0 where the client of a connection sent more payload than its server, else 1."""
        client, server = self.connection(flow)["directions"]
        return int(server["bytes"] > client["bytes"])

    def connection(self, flow: int) -> dict[str, Any]:
        """The connection of that number."""
        found = next((c for c in self.connections if c["number"] == flow), None)
        if found is None:
            some = ", ".join(str(c["number"]) for c in self.connections[:20])
            raise InputError(
                f"connection {flow} is not in the capture, or not chosen; there are {some or 'none'}"
            )
        return found

    def replayed(
        self, flow: int, timers: Sequence[str], origin: float, side: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Samples of a connection: times less `origin`, round-trip times, and the timeout (s) that each timer
        sets after them. No timer is replayed over samples that cover less than half of the round trip.
        """
        side = self.side(flow) if side is None else side
        d = self.connection(flow)["directions"][side]
        return replayed(
            self.samples,
            2 * flow + side,
            timers if d["view"] == "sender" else (),
            origin,
            max(d["mss"], 1),
        )

    def _numbers(self) -> list[int]:
        return [c["number"] for c in self.connections if any(d["bytes"] for d in c["directions"])]

    def _one(self, flow: int | None) -> int:
        if flow is not None:
            return flow
        numbers = self._numbers()
        if len(numbers) != 1:
            raise InputError(
                f"there are {len(numbers)} connections that carry data: give the number of one as `flow`"
            )
        return numbers[0]

    def _words(self, flow: int, what: str) -> dict[str, str]:
        direction = self.connection(flow)["directions"][self.side(flow)]
        return {
            "title": f"Connection {flow}: {what}",
            "subtitle": f"{direction['from']} to {direction['to']}, {seen_from(direction)}",
        }


def seen_from(direction: dict[str, Any]) -> str:
    """Where a direction was captured, in words."""
    if direction["share"] is None:
        return "captured at an unknown place"
    if direction["share"] > 0.95:
        return "captured at its sender"
    if direction["share"] < 0.05:
        return "captured at its receiver"
    return f"captured with {100 * direction['share']:.0f} % of the round trip beyond"


def replayed(
    samples: pa.Table, connection: int, timers: Sequence[str], origin: float, smss: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Round-trip times of one connection in the table `samples` of any world, and the timeouts (s) that
    registered timers make of them.
    """
    from ackclock.models.timer import Timer

    rows = samples.filter(pc.and_(pc.equal(samples["connection"], connection), pc.is_valid(samples["rtt"])))
    time, rtt = rows["time"].to_numpy() - origin, rows["rtt"].to_numpy()
    flight, cwnd = (pc.fill_null(rows[name], 0).to_numpy() for name in ("pipe", "cwnd"))
    columns = {
        "time": np.maximum(time, 0),
        "rtt": rtt,
        "flight_size": flight,
        "cwnd": np.maximum(cwnd, flight),
    }
    return (
        time,
        rtt,
        {name: Timer.parse(name).rows(columns, smss)["rto"] if time.size else np.empty(0) for name in timers},
    )


def labelled(figure: Any, t: Trace) -> Any:
    """Labels the time axis with the moment at which it begins."""
    if t.origin:
        figure.axes[-1].set_xlabel(f"time since {moment(t.origin)} (s)")
    return figure


def moment(seconds: float) -> str:
    """A time of a capture's clock for people; as seconds where it is no date."""
    try:
        at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"{seconds:.3f} s"
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC" if seconds > 1e8 else f"{seconds:.3f} s"
