from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.reproduce.interactive2007 import choosing, testbed
from ackclock.reproduce.interactive2007.choosing import BACKLOGGED, RACK, RENO, STRATEGIES, Case, Path
from ackclock.reproduce.item import Outcome, Setting, item

QUEUES = (testbed.RED, testbed.DROP_TAIL_BYTES)
ALONE, FULL_ALONE = (320,), (20, 80, 160, 240, 320, 400)
"""Clients on a link of their own."""
CROSSED, FULL_CROSSED = (40,), (20, 50, 100, 200, 300, 400)
"""Clients beside cross traffic."""
ROUNDS, FULL_ROUNDS = 7, 20
SEEDS, FULL_SEEDS = 2, 5
SECONDS, FULL = 40.0, 120.0
PLAYED = 0.1
"""A strategy with at least this share at the end is named."""
LEFT_OUT = ("path", "cross traffic", "response time", "TCP")
"""Choices of the default scenario that are others here."""


def listed(numbers: Sequence[int]) -> str:
    """Numbers in words."""
    return ", ".join(map(str, numbers))


@item(
    "I-X10",
    kind="SIM",
    title="Which mix of strategies is stable when clients choose freely?",
    choices={
        **{k: v for k, v in testbed.CHOICES.items() if k not in LEFT_OUT},
        "path": f"beside cross traffic ({choosing.CROSS}) that of the default scenario, {testbed.RATE:g} "
        f"Mbit/s and {1e3 * testbed.RTT:g} ms; alone that of I-F9, {choosing.RATE:g} Mbit/s and "
        f"{1e3 * choosing.RTT:g} ms",
        "TCP": "Reno without limited transmit, or RACK-TLP (RFC 8985); three duplicate acks, no Nagle",
        "clients": f"{listed(CROSSED)} beside cross traffic and {listed(ALONE)} alone (with --full "
        f"{listed(FULL_CROSSED)} and {listed(FULL_ALONE)}), each with a packet a second on average",
        "what a client wants": "the shortest mean time from typing a packet to its ack, waiting for the "
        "window included",
        "choice": "all begin interactive. In each round clients whose strategy is slower than the fastest "
        f"by more than {100 * (choosing.MARGIN - 1):.0f} % move to it: half of them at first, a third next, "
        f"and so on. What hardly anybody has is tried by {100 * choosing.TRIAL:g} % of the clients, at "
        f"least one, in a run of its own. {ROUNDS} rounds ({FULL_ROUNDS} with --full)",
        "at rest": "nobody would gain more than that margin by another strategy",
        "price of anarchy": "mean response time at the end over that of the strategy which is fastest if "
        "all have it",
        "random numbers": f"{SEEDS} seeds ({FULL_SEEDS} with --full), others in each round",
        "duration": f"{SECONDS:g} s ({FULL:g} s with --full) after {testbed.WARM:g} s",
        "on the kernel": "not here: it has neither diversity nor Smart Framing; I-S1 has padded and plain "
        "flows on it",
    },
    tests=[
        "tests/test_reproduce_interactive2007_choice.py::test_clients_move_to_the_fastest",
        "tests/test_reproduce_interactive2007_choice.py::test_all_clients_are_counted",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Best responses, round by round, from all interactive."""
    alone, crossed, rounds, seeds, seconds = (
        (FULL_ALONE, FULL_CROSSED, FULL_ROUNDS, FULL_SEEDS, FULL)
        if setting.full
        else (ALONE, CROSSED, ROUNDS, SEEDS, SECONDS)
    )
    cases = [
        Case(n, queue, recovery, beside)
        for beside, numbers in ((True, crossed), (False, alone))
        for recovery in (RENO, RACK)
        for queue in QUEUES
        for n in numbers
    ]
    paths = choosing.play(cases, rounds, range(1, seeds + 1), seconds, setting, "I-X10")
    figures = {"shares": shares(paths), "tried": tried(paths)}
    notes = [described(p) for p in paths]
    return Outcome([], {"rounds": pa.Table.from_pylist(table(paths))}, figures, notes, answer=answer(paths))


def times(values: np.ndarray) -> str:
    """Response times by strategy, ms."""
    return ", ".join(f"{s} {1e3 * t:.0f}" for s, t in zip(STRATEGIES, values, strict=True))


def described(p: Path) -> str:
    """One case in a line."""
    uniform = np.array([u.mean for u in p.uniform])
    return (
        f"{p.case}: {named(p)} at the end, {'at rest' if p.rests else 'still moving'}; "
        f"{1e3 * p.end.mean:.0f} ms on average, {p.anarchy:.2f} times that if all had {STRATEGIES[p.best]}, "
        f"goodput {p.wasted:.2f} times. In ms: a few among interactive clients {times(p.times[0])}; at the "
        f"end, of those who have it or try it, {times(p.times[-1])}; if all have one {times(uniform)}"
    )


def named(p: Path) -> str:
    """The strategies that are played at the end, the most frequent first."""
    order = np.argsort(-p.last)
    return ", ".join(f"{100 * p.last[i]:.0f} % {STRATEGIES[i]}" for i in order if p.last[i] >= PLAYED)


def top(p: Path) -> str:
    """The most frequent strategy at the end."""
    return STRATEGIES[int(np.argmax(p.last))]


def answer(paths: Sequence[Path]) -> str:
    """The answer that the numbers give."""
    greedy = sum(top(p) == BACKLOGGED for p in paths)
    first = STRATEGIES.index(BACKLOGGED)
    gains = sum(p.times[0][0] > choosing.MARGIN * p.times[0][first] for p in paths)
    lead = f"In {greedy or 'none'} of {len(paths)} cases most clients end up backlogged"
    parts = []
    for beside in (True, False):
        for recovery in (RENO, RACK):
            mine = [p for p in paths if (p.case.recovery, p.case.crossed) == (recovery, beside)]
            if mine:
                parts.append(_part(mine))
    return (
        f"{lead}, and the first who tries it among interactive clients gains in {gains}. {' '.join(parts)} "
        "Fairly sure of what is chosen where strategies are far apart: choices rest on differences above "
        f"{100 * (choosing.MARGIN - 1):.0f} % between means over few seeds, on two paths; other paths and "
        "kernels were not tried."
    )


def _part(mine: Sequence[Path]) -> str:
    tops = [top(p) for p in mine]
    most = sorted(set(tops), key=lambda s: -tops.count(s))
    worst = max(mine, key=lambda p: p.anarchy)
    case = mine[0].case
    place = "Beside cross traffic" if case.crossed else "Alone"
    said = ", ".join(f"{s} in {tops.count(s)}" for s in most)
    return (
        f"{place}, with {case.recovery}, the most frequent is {said} of {len(mine)} "
        f"({sum(p.rests for p in mine)} at rest), and choosing freely costs at most {worst.anarchy:.2f} "
        f"times the response time of the best common strategy, {STRATEGIES[worst.best]} "
        f"({worst.case.clients} clients, {worst.case.queue})."
    )


def table(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """A row for each case, round and strategy."""
    return [
        {
            "clients": p.case.clients,
            "place": p.case.place,
            "discipline": p.case.queue,
            "recovery": p.case.recovery,
            "round": k,
            "strategy": s,
            "share": float(p.shares[k][i]),
            "response": float(p.times[k][i]),
            "loss": seen.loss,
            "goodput": seen.goodput,
        }
        for p in paths
        for k, seen in enumerate(p.seen)
        for i, s in enumerate(STRATEGIES)
    ]


def shares(paths: Sequence[Path]) -> Figure:
    """The mix at the end of each case, as bars."""
    fig, axes = style.figure(
        "What clients choose in the end",
        "From all interactive, by best responses; a packet a second for each client",
        (7.2, 2.4 + 0.3 * len(paths)),
    )
    with mpl.rc_context(style.SETTINGS):
        place, left = np.arange(len(paths)), np.zeros(len(paths))
        for i, s in enumerate(STRATEGIES):
            width = np.array([100 * p.last[i] for p in paths])
            axes.barh(place, width, left=left, color=style.COLOURS[i], label=s, height=0.7)
            left += width
        axes.set_yticks(place, [str(p.case) for p in paths], fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel="share of the clients (%)", xlim=(0, 100))
        axes.legend(loc="upper center", bbox_to_anchor=(0.3, -0.18), fontsize=8, ncols=3)
    return fig


def tried(paths: Sequence[Path]) -> Figure:
    """What a few clients of each strategy get among interactive ones."""
    fig, axes = style.figure(
        "Response times of a few clients that change their strategy",
        "Relative to the interactive clients beside them; below 1 the change pays",
        (7.2, 2.4 + 0.3 * len(paths)),
    )
    with mpl.rc_context(style.SETTINGS):
        place = np.arange(len(paths))
        for i, s in enumerate(STRATEGIES[1:], 1):
            ratio = np.array([p.times[0][i] / p.times[0][0] for p in paths])
            axes.plot(ratio, place, "osD^v"[i - 1], color=style.COLOURS[i], label=s, markersize=5)
        axes.axvline(1.0, color="#777777", linewidth=0.8)
        axes.set_yticks(place, [str(p.case) for p in paths], fontsize=8)
        axes.invert_yaxis()
        axes.set(xlabel="response time, relative to the others", xscale="log")
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axes.grid(True)
        axes.legend(loc="upper center", bbox_to_anchor=(0.3, -0.18), fontsize=8, ncols=3)
    return fig
