"""The testbed of the paper (B-A8) as a scenario, which several of its items share."""

from __future__ import annotations

import ackclock as ac
from ackclock.scenario import Workload

RTT = ac.Uniform("10ms", "200ms")
OFFERED_MBIT = 12.0
"""Payload offered, Mbit/s, whatever the bottleneck: the middle of the 10 to 15 that the paper reports at 50 Mbit/s (B-A7)."""

CHOICES = {
    "flow sizes": "bounded Pareto, shape 1.2, mean 7 kB, up to 2 GB, of which the trace is made (B-A7)",
    "arrivals": f"Poisson, one connection for each transfer; {OFFERED_MBIT:g} Mbit/s of payload offered",
    "round-trip times": "uniform between 10 and 200 ms, drawn for each flow",
    "queue": "2 bandwidth-delay products of the mean round-trip time, 105 ms, both ways",
    "RED": "thresholds at 1/6 and 1/2 of the queue, max_p 0.1, gentle, w_q 0.002, averaging bytes",
    "packets": "segments of 1460 bytes, requests of 300 bytes",
    "backoff counter": "reset by a new acknowledgment, Karn's rule for samples; SYNs follow the same multipliers",
    "giving up": "never, so that every flow has a response time: up to 255 SYN retransmissions, any number of others",
    "random numbers": "seed 1",
}


def dumbbell(mbit: int) -> ac.Dumbbell:
    """The dumbbell with a bottleneck of so many Mbit/s."""
    bdp = mbit * 1e6 / 8 * 0.105
    red = ac.queue.Red(limit="2bdp", min_th=f"{bdp / 3:.0f}B", max_th=f"{bdp:.0f}B")
    return ac.Dumbbell(bottleneck=ac.Link(f"{mbit}Mbit/s", queue=red), rtt=RTT)


def web(trace: str, mbit: int) -> Workload:
    """Arrivals that offer `OFFERED_MBIT`, whatever the bottleneck's rate."""
    return ac.Web(trace=trace, load=OFFERED_MBIT / mbit)


def stacks(min_rto: str) -> dict[str, ac.Stack]:
    """TCP, TCP*(3) and TCP*(inf) with SACK and an initial timeout of 3 s."""
    tcp = ac.Stack("sack", timer=ac.Rfc6298(min_rto=min_rto, initial_rto="3s"), syn_retries=255)
    patient = {"r2_retries": "inf"}
    return {
        "TCP": tcp.but(backoff=ac.backoff.Exponential(**patient)),
        "TCP*(3)": tcp.but(backoff=ac.SubExponential(n=3, **patient)),
        "TCP*(inf)": tcp.but(backoff=ac.backoff.None_(**patient)),
    }
