"""What a sweep has shown, in sentences: at which values a number was best and worst, and which stack was
first at the same values. All numbers are those of the sweep's table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ackclock.plain import listed
from ackclock.quantities import count, percent, rate, seconds
from ackclock.results.comparison import ALIKE, CLEAR, MOST_NAMED, apart, how_much_more
from ackclock.sweep.axis import shown
from ackclock.sweep.result import UNITS, SweepResult

OF_THE_LINK = frozenset({"loss", "utilisation"})
"""Numbers of the congested link: stacks that share a run have one of them together."""
FALLBACK = ("mean", "goodput")
"""What is compared where nothing was asked for: the first that every run has."""


@dataclass(frozen=True)
class Words:
    """How sentences name a number, its two ends, and its values."""

    what: str
    first: str
    last: str
    shown: Callable[[float], str]
    less_first: bool = True
    after: str = ""
    are: str = "was"

    @property
    def won(self) -> str:
        """What a stack did that is first."""
        if self.what in ("transfers", "responses"):
            return f"was {self.first}"
        return f"had {'' if self.are == 'were' else 'the '}{self.first}"


def number(x: float) -> str:
    """A number without a unit: three significant digits, and all of those before the point."""
    return count(round(x)) if x >= 100 or x == round(x) else f"{x:.3g}"


def _many(x: float) -> str:
    return number(x) if x else "none"


def _time(after: str) -> Words:
    return Words("transfers", "fastest", "slowest", seconds, after=after, are="were")


def _counted(what: str) -> Words:
    return Words(what, "fewest", "most", _many, are="were")


def _of(what: str, to: Callable[[float], str], *, less_first: bool = False) -> Words:
    ends = ("smallest", "largest") if less_first else ("highest", "lowest")
    return Words(what, *ends, to, less_first)


WORDS = {
    "mean": _time(" on average"),
    "median": _time(" at the median"),
    "p90": _time(" at the 90th percentile"),
    "p99": _time(" at the 99th percentile"),
    "max": Words("the longest transfer", "shortest", "longest", seconds),
    "loss": _of("the share of packets dropped", percent, less_first=True),
    "goodput": _of("payload over the bottleneck", rate),
    "utilisation": _of("the utilisation of the bottleneck", percent),
    "load": _of("the load", number),
    "mean_size": _of(
        "the mean size of the flows", lambda x: f"{x:,.3g} B" if x < 1e3 else f"{x / 1e3:,.3g} kB"
    ),
    "flows": Words("flows", "most", "fewest", _many, less_first=False, are="were"),
    "finished": Words("flows that finished", "most", "fewest", _many, less_first=False, are="were"),
    "failed": _counted("flows that failed"),
    "unfinished": _counted("flows still under way at the end"),
    "timeouts": _counted("timeouts"),
    "spurious_timeouts": _counted("spurious timeouts"),
    "segments": _counted("segments sent"),
    "retransmissions": _counted("retransmissions"),
    "spurious_retransmissions": _counted("spurious retransmissions"),
}


@dataclass(frozen=True)
class Cell:
    """A combination of values with one stack, or with those that share its run."""

    at: tuple[str, ...]
    """Its values, in words."""
    stack: str
    """Empty where it is no matter of one."""
    mean: float
    low: float
    high: float
    runs: int

    def named(self, with_stack: bool) -> str:
        """Its stack and values, in words."""
        where = f"at {', '.join(self.at)}" if self.at else ""
        return " ".join(
            t for t in (f"with {_name(self.stack)}" if with_stack and self.stack else "", where) if t
        )


def answer(found: SweepResult, asked: str | None = None) -> list[str]:
    """The sentences, the verdict first, on the number that was asked for, or else the mean time of transfers
    or the payload delivered; none where there is nothing to compare.
    """
    rows = found.over_seeds()
    # A number that some runs lack ranks none of them, unless it is the one that was asked for.
    compared = asked or next((n for n in FALLBACK if all(r[n]["mean"] is not None for r in rows)), "goodput")
    cells = _cells(found, rows, compared)
    if not cells:
        why = ": nothing finished" if compared in UNITS else ""
        return [f"No run has a value of `{compared}`{why}."] if rows else []
    words = _words(found, compared)
    sentences = [_verdict(cells, words), *_stacks(cells, words), *_sure(cells, words)]
    without = len({_key(found, r) for r in rows}) - len({(c.at, c.stack) for c in cells})
    if without > 0 and not _shared(rows, found):
        sentences.append(
            f"{count(without)} of {count(len(rows))} rows have no such number, since nothing finished."
        )
    return [*sentences, *_unfinished(found, words)]


def _words(found: SweepResult, number: str) -> Words:
    words = WORDS[number]
    if words.what == "transfers" and found.flows["size"].null_count == len(found.flows):
        return Words("responses", words.first, words.last, words.shown, after=words.after, are=words.are)
    return words


def _key(found: SweepResult, row: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    axes = [a for a in found.axes if len(a.values) > 1]
    return tuple(f"{a.name} = {_name(shown(row[a.name], a.unit))}" for a in axes), row["stack"]


def _shared(rows: Sequence[dict[str, Any]], found: SweepResult) -> bool:
    """Whether stacks share a run."""
    return len({(*(r[a.name] for a in found.axes), r["run"]) for r in rows}) < len(rows)


def _cells(found: SweepResult, rows: Sequence[dict[str, Any]], number: str) -> list[Cell]:
    together = number in OF_THE_LINK and _shared(rows, found)
    cells = {}
    for row in rows:
        at, stack = _key(found, row)
        value = row[number]
        if value["mean"] is not None:
            cell = Cell(at, "" if together else stack, value["mean"], value["min"], value["max"], row["runs"])
            cells[at, cell.stack] = cell
    return list(cells.values())


def _name(text: str) -> str:
    """A name in a list of names."""
    return f"`{text}`" if any(c in text for c in ",;") else text


def _better(words: Words) -> Callable[[Cell], float]:
    return lambda c: c.mean if words.less_first else -c.mean


def _begun(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _verdict(cells: Sequence[Cell], words: Words) -> str:
    """The first sentence: the best and the worst, and by how much."""
    order = sorted(cells, key=_better(words))
    best, worst = order[0], order[-1]
    names = {c.stack for c in cells}
    means = " (means over the seeds)" if max(c.runs for c in cells) > 1 else ""
    what = f"{_begun(words.what)} {words.are}"
    if len(order) == 1:
        where = f" {best.named(True)}" if best.named(True) else ""
        took = f"{_begun(words.what)} took" if words.what in ("transfers", "responses") else what
        return f"{took} {words.shown(best.mean)}{words.after}{where}{means}."
    if apart(best.mean, worst.mean) <= ALIKE:
        low, high = sorted((words.shown(best.mean), words.shown(worst.mean)))
        value = low if low == high else f"{low} to {high}"
        return f"{what} about the same in all {len(cells)} combinations: {value}{words.after}{means}."
    least, most = sorted((best.mean, worst.mean))
    by = f", {_by(least, most, worst.mean == most)}" if least > 0 else ""
    return (
        f"{what} {words.first} {_where(best, cells, names)}: {words.shown(best.mean)}{words.after}, and "
        f"{words.last} {_where(worst, cells, names)}: {words.shown(worst.mean)}{by}{means}."
    )


def _where(cell: Cell, cells: Sequence[Cell], names: set[str]) -> str:
    """Where a cell is: without its stack where there is one only, or where all do about the same."""
    beside = [c for c in cells if c.at == cell.at]
    same = cell.at and len(beside) == len(names) and all(apart(c.mean, cell.mean) <= ALIKE for c in beside)
    where = cell.named(not same and len(names) > 1)
    return f"{where} ({'both' if len(names) == 2 else 'all'} stacks)" if same and len(names) > 1 else where


def _by(least: float, most: float, last_is_most: bool) -> str:
    said = how_much_more(least, most)
    if last_is_most:
        return said
    return f"{100 * (1 - least / most):.2g} % less" if "%" in said else f"a factor of {most / least:.2g} less"


def _stacks(cells: Sequence[Cell], words: Words) -> list[str]:
    """Which stack was first at the same values, how often, and where they differ most."""
    names = list(dict.fromkeys(c.stack for c in cells))
    groups = [list(g) for _, g in groupby(sorted(cells, key=lambda c: c.at), key=lambda c: c.at)]
    groups = [g for g in groups if len(g) == len(names)]
    if len(names) < 2 or len(groups) < 2:
        return []
    firsts = dict.fromkeys(names, 0)
    alike = 0
    for group in groups:
        order = sorted(group, key=_better(words))
        if apart(order[0].mean, order[1].mean) <= ALIKE:
            alike += 1
        else:
            firsts[order[0].stack] += 1
    if alike == len(groups):
        return ["At the same values the stacks were about the same."]
    won = sorted((n for n in names if firsts[n]), key=lambda n: -firsts[n])
    said = listed([f"{_name(n)} {words.won} in {count(firsts[n])}" for n in won[:MOST_NAMED]])
    if len(won) > MOST_NAMED:
        said += f" ({len(won) - MOST_NAMED} more stacks in the rest)"
    if alike:
        said += f"; in {count(alike)} the {'two' if len(names) == 2 else 'first two'} were about the same"
    ends = [(min(g, key=_better(words)), max(g, key=_better(words))) for g in groups]
    shares = all(min(a.mean, b.mean) > 0 for a, b in ends)
    best, worst = max(
        ends, key=lambda e: apart(e[0].mean, e[1].mean) if shares else abs(e[0].mean - e[1].mean)
    )
    if firsts[won[0]] == len(groups):
        every = "both" if len(groups) == 2 else f"all {count(len(groups))}"
        sentences = [f"{_name(won[0])} {words.won} in {every} combinations of values."]
    else:
        sentences = [f"Of {count(len(groups))} combinations of values, {said}."]
    if apart(best.mean, worst.mean) > ALIKE:
        sentences.append(
            f"The stacks differ most {best.named(False)}: {words.shown(best.mean)} with {_name(best.stack)}, "
            f"{words.shown(worst.mean)} with {_name(worst.stack)}."
        )
    return sentences


def _sure(cells: Sequence[Cell], words: Words) -> list[str]:
    """Whether seeds tell another order, or that there is one only."""
    order = sorted(cells, key=_better(words))
    best, worst = order[0], order[-1]
    difference = apart(best.mean, worst.mean)
    if len(order) == 1 or difference <= ALIKE:
        return []
    if min(best.runs, worst.runs) > 1:
        over = best.high >= worst.low if words.less_first else best.low <= worst.high
        return ["Of the first sentence's two, some seeds show the other order."] if over else []
    if difference < CLEAR:
        return ["With one seed so small a difference may be chance: give the plan `seeds = 10`."]
    return []


def _unfinished(found: SweepResult, words: Words) -> list[str]:
    """That transfers did not finish, which their times leave out."""
    if words.what != "transfers":
        return []
    endless = found.flows["size"].null_count
    begun = sum(found.table["flows"].to_pylist()) - endless
    left = begun - sum(found.table["finished"].to_pylist())
    if left <= 0:
        return []
    return [
        f"Transfers that did not finish: {count(left)} of {count(begun)} in all runs; times are those of "
        "the others."
    ]
