from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from ackclock.models.eifel2000 import exact
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Outcome, Setting, item, six_digits

WEIGHTS = (1, 2, 3, 4)
LOADS = (10, 26, 40)
MEAN = {
    10: [1.54290, 2.13397, 2.72505, 3.31612],
    26: [1.64351, 2.30499, 2.96646, 3.62794],
    40: [1.67691, 2.36527, 3.05364, 3.74201],
}
LEAST = {
    10: [1.36096, 1.84547, 2.32997, 2.81448],
    26: [1.45810, 1.96195, 2.46580, 2.96772],
    40: [1.47150, 1.97243, 2.47336, 2.96934],
}


@item(
    "E-X10",
    kind="MODEL",
    title="A larger weight of the deviation makes the timeout more conservative",
    choices={
        **model.CHOICES,
        "ratio": "RTO(i-1)/RTT(i) after the first flight of a cycle",
        "jump": "from a constant round-trip time of 5 s to 8 s at a flight of 6 segments (E-E12)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Weights of m/GAIN, m from 1 to 4."""
    made = [
        float(
            exact("eifel", weight=str(m)).step(
                5.0, 0.0, 8.0, flight_size=6, cwnd=6, ssthresh=5, sampling_rate=1.0
            )["rto"]
        )
        for m in WEIGHTS
    ]
    checks = [six_digits("RTO (s) after the jump, m = 1, 2, 3, 4", made, [8.5, 11.5, 14.5, 17.5])]
    rows = []
    for load in LOADS:
        ratios = [after_first(load, m) for m in WEIGHTS]
        checks += [
            six_digits(f"load {load}: mean ratio, m = 1, 2, 3, 4", [r.mean() for r in ratios], MEAN[load]),
            six_digits(f"load {load}: smallest ratio", [r.min() for r in ratios], LEAST[load]),
        ]
        rows += [
            {"load": load, "m": m, "mean": r.mean(), "least": r.min()}
            for m, r in zip(WEIGHTS, ratios, strict=True)
        ]
    fig, axes = style.figure(
        "The timeout by the weight of the deviation",
        "Eifel timer, step-by-step model, after the first flight",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, load in enumerate(LOADS):
            of = [r for r in rows if r["load"] == load]
            for name, marker in (("mean", "o"), ("least", "v")):
                axes.plot(
                    WEIGHTS,
                    [r[name] for r in of],
                    marker=marker,
                    markersize=5,
                    label=f"load {load}, {name}",
                    **{**style.line(i), "linestyle": "-" if name == "mean" else "--"},
                )
        axes.set(xlabel="m in the weight m/GAIN", ylabel="RTO(i-1)/RTT(i)", ylim=(1, None))
        axes.set_xticks(WEIGHTS)
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9)
    return Outcome(checks, {"ratios": pa.Table.from_pylist(rows)}, {"ratios": fig})


def after_first(load: int, m: int) -> np.ndarray:
    """The ratios of a cycle in steady state, its first flight left out."""
    rows = model.steady("eifel", load, weight=str(m))
    return rows.ratio[rows.series["load"] > rows.series["load"].min()]
