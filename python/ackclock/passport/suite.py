"""Runs the criteria, and judges the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ackclock.passport.criteria import CRITERIA
from ackclock.passport.criterion import HARMFUL, NOTE, OK, Criterion
from ackclock.passport.scene import TESTED, Scene
from ackclock.passport.subject import STANDARDS, Subject
from ackclock.results.confidence import half_width
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
    interval: float
    """Half the width of the 95 % interval of the distance between the number and its bound; 0 where all seeds
    agree.
    """

    @property
    def settled(self) -> bool:
        """Whether that interval lies on one side of the bound."""
        return abs(self.value - self.limit) >= self.interval


@dataclass(frozen=True)
class Answer:
    """What one criterion gave."""

    criterion: Criterion
    scenes: tuple[Found, ...]

    @property
    def worst(self) -> Found:
        """The scene that decides: the worst verdict, of those within the bound what other seeds could turn,
        and of those the number that is furthest out.
        """
        bound = self.criterion.bound

        def order(scene: Found) -> tuple[int, bool, float]:
            sure = scene.settled and bound.keeps(scene.value, scene.limit)
            return WORST.index(scene.verdict), sure, bound.room(scene.value, scene.limit)

        return min(self.scenes, key=order)

    @property
    def verdict(self) -> str:
        """The verdict of the scene that decides."""
        return self.worst.verdict

    @property
    def settled(self) -> bool:
        """Whether other seeds would give the same side of the bound: outside it where one scene surely is,
        within it where every scene surely is.
        """
        keeps = self.criterion.bound.keeps
        outside = [s for s in self.scenes if not keeps(s.value, s.limit)]
        return any(s.settled for s in outside) if outside else all(s.settled for s in self.scenes)

    @property
    def room(self) -> float:
        """How far the scene that is nearest to its bound is from it, in parts of the bound: 0 for on it, 1
        for twice or half of it in the good direction, negative for outside.
        """
        return min(self.criterion.bound.room(s.value, s.limit) for s in self.scenes) - 1


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
    return [Answer(c, tuple(judged(c, s.where, numbers) for s in c.scenes)) for c in criteria]


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


def judged(c: Criterion, where: str, numbers: Mapping[tuple[str, str, str | None], list[float]]) -> Found:
    """The answer in one scene. numbers: by criterion, scene and window (None: that under test), one for each
    seed.
    """
    values = np.array(numbers[c.id, where, None])
    by_standard = {name: np.array(numbers[c.id, where, name]) for name in STANDARDS}
    value = float(values.mean())
    standards = {name: float(seeds.mean()) for name, seeds in by_standard.items()}
    limit = c.bound.limit(list(standards.values()))
    # Runs with the same seed are pairs: what a seed does to the standard that sets the bound is no surprise.
    interval = half_width(values - c.bound.limits(by_standard, standards))
    return Found(where, value, standards, limit, c.verdict(value, limit), interval)
