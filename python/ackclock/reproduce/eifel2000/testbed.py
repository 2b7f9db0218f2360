"""The testbed of the paper (E-A11) as a scenario, and what its measurements share: two hosts on a serial
line, one bulk transfer.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import timers
from ackclock.reproduce.eifel2000.model import WORDS
from ackclock.results import Run

BITS, PACKETS, MTU, TICK = 2400, 40, 1500, 0.5
"""Rate of the line (bit/s), room for packets, their size (B), tick of the hosts' clocks (s)."""
SUBTITLE = "Simulated line of 2.4 kbit/s, 40 packets, service time 6.25 s, tick 500 ms"
SERVICE = MTU * 10 / BITS
"""Service time (s): 6.25 with ten bits for each byte (E-E17)."""

CHOICES = {
    "line": "10 bits for each byte: 240 bytes/s (E-E17); PPP's own header left out; propagation delay 5 ms "
    "each way",
    "queue": f"{PACKETS} packets with the one being sent, which makes the paper's 250 s; acks of 40 or 52 "
    "bytes come back on a line of their own",
    "segments": "payload of 1460 bytes, or 1448 with timestamps; buffers of 1 MiB, so that the window "
    "alone limits",
    "sender": "Reno without limited transmit and SACK, first window 1 segment, growth by acks, no "
    "slow-start threshold to begin with",
    "receiver": "acknowledges every segment: the service time is above its delay of 200 ms",
    "timers": "samples in whole ticks of 500 ms, the countdown too; ceilings of the timeout and of its "
    "backoff out of the way (1 h, 24 h)",
    "Lite's countdown": "a fast retransmission restarts it, as in 4.4BSD-Lite",
    "real hosts": "none: the Lite and Eifel timers are in no kernel of today, and a cycle takes over an "
    "hour of real time; the line is simulated",
    "steady state": "what comes before the first fast retransmission is left out",
}


def line(
    bits: int = BITS, room: int = PACKETS, framing: int = 10, delay: str = "10ms", faults: object = None
) -> ac.Single:
    """The serial line: so many bit/s on the wire, of which each byte takes `framing`, and room for `room`
    packets with the one being sent.
    """
    rate = f"{bits * 8 // framing}bit/s"
    there = ac.Link(rate, queue=ac.queue.DropTail(limit=f"{room - 1}packets"), faults=faults)
    return ac.Single(there, rtt=delay, back=ac.Link(rate, queue=ac.queue.DropTail(limit="1000packets")))


def sender(estimator: object, countdown: object, **options: object) -> ac.Stack:
    """A host of the testbed by its timer: prediction and countdown."""
    return ac.Stack(
        "reno+no-limited-transmit+no-sack+ack-every",
        estimator=estimator,
        timer=countdown,
        backoff=ac.backoff.Exponential(max_timeout="24h"),
        window=ac.window.Reno(initial_window="segments", initial_segs=1, byte_counting=False),
        **options,
    )


def lite(tick: str = "500ms", **options: object) -> ac.Stack:
    """A host with the Lite timer (E-A1)."""
    return sender(
        ac.estimator.Lite(tick=tick, max_rto="1h"),
        ac.timer.RestartOnAck(heartbeat=tick, fast_retransmit=True),
        **options,
    )


def eifel(tick: str = "500ms", **options: object) -> ac.Stack:
    """A host with the Eifel timer (E-A6), which measures and counts in the same ticks."""
    return sender(
        ac.estimator.Eifel(tick=tick, rounded=True, max_rto="1h"), ac.timer.Precise(heartbeat=tick), **options
    )


def transfer(path: object, stacks: Mapping[str, ac.Stack], seconds: float, **options: object) -> Run:
    """A bulk transfer over the line, once for each host, with the tables of its packets and samples."""
    trace = ["packets", "samples", "episodes"]
    return ac.Scenario.of(
        path, ac.Bulk(), stacks, duration=f"{seconds:g}s", trace=trace, **options
    ).simulate()


def rows(run: Run, table: str, stack: str) -> pa.Table:
    """The sender's rows of a trace."""
    t = run.traces[table]
    return t.filter(pc.and_(pc.equal(t["run"], stack), pc.equal(t["connection"], 0)))


@dataclass(frozen=True)
class Log:
    """The samples of a sender, by its own log: when they came, what they were, and the timeout then set
    (s).
    """

    time: np.ndarray
    rtt: np.ndarray
    rto: np.ndarray

    @staticmethod
    def of(run: Run, stack: str) -> Log:
        """The samples of the run of `stack`."""
        t = rows(run, "samples", stack)
        t = t.filter(pc.is_valid(t["rtt"]))
        return Log(*(t[name].to_numpy() for name in ("time", "rtt", "rto")))

    def __getitem__(self, part: slice | np.ndarray) -> Log:
        return Log(self.time[part], self.rtt[part], self.rto[part])

    @property
    def before(self) -> np.ndarray:
        """RTO(i-1), which is compared with RTT(i); NaN at the first."""
        return np.append(np.nan, self.rto[:-1])

    @property
    def ratio(self) -> np.ndarray:
        """RTO(i-1) / RTT(i)."""
        return self.before / self.rtt

    def cycles(self) -> list[slice]:
        """The samples of each whole cycle in steady state: from where the round-trip time has dropped to the
        last one before the next silence.
        """
        full = int(np.argmax(self.rtt >= 0.95 * self.rtt.max()))
        drops = np.flatnonzero(self.rtt[1:] < 0.75 * self.rtt[:-1]) + 1
        silent = np.flatnonzero(np.diff(self.time) > 1.01 * np.maximum(self.rtt[1:], self.rtt[:-1]))
        found = []
        for begin, end in itertools.pairwise(drops[drops > full].tolist()):
            last = silent[(silent >= begin) & (silent < end)]
            found.append(slice(begin, int(last[0]) + 1 if last.size else end))
        return found


def stretched(values: np.ndarray, rows: int) -> np.ndarray:
    """The numbers of a cycle over so many rows, each where the same part of the cycle has passed."""
    return np.interp(np.linspace(0, 1, rows), np.linspace(0, 1, values.size), values)


def correlation(measured: np.ndarray, modelled: np.ndarray) -> float:
    """That of a measured cycle with the model's."""
    return float(np.corrcoef(stretched(measured, modelled.size), modelled)[0, 1])


def with_gaps(log: Log, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and values for a line that breaks where no samples came."""
    silent = np.flatnonzero(np.diff(log.time) > 1.01 * np.maximum(log.rtt[1:], log.rtt[:-1])) + 1
    return np.insert(log.time, silent, log.time[silent - 1]), np.insert(values, silent, np.nan)


def figure(
    log: Log,
    cycles: list[slice],
    label: str,
    title: str,
    subtitle: str,
    *,
    shown: int = 3,
    zoom: bool = False,
) -> Figure:
    """Some cycles as the paper draws them: samples, the timeout above them, and gaps between."""
    part = log[cycles[1].start : cycles[shown].stop]
    began = part.time[0]
    time, rtt = with_gaps(part, part.rtt)
    last = log[cycles[shown]]
    panel = (
        (last.time[-1] - began - 0.45 * (last.time[-1] - last.time[0]), last.time[-1] - began)
        if zoom
        else None
    )
    return timers(
        time - began,
        rtt,
        {WORDS[label]: with_gaps(part, part.rto)[1]},
        title=title,
        subtitle=subtitle,
        zoom=panel,
    )


def table(log: Log) -> pa.Table:
    """The samples as a table."""
    return pa.table({"time": log.time, "rtt": log.rtt, "rto": log.rto})
