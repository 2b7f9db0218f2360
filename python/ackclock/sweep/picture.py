"""One number of the runs of a sweep over one of its axes."""

from __future__ import annotations

from typing import Any

from ackclock._core import InputError
from ackclock.results.columns import scaled
from ackclock.sweep.axis import near, shown
from ackclock.sweep.result import NUMBERS, UNITS, SweepResult, spread

MOST_LINES = 12
TIMES = ("mean", "median", "p90", "p99", "max")
"""Numbers that are response times."""


def check(text: str, axes: list[str]) -> tuple[str, str, list[str]]:
    """Reads `x,y` or `x,y,by`: an axis, a number, and what makes the lines."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 2:
        raise InputError(
            f"`--plot {text}` is not an axis and a number, such as `--plot "
            f"{axes[0] if axes else 'x'},goodput`"
        )
    x, y, *by = parts
    if x not in axes:
        raise InputError(f"`--plot {text}`: `{x}` is not an axis{near(x, axes)}")
    if y not in NUMBERS:
        raise InputError(f"`--plot {text}`: `{y}` is not a number of the runs{near(y, NUMBERS)}")
    lines = [*(a for a in axes if a != x), "stack"]
    for name in by:
        if name not in lines:
            raise InputError(f"`--plot {text}`: `{name}` cannot make lines{near(name, lines)}")
    return x, y, by


def picture(result: SweepResult, text: str, title: str) -> Any:
    """The figure that `text` asks for. Without a `by` there is a line for each combination of what else
    varies; else the mean over the rest.
    """
    from ackclock.plot.sweeps import sweeps

    x, y, by = check(text, [a.name for a in result.axes])
    every = result.table.to_pylist()
    rows = [row for row in every if row[y] is not None]
    if not rows:
        raise InputError(
            f"`--plot {text}`: no run has a `{y}`; they have "
            f"{', '.join(n for n in NUMBERS if result.table[n].null_count < len(every))}"
        )
    varied = [
        name
        for name in (*(a.name for a in result.axes if a.name != x), "stack")
        if len({row[name] for row in rows}) > 1
    ]
    over = by or varied
    axes = {a.name: a for a in result.axes}
    found: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in over), {}).setdefault(row[x], []).append(row[y])
    if len(found) > MOST_LINES:
        raise InputError(
            f"`--plot {text}` would draw {len(found)} lines; expected at most {MOST_LINES}: say what "
            f"makes them, as in `{x},{y},stack`"
        )
    lines = []
    for made_of, at in found.items():
        spreads = [spread(values) for values in at.values()]
        name = ", ".join(
            str(v) if n == "stack" else f"{n} = {shown(v, axes[n].unit)}"
            for n, v in zip(over, made_of, strict=True)
        )
        lines.append((name or y, list(at), [s["mean"] for s in spreads], [s["sd"] or 0.0 for s in spreads]))
    # Axes that go together with an axis of the lines do not vary besides it.
    kinds = {name: len({(row[x], *(row[n] for n in over), row[name]) for row in rows}) for name in varied}
    rest = [name for name in varied if name not in over and kinds[name] > sum(map(len, found.values()))]
    unit = axes[x].unit
    scale, y_unit = scaled(UNITS.get(y, ""), max(abs(mean) for _, _, means, _ in lines for mean in means))
    lines = [
        (name, places, [m / scale for m in means], [s / scale for s in spreads])
        for name, places, means, spreads in lines
    ]
    words = f"{'response time, ' if y in TIMES else ''}{y.replace('_', ' ')}"
    return sweeps(
        lines,
        title=title,
        subtitle=f"{len(result)} runs; mean and standard deviation over {', '.join([*rest, 'seeds'])}",
        xlabel=f"{x} ({unit})" if unit else x,
        ylabel=f"{words} ({y_unit})" if y_unit else words,
        log=axes[x].log or _wide([row[x] for row in rows]),
    )


def _wide(values: list[Any]) -> bool:
    """Whether values are so far apart that only a logarithmic axis shows them."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values) and max(
        values
    ) >= 30 * min(values)
