"""A whole scenario, and how it is run."""

from __future__ import annotations

import contextvars
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock import _core, files
from ackclock._core import InputError
from ackclock.policy.declared import shown
from ackclock.scenario.path import Path
from ackclock.scenario.stack import Stack
from ackclock.scenario.tree import Tree, inline, plain, table, to_toml
from ackclock.scenario.which import check_scenario

if TYPE_CHECKING:
    from ackclock.results import Run

TRACED_EVENTS: int | None = None
"""Traced events to keep in memory; None for the engine's default, two million."""
Progress = Callable[[float, str], None]
"""A callback that gets the share of the work that is done, and what is being done."""


BEFORE_RUNS: contextvars.ContextVar[Callable[[Sequence[Scenario]], list[Scenario]] | None] = (
    contextvars.ContextVar("before_runs", default=None)
)
"""What replaces scenarios that this thread is about to run; `ackclock.scenario.variation` sets it."""


class Arrivals(NamedTuple):
    """The expected arrivals of a workload of kind `web`."""

    workload: str
    """Its name."""
    rate: float
    """Flows per second."""
    mean_size: float
    """Bytes of a flow, on average."""


@dataclass(frozen=True)
class Scenario:
    """A scenario: the text of a scenario file (path, workload, stacks, seed) and changes to it."""

    text: str
    """TOML."""
    name: str = "scenario"
    """Its name in messages: the file that it was read from."""
    folder: File | None = None
    """The folder of the files that it names."""
    overrides: tuple[tuple[str, str], ...] = field(default=())
    """Keys with their values, such as `("path.rtt", "50ms")`."""
    allow_files: bool = False
    """Whether it may name files outside its folder, too."""

    @staticmethod
    def read(file: str | File, *, allow_files: bool = False) -> Scenario:
        """Reads a scenario file. allow_files: whether it may name files outside its own folder."""
        file = File(file)
        text = files.text(file, files.SCENARIO, "give the path of a scenario file (TOML)")
        check_scenario(file, text)
        return Scenario(text, str(file), file.parent, allow_files=allow_files)

    @staticmethod
    def of(path: Path | Tree, workload: Any, stacks: Any, **options: Any) -> Scenario:
        """Makes a scenario from its parts; see `simulate`."""
        workloads = (
            list(workload) if isinstance(workload, Sequence) and not isinstance(workload, str) else [workload]
        )
        if isinstance(stacks, Stack | str):
            stacks = {stacks if isinstance(stacks, str) else stacks.preset or "tcp": stacks}
        tree = {
            **table(**options),
            "path": plain(path),
            "workload": [plain(w) for w in workloads],
            "stacks": plain(stacks),
        }
        return Scenario(to_toml(tree), "the scenario")

    def but(self, overrides: Mapping[str, Any]) -> Scenario:
        """The same scenario with some values changed, by dotted key."""
        values = {key: plain(value) for key, value in overrides.items()}
        changed = tuple(
            (key, value if isinstance(value, str) else inline(value)) for key, value in values.items()
        )
        return replace(self, overrides=(*self.overrides, *changed))

    def resolve(self) -> str:
        """The scenario with every default explicit, TOML. Raises ScenarioError when it is invalid."""
        return _core.resolve(*self._read(), self.allow_files)

    def resolve_tree(self) -> Tree:
        """The same as dictionaries, lists and values, with the keys of the resolved text in its order."""
        return _core.resolve_tree(*self._read(), self.allow_files)

    def resolve_seeds(self, seeds: Sequence[int] | None = None) -> dict[int, str]:
        """The resolved text for each of `seeds`, with that seed alone; by default for each of its own."""
        return dict(
            _core.resolve_seeds(*self._read(), None if seeds is None else list(seeds), self.allow_files)
        )

    def expected_events(self) -> float:
        """An upper estimate of the events that its runs will trace. Raises ScenarioError when it is
        invalid.
        """
        return _core.expected_events(*self._read(), self.allow_files)

    def expected_arrivals(self) -> list[Arrivals]:
        """The expected arrivals of its workloads of kind `web`. Raises ScenarioError when it is invalid."""
        return [Arrivals(*found) for found in _core.expected_arrivals(*self._read(), self.allow_files)]

    def _read(self) -> tuple[str, list[tuple[str, str]], str, File | None]:
        """The arguments from which the core reads a scenario."""
        return self.text, list(self.overrides), self.name, self.folder

    def simulate(
        self,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        memory: str | int | None = None,
        trace_limit: str | int | None = None,
        scratch: File | None = None,
    ) -> Run:
        """Runs it: each stack in a world of its own, side by side on `workers` cores (all, by default). The
        tables do not depend on `workers`.

        memory: that a run may use, such as `"8GiB"`, 4 GiB by default. trace_limit: the disk space that a
        trace may use if it does not fit in memory, 16 GiB by default. scratch: a folder on that disk.
        """
        from ackclock.results import spill as spills
        from ackclock.results.run import host, of_result

        began = time.perf_counter()
        (given,) = to_run([self])
        spill = spills.Spill(
            scratch, spills.LIMIT if trace_limit is None else size("trace_limit", trace_limit)
        )
        result = _core.simulate(
            *given._read(),
            workers or cores(),
            progress,
            self.allow_files,
            memory=None if memory is None else size("memory", memory),
            traced_events=TRACED_EVENTS,
            sink=spill,
        )
        about = {
            "scenario": self.name,
            "title": result.title,
            "seeds": result.seeds,
            "warmup": result.warmup,
            "events": result.events,
            "seconds": round(time.perf_counter() - began, 3),
            "version": _core.version,
            "host": host(),
            # A run in which packets or bytes are not conserved ends with an error.
            "checks": [{"name": "packets and bytes are conserved", "holds": True}],
        }
        return of_result(result, about, spill)

    def check_testbed(self) -> None:
        """Raises InputError for what a kernel cannot honour, as `testbed` does; runs nothing."""
        from ackclock.kernel import check_testbed

        check_testbed(self._read(), allow_files=self.allow_files)

    def testbed(self, *, progress: Progress | None = None, capture: File | None = None) -> Run:
        """Runs it on the kernel's TCP, in network namespaces over emulated links, in real time, one run after
        the other. Needs Linux, and root or user namespaces.

        capture: a file for the packets of the first client's host. Raises MissingRightError where the system
        does not permit it, InputError for what a kernel cannot honour, and VoidRunError if the machine was
        too busy to keep time.
        """
        from ackclock.kernel import run_testbed

        (given,) = to_run([self])
        given.resolve()
        return run_testbed(
            given._read(),
            allow_files=self.allow_files,
            progress=progress,
            capture=capture,
        )


def to_run(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios as they are run: themselves, unless this thread changes what it runs."""
    change = BEFORE_RUNS.get()
    return change(scenarios) if change else list(scenarios)


def simulate(
    path: Path | Tree | Scenario | str | File,
    workload: Any = None,
    stacks: Mapping[str, Stack | str] | Stack | str | None = None,
    *,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    memory: str | int | None = None,
    trace_limit: str | int | None = None,
    **options: Any,
) -> Run:
    """Simulates a workload over a path, once for each stack.

    path: a `Dumbbell`, `Single`, `Chain` or `Graph`; or a whole `Scenario` or the path of its file, without
    workload and stacks. workload: one, such as `ac.Web(trace="I", load=1.2)`, or several. stacks: by label.
    seed: of all random streams, 1 or the scenario's own by default. workers: runs side by side, one per core
    by default; results do not depend on it. progress: called with the share of the work done. memory: that a
    run may use, such as `"8GiB"`, 4 GiB by default. trace_limit: the disk space that a trace may use if it
    does not fit in memory, 16 GiB by default. options: further keys of a scenario file's top level, such as
    `duration="300s"`.

    Returns the tables and numbers of the run. Raises ScenarioError or PolicyError for invalid input; can be
    interrupted.
    """
    return _whole(path, workload, stacks, seed, options).simulate(
        workers=workers, progress=progress, memory=memory, trace_limit=trace_limit
    )


def testbed(
    path: Path | Tree | Scenario | str | File,
    workload: Any = None,
    stacks: Mapping[str, Stack | str] | Stack | str | None = None,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    capture: File | None = None,
    **options: Any,
) -> Run:
    """Runs a workload over a path on the kernel's TCP, once for each stack, in real time: every host is a
    network namespace, all links are emulated. Needs Linux, and root or user namespaces.

    stacks: by label; each is `linux`, `linux-reno` or `linux-bbr`, or has a `kernel`, such as
    `ac.Stack(kernel={"cc": "cubic"})`. capture: a file for the packets of the first client's host. The other
    arguments are those of `simulate`, and so is what it returns.

    Raises MissingRightError where the system does not permit it, and InputError for what a kernel cannot
    honour.
    """
    return _whole(path, workload, stacks, seed, options).testbed(progress=progress, capture=capture)


def _whole(
    path: Path | Tree | Scenario | str | File,
    workload: Any,
    stacks: Mapping[str, Stack | str] | Stack | str | None,
    seed: int | None,
    options: dict[str, Any],
) -> Scenario:
    """The scenario of a path, a workload and stacks, or of a whole scenario."""
    if isinstance(path, Scenario | str | File):
        for name, given in (("workload", workload), ("stacks", stacks)):
            if given is not None:
                raise InputError(
                    f"`{name}` is given beside a whole scenario, which has its own; give a path such "
                    "as `ac.Dumbbell`, or the scenario alone"
                )
        whole = path if isinstance(path, Scenario) else Scenario.read(path)
        changed = {**({} if seed is None else {"seed": seed}), **options}
        return whole.but(changed) if changed else whole
    if not hasattr(path, "to_scenario") and not isinstance(path, Mapping):
        raise InputError(
            f"`path` is {shown(path)}, which is neither a path such as `ac.Dumbbell` nor a scenario, "
            "nor the path of a scenario file"
        )
    for name, given, such in (
        ("workload", workload, '`ac.Web(trace="I", load=1.2)`'),
        ("stacks", stacks, '`{"tcp": "sack"}`'),
    ):
        if given is None:
            raise InputError(f"`{name}` is missing: give one such as {such}")
    return Scenario.of(path, workload, stacks, seed=1 if seed is None else seed, **options)


def size(name: str, given: str | int) -> int:
    """A number of bytes, given with or without its unit; errors call it `name`."""
    try:
        found = given if isinstance(given, int) else int(_core.quantity("size", given))
    except InputError as e:
        raise InputError(f"`{name}`: {e}") from None
    if found < 1 << 20:
        raise InputError(f"`{name}` is `{given}`; expected a size of at least 1 MiB, such as `8GiB`")
    return found


def cores() -> int:
    """The processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
