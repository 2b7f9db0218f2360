"""The default scenario of the paper (register, section (d)): dumbbell, queues, TCP, cross traffic and
artificial loss, which its items share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ackclock as ac
from ackclock.scenario import Workload

RATE = 5.0
"""Mbit/s of the bottleneck."""
RTT = 0.012
"""Round-trip propagation, seconds."""
BUFFER = 40_000
"""Bytes in front of the bottleneck."""
PAYLOAD, HEADERS = 500, 40
"""Bytes of a packet: 540 on the wire, as in I-F9a."""
THINK = 1.0
"""Mean time between the packets of a telnet source, seconds (I-A1)."""
RTO, INITIAL_RTO = 1.0, 3.0
"""Least and first retransmission timeout, seconds (I-A1)."""
WARM = 10.0
"""Seconds that cross traffic has before the flows that are measured begin."""
FULL = 1000.0
"""Seconds of a run in the paper."""
RENO, SACK = "reno+no-limited-transmit", "sack+no-limited-transmit"
"""The sender of ns-2's FullTcp, and one with SACK, a variant."""
BACKGROUND = "cross traffic"
"""Label of the stack of the cross traffic, which is the same whatever is measured beside it."""

FTP = (1, 2, 4, 8, 16, 32)
"""Endless transfers of the mixes of cross traffic: the more of them, the more is lost."""

RED, RED_BYTES, DROP_TAIL_BYTES, DROP_TAIL_PACKETS = (
    "RED",
    "RED, byte mode",
    "drop-tail, bytes",
    "drop-tail, packets",
)

CHOICES = {
    "path": f"dumbbell of {RATE:g} Mbit/s, {1e3 * RTT:g} ms round trip, {BUFFER / 1e3:g} kB, as in the paper"
    "; access without a rate (not stated)",
    "RED": "thresholds at 5 and 15 packets, w_q 0.002, max_p 0.1, gentle, mean packet 500 bytes: the "
    "defaults of older releases of ns-2 (not stated, I-A10)",
    "packets": f"{PAYLOAD} bytes of payload, {PAYLOAD + HEADERS} on the wire, of all flows; the paper has "
    "that size in I-F9a alone",
    "TCP": "Reno, as ns-2's FullTcp, which the paper names, has it by default: the first new ack ends a "
    "recovery; three duplicate acks, no limited transmit, no Nagle",
    "window": "four segments to begin with and after idling (RFC 3390, I-A6), and it grows at every ack, "
    "used or not, as in ns-2",
    "acks": "one for each packet, as ns-2's FullTcp does by default (not stated), so that b = 1",
    "timer": f"RFC 6298, least timeout {RTO:g} s, first {INITIAL_RTO:g} s (I-A1), doubled at each expiry "
    "until a packet sent once is acknowledged",
    "response time": "from when a packet is sent to the first cumulative ack that covers it: what waits "
    "behind a lost packet waits with it",
    "cross traffic": f"{', '.join(map(str, FTP))} FTP flows, HTTP of Trace-I (B-A7) for a fifth of the "
    "link, 0.5 Mbit/s of datagrams (not stated)",
    "loss ratio": "of the measured flows: data packets retransmitted for a loss over data packets sent",
}
"""What the paper leaves unstated, or what decides, for the choices of an item."""


@dataclass(frozen=True)
class Mix:
    """Cross traffic from the senders' side to the receivers'; the more of it, the more is lost."""

    ftp: int = 0
    """Endless transfers."""
    http: float = 0.0
    """Web transfers: part of the bottleneck that they would fill, headers included."""
    udp: float = 0.0
    """Datagrams at a constant rate, Mbit/s."""

    def workloads(self) -> list[Workload]:
        """The cross traffic as workloads, all with the stack `BACKGROUND`."""
        found: list[Workload] = []
        if self.http:
            # A server sends to its client: servers sit where the senders are.
            web = ac.Web(
                name="http",
                trace="I",
                load=self.http,
                load_counts="wire",
                client="right",
                server="left",
                stack=BACKGROUND,
            )
            found.append(web)
        if self.ftp:
            found.append(ac.Bulk(name="ftp", flows=self.ftp, spread="5s", stack=BACKGROUND))
        if self.udp:
            found.append(ac.Udp(name="udp", rate=f"{self.udp}Mbit/s", bytes=f"{PAYLOAD + HEADERS}B"))
        return found

    def __str__(self) -> str:
        parts = [
            f"{self.ftp} FTP" if self.ftp else "",
            f"HTTP {self.http:.3g}" if self.http else "",
            f"UDP {self.udp:g} Mbit/s" if self.udp else "",
        ]
        return " + ".join(filter(None, parts)) or "nothing"


MIXES = tuple(Mix(ftp=n, http=0.2, udp=0.5) for n in FTP)
"""Cross traffic by rising loss of a telnet flow: about 0.7 to 11 % with RED, 0.3 to 6 % with drop-tail."""


def queue(kind: str, mbit: float = RATE, buffer: int = BUFFER) -> Any:
    """The queue discipline of that name, with room for so many bytes in front of a link of so many Mbit/s
    (I-A10).
    """
    if kind == DROP_TAIL_BYTES:
        return ac.DropTail(limit=f"{buffer}B")
    if kind == DROP_TAIL_PACKETS:
        return ac.DropTail(limit=f"{buffer // (PAYLOAD + HEADERS)}packets")
    if kind in (RED, RED_BYTES):
        return ac.Red(
            limit=f"{buffer}B",
            min_th="5packets",
            max_th="15packets",
            w_q=0.002,
            max_p=0.1,
            byte_mode=kind == RED_BYTES,
        )
    raise ValueError(
        f"`{kind}` is not a queue of the paper; those are {RED}, {RED_BYTES}, {DROP_TAIL_BYTES} and "
        f"{DROP_TAIL_PACKETS}"
    )


def dumbbell(
    kind: str = RED, *, mbit: float = RATE, rtt: float = RTT, buffer: int = BUFFER, loss: float = 0.0
) -> ac.Dumbbell:
    """The dumbbell. loss: probability with which the artificial loss module takes each data packet on its way
    there.
    """
    faults = [ac.fault.Loss(p=loss, of="data")] if loss else None
    link = ac.Link(f"{mbit:g}Mbit/s", queue=queue(kind, mbit, buffer), faults=faults)
    # Acks come back over a link of the same kind, on which the module takes nothing.
    return ac.Dumbbell(
        bottleneck=link,
        back=ac.Link(f"{mbit:g}Mbit/s", queue=queue(kind, mbit, buffer)),
        rtt=f"{1e6 * rtt:.0f}us",
    )


def tcp(preset: str = RENO, *, min_rto: float = RTO, payload: int = PAYLOAD, **changes: Any) -> ac.Stack:
    """The paper's TCP. preset: with modifiers, such as `reno+no-limited-transmit+diversity(2)`."""
    stack = ac.Stack(
        preset,
        estimator=ac.Rfc6298(min_rto=f"{1e3 * min_rto:g}ms", initial_rto=f"{INITIAL_RTO:g}s"),
        window=ac.window.Reno(initial_window="rfc3390", byte_counting=False, validate=False),
        ack=ac.Every(),
        backoff=ac.backoff.Exponential(r2_retries="inf"),
        mss=f"{payload}B",
        nagle=False,
        syn_retries=255,
    )
    return stack.but(**changes)


def telnet(flows: int = 1, *, think: float = THINK, payload: int = PAYLOAD, **more: Any) -> Workload:
    """Interactive sources that are measured (I-A1), which begin once the cross traffic runs."""
    return ac.Telnet(**{"flows": flows, "think": f"{think:g}s", "bytes": f"{payload}B", **measured(), **more})


def measured(spread: float = THINK) -> dict[str, Any]:
    """When flows that are measured begin: once the cross traffic runs, within so many seconds."""
    return {"start": f"{WARM:g}s", "spread": f"{spread:g}s"}


def scenario(
    path: ac.Dumbbell,
    flows: Workload | Sequence[Workload],
    stacks: dict[str, ac.Stack],
    seconds: float,
    *,
    mix: Mix | None = None,
    **more: Any,
) -> ac.Scenario:
    """So many seconds of measured flows beside cross traffic; a run for each of `stacks`, which are those of
    the measured flows.

    more: other keys of a scenario, such as `seed=2` or `trace=["packets"]`.
    """
    cross = mix.workloads() if mix else []
    every = {
        **stacks,
        **({BACKGROUND: tcp()} if any(w.given.get("stack") == BACKGROUND for w in cross) else {}),
    }
    own = [flows] if isinstance(flows, Workload) else list(flows)
    return ac.Scenario.of(
        path,
        [*own, *cross],
        every,
        **{"seed": 1, "duration": f"{WARM + seconds:g}s", "measure_from": f"{WARM:g}s", **more},
    )
