from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import Timer
from ackclock.models.eifel2000 import RowModel
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, item, stated
from ackclock.results import Run

TICKS = ("500ms", "100ms", "10ms", "1ms")
RTTS = (10, 30, 50, 75, 100, 150, 200, 250, 290)
LOAD, SERVICE = 10, 0.01973


def ideal() -> Timer:
    """RTO_L on a clock without ticks."""
    return Timer.parse("lite(tick=0s, max_rto=1h)")


def modelled() -> dict[str, np.ndarray]:
    """RTO over the ideal one at each row of the last cycle of a model whose round-trip times are about 200
    ms, by tick.
    """
    model = RowModel(LOAD, 30, SERVICE)
    best = model.run(ideal()).cycle().rto
    return {
        tick: model.run(Timer.parse(f"lite(tick={tick}, max_rto=1h)")).cycle().rto / best for tick in TICKS
    }


def scenario(rtt: int) -> ac.Scenario:
    """A transfer over a path of so many milliseconds, whose samples hardly vary."""
    path = ac.Single(ac.Link("10Mbit/s"), rtt=f"{rtt}ms")
    stacks = {tick: testbed.lite(tick=tick, rcv_buf="14600B", window_scaling=False) for tick in TICKS}
    return ac.Scenario.of(path, ac.Bulk(), stacks, duration="20s", trace=["samples"])


def simulated(run: Run) -> dict[str, np.ndarray]:
    """The timeout of such a transfer, and over the ideal one at each of its samples, in its second half, by
    tick.
    """
    found = {}
    for tick in TICKS:
        log = testbed.Log.of(run, tick)
        half = log.time.size // 2
        best = ideal().rows({"time": log.time, "rtt": log.rtt})["rto"]
        found[tick] = np.column_stack([log.rto, log.rto / best])[half:]
    return found


@item(
    "E-X1",
    kind="MODEL, SIM",
    title="A tick of 500 ms is too coarse for round-trip times of a few 100 ms",
    choices={
        "ideal timeout": "RTO_L of the same samples without ticks: exact samples, and no floor",
        "step-by-step model": f"largest load {LOAD}, service time 19.73 ms, which is no whole number of "
        "ticks: round-trip times of 118 to 197 ms",
        "simulated path": f"10 Mbit/s, a window of 10 segments, round trips of {', '.join(map(str, RTTS))} "
        "ms; the second half of 20 s",
        "error": "mean of abs(RTO/ideal - 1): a coarse tick also makes some timeouts too short",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """How far RTO_L is from the ideal one by tick, in the step-by-step model and simulated; the timeout
    itself at 500 ms.
    """
    of_model = {tick: error(ratio) for tick, ratio in modelled().items()}
    found = dict(
        zip(RTTS, map(simulated, setting.run_all([scenario(rtt) for rtt in RTTS], "E-X1")), strict=True)
    )
    at_200 = {tick: error(found[200][tick][:, 1]) for tick in TICKS}
    coarse = [float(found[rtt]["500ms"][:, 0].min()) for rtt in RTTS]
    checks = [
        falls("step-by-step model: error of RTO with ticks of 500, 100, 10, 1 ms", of_model),
        falls("simulated, RTT 200 ms: the same", at_200),
        at_least("least RTO (s) at a tick of 500 ms, RTTs below 300 ms", min(coarse), 1.0, "at least"),
    ]
    rows = [
        {"rtt": r, "tick": t, "rto": float(v[:, 0].mean()), "error": error(v[:, 1])}
        for r, of in found.items()
        for t, v in of.items()
    ]
    notes = [
        "A round-trip time that hardly varies lets the ideal RTO_L sink to it, so that two ticks are "
        "the floor of every timeout simulated."
    ]
    return Outcome(checks, {"ticks": pa.Table.from_pylist(rows)}, {"rto": figure(rows)}, notes)


def error(over_ideal: np.ndarray) -> float:
    """How far timeouts are from the ideal ones."""
    return float(np.abs(over_ideal - 1).mean())


def falls(name: str, by_tick: dict[str, float]) -> Check:
    """Holds when the error is smaller with each finer tick."""
    errors = list(by_tick.values())
    return stated(
        name,
        ", ".join(f"{e:.4g}" for e in errors),
        all(a > b for a, b in itertools.pairwise(errors)),
        "falling",
    )


def figure(rows: list[dict[str, float]]) -> Figure:
    """The timeout over the round-trip time, by tick."""
    fig, axes = style.figure(
        "How a coarse clock lengthens the timeout",
        "Lite timer, simulated path of 10 Mbit/s, ten segments outstanding; mean RTO",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, tick in enumerate(TICKS):
            of = [r for r in rows if r["tick"] == tick]
            axes.plot(
                [r["rtt"] for r in of],
                [1000 * r["rto"] for r in of],
                marker="o",
                markersize=4,
                label=tick.replace("ms", " ms"),
                **style.line(i),
            )
        axes.plot([0, 300], [0, 300], color="#999999", linewidth=0.9, label="RTT")
        axes.set(xlabel="round-trip time (ms)", ylabel="timeout (ms)", xlim=(0, 300), ylim=(0, None))
        axes.grid(True)
        axes.legend(title="tick", loc="center left", bbox_to_anchor=(0.02, 0.58))
    return fig
