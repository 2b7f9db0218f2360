"""What a run has shown, in sentences: which stack was fastest or moved most, what was dropped, and how many
timeouts fired. All numbers are those of the run's tables.

What counts depends on the traffic: the time of rounds, responses or transfers where there are any, else the
payload delivered. Stacks that carry different traffic are not ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pyarrow.compute as pc

from ackclock.plain import listed
from ackclock.quantities import count, percent, rate, seconds
from ackclock.results import endless, workloads
from ackclock.results.recorded import Recorded

ALIKE = 0.02
"""Numbers that differ by a smaller share are called about the same. A limit of our own."""
FEW = 20
"""Fewer transfers than these are called few. A limit of our own."""
ENOUGH = 100
"""So many times have a 99th percentile."""
CLEAR = 0.1
"""A smaller difference between runs of one seed may be chance, as a sentence says. A limit of our own."""
MOST_NAMED = 4
"""Stacks that a sentence has one by one; of more, it has the extremes."""
NEEDED = {"run", "stack", "bottleneck", "flows", "finished", "mean", "loss", "goodput", "timeouts"}
"""Numbers of a row without which nothing is said."""
MEAN = "on average"
TIMES = (
    ("completion_median", "rounds of the fan-in", "at the median"),
    ("response_median", "responses", "at the median"),
)
"""Times that classes of workloads are measured by: their key, what took them, and what the number is."""


@dataclass
class Stack:
    """What a stack has come to: numbers of its row, one for each seed, with what is measured for it."""

    name: str
    rows: list[dict[str, Any]]
    endless: list[dict[str, Any]]
    """The numbers of `endless` for its rows, where none of its flows has an end."""
    traffic: frozenset[str]
    """The classes of workloads that it carries."""
    unlimited: int
    """Its flows without an end."""
    what: str = ""
    """What took `times`, empty where nothing finished."""
    times: tuple[float, ...] = ()
    centre: str = ""
    """What the times are: means or medians."""

    @property
    def time(self) -> float:
        """Mean over the seeds."""
        return fmean(self.times)

    @property
    def goodput(self) -> float:
        """Payload delivered, bit/s, mean over the seeds."""
        return fmean(self._goodputs())

    def _goodputs(self) -> list[float]:
        own = [n["goodput"] for n in self.endless]
        return [float(g or 0.0) for g in own or (row["goodput"] for row in self.rows)]

    def each(self) -> list[float]:
        """What counts for it, one number for each seed, less being better."""
        return list(self.times) if self.times else [-g for g in self._goodputs()]

    def mean(self, key: str) -> float | None:
        """The mean of a number over the seeds; None where it is missing."""
        values = [row[key] for row in self.rows if row.get(key) is not None]
        return fmean(values) if values else None

    @property
    def named(self) -> str:
        """Its name in a list of names."""
        return f"`{self.name}`" if any(c in self.name for c in ",;") else self.name

    @property
    def finished(self) -> int:
        """Flows that finished, over all seeds."""
        return sum(row["finished"] for row in self.rows)

    @property
    def losses(self) -> list[float]:
        """The shares of its senders' packets that were dropped, for endless flows."""
        return [n["loss"] for n in self.endless if n["loss"] is not None]

    @property
    def delay(self) -> float | None:
        """How long packets waited in queues, s, for endless flows."""
        values = [n["queue_delay"] for n in self.endless if n["queue_delay"] is not None]
        return fmean(values) if values else None


def answer(run: Recorded) -> list[str]:
    """The sentences, the verdict first; none for a run without the numbers of its stacks."""
    # A folder may hold only some of the numbers.
    if not run.stacks or not all(row.keys() >= NEEDED for row in run.stacks):
        return []
    stacks = _stacks(run)
    if not any(row["flows"] for row in run.stacks):
        dropped = {row["loss"] for row in run.stacks}
        lost = (
            f", of which {percent(dropped.pop())} were dropped at the bottleneck" if len(dropped) == 1 else ""
        )
        return [f"No TCP connection began; only datagrams crossed{lost}."]
    classes = workloads.numbers(run.traces)
    if any("videos" in c for c in classes):
        # What a video is measured by is a whole sentence for each run.
        return [*workloads.sentences(classes, run.flows), _harm(stacks), *_unfinished(stacks)]
    first, *others = [_alone(stacks[0])] if len(stacks) == 1 else _together(stacks)
    seeds = max(len(s.rows) for s in stacks)
    means = f" (means of {seeds} seeds)" if seeds > 1 else ""
    return [f"{first[:-1]}{means}.", *others, *_unfinished(stacks)]


def _stacks(run: Recorded) -> list[Stack]:
    """The stacks under comparison: those with runs of their own, or all of those that share one."""
    alone = [row for row in run.stacks if _label(row) == row["stack"]]
    without = endless.rows(run)
    classes = workloads.numbers(run.traces)
    found: dict[str, Stack] = {}
    for row in alone or run.stacks:
        key = (row["run"], row["stack"])
        flows = run.flows.filter(
            pc.and_(pc.equal(run.flows["run"], key[0]), pc.equal(run.flows["stack"], key[1]))
        )
        stack = found.setdefault(
            row["stack"],
            Stack(
                row["stack"], [], [], frozenset(flows["group"].unique().to_pylist()), flows["size"].null_count
            ),
        )
        stack.rows.append(row)
        if key in without and row["mean"] is None:
            stack.endless.append(endless.numbers(run, row))
        stack.what, stack.centre, time = _time(row, classes, key in without, stack.traffic)
        stack.times += () if time is None else (time,)
    for stack in found.values():
        if len(stack.times) < len(stack.rows):
            stack.what, stack.times = "", ()
    return list(found.values())


def _label(row: dict[str, Any]) -> str:
    """A run without the number of its seed."""
    return str(row["run"]).partition(" #")[0]


def _time(
    row: dict[str, Any], classes: list[dict[str, Any]], unlimited: bool, traffic: frozenset[str]
) -> tuple[str, str, float | None]:
    """What took time, what the number is, and the time (s); None where nothing finished."""
    own = [c for c in classes if (c["run"], c["stack"]) == (row["run"], row["stack"])]
    for key, what, centre in TIMES if len(own) == len(traffic) == 1 else ():
        if own[0].get(key) is not None:
            return what, centre, own[0][key]
    return "responses" if unlimited else "transfers", MEAN, row["mean"]


def _alone(s: Stack) -> str:
    """The sentence of a single stack."""
    if s.times:
        said = f"With {s.named}, {s.what} took {seconds(s.time)} {s.centre}"
        p99 = s.mean("p99")
        if s.centre == MEAN and p99 is not None and s.finished >= ENOUGH:
            said += f", one in a hundred more than {seconds(p99)}"
        said += f"; {rate(s.goodput)} of payload crossed the bottleneck, which"
    else:
        said = f"{s.named} delivered {rate(s.goodput)} of payload; the bottleneck"
    busy, loss = s.mean("utilisation"), s.mean("loss")
    said += "" if busy is None else f" was busy {percent(busy)} of the time and"
    said += " dropped " + ("none" if not loss else percent(loss)) + " of the packets"
    return f"{said}; {_timeouts(s.mean('timeouts') or 0.0)} fired."


def _timeouts(n: float) -> str:
    return "no timeout" if not n else f"{_number(n)} timeout{'' if n == 1 else 's'}"


def _number(n: float) -> str:
    return "none" if not n else count(round(n)) if n >= 100 or n == round(n) else f"{n:.3g}"


def _together(stacks: Sequence[Stack]) -> list[str]:
    """The sentences of several stacks."""
    shared = any(_label(s.rows[0]) != s.name for s in stacks)
    if len({(s.what, s.traffic) for s in stacks}) == 1 and not (shared and not stacks[0].times):
        said = _ranked(stacks)
        carried = [s.goodput for s in stacks]
        if not shared and stacks[0].times and _places(stacks) == 1 and apart(*_ends(carried)) > ALIKE:
            said.append(f"Payload over the bottleneck: {_spread(stacks, lambda s: s.goodput, rate)}.")
    elif not any(s.times for s in stacks):
        said = [_shares(stacks)]
    else:
        each = (
            f"with {s.named}, {s.what} took {seconds(s.time)} {s.centre}"
            if s.times
            else f"{s.named} delivered {rate(s.goodput)}"
            for s in stacks
        )
        got = "; ".join(each) if len(stacks) <= MOST_NAMED else "the table has what each did"
        said = [f"The {len(stacks)} stacks carry different traffic and are not ranked: {got}."]
    if all(s.delay is not None for s in stacks):
        said.append(f"Mean wait of packets in queues: {_spread(stacks, lambda s: s.delay or 0.0, seconds)}.")
    return [*said, _harm(stacks)]


def _ranked(stacks: Sequence[Stack]) -> list[str]:
    """Stacks with the same traffic: the best and the worst, whether that is sure, and another order at other
    percentiles.
    """
    order = sorted(stacks, key=lambda s: fmean(s.each()))
    by_time = bool(order[0].times)
    values = [s.time if by_time else s.goodput for s in order]
    if not max(values):
        return ["No stack delivered any payload."]
    first = [s for s, v in zip(order, values, strict=True) if apart(v, values[0]) <= ALIKE]
    verdict = _times(order, values, first) if by_time else _payloads(order, values, first)
    elsewhere = _elsewhere(stacks, first) if by_time and order[0].centre == MEAN else []
    return [verdict, *elsewhere, *_sure(order, apart(values[0], values[-1]))]


def apart(a: float, b: float) -> float:
    """By what share of the smaller one the larger one is larger."""
    return (max(a, b) - min(a, b)) / min(a, b) if min(a, b) > 0 else float(a != b) * float("inf")


def _times(order: Sequence[Stack], values: Sequence[float], first: Sequence[Stack]) -> str:
    what, centre = f"{order[0].what[0].upper()}{order[0].what[1:]}", order[0].centre
    best = _range(values[: len(first)], seconds)
    if len(first) == len(order):
        return f"{what} took about the same time with {_all(order)}: {best} {centre}."
    slowest = "" if len(order) == len(first) + 1 else ", the slowest"
    return (
        f"{what} were fastest with {_and(first)}: {best} {centre}, {seconds(values[-1])} with "
        f"{order[-1].named}{slowest} ({how_much_more(values[0], values[-1])})."
    )


def _payloads(order: Sequence[Stack], values: Sequence[float], first: Sequence[Stack]) -> str:
    best = _range(values[: len(first)], rate)
    if len(first) == len(order):
        return f"{_all(order).capitalize()} delivered about the same payload: {best}."
    most, last = f"{_and(first)} delivered most payload: {best}", order[-1].named
    least = "" if len(order) == len(first) + 1 else ", which delivered least"
    if not values[-1]:
        return f"{most}; {last} delivered none."
    more = how_much_more(values[-1], values[0])
    return f"{most}, {more} {'than' if '%' in more else 'as'} {last}{least} ({rate(values[-1])})."


def how_much_more(a: float, b: float) -> str:
    """How much more b is than a."""
    more = apart(a, b)
    return f"{100 * more:.2g} % more" if more < 1 else f"{1 + more:.2g} times as much"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _places(stacks: Iterable[Stack]) -> int:
    """How many links are the bottleneck of one stack or another."""
    return len({row["bottleneck"] for s in stacks for row in s.rows})


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    least, most = map(shown, _ends(values))
    return least if least == most else f"{least} to {most}"


def _and(stacks: Sequence[Stack]) -> str:
    if len(stacks) > MOST_NAMED:
        return f"{len(stacks)} stacks alike"
    return listed([s.named for s in stacks])


def _all(stacks: Sequence[Stack]) -> str:
    return "both stacks" if len(stacks) == 2 else f"all {len(stacks)} stacks"


def _elsewhere(stacks: Sequence[Stack], first: Sequence[Stack]) -> list[str]:
    """Where another stack is fastest at the median or the 99th percentile."""
    said = []
    for key, where in (("median", "at the median"), ("p99", "at the 99th percentile")):
        known = {s.name: value for s in stacks if (value := s.mean(key)) is not None}
        few = key == "p99" and min(s.finished for s in stacks) < ENOUGH
        if few or len(known) < len(stacks):
            continue
        least = min(stacks, key=lambda s: known[s.name])
        best = min(first, key=lambda s: known[s.name])
        if apart(known[least.name], known[best.name]) > ALIKE:
            said.append(
                f"{where} {least.named} is fastest ({seconds(known[least.name])}; "
                f"{seconds(known[best.name])} with {best.named})"
            )
    return [f"{text[0].upper()}{text[1:]}." for text in (", ".join(said),) if text]


def _sure(order: Sequence[Stack], more: float) -> list[str]:
    """In how many seeds the best was first, or that one seed may be chance."""
    seeds = min(len(s.rows) for s in order)
    if more <= ALIKE:
        return []
    if seeds > 1:
        won = sum(order[0].each()[n] == min(s.each()[n] for s in order) for n in range(seeds))
        return [f"{order[0].named} was first with {won} of {seeds} seeds."]
    fewest = min(s.finished for s in order)
    if order[0].what == "transfers" and fewest < FEW:
        return [
            f"So few transfers ({count(fewest)} with a stack) show little: --set repeat=10 runs ten seeds."
        ]
    if more < CLEAR:
        return ["With one seed so small a difference may be chance: --set repeat=10 runs ten."]
    return []


def _shares(stacks: Sequence[Stack]) -> str:
    """Stacks that share a run and whose flows have no end: what each got."""
    every = sum(s.goodput for s in stacks)
    most = sorted(stacks, key=lambda s: -s.goodput)
    uneven = len({s.rows[0]["flows"] for s in stacks}) > 1

    def one(s: Stack) -> str:
        flows = s.rows[0]["flows"]
        of = f", {_flows(flows)}" if uneven else ""
        return f"{percent(s.goodput / every if every else 0.0)} ({rate(s.goodput)}{of})"

    named = [f"{s.named} {'' if i else 'got '}{one(s)}" for i, s in enumerate(most[:MOST_NAMED])]
    left = f", {len(most) - MOST_NAMED} more the rest" if len(most) > MOST_NAMED else ""
    return f"Of the payload that all delivered, {', '.join(named)}{left}."


def _flows(n: int) -> str:
    return f"{count(n)} flow{'' if n == 1 else 's'}"


def _harm(stacks: Sequence[Stack]) -> str:
    """What was dropped and how many timeouts fired."""
    said = [f"timeouts: {_spread(stacks, lambda s: s.mean('timeouts') or 0.0, _number)}"]
    own = all(s.losses for s in stacks)
    losses = {s.name: fmean(s.losses) if own else s.mean("loss") for s in stacks}
    if None not in losses.values():
        # Where all is shared but the senders' own packets, every row has the bottleneck's number.
        where = (
            ""
            if own
            else " at the bottleneck"
            if _places(stacks) == 1
            else " at the busiest link, which differs"
        )
        said.insert(0, f"packets dropped{where}: {_spread(stacks, lambda s: losses[s.name] or 0.0, percent)}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _spread(stacks: Iterable[Stack], of: Callable[[Stack], float], shown: Callable[[float], str]) -> str:
    """A number of several stacks: one by one where they are few, else the extremes."""
    order = sorted(stacks, key=of)
    least, most = shown(of(order[0])), shown(of(order[-1]))
    if least == most:
        return f"{least} with {'both' if len(order) == 2 else 'each'}"
    if len(order) <= MOST_NAMED:
        return ", ".join(f"{shown(of(s))} with {s.named}" for s in order)
    return f"from {least} with {order[0].named} to {most} with {order[-1].named}"


def _unfinished(stacks: Sequence[Stack]) -> list[str]:
    """That transfers did not finish, which their times leave out."""
    said = []
    for s in stacks:
        begun = sum(row["flows"] for row in s.rows) - s.unlimited * len(s.rows)
        left = begun - sum(row["finished"] for row in s.rows)
        if left > 0:
            said.append(f"{count(left)} of {count(begun)} with {s.named}")
    if not said:
        return []
    named = ", ".join(said[:MOST_NAMED]) + (
        f", and more of {len(said) - MOST_NAMED} stacks" if len(said) > MOST_NAMED else ""
    )
    counted = "; times are those of the others" if any(s.times for s in stacks) else ""
    return [f"Transfers that did not finish: {named}{counted}."]
