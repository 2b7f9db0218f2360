"""A passport: the criteria of RFC 9743 for a new congestion controller, run as a suite for one window."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock._core import InputError, version
from ackclock.passport.criteria import CRITERIA, UNMEASURED
from ackclock.passport.criterion import HARMFUL, NOTE, Criterion
from ackclock.passport.page import page, remark, sentence
from ackclock.passport.subject import Subject
from ackclock.passport.suite import FULL, QUICK, Answer, Found, Size, examine

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CRITERIA", "Answer", "Criterion", "Found", "Passport", "Subject", "passport"]


@dataclass(frozen=True)
class Passport:
    """The criteria for one window, with their verdicts."""

    subject: Subject
    answers: list[Answer]
    size: Size
    seconds: float

    @property
    def harmful(self) -> list[str]:
        """The ids of the criteria by which it is harmful."""
        return [a.criterion.id for a in self.answers if a.verdict == HARMFUL]

    @property
    def text(self) -> str:
        """The page."""
        return page(self.subject, self.answers, self.size)

    @property
    def summary(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "window": self.subject.text,
            "stack": self.subject.stack(),
            "answer": sentence(self.subject, self.answers),
            "harmful": self.harmful,
            "notes": [a.criterion.id for a in self.answers if a.verdict == NOTE],
            "criteria": [_row(a) for a in self.answers],
            "unmeasured": list(UNMEASURED),
            "seeds": self.size.seeds,
            "full": self.size == FULL,
            "version": version,
            "seconds": round(self.seconds, 3),
        }

    @property
    def table(self) -> pa.Table:
        """A row for each scene of each criterion."""
        import pyarrow as pa

        rows = [
            {
                "criterion": a.criterion.id,
                "section": a.criterion.section,
                "unit": a.criterion.unit,
                **_scene(f),
            }
            for a in self.answers
            for f in a.scenes
        ]
        return pa.Table.from_pylist(rows)

    def save(self, directory: str | Path) -> Path:
        """Writes a folder with `passport.txt`, `criteria.parquet` and `summary.json`; an earlier one there is
        replaced.
        """
        from ackclock.results import folder

        def fill(into: Path) -> None:
            (into / "passport.txt").write_text(self.text, encoding="utf-8")
            folder.write_table(self.table, into / "criteria.parquet")
            folder.write_json(self.summary, into / folder.SUMMARY)

        return folder.write(Path(directory), fill, {})


def passport(
    window: str | Subject,
    *,
    stack: str | None = None,
    changes: Mapping[str, str] | None = None,
    full: bool = False,
    only: list[str] | None = None,
    workers: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Passport:
    """Runs the criteria of RFC 9743 for a window, beside Reno and CUBIC in the same scenes.

        print(passport("cubic(beta_cubic=0.9)").text)

    window: by name, with parameters in brackets, or a preset such as `linux`. stack: the preset for the rest
    of its stack. changes: parts of the stack under test, such as `{"slow_start": "hystart"}`. full: longer,
    and with more seeds. only: ids of criteria. workers: runs side by side, one per core by default; results
    do not depend on it.
    """
    began = time.monotonic()
    subject = window if isinstance(window, Subject) else Subject.parse(window, stack, changes)
    size = FULL if full else QUICK
    chosen = _chosen(only)
    answers = examine(subject, size, criteria=chosen, workers=workers, progress=progress)
    return Passport(subject, answers, size, time.monotonic() - began)


def _chosen(only: list[str] | None) -> list[Criterion]:
    known = [c.id for c in CRITERIA]
    for name in only or []:
        if name not in known:
            raise InputError(f"`{name}` is not a criterion; expected one of {', '.join(known)}")
    return [c for c in CRITERIA if not only or c.id in only]


def _row(a: Answer) -> dict[str, Any]:
    c = a.criterion
    return {
        "id": c.id,
        "title": c.title,
        "rfc9743": c.section,
        "source": c.source,
        "about": c.about,
        "unit": c.unit,
        "verdict": a.verdict,
        "settled": a.settled,
        "room": round(a.room, 4) if math.isfinite(a.room) else None,
        "value": a.worst.value,
        "bound": a.worst.limit,
        "more_is_better": c.bound.more,
        "where": a.worst.where,
        "remark": remark(a) if a.verdict in (HARMFUL, NOTE) else "",
        "scenes": [_scene(f) for f in a.scenes],
    }


def _scene(f: Found) -> dict[str, Any]:
    numbers = {"value": f.value, **f.standards, "bound": f.limit, "interval": f.interval}
    return {"where": f.where, **numbers, "verdict": f.verdict, "settled": f.settled}
