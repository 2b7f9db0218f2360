from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.eifel2000 import exact
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000.model import WORDS
from ackclock.reproduce.item import Outcome, Setting, item, six_digits, within

ROWS, LONG, RTT, JUMP = 300, 1500, 5.0, 3.0
EXPECTED = [5.5, 0.5, 8.5]
NAMES = ("srtt", "rttvar", "rto")


@item(
    "E-X4",
    kind="MODEL",
    title="After a constant round-trip time, a jump is added to the timeout whole",
    choices={
        "round-trip time": "5 s, then 8 s",
        "window": "SSTHRESH 5, CWND 6 segments: a flight of 6",
        "tolerance": "after 300 rows 0.02 % of the first deviation, half of the RTT, is left: values hold "
        "to 1 in 1000; after 1500, to six digits",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The weight 1/GAIN: when the deviation has died away, RTO = SRTT + DELTA."""
    (rtt, made), (_, long) = jump(ROWS), jump(LONG)
    checks = [
        within(f"{n.upper()} after {ROWS} rows and the jump (s)", float(made[n][-1]), e, e / 1000)
        for n, e in zip(NAMES, EXPECTED, strict=True)
    ]
    checks += [
        six_digits(
            f"SRTT, RTTVAR, RTO after {LONG} rows and the jump (s)", [long[n][-1] for n in NAMES], EXPECTED
        ),
        # DELTA is the error of the old SRTT.
        six_digits(
            f"RTO against SRTT + DELTA after {LONG} rows",
            long["rto"][-1],
            long["srtt"][-1] + RTT + JUMP - long["srtt"][-2],
        ),
    ]
    shown = slice(ROWS - 60, None)
    fig = draw(
        np.arange(rtt.size)[shown],
        rtt[shown],
        {WORDS["RTO_E"]: made["rto"][shown]},
        title="A jump after a constant round-trip time",
        subtitle="Eifel timer, flight of 6 segments; the jump comes at the last row",
    )
    fig.axes[0].set_xlabel("row")
    return Outcome(checks, {"rows": pa.table({"rtt": rtt, **made})}, {"rto": fig})


def jump(rows: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The round-trip times, and the estimates of the timer."""
    rtt = np.append(np.full(rows, RTT), RTT + JUMP)
    window = {"flight_size": 6, "cwnd": 6, "ssthresh": 5}
    columns = {
        "time": 100.0 + np.arange(rtt.size),
        "rtt": rtt,
        **{name: np.full(rtt.size, n) for name, n in window.items()},
    }
    return rtt, exact("eifel").rows(columns)
