"""Real forms: items of the papers on the kernel's TCP, each beside its simulated twin. A form has the id of
its item, is no item of its own and stands in no count.

They need Linux and its rights, and take as long as their scenarios say.
"""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ackclock._core import InputError, MissingRightError, VoidRunError
from ackclock.quantities import for_people
from ackclock.reproduce import record
from ackclock.reproduce.item import ITEMS, Item, Outcome, Setting
from ackclock.reproduce.verdicts import HOLDS, stale

if TYPE_CHECKING:
    from ackclock.results import Run
    from ackclock.scenario import Scenario

NAME = "real"
KERNEL, TWIN = "kernel", "simulated"
"""What the two worlds are called in figures and notes."""
Key = TypeVar("Key", bound=Hashable)
FORMS: dict[str, Item] = {}
"""The forms by the id of their item."""
TRIES = 3
"""Runs of a scenario before a machine counts as too busy."""
AT_ONCE = 8
"""Scenarios on the kernel at the same time, which take a few parts in a hundred of a core each."""
SIMULATED = 0.1
"""The part of the work that simulating takes."""
T = TypeVar("T")


def real_form(
    id: str, *, title: str, choices: dict[str, str] | None = None
) -> Callable[[Callable[[Setting], Outcome]], Callable[[Setting], Outcome]]:
    """Declares the decorated function as the real form of the item `id`."""

    def declare(function: Callable[[Setting], Outcome]) -> Callable[[Setting], Outcome]:
        paper = function.__module__.split(".")[-2]
        FORMS[id] = Item(f"{id} real", paper, "REAL, SIM", title, choices or {}, guarded(function))
        return function

    return declare


def guarded(function: Callable[[Setting], Outcome]) -> Callable[[Setting], Outcome]:
    """The same, skipped where the system does not permit it or is too busy."""

    def run(setting: Setting) -> Outcome:
        try:
            return function(setting)
        except (MissingRightError, VoidRunError) as e:
            return Outcome([], skipped=str(e))

    return run


def forms(items: Sequence[Item]) -> list[Item]:
    """The real forms of items that have one. Raises `InputError` where none has."""
    found = [FORMS[i.id] for i in items if i.id in FORMS]
    if not found:
        raise InputError(
            f"{', '.join(i.id for i in items[:5])} has no form on the kernel; expected one of "
            f"{', '.join(FORMS)}"
        )
    return found


@dataclass(frozen=True)
class Pair:
    """A scenario on the kernel, and simulated."""

    kernel: Run
    twin: Run

    def notes(self, label: str) -> list[str]:
        """The kernel's release and how well the emulator kept time."""
        bed = self.kernel.about["testbed"]
        late = [r["late"] for r in bed["runs"]]
        deliveries = sum(x["deliveries"] for x in late)
        mean = sum(x["mean"] * x["deliveries"] for x in late) / max(deliveries, 1)
        return [
            f"{label}: {bed['kernel']}; packets were {1e6 * mean:.0f} us late on average and "
            f"{1e3 * max((x['max'] for x in late), default=0.0):.1f} ms at most, "
            f"{sum(x['late'] for x in late)} of {deliveries} more than 1 ms"
        ]


def beside(scenario: Scenario, setting: Setting, label: str, share: tuple[float, float] = (0.0, 1.0)) -> Pair:
    """Runs a scenario on the kernel, again where the machine was too busy, and simulates it. share: the part
    of the form's work that this is.
    """

    def report(part: float, _: str) -> None:
        setting.progress(share[0] + part * (share[1] - share[0]), label)

    twin = scenario.simulate(workers=setting.workers)
    return Pair(again(lambda: scenario.testbed(progress=report)), twin)


def again(run: Callable[[], T]) -> T:
    """What `run` returns, called again where the machine was too busy."""
    for _ in range(TRIES - 1):
        try:
            return run()
        except VoidRunError:
            pass
    return run()


def told(run: Run) -> Run:
    """The same run. Raises `VoidRunError` where the kernel's events were recorded and differ from its
    counters, so that entries into recovery are unknown: rare, and another try has them.
    """
    lost = [line for r in run.about["testbed"]["runs"] for line in r["events"]["missing"]]
    unknown = [line for line in lost if line.startswith("`fast_recoveries` is missing")]
    if unknown:
        raise VoidRunError(unknown[0])
    return run


def simulated(scenarios: Sequence[Scenario], setting: Setting) -> list[Run]:
    """The twins, simulated in this process: a sweep's would wait beside the kernel's runs meanwhile."""
    with ThreadPoolExecutor(setting.workers or os.cpu_count()) as pool:
        # A thread begins without what changes the scenarios of this one.
        started = [
            pool.submit(contextvars.copy_context().run, functools.partial(s.simulate, workers=1))
            for s in scenarios
        ]
        return [done.result() for done in started]


def together(
    scenarios: Mapping[Key, Scenario],
    setting: Setting,
    label: str,
    *,
    at_once: int = AT_ONCE,
    share: tuple[float, float] = (0.0, 1.0),
    recoveries: bool = False,
) -> dict[Key, Pair]:
    """Simulates scenarios, and then runs them on the kernel, so many at the same time: each has namespaces
    and an emulator of its own. share: the part of the form's work that this is. recoveries: a run whose
    entries into recovery are unknown is run again.
    """
    middle = share[0] + SIMULATED * (share[1] - share[0])
    twins = dict(zip(scenarios, simulated(list(scenarios.values()), setting), strict=True))
    setting.progress(middle, label)
    kernels: dict[Key, Run] = {}

    def real(scenario: Scenario) -> Run:
        return again(lambda: told(scenario.testbed()) if recoveries else scenario.testbed())

    with ThreadPoolExecutor(at_once) as pool:
        started = {pool.submit(contextvars.copy_context().run, real, s): key for key, s in scenarios.items()}
        try:
            for done in as_completed(started):
                kernels[started[done]] = done.result()
                part = len(kernels) / len(scenarios)
                setting.progress(middle + part * (share[1] - middle), label)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {key: Pair(kernels[key], twins[key]) for key in scenarios}


def recorded() -> dict[str, dict[str, Any]]:
    """The record by the item's id: as `verdicts.entry` has it, with `date`, `wall` (s) and `full`."""
    return record.read(NAME)


def image(id: str, name: str) -> str:
    """The file of a figure."""
    return f"{id}-real-{name}.png"


def section(id: str) -> str:
    """What an item's section says of its real form; empty without one on record."""
    found = recorded().get(id)
    if found is None or id not in FORMS:
        return ""
    form = FORMS[id]
    said = "holds" if found["verdict"] == HOLDS else "falls short"
    reason = f" {found['reason']}" if found["reason"] else ""
    reason += " (Written for other figures than those below.)" if stale(found) else ""
    text = f"\n**For real: {said}.**{reason} {form.title}. Run {found['date']} in {found['wall']} s.\n"
    text += "".join(f"\n![{form.id}: {form.title}](images/{image(id, name)})\n" for name in found["figures"])
    text += "\n| holds | check for real | expected | got |\n|---|---|---|---|\n"
    for c in found["checks"]:
        expected, got = for_people(c["expected"], c["got"], c["holds"])
        text += f"| {'yes' if c['holds'] else '**no**'} | {c['name']} | {expected} | {got} |\n"
    lines = [*(f"{what}: {chosen}" for what, chosen in form.choices.items()), *found["notes"]]
    return text + "\n" + "".join(f"- {line}\n" for line in lines)


def shown_images() -> set[str]:
    """The figures of all forms on record."""
    return {image(id, name) for id, e in recorded().items() if id in ITEMS for name in e["figures"]}
