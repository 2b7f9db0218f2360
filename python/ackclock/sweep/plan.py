"""Plans: files that declare a sweep."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ackclock import files
from ackclock._core import InputError
from ackclock.scenario import Scenario
from ackclock.scenario.tree import to_toml
from ackclock.scenario.which import check_plan
from ackclock.sweep.axis import KEYS as AXIS_KEYS
from ackclock.sweep.axis import near
from ackclock.sweep.result import Case
from ackclock.sweep.sweep import MOST, MOST_POINTS, Sweep, zipped
from ackclock.sweep.work import Failure

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = {
    "title": "its title in tables and figures",
    "scenario": "the scenario that is varied: the path of its file, from the plan's folder, or the whole "
    "scenario as a table `[scenario]`",
    "axes": "a table of axes; every combination of their values is run",
    "zip": "a table of axes that go together, the first values, the second values and so on; or several "
    "tables, `[[zip]]`",
    "set": "a table of further keys of the scenario, with the values that they have in all runs",
    "seeds": "how many seeds (1, 2 and so on), a list of seeds, or a range such as `10..14`; by default "
    "those of the scenario",
    "where": "which combinations are wanted: an expression over axes and `seed`; all of them by default",
    "most": f"how many runs there may be; {MOST:,} by default",
}
"""The keys of a plan, and what they mean."""


@dataclass(frozen=True)
class Plan:
    """A plan that was read."""

    name: str
    """Its name in messages: the file."""
    title: str
    text: str
    sweep: Sweep
    own: bool = False
    """Whether the scenario is a table of the plan."""

    def cases(self) -> list[Case]:
        """Every run that is wanted, as `Sweep.cases`."""
        try:
            cases = self.sweep.cases()
        except InputError as e:
            raise InputError(f"{self.name}: {e}") from None
        return [replace(c, failure=self._placed(c.failure)) if c.failure else c for c in cases]

    def _placed(self, failure: Failure) -> Failure:
        """The failure without the place in the file, if the scenario is a table of the plan: messages name
        the plan already, and lines are those of the table alone.
        """
        return replace(failure, place="") if self.own else failure


def read(file: Path, overrides: Mapping[str, str] | None = None, *, allow_files: bool = False) -> Plan:
    """Reads a plan. `overrides` are values for keys of the scenario that take precedence over the plan's
    `set`.

    allow_files: whether plan and scenario may name files outside their folders.
    """
    text = files.text(file, files.SCENARIO, "give the path of a plan (TOML)")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"{file}: this is not TOML: {e}") from None
    except RecursionError:
        raise InputError(f"{file}: this is not TOML that can be read: it is too deeply nested") from None

    def stop(sentence: str) -> InputError:
        return InputError(f"{file}: {sentence}")

    check_plan(file, found)
    unknown = [key for key in found if key not in KEYS]
    if unknown:
        raise stop(f"`{unknown[0]}` is not a known key{near(unknown[0], list(KEYS))}")
    if "scenario" not in found:
        raise stop(
            "`scenario` is missing: give the path of a scenario file, such as `scenario = "
            '"lossy-link.toml"`, or a table `[scenario]`'
        )
    title = found.get("title", "")
    if not isinstance(title, str):
        raise stop(f"`title` is `{title}`, which is not text in quotes")
    most = found.get("most", MOST)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_POINTS:
        raise stop(f"`most` is `{most}`; expected a whole number from 1 to {MOST_POINTS}")
    where = found.get("where")
    if where is not None and not isinstance(where, str):
        raise stop(f"`where` is `{where}`, which is not an expression in quotes such as `round_trip < 0.1`")
    scenario = _scenario(file, found["scenario"], stop, allow_files)
    try:
        fixed = {**flat(_table("set", found.get("set", {}))), **(overrides or {})}
        sweep = Sweep(
            scenario, _axes(found), seeds=_seeds(found.get("seeds")), where=where, fixed=fixed, most=most
        )
    except InputError as e:
        raise stop(str(e)) from None
    return Plan(str(file), title or file.stem, text, sweep, own=isinstance(found["scenario"], Mapping))


def _scenario(file: Path, given: Any, stop: Callable[[str], InputError], allow_files: bool) -> Scenario:
    if isinstance(given, Mapping):
        return Scenario(to_toml(dict(given)), str(file), file.parent, allow_files=allow_files)
    if not isinstance(given, str):
        raise stop(
            f"`scenario` is `{given}`; give the path of a scenario file in quotes, or a table `[scenario]`"
        )
    if not allow_files:
        files.check_within(file.parent, given, f"{file}: `scenario`")
    try:
        return Scenario.read(file.parent / given, allow_files=allow_files)
    except InputError as e:
        raise stop(f"`scenario`: {e}") from None


def _axes(found: Mapping[str, Any]) -> dict[Any, Any]:
    axes: dict[Any, Any] = dict(flat(_table("axes", found.get("axes", {})), leaf=_is_axis))
    groups = found.get("zip", [])
    for group in groups if isinstance(groups, list) else [groups]:
        together = zipped(flat(_table("zip", group), leaf=_is_axis))
        axes[tuple(a.name for a in together)] = together
    return axes


def _table(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"`{name}` is `{given}`, which is not a table `[{name}]`")
    return given


def _seeds(given: Any) -> Any:
    if given is None or isinstance(given, int | str | list):
        return given
    raise InputError(
        f"`seeds` is `{given}`; give a number of seeds such as 5, a list such as [1, 2, 7], or a range "
        "such as `10..14`"
    )


def _is_axis(given: Mapping[str, Any]) -> bool:
    """Whether a table is an axis, and not keys on the way to one: `path.rtt = [...]` makes a table `path`
    with an `rtt` in it.
    """
    return any(key in given for key in AXIS_KEYS)


def flat(
    given: Mapping[str, Any], leaf: Callable[[Mapping[str, Any]], bool] = lambda table: False, front: str = ""
) -> dict[str, Any]:
    """A table of tables as one with dotted keys."""
    flattened: dict[str, Any] = {}
    for key, value in given.items():
        # Only a whole key, at the top, may be dotted already: `"path.rtt" = ...`.
        part = key if not front or "." not in key else f'"{key}"'
        name = f"{front}.{part}" if front else part
        if isinstance(value, Mapping) and value and not leaf(value):
            flattened.update(flat(value, leaf, name))
        else:
            flattened[name] = value
    return flattened
