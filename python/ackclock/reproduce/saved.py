"""The folder of an item that was run: data, figures, numbers, and the scenarios."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock._core import version
from ackclock.reproduce import pointer
from ackclock.reproduce.chance import ENOUGH, Repeated
from ackclock.reproduce.item import OPEN, Item, Outcome, Setting
from ackclock.results import folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.scenario.variation import Variation


def save(
    i: Item, outcome: Outcome, setting: Setting, began: float, root: Path, repeated: Repeated | None = None
) -> dict[str, Any]:
    """Writes the item's folder below `root` and returns what `--json` prints, which the folder holds as
    well. outcome, setting: of the first repetition, whose data, figures and scenarios are kept. repeated: all
    repetitions, where there are several.
    """
    target = (root / i.id).absolute()
    ran = setting.variation
    result: dict[str, Any] = {
        **i.listing(),
        "holds": None if outcome.skipped or outcome.verdict == OPEN else outcome.holds,
        "verdict": None if outcome.skipped else outcome.verdict,
        "skipped": outcome.skipped,
        "checks": [c.row() for c in outcome.checks],
        "choices": i.choices,
        "points_at": [pointer.Reference.parse(text).about() for text in i.points_at],
        "tests": list(i.tests),
        "answer": outcome.answer,
        "notes": outcome.notes,
        "full": setting.full,
        "seeds": [seed + ran.shift for seed in ran.seeds],
        "set": dict(ran.overrides),
        "refused": refused(ran, target),
        "scenarios": [str(target / name) for name in names(ran.scenarios)],
        "chance": of_chance(repeated) if repeated else None,
        "version": version,
        "seconds": round(time.monotonic() - began, 3),
        "folder": str(target),
        "data": [str(target / f"{name}.parquet") for name in outcome.tables],
        "figures": [
            str(target / f"{name}.{ending}") for name in outcome.figures for ending in ("png", "svg")
        ],
    }

    def fill(directory: Path) -> None:
        for name, table in outcome.tables.items():
            folder.write_table(table, directory / f"{name}.parquet")
        for name, text in zip(names(ran.scenarios), ran.scenarios, strict=True):
            (directory / name).write_text(text, encoding="utf-8", newline="\n")
        folder.write_json(result, directory / folder.SUMMARY)

    for fig in outcome.figures.values():
        label(fig, ran)
    folder.write(target, fill, outcome.figures)
    return result


def refused(ran: Variation, target: Path) -> dict[str, list[dict[str, Any]]]:
    """The scenarios that did not take the value of a key, by key: each reason with their files."""
    files = dict(zip(ran.scenarios, names(ran.scenarios), strict=True))
    return {
        key: [
            {"reason": reason, "scenarios": [str(target / files[text]) for text in texts]}
            for reason, texts in reasons.items()
        ]
        for key, reasons in ran.refused.items()
    }


def label(fig: Figure, ran: Variation) -> None:
    """Says below a figure what was set in its scenarios, and in how many of them."""
    if not ran.overrides:
        return
    of = len(ran.scenarios)
    said = []
    for key, value in ran.overrides:
        without = sum(map(len, ran.refused.get(key, {}).values()))
        said.append(f"{key} = {value}" + (f" in {of - without} of {of} scenarios" if without else ""))
    fig.supxlabel(f"Set in place of what the paper has: {', '.join(said)}", fontsize="small")


def names(scenarios: dict[str, int]) -> list[str]:
    """The files of scenarios, in the order in which they were run."""
    digits = max(len(str(len(scenarios))), 2)
    return [f"scenario-{n:0{digits}}.toml" for n in range(1, len(scenarios) + 1)]


def of_chance(repeated: Repeated) -> dict[str, Any]:
    """What JSON holds of several repetitions."""
    judged = repeated.judged()
    return {
        "verdict": repeated.verdict,
        "repetitions": len(repeated.outcomes),
        "enough": len(repeated.outcomes) >= ENOUGH,
        "seeds_added": repeated.shifts,
        "checks": [j.row() for j in judged],
        "held": sum(o.holds for o in repeated.outcomes),
    }
