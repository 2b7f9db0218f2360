from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ackclock.models.eifel2000 import RowModel, SeriesModel, exact
from ackclock.plot import timers as draw
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.item import Outcome, Setting, at_most, item, six_digits
from ackclock.results.timing import Timing

SECONDS = 15_000


@item(
    "E-X8",
    kind="MODEL, CAP",
    title="The step-by-step model driven by round-trip times from a file",
    choices={
        "file": "CSV with the columns time, rtt (s), flight, cwnd, ssthresh (segments); those of the "
        "window may be left out",
        "unit rows": "the reference rows of E-E18 and E-X4's jump, written as CSV and read again",
        "trace": "packets of a simulated transfer over the testbed's line, by the analyser of E-U1",
    },
    points_at=["command model eifel --series"],
    tests=["tests/test_models_eifel2000.py::test_a_series_from_a_file_gives_the_rows_of_the_model"],
)
def reproduce(setting: Setting) -> Outcome:
    """Rows written as CSV and read again give the numbers of the model itself, and so does a trace."""
    checks = []
    for load, peak, last in ((10, 16.7465, 12.0523), (26, 46.9243, 26.2210), (40, 73.1423, 40.0336)):
        rows = through_csv(window(RowModel(load, model.CYCLES).series())).run(exact("lite")).rto
        cycle = rows[-RowModel(load).cycle_rows :]
        checks.append(
            six_digits(
                f"Lite, load {load}, from CSV: largest RTO and that at the end (s; E-E18)",
                [cycle.max(), cycle[-1]],
                [peak, last],
            )
        )
    for load, peak, last in ((10, 14.8553, 14.7122), (26, 38.9204, 38.6114), (40, 59.8920, 59.5336)):
        rows = through_csv(window(RowModel(load, model.CYCLES).series())).run(exact("eifel")).rto
        cycle = rows[-RowModel(load).cycle_rows :]
        checks.append(
            six_digits(
                f"Eifel, load {load}, from CSV: largest RTO and that at the end (s; E-E18)",
                [cycle.max(), cycle[-1]],
                [peak, last],
            )
        )
    rtt = np.append(np.full(1500, 5.0), 8.0)
    jump = through_csv(
        {
            "time": 100.0 + np.arange(rtt.size),
            "rtt": rtt,
            "flight": np.full(rtt.size, 6),
            "ssthresh": np.full(rtt.size, 5),
        }
    )
    made = jump.run(exact("eifel")).made
    checks.append(
        six_digits(
            "Eifel, a jump from 5 to 8 after 1500 rows: SRTT, RTTVAR, RTO (s; E-E12)",
            [made[n][-1] for n in ("srtt", "rttvar", "rto")],
            [5.5, 0.5, 8.5],
        )
    )
    packets = testbed.rows(
        testbed.transfer(testbed.line(), {"host": testbed.lite()}, SECONDS), "segments", "host"
    )
    timing = Timing.of(packets)
    series = {
        "time": timing.time,
        "rtt": np.where(timing.sampled, timing.rtt, 0.0),
        "flight": timing.flight // timing.smss,
    }
    traced = through_csv(series)
    lite = model.ticked("lite", "500ms")
    off = np.abs(traced.run(lite).rto - timing.replay(lite)["rto"])[1:]
    checks.append(
        at_most(
            "a trace by way of CSV against the analyser itself: largest difference of RTO_L (s)",
            float(off.max()),
            1e-6,
            "a microsecond",
        )
    )
    after = np.flatnonzero(timing.time > 5000)
    table = traced.table([lite, model.ticked("eifel", "500ms")])
    rto = {
        model.WORDS[label]: table[f"{t}.rto"].to_numpy()[after]
        for label, t in (("RTO_L", lite), ("RTO_E", model.ticked("eifel", "500ms")))
    }
    fig = draw(
        timing.time[after],
        timing.rtt[after],
        rto,
        title="The step-by-step model over a trace",
        subtitle="Round-trip times of a simulated transfer, read from CSV; no cwnd or ssthresh",
    )
    return Outcome(checks, {"rows": table}, {"rto": fig})


def window(series: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of a model that a file has."""
    return {
        "time": series["time"],
        "rtt": series["rtt"],
        "flight": series["load"],
        "cwnd": series["cwnd"],
        "ssthresh": series["ssthresh"],
    }


def through_csv(columns: dict[str, np.ndarray]) -> SeriesModel:
    """What comes of a series that is written as CSV and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        pa.csv.write_csv(pa.table(columns), path)
        return SeriesModel.read(path)
