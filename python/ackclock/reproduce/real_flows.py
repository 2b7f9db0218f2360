"""Applications above kernels that acknowledge at once, or above the engine in real time, over one emulated
link, beside their simulated twins: for real forms that the testbed has no sockets for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ackclock import _core
from ackclock._core import MissingRightError, VoidRunError
from ackclock.reproduce.item import Setting
from ackclock.reproduce.real import side_by_side
from ackclock.reproduce.real_form import AT_ONCE, SIMULATED, TRIES, simulated

if TYPE_CHECKING:
    from ackclock.results import Run
    from ackclock.scenario import Scenario

KERNEL, ENGINE = "kernel", "engine"
LATE_SHARE, LATEST = 0.01, 0.05
"""The testbed's limits: the share of the packets that may be more than 1 ms late, and how late (s) one may
be.
"""
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Wanted:
    """A scenario of one link, and what is at its ends."""

    scenario: Scenario
    ends: tuple[str, str] = (KERNEL, KERNEL)
    """Of the clients and of the servers."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Of the kernels."""
    quick_acks: bool = False
    """Whether the kernels' sockets set TCP_QUICKACK after every read."""
    capture: Path | None = None
    """Where the packets at the clients' end go."""

    def asked(self) -> dict[str, Any]:
        """What `ackclock.cli.emulated` is asked for."""
        more = {"capture": str(self.capture)} if self.capture else {}
        return {
            "flows": self.scenario.resolve(),
            "carriers": list(self.ends),
            "parameters": self.parameters,
            "quick_acks": self.quick_acks,
            **more,
        }

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return _core.quantity("time", str(self.scenario.resolve_tree()["duration"]))


@dataclass(frozen=True)
class Beside:
    """What real packets gave, as `ackclock.cli.emulated` prints it, and the twin."""

    real: dict[str, Any]
    twin: Run

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows, a row each."""
        columns = self.real["flows"]
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def counter(self, *names: str) -> int:
        """The sum of counters of the clients' kernel."""
        return sum(c["client"] or 0 for c in self.real["counters"] if c["name"] in names)

    @property
    def lost(self) -> float:
        """The share of the packets that the link lost on their way there, by its queue or otherwise."""
        there = self.real["path"]["forward"]
        return (there["dropped_queue"] + there["dropped_wire"]) / max(there["offered"], 1)

    def notes(self, label: str) -> list[str]:
        """How well the emulator kept time."""
        path = self.real["path"]
        return [
            f"{label}: packets were {1e6 * path['mean_lateness']:.0f} us late on average and "
            f"{1e3 * path['max_lateness']:.1f} ms at most, {path['late']} of {path['delivered']} more than "
            "1 ms"
        ]


def beside(
    wanted: Mapping[Key, Wanted],
    setting: Setting,
    label: str,
    *,
    at_once: int = AT_ONCE,
    share: tuple[float, float] = (0.0, 1.0),
) -> dict[Key, Beside]:
    """Simulates scenarios, and then runs them on real packets, so many at the same time, again where the
    machine was too busy. Raises `MissingRightError` where the system does not permit it. share: the part of
    the form's work that this is.
    """
    middle = share[0] + SIMULATED * (share[1] - share[0])
    twins = simulated([w.scenario for w in wanted.values()], setting)
    setting.progress(middle, label)
    found: dict[Key, dict[str, Any]] = {}
    keys = list(wanted)
    batches = [keys[i : i + at_once] for i in range(0, len(keys), at_once)]
    for n, batch in enumerate(batches):
        width = (share[1] - middle) / len(batches)

        def report(part: float, begin: float = middle + n * width, width: float = width) -> None:
            setting.progress(begin + part * width, label)

        for tries in range(1, TRIES + 1):
            mine = {key: wanted[key] for key in batch if key not in found}
            done, void = run(mine, report)
            found |= done
            if not void:
                break
            if tries == TRIES:
                raise VoidRunError(void)
    return {key: Beside(found[key], twin) for key, twin in zip(keys, twins, strict=True)}


def run(wanted: Mapping[Key, Wanted], report: Any) -> tuple[dict[Key, dict[str, Any]], str]:
    """Runs scenarios at the same time. Returns the results of those whose emulator kept time, and a sentence
    about the last one that is void, if there is one.
    """
    seconds = max(w.seconds for w in wanted.values()) + 1
    results = side_by_side([[w.asked()] for w in wanted.values()], seconds=seconds, progress=report)
    found, void = {}, ""
    for key, result in zip(wanted, results, strict=True):
        if isinstance(result, str):
            raise MissingRightError(result)
        path = result[0]["path"]
        late = path["late"] / max(path["delivered"], 1)
        if late <= LATE_SHARE and path["max_lateness"] <= LATEST:
            found[key] = result[0]
            continue
        void = (
            f"a run is void: {100 * late:.1f} % of its packets were more than 1 ms late and one "
            f"{1e3 * path['max_lateness']:.0f} ms, because the machine was busy; expected at most "
            f"{100 * LATE_SHARE:g} % and none later than {1e3 * LATEST:g} ms"
        )
    return found, void
