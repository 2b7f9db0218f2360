from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import Timer
from ackclock.models.eifel2000 import RowModel
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Outcome, Setting, exactly, item, stated
from ackclock.results.timing import SAMPLINGS, Timing

FLOORS = ("0s", "500ms", "1s", "2s")
GAINS = {
    "1/8, 1/4": {},
    "1/16, 1/8": {"g": "0.0625", "h": "0.125"},
    "1/4, 1/2": {"g": "0.25", "h": "0.5"},
    "1/64, 1/32": {"g": "0.015625", "h": "0.03125"},
}
WEIGHTS = ("4", "2", "8")
LEFT_OUT = 0.3
"""Part of a series at its beginning in which the timers settle."""


@dataclass(frozen=True)
class Series:
    """Round-trip times of one path: by sampling, when they came and what they were (s)."""

    name: str
    samples: dict[str, tuple[np.ndarray, np.ndarray]]

    def outcome(self, timer: Timer, sampling: str) -> dict[str, float]:
        """Which part of the samples came after the timeout, and how long the timeout is beside them."""
        time, rtt = self.samples[sampling]
        before = np.append(np.nan, timer.rows({"time": time, "rtt": rtt})["rto"][:-1])
        part = slice(int(LEFT_OUT * rtt.size), None)
        return {
            "without_margin": float((before <= rtt)[part].mean()),
            "ratio": float((before / rtt)[part].mean()),
        }


def modelled(load: int, service_time: float, name: str) -> Series:
    """Those of the step-by-step model."""
    found = {}
    for sampling in ("every", "delayed", "once"):
        s = RowModel(load, 30, service_time, sampling=sampling).series()
        found[sampling] = (s["time"][s["sampled"]], s["rtt"][s["sampled"]])
    return Series(name, found)


def traced(name: str, path: ac.Single, seconds: float, stack: ac.Stack) -> Series:
    """Those of the packets of a simulated transfer: all, every second, and one after the other."""
    packets = testbed.rows(testbed.transfer(path, {"host": stack}, seconds), "segments", "host")
    found = {}
    for sampling in SAMPLINGS:
        t = Timing.of(packets, sampling)
        found[sampling] = (t.time[t.sampled], t.rtt[t.sampled])
    found["delayed"] = tuple(v[1::2] for v in found["every"])
    return Series(name, found)


def series() -> list[Series]:
    """Slow and fast paths, from the model and from traces."""
    fast = ac.Single(ac.Link("2Mbit/s", queue=ac.queue.DropTail(limit="20packets")), rtt="40ms")
    return [
        modelled(40, testbed.SERVICE, "serial line, model"),
        traced("serial line, trace", testbed.line(), 30_000, testbed.lite()),
        modelled(40, 0.005, "fast path, model"),
        traced("fast path, trace", fast, 120, testbed.lite(tick="1ms")),
    ]


def variants() -> dict[str, tuple[dict[str, str], str]]:
    """What is changed in the timer, and the sampling, by name; the first is what the others differ from."""
    found: dict[str, tuple[dict[str, str], str]] = {"as it is": ({}, "every")}
    found |= {
        f"minimum {floor.replace('ms', ' ms').replace('1s', '1 s').replace('2s', '2 s')}": (
            {"min_rto": floor},
            "every",
        )
        for floor in FLOORS[1:]
    }
    found |= {f"gains {name}": (gains, "every") for name, gains in list(GAINS.items())[1:]}
    found |= {f"weight {weight}": ({"weight": weight}, "every") for weight in WEIGHTS[1:]}
    return found | {"every second sample": ({}, "delayed"), "one sample per RTT": ({}, "once")}


@item(
    "E-X7",
    kind="MODEL, CAP",
    title="What else moves the Lite timer: minimum, gains, sampling",
    choices={
        "timer": "mean and deviation in real arithmetic, exact samples, no ticks, so that the minimum "
        "alone is a floor",
        "series": "the testbed's line (RTT 125 to 250 s) and a fast path (about 0.1 to 0.2 s), each from "
        "the step-by-step model and from a simulated trace",
        "measure": "part of the samples that come after RTO(i-1), and mean RTO(i-1)/RTT(i), the first "
        f"{LEFT_OUT:.0%} left out",
        "prior study": "claims that the minimum dominates and that gains and sampling matter little",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """One thing changed at a time, over four series."""
    rows = []
    for s in series():
        for name, (params, sampling) in variants().items():
            timer = Timer(
                "jacobson88", tuple({"tick": "0s", "min_rto": "0s", "max_rto": "1h", **params}.items())
            )
            rows.append({"series": s.name, "variant": name, **s.outcome(timer, sampling)})

    def share(series: str, variant: str) -> float:
        return next(r["without_margin"] for r in rows if (r["series"], r["variant"]) == (series, variant))

    floors = [name for name in variants() if name.startswith("minimum")]
    checks = [exactly("rows of the table: series times variants", len(rows), 4 * len(variants()))]
    for kind in ("model", "trace"):
        slow, fast = f"serial line, {kind}", f"fast path, {kind}"
        of_floors = [share(slow, v) for v in floors]
        sparse = share(slow, "one sample per RTT")
        checks += [
            stated(
                f"{slow}: a minimum changes nothing, sampling does",
                f"{share(slow, 'as it is'):.4f} as it is; {', '.join(f'{v:.4f}' for v in of_floors)} "
                f"with minima; {sparse:.4f} at one per RTT",
                set(of_floors) == {share(slow, "as it is")} and sparse < share(slow, "as it is"),
            ),
            stated(
                f"{fast}: a minimum of 1 s hides all of it, as the prior study has it",
                f"{share(fast, 'as it is'):.4f} as it is; {share(fast, 'minimum 1 s'):.4f}",
                share(fast, "minimum 1 s") == 0,
            ),
        ]
    notes = [
        "The disagreement: a minimum of 1 s or more lies above the round-trip times of the prior "
        "study's paths, and hides what the timer does."
    ]
    return Outcome(checks, {"ablation": pa.Table.from_pylist(rows)}, {"ablation": figure(rows)}, notes)


def figure(rows: list[dict[str, object]]) -> Figure:
    """The part of late samples for each variant, by series."""
    names = list(variants())
    fig, axes = style.figure(
        "What moves the Lite timer",
        "Samples that come after the timeout RTO(i-1), one thing changed at a time",
        (7.2, 4.8),
    )
    with mpl.rc_context(style.SETTINGS):
        for i, s in enumerate(dict.fromkeys(r["series"] for r in rows)):
            y = [100 * r["without_margin"] for r in rows if r["series"] == s]
            place = np.arange(len(names)) + 0.16 * (i - 1.5)
            axes.plot(y, place, "os^D"[i], color=style.COLOURS[i], markersize=5, linestyle="", label=s)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set(xlabel="samples after the timeout (%)", xlim=(-0.3, None))
        axes.grid(True)
        axes.legend(fontsize=9)
    return fig
