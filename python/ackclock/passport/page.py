"""The page for a terminal: the answer in a sentence, a row for each criterion, and what needs words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ackclock._core import version
from ackclock.passport.criteria import GROUPS, UNMEASURED
from ackclock.passport.criterion import HARMFUL, NOTE, OK
from ackclock.passport.subject import Subject
from ackclock.passport.suite import FULL, Answer, Size

WIDTH = 80
ROW = "  {:<40}{:>8}  {:<10} {:<8} {}"
UNITS = ("%", "ms", "s", "pkt", "RTT", "bdp")
MOST_NAMED, MOST_REMARKS = 3, 6
"""Criteria that the first sentence names, and those that get words below the table."""
NEAR = 0.1
"""A number within this part of its bound is near it."""


def sentence(subject: Subject, answers: Sequence[Answer]) -> str:
    """The answer in a sentence."""
    harmful = _furthest(answers, HARMFUL)
    notes = sum(a.verdict == NOTE for a in answers)
    fine = sum(a.verdict == OK for a in answers)
    counted = f"{fine} ok, {notes} {'note' if notes == 1 else 'notes'}"
    if not harmful:
        return (
            f"{subject.text} harms others no more than Reno and CUBIC do: {_criteria(len(answers))}, "
            f"{counted}, none harmful."
        )
    named = "; ".join(a.criterion.title for a in harmful[:MOST_NAMED])
    return (
        f"{subject.text} is harmful by {len(harmful)} of {_criteria(len(answers))} ({counted}), worst by: "
        f"{named}."
    )


def remark(answer: Answer) -> str:
    """What a verdict other than `ok` is about."""
    c, worst = answer.criterion, answer.worst
    reno, cubic = (c.shown(value) for value in worst.standards.values())
    says = c.outside if not c.bound.keeps(worst.value, worst.limit) else c.missed
    return f"{c.title} ({worst.where}): {c.shown(worst.value)}; Reno {reno}, CUBIC {cubic}. {says}"


def nearness(answers: Sequence[Answer], size: Size) -> str:
    """How sure the verdicts are, and which numbers within their bounds are near them."""
    within = sorted((a for a in answers if a.verdict == OK), key=lambda a: a.room)
    near = [f"{a.criterion.title} ({100 * a.room:.0f} %)" for a in within if a.room < NEAR]
    words = f"Within {100 * NEAR:.0f} % of the bound: {'; '.join(near)}." if near else ""
    if all(a.settled for a in answers):
        return f"{words} With other seeds hardly a verdict would change.".strip()
    more = "" if size == FULL else f"; --full runs {FULL.seeds}"
    return f"?: the 95 % interval of {size.seeds} seeds spans the bound{more}. {words}".strip()


def page(subject: Subject, answers: Sequence[Answer], size: Size) -> str:
    """The whole page, at most 80 columns wide."""
    by_id = {a.criterion.id: a for a in answers}
    lines = [*_wrapped(sentence(subject, answers)), ""]
    lines.append(ROW.format("", "value", "bound", "RFC 9743", "verdict"))
    for heading, group in GROUPS:
        found = [by_id[c.id] for c in group if c.id in by_id]
        if found:
            lines += [heading, *map(_row, found)]
    lines += _wrapped(nearness(answers, size), "  ")
    remarks = [a for verdict in (HARMFUL, NOTE) for a in _furthest(answers, verdict)]
    if remarks:
        lines.append("")
    for a in remarks[:MOST_REMARKS]:
        lines += _wrapped(f"{a.verdict}: {remark(a)}", "  ")
    if len(remarks) > MOST_REMARKS:
        lines.append(f"{len(remarks) - MOST_REMARKS} more are explained with --json.")
    lines += ["", *_wrapped(f"Bounds: {BOUNDS}"), *_wrapped(f"Not measured: {'; '.join(UNMEASURED)}.")]
    stack = "the stack" if subject.whole else "the rest of the stack"
    lines += _wrapped(f"ackclock {version}; {stack}: {subject.base}; {size.seeds} seeds.")
    return "\n".join(lines) + "\n"


BOUNDS = (
    "the worse of Reno and CUBIC in the same runs, with a margin for chance (RFC 9743 sets no "
    "thresholds). harmful: others or the network suffer; note: the flow itself, or more could be had."
)


def _criteria(count: int) -> str:
    return "1 criterion" if count == 1 else f"{count} criteria"


def _furthest(answers: Sequence[Answer], verdict: str) -> list[Answer]:
    """Those with a verdict, the furthest outside its bound first."""
    found = [a for a in answers if a.verdict == verdict]
    return sorted(found, key=lambda a: a.criterion.bound.room(a.worst.value, a.worst.limit))


def _row(answer: Answer) -> str:
    c, worst = answer.criterion, answer.worst
    bound = c.bound.text(worst.limit, c.unit)
    verdict = answer.verdict if answer.settled else f"{answer.verdict}?"
    return ROW.format(c.title, c.shown(worst.value), bound, c.section, verdict)


def _wrapped(text: str, indent: str = "") -> list[str]:
    # A number stays with its unit.
    bound = re.sub(rf"(\d) (?={'|'.join(UNITS)})", "\\1\u00a0", text)
    lines = textwrap.wrap(bound, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
