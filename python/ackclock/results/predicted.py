"""The rates that models of long transfers predict for a captured one, and the rate that it achieved."""

from __future__ import annotations

import math
from typing import Any

from ackclock.results.overview import expiries

FEWEST = 4
"""Fewer signals than this make p uncertain (M-F11: k < 4)."""


def predicted(direction: dict[str, Any], opposite: dict[str, Any], duration: float) -> dict[str, Any] | None:
    """Mathis (M-E3) and PFTK for one direction, with what they were given; None where it lost nothing or has
    no round-trip time.

    The rate is what was acknowledged over the time in which there was something to send: the connection's,
    less its handshake and what its application took. The round-trip time is the mean to the receiver and the
    least to the sender; b is data packets per ack, from 1 to 2.
    """
    from ackclock.models.mathis97 import bandwidth
    from ackclock.models.pftk98 import send_rate

    rtt, mss = direction["rtt"]["mean"], direction["mss"]
    signals = direction["ca_events"] + direction["non_ca_events"]
    if rtt is None or not mss or not signals or not direction["packets_acked"]:
        return None
    rtt += opposite["rtt"]["min"] or 0.0
    limits = direction["limits"]
    sending = duration - limits["handshake"] - limits["application"]
    acks = max(opposite["packets"] - opposite["data_packets"], 1)
    b = min(max(direction["packets_acked"] / acks, 1.0), 2.0)
    first = [t["rto"] for t in expiries(direction) if t["round"] == 1 and t["of"] == "data"]
    rto = sum(first) / len(first) if first else max(1.0, 2 * rtt)
    p_all = signals / direction["packets_acked"]
    achieved = 8 * direction["bytes_acked"] / sending if sending > 0 else None
    known = rtt > 0 and p_all < 1
    mathis = (
        float(bandwidth(direction["p"], rtt, mss, math.sqrt(1.5 / b)))
        if known and direction["ca_events"]
        else None
    )
    pftk = float(send_rate(p_all, rtt, rto, mss, b)) if known else None

    def ratio(x: float | None) -> float | None:
        return achieved / x if achieved is not None and x else None

    return {
        "achieved": achieved,
        "rtt": rtt,
        "mss": mss,
        "b": b,
        "rto": rto,
        "rto_measured": bool(first),
        "mathis": {
            "p": direction["p"],
            "p_uncertain": direction["ca_events"] < FEWEST,
            "rate": mathis,
            "ratio": ratio(mathis),
        },
        "pftk": {"p": p_all, "p_uncertain": signals < FEWEST, "rate": pftk, "ratio": ratio(pftk)},
    }
