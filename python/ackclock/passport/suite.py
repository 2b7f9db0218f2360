"""Runs the criteria, and judges the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ackclock.passport.criteria import CRITERIA
from ackclock.passport.criterion import HARMFUL, NOTE, OK, Criterion
from ackclock.passport.scene import TESTED, Scene
from ackclock.passport.subject import STANDARDS, Subject
from ackclock.scenario import Scenario
from ackclock.scenario.tree import to_toml
from ackclock.sweep import run_all

WORST = (HARMFUL, NOTE, OK)
"""Verdicts, the worst one first."""


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    seeds: int
    stretch: float
    """The factor by which scenes that may be are lengthened."""

    def of(self, scene: Scene) -> Scene:
        """The scene with that length."""
        if not scene.steady:
            return scene
        return replace(scene, duration=scene.duration * self.stretch, warmup=scene.warmup * self.stretch)


QUICK, FULL = Size(3, 1.0), Size(10, 3.0)


@dataclass(frozen=True)
class Found:
    """What one scene gave: means over the seeds."""

    where: str
    value: float
    standards: dict[str, float]
    """The numbers of the standards in the place of the window under test."""
    limit: float
    """The last number that is within the bound."""
    verdict: str


@dataclass(frozen=True)
class Answer:
    """What one criterion gave."""

    criterion: Criterion
    scenes: tuple[Found, ...]

    @property
    def worst(self) -> Found:
        """The scene that decides: the worst verdict, and of those the number that is furthest out."""
        room = self.criterion.bound.room
        return min(self.scenes, key=lambda s: (WORST.index(s.verdict), room(s.value, s.limit)))

    @property
    def verdict(self) -> str:
        """The verdict of the scene that decides."""
        return self.worst.verdict


def examine(
    subject: Subject,
    size: Size = QUICK,
    *,
    criteria: Sequence[Criterion] = CRITERIA,
    workers: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> list[Answer]:
    """Runs criteria for a window. workers: runs side by side, one per core by default; results do not depend
    on it.
    """
    windows = (None, *STANDARDS)
    places = [
        (criterion, scene, window, seed, tested)
        for criterion in criteria
        for scene in criterion.scenes
        for window in windows
        for seed in range(1, size.seeds + 1)
        for tested in ([scene.tested] if scene.without is None else [scene.tested, scene.without])
    ]
    scenarios = [
        scenario(subject, replace(size.of(scene), tested=tested), window, seed)
        for _, scene, window, seed, tested in places
    ]
    runs = run_all(scenarios, workers=workers, progress=progress)
    measured: dict[tuple[str, str, str | None, int], list[float]] = {}
    for (criterion, scene, window, seed, _), run in zip(places, runs, strict=True):
        measured.setdefault((criterion.id, scene.where, window, seed), []).append(criterion.measure(run))
    numbers: dict[tuple[str, str, str | None], list[float]] = {}
    for (*place, _), values in measured.items():
        numbers.setdefault(tuple(place), []).append(_number(values))
    means = {key: float(np.mean(values)) for key, values in numbers.items()}
    return [Answer(c, tuple(_found(c, s, means) for s in c.scenes)) for c in criteria]


def scenario(subject: Subject, scene: Scene, window: str | None, seed: int) -> Scenario:
    """One run: a scene with the window under test, or with a standard in its place."""
    # The standards have the scene's choices, whatever was chosen for the window under test.
    chosen = subject.chosen if window is None else frozenset()
    tested = {**scene.options, **{k: v for k, v in scene.tested.items() if k not in chosen}}
    stacks = {
        label: subject.stack(window, tested) if label == TESTED else subject.stack(label, scene.options)
        for label in sorted(scene.stacks())
    }
    tree = {
        "seed": seed,
        "duration": f"{scene.duration:g}s",
        "warmup": f"{scene.warmup:g}s",
        "drain": f"{scene.drain:g}s",
        "series": f"{scene.series:g}s",
        "path": scene.path,
        "workload": list(scene.workloads),
        "stacks": stacks,
    }
    return Scenario(to_toml(tree), f"{scene.where} with {window or subject.text}")


def _number(values: Sequence[float]) -> float:
    """The number of a run, or of a run over that of the second one."""
    if len(values) == 1:
        return values[0]
    first, second = values
    return first / second if second else 1.0


def _found(c: Criterion, scene: Scene, means: dict[tuple[str, str, str | None], float]) -> Found:
    value = means[c.id, scene.where, None]
    standards = {name: means[c.id, scene.where, name] for name in STANDARDS}
    limit = c.bound.limit(list(standards.values()))
    return Found(scene.where, value, standards, limit, c.verdict(value, limit))
