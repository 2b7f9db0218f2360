"""Records of the `--full` forms: how long each took when it was last run, and its results.

`python -m ackclock.reproduce.full [--seeds K] ID...` runs the full forms and writes the record, `full.json`
of their papers, anew for them. With `--seeds` each is run K times with seeds of its own, as `chance.repeat`
does, and the intervals over all of them decide: holds, falls short, or open. Seconds are processor time on
two cores, which depends little on what else a machine does.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone
from typing import Any

from ackclock._core import InputError
from ackclock.console import note
from ackclock.reproduce import chance, record
from ackclock.reproduce.item import HOLDS, ITEMS, Outcome, Setting, find
from ackclock.reproduce.verdicts import said
from ackclock.sweep.work import engine

NAME = "full"


def recorded() -> dict[str, dict[str, Any]]:
    """The record by id: `date`, `build` (empty where it was not recorded), `cpu` and `wall` (s), `memory`
    (MB, the largest until then), `verdict`, `got` of the checks, and perhaps `reason`: why it falls short or
    is open; `repetitions`, where it was run more than once.
    """
    return record.read(NAME)


def measure(id: str, repetitions: int = 1) -> tuple[Outcome, dict[str, Any]]:
    """Runs the full form of an item; its outcome, the first of several, and its entry."""
    import resource  # POSIX only, and commands that record nothing import this file too

    began, before = time.monotonic(), processor()
    found = chance.repeat(ITEMS[id], [Setting(full=True) for _ in range(repetitions)])
    outcome, several = found.outcomes[0], len(found.outcomes) > 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    entry = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "build": engine(),
        "cpu": round(processor() - before),
        "wall": round(time.monotonic() - began),
        "memory": round(memory / 1000),
    }
    if several:
        judged = {j.check.name: j.got for j in found.judged()}
        entry |= {"repetitions": len(found.outcomes), "verdict": found.verdict, "got": judged}
    else:
        entry |= {"verdict": outcome.verdict, "got": {c.name: c.got for c in outcome.checks}}
    reason = "" if entry["verdict"] == HOLDS else recorded().get(id, {}).get("reason", "")
    return outcome, entry | ({"reason": reason} if reason else {})


def processor() -> float:
    """Seconds of the processor that this process and those that it has waited for took so far."""
    import resource  # POSIX only, and commands that record nothing import this file too

    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in usages)


def sentence(id: str) -> str:
    """The record of an item as a sentence; empty if there is none."""
    found = recorded().get(id)
    if found is None:
        return ""
    reason = f": {found['reason']}" if found.get("reason") else "."
    build = f"of build {found['build']}" if found.get("build") else "of a build that was not recorded"
    times = f", over {found['repetitions']} sets of seeds" if found.get("repetitions") else ""
    return (
        f"`--full` took {found['cpu']} s of processor time on two cores, and "
        f"{said(found['verdict'])}{times}{reason} Run {build}, "
        f"{found['date']}."
    )


def main(words: list[str]) -> int:
    """Runs full forms one after the other, and records each as it is done; one that cannot end is named."""
    repetitions, ids = 1, list(words)
    if "--seeds" in ids:
        at = ids.index("--seeds")
        given = ids[at + 1 : at + 2]
        repetitions = int(given[0]) if given and given[0].isdecimal() else 0
        if repetitions < 1:
            note(f"`{' '.join(['--seeds', *given])}` is not a number of sets of seeds; expected 1 or more")
            return 2
        del ids[at : at + 2]
    try:
        wanted = [i.id for name in ids for i in find(name)]
    except InputError as e:
        note(str(e))
        return 2
    failed = False
    for id in wanted:
        try:
            _, entry = measure(id, repetitions)
        except InputError as e:
            # The others are not worse for it.
            note(f"{id}: {e}")
            failed = True
            continue
        record.add(NAME, {id: entry})
        print(f"{id}: {entry['cpu']} s of processor time, {entry['wall']} s, {entry['verdict']}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
