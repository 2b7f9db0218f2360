"""Scenarios and plans of sweeps are both TOML: tells which of them a file is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path

from ackclock._core import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OF_PLANS = ("scenario", "axes", "zip")
"""Keys that only plans have."""
OF_SCENARIOS = ("path", "workload", "stacks")
"""Keys that every scenario has, and no plan."""


def check_scenario(file: Path, text: str) -> None:
    """Refuses a plan where a scenario belongs. What is not TOML is left to the reader of scenarios."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    if keys := _met(OF_PLANS, found):
        raise InputError(
            f"{file}: this is a sweep plan (it has {keys}), which `ackclock sweep {shlex.quote(str(file))}` "
            "runs; expected a scenario"
        )


def check_plan(file: Path, found: Collection[str]) -> None:
    """Refuses a scenario where a plan belongs; `found` are the keys of the file. Keys of scenarios are words;
    another one is left to the reader of plans, which names it.
    """
    words = all(key.isidentifier() for key in found)
    if words and not _met(OF_PLANS, found) and (keys := _met(OF_SCENARIOS, found)):
        raise InputError(
            f"{file}: this is a scenario (it has {keys}), which `ackclock run {shlex.quote(str(file))}` "
            f'runs; expected a sweep plan, which names one (`scenario = "{file.name}"`) and the axes to vary'
        )


def _met(keys: tuple[str, ...], found: Collection[str]) -> str:
    """Those of the keys that are there, as words; empty where none is."""
    return ", ".join(f"`{key}`" for key in keys if key in set(found))
