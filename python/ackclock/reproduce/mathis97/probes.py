"""Probe runs (M-U3) over paths whose loss and delay are known: simulated ones, and emulated ones between two
real kernels.
"""

from __future__ import annotations

import json
from typing import Any

from ackclock import _core
from ackclock.reproduce.real import between_kernels
from ackclock.results import probe
from ackclock.scenario import Scenario

MSS = 1460


def settings(
    seconds: float,
    *,
    warmup: float = 0.0,
    background: int = 0,
    stack: str = probe.STACK,
    max_rate: float = 1e9,
) -> dict[str, Any]:
    """What a run does; the background probe is 50 ms apart."""
    return {
        "stack": stack,
        "mss": MSS,
        "max_rate": max_rate,
        "seconds": seconds,
        "warmup": warmup,
        "background": background,
        "interval": 0.05,
    }


def path(delay: str, fault: dict[str, Any] | None = None, seed: int = 1, **link: Any) -> str:
    """A path of two links with that delay each, all loss on the way there."""
    there = {"rate": "10Gbit/s", "delay": delay, **link}
    back = {"rate": "10Gbit/s", "delay": delay}
    lossy = {**there, "faults": [fault]} if fault else there
    return Scenario.of(
        {"kind": "single", "link": lossy, "back": back}, {"kind": "bulk"}, {"x": "sack"}, seed=seed
    ).text


def simulated(
    path: str, settings: dict[str, Any], replies: tuple[float, float] | None = None
) -> dict[str, Any]:
    """A run in virtual time, reported. replies: how many the host sends in a second at most, and how many at
    once.
    """
    found = json.loads(_core.probe_simulated(path, settings, replies))
    return {**probe.summary(found, settings["stack"]), "path": found["path"]}


def emulated(runs: list[dict[str, Any]]) -> list[dict[str, Any]] | str:
    """Runs over real packets, reported, or the sentence that says what is missing for them.

    A run has `path`, `settings`, and if wanted `address`, `ttl` and `limit`. They run in a process of their
    own: only one with a single thread may enter a user namespace.
    """
    found = between_kernels(runs)
    if isinstance(found, str):
        return found
    return [
        {**probe.summary(f, run["settings"]["stack"]), "path": f["path"]}
        for f, run in zip(found, runs, strict=True)
    ]
