"""The link that options describe, as a scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock import _core, files
from ackclock._core import InputError, ScenarioError
from ackclock.scenario import tree
from ackclock.scenario.which import check_scenario

UP, DOWN = "up", "down"
KEYS = {DOWN: "path.link", UP: "path.back"}
"""The link to the command is that of the scenario, whose senders are behind it."""
ENDLESS = "1Tbit/s"
"""The rate where none is given: a packet takes 12 ns, so that nothing waits."""
HELD = "1000000packets"
"""The queue of such a link."""
LENGTHS = "a length such as `100packets`, `64KiB`, `2bdp` or `50ms`"


@dataclass(frozen=True)
class Direction:
    """What options say of one direction, each with the option's name."""

    rate: tuple[str, str] | None = None
    delay: tuple[str, str] | None = None
    loss: tuple[str, str] | None = None
    queue: tuple[str, str] | None = None
    trace: tuple[str, str] | None = None


@dataclass
class EmulatedPath:
    """A scenario and changes to it, each with the option that it comes from."""

    text: str
    folder: Path
    overrides: dict[str, tuple[str, str]] = field(default_factory=dict)
    endless: set[str] = field(default_factory=set)

    def set(self, key: str, value: str, option: str) -> None:
        """Changes a value, by the key of the scenario."""
        self.overrides[key] = (value, option)

    def changes(self) -> list[tuple[str, str]]:
        """The changes as the core takes them."""
        return [(key, value) for key, (value, _) in self.overrides.items()]

    def check(self) -> dict[str, Any]:
        """The resolved path; an error names the option."""
        try:
            resolved = _core.resolve_tree(self.text, self.changes(), "link", self.folder, True)
        except ScenarioError as e:
            raise InputError(self._sentence(e)) from None
        path = resolved["path"]
        assert isinstance(path, dict)
        return path

    def _sentence(self, e: ScenarioError) -> str:
        """What is wrong, by the options in place of the keys that they set."""
        reason, key = e.reason or str(e), (e.key or "").partition("=")[0]
        if not key and e.place and not e.place.startswith("link:"):
            # A line of a file that an option names.
            return f"{e.place}: {reason}"
        for known, (_, option) in self.overrides.items():
            for name in (known, known.removesuffix(".kind"), known.replace(".faults.loss.", ".faults.")):
                reason = reason.replace(f"`{name}`", f"`{option}`")
        for prefix in KEYS.values():
            reason = reason.replace(f"`{prefix}.", "`")
        option = self.overrides.get(key, ("", ""))[1]
        if "no common round-trip time" in reason:
            value = self.overrides[key][0]
            return (
                f"`{option}` is `{value}`, which counts in round-trip times, and the link has no delay; give "
                "`--delay` as well, or packets, bytes or a time such as `100ms`"
            )
        return f"`{option}`: {reason}" if option and f"`{option}`" not in reason else reason


def described(
    directions: Mapping[str, Direction], scenario: Path | None, changes: Iterable[str], seed: int
) -> EmulatedPath:
    """The scenario of the options."""
    if scenario is None:
        base: dict[str, Any] = {KEYS[d].removeprefix("path."): {} for d in (DOWN, UP)}
    else:
        base = _of(scenario)
    text = tree.to_toml(
        {
            "seed": seed,
            "path": {"kind": "single", "rtt": "links", **base},
            "workload": {"kind": "bulk"},
            "stacks": {"any": "reno"},
        }
    )
    found = EmulatedPath(text, Path.cwd())
    for name, direction in directions.items():
        _direct(found, name, direction)
    for change in changes:
        _change(found, change)
    for name in (UP, DOWN):
        _complete(found, name, base[KEYS[name].removeprefix("path.")])
    return found


def _of(scenario: Path) -> dict[str, Any]:
    """The link and the way back of a scenario file, resolved."""
    text = files.text(scenario, files.SCENARIO, "give a scenario, a TOML file")
    check_scenario(scenario, text)
    path = _core.resolve_tree(text, [], str(scenario), scenario.parent, True)["path"]
    kind = path["kind"]
    key = {"single": "link", "dumbbell": "bottleneck"}.get(kind)
    if key is None:
        raise InputError(
            f"`--scenario {scenario}` has a path of the kind `{kind}`; give one with one link, of the kind "
            "`single` or `dumbbell`"
        )
    return {"link": path[key], "back": path["back"]}


def _direct(found: EmulatedPath, name: str, given: Direction) -> None:
    key = KEYS[name]
    if given.rate and given.trace:
        raise InputError(
            f"`{given.rate[1]}` and `{given.trace[1]}` both say how fast the link is; give one of the two"
        )
    if given.rate:
        found.set(f"{key}.rate", *given.rate)
    if given.delay:
        found.set(f"{key}.delay", *given.delay)
    if given.loss:
        found.set(f"{key}.faults.loss.p", *given.loss)
    if given.trace:
        found.set(f"{key}.mahimahi.file", *given.trace)
    if given.queue:
        text, option = given.queue
        for part, value in _queue(text, option):
            plain = part == "kind" or (part == "limit" and "=" not in text)
            found.set(f"{key}.queue.{part}", value, option if plain else f"{option}: {part}")


def _queue(text: str, option: str) -> Sequence[tuple[str, str]]:
    """`codel`, `2bdp` or `red(limit=2bdp)` as keys of a queue."""
    parsed = re.fullmatch(r"([a-z][a-z0-9-]*)(?:\((.*)\))?", text.strip())
    if not parsed:
        if "(" in text:
            raise InputError(
                f"`{option} {text}` is no queue; give a name, a name with parameters such as "
                f"`red(limit=2bdp)`, or {LENGTHS}"
            )
        return [("kind", "drop-tail"), ("limit", text.strip())]
    parts = [("kind", parsed[1])]
    for given in filter(None, (part.strip() for part in (parsed[2] or "").split(","))):
        key, equals, value = (s.strip() for s in given.partition("="))
        if not equals or not key or not value:
            raise InputError(
                f"`{option} {text}`: `{given}` is not a parameter and its value, such as `limit=2bdp`; a "
                f"queue is a name, a name with parameters such as `red(limit=2bdp)`, or {LENGTHS}"
            )
        parts.append((key, value))
    return parts


def _change(found: EmulatedPath, text: str) -> None:
    key, equals, value = (s.strip() for s in text.partition("="))
    if not equals or not key:
        raise InputError(
            f"`--set {text}` is not a key of a link and a value, such as `--set faults.loss.p=1%` or `--set "
            "down.jitter.mean=5ms`"
        )
    first, _, rest = key.partition(".")
    for name in [first] if first in KEYS else KEYS:
        found.set(f"{KEYS[name]}.{rest if first in KEYS else key}", value, f"--set {key}")


def _paced(found: EmulatedPath, name: str) -> bool:
    """Whether a direction has a rate of some kind."""
    parts = (key.split(".")[2] for key in found.overrides if key.startswith(f"{KEYS[name]}."))
    return any(part in ("rate", "mahimahi", "schedule") for part in parts)


def _complete(found: EmulatedPath, name: str, base: Mapping[str, Any]) -> None:
    """What is not given: the way back would take it from the way there otherwise."""
    key = KEYS[name]
    mine = [known for known in found.overrides if known.startswith(f"{key}.")]
    if base:
        return
    if not _paced(found, name):
        for queue in [k for k in mine if k.split(".")[2] == "queue"]:
            option = found.overrides.pop(queue)[1]
            # One for both directions is for those that have a queue.
            if not option.startswith("--queue") or not any(_paced(found, other) for other in KEYS):
                raise InputError(
                    f"`{option}`: a link without a rate has no queue; give `--rate` or `--trace` as well"
                )
        mine = [k for k in mine if k in found.overrides]
        found.endless.add(name)
        found.set(f"{key}.rate", ENDLESS, "--rate")
        found.set(f"{key}.queue.limit", HELD, "--queue")
    if f"{key}.delay" not in found.overrides:
        found.set(f"{key}.delay", "0s", "--delay")
    if not any(k.split(".")[2] == "queue" and (k.endswith(".queue") or k.endswith(".kind")) for k in mine):
        changes = found.overrides
        found.overrides = {f"{key}.queue.kind": ("drop-tail", "--queue"), **changes}
