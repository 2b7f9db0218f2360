"""What a cause of a captured connection's time is, in words."""

from __future__ import annotations

from typing import Any

from ackclock.quantities import percent, rate, seconds
from ackclock.results.overview import by_silence, expiries

WHO = ("client", "server")
"""The two ends, in the order of their directions."""
ROSE = (1.3, 0.01)
"""Round trips that rose by this factor and by this time (s) show queueing."""
BLOAT = 2.0
"""By this factor, more than a queue of the path's bandwidth times its delay was full."""
LOST = (2, 0.001)
"""Losses that make a congestion window small: so many, and this share of the packets."""
NETWORK = ("congestion_window", "slow_start", "delivery")
"""Causes during which packets may wait in queues."""

WHY = {
    "timeout": "as the retransmission timer had fired",
    "after-timeout": "in the repair after a timeout",
    "fast-retransmit": "after duplicate acks (fast retransmit)",
    "sack-retransmit": "as three later segments had arrived (SACK)",
    "fack-retransmit": "as much later data had arrived (FACK)",
    "rack-retransmit": "as data sent later had arrived (RACK)",
    "tail-loss-probe": "to probe for a lost tail",
    "syn": "to open the connection (SYN or SYN-ACK)",
    "unknown": "for no known reason",
}
"""Why packets were retransmitted, by kind."""
BESIDES = {
    "zero-window-probe": "probe of a closed window",
    "keepalive": "keepalive",
    "copy": "copy sent on purpose",
}
"""Kinds that repeat bytes and are no retransmissions."""


class Words:
    """The words for the causes of one direction. `parts` are their times, `held` is the direction of which
    Nagle's algorithm held segments back.
    """

    def __init__(
        self, c: dict[str, Any], side: int, parts: dict[str, float], held: dict[str, Any] | None
    ) -> None:
        self._c, self._d, self._held = c, c["directions"][side], held
        self._who, self._other = f"the {WHO[side]}", f"the {WHO[1 - side]}"
        # The queue is told of with what took longest.
        self._told = max(NETWORK, key=lambda name: parts.get(name, 0.0))

    def of(self, name: str, time: float) -> tuple[str, list[str]]:
        """The words for a cause that took this time (s), and sentences on what else was there then."""
        who, other = self._who, self._other
        if name == "receiver_window":
            return self._receiver(time), []
        if name == "congestion_window":
            return self._window()
        if name == "nagle":
            return self._nagle(), []
        if name in ("timeouts", "syn_timeouts"):
            return self._timers(name), []
        simple = {
            "handshake": "setting up the connection",
            "tls": "the TLS handshake",
            "slow_start": f"{who}'s congestion window still grew (slow start)",
            "application": f"{who}'s application had nothing to send",
            "answer": f"{who}'s application took its time to answer",
            "peer": f"{who} waited for the next data of {other}",
            "delivery": f"the last data of {who} was on its way",
            "idle": "nothing was sent any more",
        }
        return simple[name], [f"In that time there was {queue}." for queue in self._queue(name)]

    def _queue(self, name: str) -> list[str]:
        d = self._d
        if name != self._told or not rose(d):
            return []
        r = d["round_trips"]
        most = f" ({seconds(r['most'])} at most)" if r["most"] > 1.2 * r["high"] else ""
        bloat = " (bufferbloat)" if r["high"] >= BLOAT * r["low"] else ""
        return [
            f"queueing{bloat}: round trips rose from {seconds(r['low'])} to {seconds(r['high'])}{most} while "
            f"{size(r['under_way'])} were under way{queued(d, self._other)}"
        ]

    def _window(self) -> tuple[str, list[str]]:
        d, who = self._d, self._who
        queue = self._queue("congestion_window")
        n, share = lost(d)
        if n >= LOST[0] and share >= LOST[1]:
            bursts = d["ca_events"] + d["non_ca_events"]
            where = f", in {bursts:,} episode{'' if bursts == 1 else 's'}" if bursts else ""
            small = (
                f"losses ({n:,} of {d['data_packets']:,} data packets, {percent(share)}{where}) kept {who}'s "
                "congestion window small"
            )
            return (queue[0], [f"In that time {small}."]) if queue else (small, [])
        if queue:
            return queue[0], []
        if d["view"] == "client" and not (d["round_trips"] or {}).get("high"):
            return f"the path or a window held {who} up (without timestamps, this end cannot tell which)", []
        return f"{who}'s congestion window was full: the path allowed no more", []

    def _receiver(self, time: float) -> str:
        d, other = self._d, self._other
        z, r = d["zero_windows"], d["round_trips"] or {}
        if z["total"] >= 0.4 * time:
            closed = f"it closed its window {times(z['count'])}, for {seconds(z['total'])} in all"
            return f"{other} did not read: {closed}"
        under_way = r.get("under_way") or (d["max_flight"] if d["view"] == "sender" else None)
        most = ""
        if under_way and rose(d):
            low, high = seconds(r["low"]), seconds(r["high"])
            most = f" ({size(under_way)}, much of it in a queue: round trips rose from {low} to {high})"
        elif under_way and r:
            # A window allows its size for each round trip.
            most = f" ({size(under_way)}: {rate(8 * under_way / r['low'])} at most over {seconds(r['low'])})"
        return f"{other}'s receive window was full{most}"

    def _timers(self, name: str) -> str:
        syn = name == "syn_timeouts"
        found = [t for d in self._c["directions"] for t in expiries(d) if (t["of"] == "syn") == syn]
        silences = sum(map(by_silence, found))
        near = f", {silences:,} of them inferred from silences" if silences else ""
        n = f"{len(found):,} timeout{'' if len(found) == 1 else 's'}{near}" if found else "probes"
        return (
            f"waiting for the timer of a lost SYN ({n})"
            if syn
            else f"waiting for retransmission timers ({n})"
        )

    def _nagle(self) -> str:
        held = self._held or self._d
        end = WHO[0] if held is self._c["directions"][0] else WHO[1]
        n = times(held["nagle"]["count"])
        return (
            f"Nagle's algorithm and delayed acks: {n} a small segment of the {end} "
            "waited for the ack of the one before (cure: TCP_NODELAY there, or one write for each message)"
        )


def rose(d: dict[str, Any]) -> bool:
    """Whether the round trips of a direction rose as much as a queue makes them."""
    r = d["round_trips"]
    factor, least = ROSE
    return bool(r and r["high"] and r["high"] >= factor * r["low"] and r["high"] - r["low"] >= least)


def lost(d: dict[str, Any]) -> tuple[int, float]:
    """Packets of a direction that were lost, as far as is known, and their share."""
    n = max(d["retransmitted_packets"] - d["unneeded_packets"], 0)
    return n, n / max(d["data_packets"], 1)


def queued(d: dict[str, Any], receiver: str) -> str:
    """Where packets waited: ", in a queue on the way to the client"."""
    there, back = d["round_trips"]["queue_there"], d["round_trips"]["queue_back"]
    if there is None:
        return ""
    if there >= 3 * back:
        return f", in a queue on the way to {receiver}"
    if back >= 3 * there:
        return f", in a queue on the way of its acks from {receiver}"
    return ", in queues both ways"


def size(n: float | None) -> str:
    """A size in bytes, to three digits."""
    if n is None:
        return "-"
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n:.0f} B"


def times(n: int) -> str:
    """How often: "once", "4 times"."""
    return "once" if n == 1 else f"{n:,} times"
