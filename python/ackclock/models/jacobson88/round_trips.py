"""Series of round-trip times on which the paper's timers are compared. Each function returns the columns that
`Timer.rows` and the command `ackclock timers` take: `time` (s) when an ack arrived and `rtt` (s), arrays of
shape (packets,)."""

from __future__ import annotations

import numpy as np

from ackclock._core import InputError
from ackclock.models.timer import Array

ARTIFACTS, BUMP = (10, 50), (50, 80)
"""Packets, counted from 1, between which the paper's series shows the period of the window, and between which
it rises and falls (J-F5).
"""
LARGEST = 5_000_000
"""Most packets of a series."""


def arpanet(
    seed: int = 1988,
    packets: int = 110,
    base: float = 2.5,
    saw: float = 1.0,
    peak: float = 10.0,
    window: int = 8,
    jitter: float = 0.02,
) -> dict[str, Array]:
    """A series of the shape of the paper's figures 5 and 6 (J-F5, J-F6), whose samples are not available.

    Flat at `base` seconds; between packets 10 and 50 each window's packets queue behind each other, up to
    `saw` seconds more, until the next begins; between 50 and 80 a rise to `peak` seconds within a window, as
    long a stay, and a fall as fast as the rise. `jitter` is the half-width of the noise, in parts of the
    round-trip time. The window is full: a packet is sent when the one a window before it is acknowledged.
    """
    if not (packets >= BUMP[1] and window >= 2 and 0 < base <= peak and saw >= 0 and 0 <= jitter < 1):
        raise InputError(
            f"the series needs at least {BUMP[1]} packets, a window of 2, 0 < base <= peak, a saw of "
            "at least 0 s and a jitter below 1"
        )
    n = np.arange(1, _bounded(packets) + 1)
    rtt = np.interp(n, [BUMP[0] + i * window for i in range(4)], [base, peak, peak, base])
    artifacts = (n >= ARTIFACTS[0]) & (n < ARTIFACTS[1])
    rtt = rtt + np.where(artifacts, saw * ((n - ARTIFACTS[0]) % window) / (window - 1), 0.0)
    rtt = rtt * (1 + jitter * np.random.default_rng(seed).uniform(-1, 1, packets))
    time = np.empty(packets)
    for i in range(packets):
        sent = base * i / window if i < window else time[i - window]
        time[i] = sent + rtt[i]
    return {"time": np.maximum.accumulate(time), "rtt": rtt}


def slow_start(packets: int, packet_time: float = 1.0, once: bool = False) -> dict[str, Array]:
    """Slow-start where only the bottleneck takes time (J-X2): ack n releases packets 2n and 2n + 1, which
    wait behind all that are outstanding.

    once: whether one packet at a time is timed, the next being the first sent after its ack: the round-trip
    time of each sample is then twice the one before, as in the paper's argument (J-E17); other rows hold 0.
    By default every packet is.
    """
    n = np.arange(1, _bounded(packets) + 1)
    rtt = (n - n // 2) * packet_time
    if once:
        rtt = np.where((n & (n - 1)) == 0, rtt, 0.0)
    return {"time": n * packet_time, "rtt": rtt}


def climb(first: int, last: int, packet_time: float = 1.0, once: bool = False) -> dict[str, Array]:
    """Congestion avoidance where only the bottleneck takes time (J-N9): w packets whose round-trip time is w
    packet times, for each w.

    first, last: the windows w, which the column `flight_size` holds. once: whether only the first packet of
    each window is timed.
    """
    if not 1 <= first <= last:
        raise InputError(f"windows must climb from at least 1 packet; got {first} to {last}")
    _bounded((last + 1 - first) * (first + last) // 2)
    windows = np.arange(first, last + 1)
    w = np.repeat(windows, windows)
    rtt = w * packet_time
    if once:
        rtt = np.where(np.append(True, np.diff(w) > 0), rtt, 0.0)
    return {"time": (np.arange(w.size) + w[0]) * packet_time, "rtt": rtt, "flight_size": w}


def step(
    before: float, after: float, at: int, packets: int, interval: float | None = None
) -> dict[str, Array]:
    """A round-trip time that changes once (J-X8): `before` seconds up to packet `at`, counted from 1, and
    `after` from there on.

    interval: seconds between acks; by default the longer of the two times.
    """
    rtt = np.where(np.arange(1, _bounded(packets) + 1) <= at, before, after)
    every = max(before, after) if interval is None else interval
    return {"time": every * (np.arange(packets) + 1.0) + max(before, after), "rtt": rtt}


def queueing(
    load: float, packets: int, base: float, service: float, every: int = 1, seed: int = 1988
) -> dict[str, Array]:
    """Round-trip times through a queue with random arrivals and exponential service times (M/M/1), `base`
    seconds and what the queue takes (J-X12).

    load: arrivals times the mean service time `service` (s), below 1. every: the connection sends one in so
    many of the arrivals.
    """
    if not (0 < load < 1 and packets >= 1 and base >= 0 and service > 0 and every >= 1):
        raise InputError(
            "the queue needs a load above 0 and below 1, at least one packet, a base of at least 0 s "
            "and a service time above 0 s"
        )
    rng = np.random.default_rng([seed, round(1e6 * load), every])
    warm = round(50 / (1 - load) ** 2)
    total = _bounded(warm + packets * every)
    gaps = rng.exponential(service / load, total)
    takes = rng.exponential(service, total)
    # Lindley's recursion, W' = max(0, W + S - T), as the distance of a random walk from its minimum.
    walk = np.append(0.0, np.cumsum(takes[:-1] - gaps[1:]))
    wait = walk - np.minimum.accumulate(walk)
    sent = np.cumsum(gaps)
    mine = slice(warm, None, every)
    rtt = base + (wait + takes)[mine]
    return {"time": np.maximum.accumulate(sent[mine] - sent[warm] + rtt), "rtt": rtt}


def phased(rtt: Array, tick: float = 1.0, seed: int = 1988) -> dict[str, Array]:
    """The round-trip times `rtt` (s) of packets that are sent at random moments between two ticks of a clock,
    one after the other (J-X7).
    """
    rtt = np.asarray(rtt, float)
    phase = np.random.default_rng([seed, rtt.size]).uniform(0, 1, rtt.size)
    # Each is sent in a tick of its own, which leaves room for the longest round trip.
    room = int(np.ceil(rtt.max() / tick)) + 2 if rtt.size else 1
    return {"time": (np.arange(rtt.size) * room + phase) * tick + rtt, "rtt": rtt}


def _bounded(packets: int) -> int:
    """The number of packets, when a series may have as many."""
    if not 1 <= packets <= LARGEST:
        raise InputError(f"that would make a series of {packets} packets; 1 to {LARGEST} are possible")
    return packets
