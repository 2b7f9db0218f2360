from __future__ import annotations

import matplotlib as mpl
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock import _core
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, exactly, item

ROUNDS = 7
RTO_NS = 1_000_000_000
EXPECTED = {
    "TCP": [1, 2, 4, 8, 16, 32, 64],
    "TCP*(1)": [1, 1, 2, 4, 8, 16, 32],
    "TCP*(2)": [1, 1, 1, 2, 4, 8, 16],
    "TCP*(3)": [1, 1, 1, 1, 2, 4, 8],
    "TCP*(4)": [1, 1, 1, 1, 1, 2, 4],
    "TCP*(5)": [1, 1, 1, 1, 1, 1, 2],
    "TCP*(inf)": [1, 1, 1, 1, 1, 1, 1],
}
SUMS = [127, 64, 33, 18, 11, 8, 7]


def rule(stack: str) -> tuple[str, list[tuple[str, str]]]:
    """The backoff policy, and its parameters, of a stack of the figure."""
    if stack == "TCP":
        return "exponential", []
    if stack == "TCP*(inf)":
        return "none", []
    return "sub-exponential", [("n", stack.removeprefix("TCP*(").removesuffix(")"))]


@item(
    "B-F1",
    kind="CF",
    title="Timeout against backoff round, TCP to TCP*(inf)",
    choices={
        "where the multipliers come from": (
            "the backoff policies that simulations run, evaluated with an RTO of 1 s"
        )
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Evaluates the backoff policies for the timeouts of seven rounds."""
    got = {
        stack: [ns / RTO_NS for ns in _core.backoff_schedule(*rule(stack), RTO_NS, ROUNDS)]
        for stack in EXPECTED
    }
    checks = [
        exactly(f"multipliers of {stack}", got[stack], expected) for stack, expected in EXPECTED.items()
    ]
    checks.append(exactly("time of 7 timeouts, in RTOs", [sum(m) for m in got.values()], SUMS))
    columns = {
        "stack": [stack for stack in got for _ in range(ROUNDS)],
        "round": list(range(ROUNDS)) * len(got),
        "multiplier": [m for multipliers in got.values() for m in multipliers],
    }
    return Outcome(checks, {"multipliers": pa.table(columns)}, {"multipliers": _figure(got)})


def _figure(got: dict[str, list[float]]) -> Figure:
    fig, axes = style.figure(
        "Timeout against backoff round", "Multiplier of RTO for the j-th consecutive timeout of one packet"
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (stack, multipliers) in enumerate(got.items()):
            axes.plot(range(ROUNDS), multipliers, marker="o", markersize=4, **style.line(i))
            axes.annotate(
                stack,
                (ROUNDS - 1, multipliers[-1]),
                (8, -3),
                textcoords="offset points",
                color=style.COLOURS[i % len(style.COLOURS)],
            )
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        axes.set(xlabel="consecutive timeout j", ylabel="timeout, in RTOs", xlim=(-0.1, ROUNDS - 0.2))
        axes.grid(True)
    return fig
