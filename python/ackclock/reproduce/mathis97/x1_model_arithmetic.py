from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Outcome, Setting, item, stated

C = 0.8
"""Read by the authors from their figure 6 near p = 0.01 (M-X9)."""
SIZE = 1000
"""Bytes of a packet."""

# Tables 2 and 3. For each: CA events or drops, packets, and round-trip time (ms) of the link model and of the
# TCP model; printed model bandwidth, its error and the measured bandwidth (kbit/s), each for TCP1 and TCP2;
# and the register's recomputed bandwidths (kbit/s).
ROWS = [
    (
        "M-T2 drop-tail, link model",
        [259, 259],
        [48795, 48795],
        [305, 315],
        [288, 279],
        [118, 57],
        [133, 648],
        [288.017, 278.873],
    ),
    (
        "M-T2 drop-tail, TCP model",
        [103, 41],
        [8287, 40508],
        [325, 315],
        [177, 638],
        [34, 2],
        [133, 648],
        [176.635, 638.628],
    ),
    (
        "M-T2 RED, link model",
        [139, 139],
        [49853, 49853],
        [299, 309],
        [405, 393],
        [6, 7],
        [430, 368],
        [405.366, 392.247],
    ),
    (
        "M-T2 RED, TCP model",
        [64, 73],
        [26851, 23002],
        [304, 307],
        [432, 370],
        [1, 1],
        [430, 368],
        [431.218, 370.052],
    ),
    (
        "M-T3 drop-tail, link model",
        [20, 20],
        [50000, 50000],
        [1022, 1032],
        [313, 310],
        [29, 45],
        [244, 556],
        [313.112, 310.078],
    ),
    (
        "M-T3 drop-tail, TCP model",
        [12, 5],
        [15250, 34750],
        [1029, 1029],
        [222, 518],
        [10, 7],
        [244, 556],
        [221.722, 518.510],
    ),
    (
        "M-T3 RED, link model",
        [137, 137],
        [49845, 49845],
        [299, 308],
        [409, 396],
        [3, 1],
        [401, 397],
        [408.281, 396.351],
    ),
    (
        "M-T3 RED, TCP model",
        [68, 69],
        [25039, 24806],
        [304, 307],
        [404, 395],
        [1, 1],
        [401, 397],
        [403.981, 395.271],
    ),
]


@item(
    "M-X1",
    kind="CF",
    title="Arithmetic of tables 2 and 3: equation (3) with the printed inputs",
    choices={
        "p": "losses over packets as printed; the printed p has two digits",
        "errors": "relative to the measured bandwidth, as the printed ones are",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Evaluates equation (3) with C = 0.8 for the link's and for the connection's own statistics."""
    checks, columns = (
        [],
        {
            name: []
            for name in (
                "model",
                "connection",
                "p",
                "rtt",
                "bandwidth",
                "printed",
                "measured",
                "error",
                "printed_error",
            )
        },
    )
    for name, losses, packets, rtt, printed, printed_error, measured, expected in ROWS:
        p = np.divide(losses, packets)
        got = m.bandwidth(p, np.divide(rtt, 1e3), SIZE, C) / 1e3
        apart = np.abs(got / expected - 1).max()
        listed = f"{expected[0]:.6g}, {expected[1]:.6g} +/- 0.1 %"
        checks.append(
            stated(
                f"{name}: bandwidth of TCP1, TCP2 (kbit/s)",
                f"{got[0]:.6g}, {got[1]:.6g}",
                bool(apart <= 1e-3),
                listed,
            )
        )
        for i in range(2):
            error = 100 * abs(got[i] / measured[i] - 1)
            values = (
                name,
                f"TCP{i + 1}",
                p[i],
                rtt[i] / 1e3,
                got[i] * 1e3,
                printed[i] * 1e3,
                measured[i] * 1e3,
                error / 100,
                printed_error[i] / 100,
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    notes = [
        "The 118 % that table 2 prints for TCP1's link model recomputes as 116.6 %: the inputs are "
        "rounded, and this error is the largest."
    ]
    return Outcome(checks, {"bandwidths": pa.table(columns)}, notes=notes)
