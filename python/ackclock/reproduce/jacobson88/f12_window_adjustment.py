from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.plot import rates, style
from ackclock.reproduce.chance import HALF, share
from ackclock.reproduce.item import Check, Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import CHOICES, MIX, RECEIVER_CHOICE, listed
from ackclock.reproduce.jacobson88.testbed import DATA, KB
from ackclock.reproduce.jacobson88.u2_rates import windows_read
from ackclock.results.spikes import Spike, decay, spikes
from ackclock.results.transfer import Transfer, total_rate
from ackclock.scenario import Scenario

WIDTH = 3.0
"""Seconds of a bin: the timeout of the paper's run."""
PAPER, FACTOR = 28.0, 2.5
FIRST = 12.0
"""Seconds: the last conversation starts at 9 s, and a bin later it takes part."""
LEAST = 10
"""Packets: lower spikes are those of single acks that come late."""
PAIRS = 3
"""Pairs that the paper's fit rests on."""


def read(transfers: Sequence[Transfer]) -> list[Spike]:
    """The spikes, in packets, from 12 s to the end of the first conversation."""
    time = np.concatenate([t.acked_at for t in transfers])
    amount = np.concatenate([t.acked_bytes for t in transfers]) / DATA
    end = min(t.acked_at[-1] for t in transfers)
    return [s for s in spikes(time, amount, WIDTH, testbed.LINK_DATA / DATA, LEAST, end) if s.at >= FIRST]


def scenario(delay: int, order: Sequence[str]) -> Scenario:
    """Four new TCPs, the receivers in this order."""
    return testbed.conversations(
        testbed.four_conversations(f"{delay}ms"), four.receivers(), order, trace=True
    )


def fitted(found: Sequence[Spike]) -> tuple[float, float]:
    """The exponential through falls and rises, each at the middle of its bin."""
    at = [s.at + side * WIDTH / 2 for s in found for side in (-1, 1)]
    return decay(np.array(at), np.array([h for s in found for h in (s.fall, s.rise)]))


def figure(
    transfers: Sequence[Transfer], found: Sequence[Spike], constant: float, tau: float, path: str
) -> Figure:
    """Acknowledged data per bin, and the fit above and below the link's rate."""
    end = min(t.acked_at[-1] for t in transfers)
    series = total_rate(transfers, WIDTH, end, acked=True)[:-1] / KB
    level = testbed.LINK_DATA / KB
    fig = rates(
        {"acknowledged": series},
        WIDTH,
        title="How windows adjust: spikes in the data acknowledged",
        subtitle=f"Bins of 3 s, four conversations with congestion avoidance as in figure 9, {path}",
        label="data acknowledged (KiB/s)",
        level=level,
        limits=(0, 2 * level),
    )
    (axes,) = fig.axes
    with mpl.rc_context(style.SETTINGS):
        t = np.linspace(0, end, 300)
        for side in (-1, 1):
            curve = level + side * constant * np.exp(-t / tau) * DATA / KB / WIDTH
            axes.plot(
                t,
                curve,
                color=style.COLOURS[1],
                linewidth=1.2,
                linestyle=(0, (5, 2)),
                label=f"time constant {tau:.0f} s" if side > 0 else None,
            )
        for s in found:
            top = series[max(int(s.at / WIDTH) - 1, 0) : int(s.at / WIDTH) + 2].max()
            axes.annotate(
                f"{s.height:.0f} packets",
                (s.at, top),
                (0, 9),
                textcoords="offset points",
                fontsize=8,
                ha="center",
                bbox={"color": "white", "pad": 0.5, "alpha": 0.8},
            )
        axes.legend(
            loc="upper right",
            fontsize=9,
            title="numbers: the window estimated from\na fall and the rise after it",
            title_fontsize=8.5,
            alignment="left",
        )
    return fig


def row(delay: int, order: Sequence[str], transfers: Sequence[Transfer]) -> dict[str, Any]:
    """What a run shows: when its spikes are, how high, and how they decay."""
    found = read(transfers)
    taus = [fitted(found[:PAIRS])[1], fitted(found)[1]] if len(found) >= PAIRS else [np.nan, np.nan]
    # A fit that does not fall has no time constant: it counts as one without end.
    first, every = (tau if tau > 0 else np.inf for tau in taus)
    return {
        "one_way_ms": delay,
        "receivers": ", ".join(order),
        "at": [s.at for s in found],
        "heights": [s.height for s in found],
        "tau": first,
        "tau_all": every,
    }


def counted(complete: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """In how many runs the first three heights fall, and in how many their time constant is near the
    paper's.
    """
    falling = sum(bool((np.diff(r["heights"][:PAIRS]) < 0).all()) for r in complete)
    return falling, sum(PAPER / FACTOR <= r["tau"] <= PAPER * FACTOR for r in complete)


def judged(complete: Sequence[dict[str, Any]]) -> list[Check]:
    """The register's statements about runs with three pairs of spikes at least."""
    falling, within = counted(complete)
    middle = np.median([r["heights"][:PAIRS] for r in complete], axis=0)
    tau = float(np.median([r["tau"] for r in complete]))
    return [
        stated(
            "heights of the first three pairs fall, runs",
            f"{falling} of {len(complete)}, medians {listed(list(middle), 0)} packets",
            share(falling, len(complete))[0] > HALF,
            "more than half, beyond chance",
        ),
        stated(
            "time constant of the first three pairs within a factor 2.5 of 28 s, runs",
            f"{within} of {len(complete)}, median {tau:.0f} s",
            share(within, len(complete))[0] > HALF,
            "more than half, beyond chance",
        ),
    ]


@item(
    "J-F12",
    kind="SIM",
    title="Window adjustment detail",
    choices={
        **CHOICES,
        **testbed.NEW_CHOICES,
        **RECEIVER_CHOICE,
        "runs": "one-way delays of 10 to 50 ms and all six places of the two old receivers; checks are on "
        "how many of these 30 runs do it (95 % beyond a half), of which the figure shows the median one",
        "fit": "through the first three pairs after 12 s, as in the paper; another one through all pairs "
        "until the first conversation ends",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Reads spikes and their decay in 30 runs."""
    rows = []
    cases = list(itertools.product((10, 20, 30, 40, 50), sorted(set(itertools.permutations(MIX)))))
    runs = dict(zip(cases, setting.run_all([scenario(*case) for case in cases], "J-F12"), strict=True))
    for (delay, order), run in runs.items():
        rows.append(row(delay, order, list(testbed.connections(run).values())))
    complete = [r for r in rows if len(r["heights"]) >= PAIRS]
    falling, within = counted(complete)
    got, wanted = windows_read()
    checks = [
        stated(
            "windows read from synthetic traces, packets",
            f"at most {np.abs(got - wanted).max():.2g} off",
            np.abs(got - wanted).max() <= 1,
            "within 1 packet",
        ),
        *judged(complete),
    ]
    shown = sorted(complete, key=lambda r: r["tau"])[(len(complete) - 1) // 2]
    transfers = list(
        testbed.connections(runs[shown["one_way_ms"], tuple(shown["receivers"].split(", "))]).values()
    )
    found = read(transfers)
    fig = figure(transfers, found[:PAIRS], *fitted(found[:PAIRS]), f"{shown['one_way_ms']} ms one way")
    quartiles = listed(list(np.percentile([r["tau"] for r in complete], [25, 50, 75])), 0)
    pairs, every = (
        np.median([len(r["heights"]) for r in complete]),
        np.median([r["tau_all"] for r in complete]),
    )
    at, heights = listed([s.at for s in found], 0), listed([s.height for s in found], 0)
    notes = [
        f"Time constant of the first three pairs: quartiles {quartiles} s (paper: 28), within a factor "
        f"2.5 of it in {within} of {len(complete)} runs; the heights fall from pair to pair in "
        f"{falling}.",
        f"Of all pairs until the first conversation ends (median {pairs:.0f}): median time constant "
        f"{every:.0f} s. After the first few, windows hover about a fair share: there is no further "
        "decay.",
        f"The run shown, {shown['one_way_ms']} ms one way, receivers {shown['receivers']}: pairs at "
        f"{at} s (paper: 15, 33, 57), heights {heights} packets; above 31 they are several windows at "
        "once.",
    ]
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"spikes": fig}, notes)
