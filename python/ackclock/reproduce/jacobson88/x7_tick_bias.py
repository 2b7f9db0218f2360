from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Array, Timer
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.reproduce.jacobson88 import timers
from ackclock.scenario import variation

CONSTANT, MEAN = 5.3, 6.0
"""Round-trip times, ticks (J-X7)."""
SETTLE = 1000
"""Samples that pass before the mean is taken."""


def biases(rtt: Array, form: str, seed: int) -> dict[str, float]:
    """What the integer timer lies above the same filter in real arithmetic, fed with the same whole ticks:
    `rto`, `sa`, `sv` and `4v`, in ticks.

    Also what its timeout lies above mean and four mean deviations of the ticks, and of the round-trip times
    themselves.
    """
    shift = 2 if form == "final" else 3
    s = round_trips.phased(rtt, seed=variation.seed(seed))
    ticks = np.floor(s["time"]) - np.floor(s["time"] - s["rtt"])
    made = timers.ticking(1.0, form=form, min_ticks="0").rows(s)
    # A sample of no ticks is one, and not a missing one.
    ideal = Timer("jacobson88", (*timers.REAL.params, ("h", f"{0.5**shift}"))).rows(
        {"time": s["time"], "rtt": np.maximum(ticks, 1e-9)}
    )
    spread = [float(x.mean() + 4 * np.abs(x - x.mean()).mean()) for x in (ticks, s["rtt"])]
    after = slice(SETTLE, None)
    four = made["sv"] if form == "final" else np.floor(made["sv"] / 2)

    def mean(values: Array) -> float:
        return float(values[after].mean())

    return {
        "rto": mean(made["rto"] - ideal["rto"]),
        "sa": mean(made["sa"] / 8 - ideal["srtt"]),
        "sv": mean(made["sv"] / 2**shift - ideal["rttvar"]),
        "4v": mean(four - 4 * ideal["rttvar"]),
        "rto, ticks": mean(made["rto"]) - spread[0],
        "rto, times": mean(made["rto"]) - spread[1],
    }


@item(
    "J-X7",
    kind="MODEL",
    title="Bias of the integer timer from whole ticks",
    choices={
        "phase": "each packet is sent at a moment uniform between two ticks (seed 1988); 400,000 packets, "
        "4,000,000 with --full; the first 1000 are not counted",
        "ideal": "mean and four mean deviations as the same filter gives them in real arithmetic from the "
        "same ticks; other readings in the table",
        "floor": "none, so that it cannot show",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Constant round-trip times of 5.3 ticks, and exponential ones of 6 ticks on average."""
    n = 4_000_000 if setting.full else 400_000
    series = {
        "5.3 ticks": np.full(n, CONSTANT),
        "exponential, mean 6": np.random.default_rng(variation.seed(6)).exponential(MEAN, n),
    }
    found = {
        (name, form): biases(rtt, form, 1988)
        for name, rtt in series.items()
        for form in ("final", "one-gain")
    }
    checks = [
        within("mean RTO above the ideal (ticks), 5.3 ticks", found["5.3 ticks", "final"]["rto"], 1.74, 0.1),
        within(
            "mean RTO above the ideal (ticks), exponential",
            found["exponential, mean 6", "final"]["rto"],
            1.48,
            0.1,
        ),
    ]
    rows = [{"round-trip time": name, "form": form, **b} for (name, form), b in found.items()]
    notes = [
        (
            f"{r['round-trip time']}, {r['form']}: sa {r['sa']:.3f}, sv {r['sv']:.3f}, 4v "
            f"{r['4v']:.3f} ticks above the filter; the timeout {r['rto, ticks']:.3f} above mean + 4 "
            f"mean deviations of the ticks, {r['rto, times']:.3f} above that of the exact times"
        )
        for r in rows
    ]
    notes.append(
        "The paper: half a tick in sa and in sv, 1.75 in 4v; the shift of 2 gives 1.5 by the paper's "
        "reasoning (J-A6)"
    )
    return Outcome(checks, {"biases": pa.Table.from_pylist(rows)}, {"bias": _by_rtt()}, notes)


def _by_rtt() -> object:
    """The bias over constant round-trip times."""
    times = np.round(np.arange(3.0, 8.01, 0.05), 2)
    fig, axes = style.figure(
        "What whole ticks add to the timeout",
        "Constant round-trip time, packets sent at random phase; integers less real arithmetic",
    )
    for i, form in enumerate(("final", "one-gain")):
        axes.plot(
            times,
            [biases(np.full(10_000, t), form, 2)["rto"] for t in times],
            label={"final": "gains 1/8 and 1/4, as published", "one-gain": "gain 1/8 for both"}[form],
            **style.line(i),
        )
    axes.axhline(1.75, color="#999999", linewidth=1, linestyle=(0, (2, 2)), label="paper: 1.75")
    axes.plot([CONSTANT], [1.74], "o", color="#000000", label="worked out by hand: 1.74 at 5.3 ticks")
    axes.set(xlabel="round-trip time (ticks)", ylabel="RTO above the ideal (ticks)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right")
    return fig
