"""What the items of the step-by-step model share: timers in steady state, and their figure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.models.eifel2000 import RowModel, Rows, exact
from ackclock.models.timer import Timer
from ackclock.plot import timers as draw

CYCLES = 30
LABELS = {"lite": "RTO_L", "eifel": "RTO_E", "eifel-agg": "RTO_AGG"}
WORDS = {
    "RTO_L": "RTO_L (Lite)",
    "RTO_E": "RTO_E (Eifel)",
    "RTO_AGG": "RTO_AGG (self-trained)",
    "REXMT_L": "REXMT_L (Lite)",
    "REXMT_E": "REXMT_E (Eifel)",
}
"""The paper's names of timeouts and countdowns, with the timers that they belong to, in figures."""

CHOICES = {
    "start of a cycle": "half of the largest load and one segment (SSTHRESH + 1), as E-A10 defines the "
    "reference rows",
    "start of the timers": f"SRTT is the first sample, RTTVAR half of it; checks look at cycle {CYCLES}, "
    "long after that",
}


def steady(name: str, load: int, sampling: str = "every", cycles: int = CYCLES, **params: str) -> Rows:
    """A timer's last cycle of a model whose service time is 1 s, without ticks, floors or ceilings."""
    return RowModel(load, cycles, sampling=sampling).run(exact(name, **params)).cycle()


def ticked(name: str, tick: str) -> Timer:
    """A timer that measures and counts in ticks."""
    return Timer(name, (("rounded", "true"),)).but(tick=tick, min_rto="0s", max_rto="1h")


def figure(
    model: RowModel, timers: list[Timer], title: str, subtitle: str, *, shown: int = 3, zoom: bool = False
) -> tuple[Figure, pa.Table]:
    """The last cycles of a model as the paper draws them, and their rows."""
    last = slice(-shown * model.cycle_rows, None)
    rows = [model.run(t) for t in timers]
    s = {k: v[last] for k, v in rows[0].series.items()}
    time = s["time"] - s["time"][0]
    rto = {LABELS[r.timer.name]: r.rto[last] for r in rows}
    end = model.cycle_rows * (shown - 1) * model.service_time
    part = (end - 0.55 * model.cycle_rows * model.service_time, end - model.service_time) if zoom else None
    shown_as = {WORDS[name]: values for name, values in rto.items()}
    fig = draw(time, s["rtt"], shown_as, title=title, subtitle=subtitle, zoom=part)
    return fig, pa.table({"time": time, **{k: v for k, v in s.items() if k != "time"}, **rto})


def largest(values: np.ndarray) -> str:
    """The largest value and its row in the cycle, from 1, as text."""
    return f"{values.max():.6g} (row {values.argmax() + 1})"
