"""Records of the `--full` forms: how long each took when it was last run, and its results.

`python -m ackclock.reproduce.full ID...` runs the full forms and writes the record, `full.json` of their
papers, anew for them. Seconds are processor time on two cores, which depends little on what else a machine
does.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone
from typing import Any

from ackclock._core import InputError
from ackclock.console import note
from ackclock.reproduce import record
from ackclock.reproduce.item import ITEMS, Outcome, Setting, find
from ackclock.reproduce.verdicts import HOLDS, verdict
from ackclock.sweep.work import engine

NAME = "full"


def recorded() -> dict[str, dict[str, Any]]:
    """The record by id: `date`, `build` (empty where it was not recorded), `cpu` and `wall` (s), `memory`
    (MB, the largest until then), `verdict`, `got` of the checks, and perhaps `reason`: why it falls short.
    """
    return record.read(NAME)


def measure(id: str) -> tuple[Outcome, dict[str, Any]]:
    """Runs the full form of an item; its outcome, and its entry."""
    import resource  # POSIX only, and commands that record nothing import this file too

    began, before = time.monotonic(), processor()
    outcome = ITEMS[id].run(Setting(full=True))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    entry = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "build": engine(),
        "cpu": round(processor() - before),
        "wall": round(time.monotonic() - began),
        "memory": round(memory / 1000),
    }
    entry |= {"verdict": verdict(outcome), "got": {c.name: c.got for c in outcome.checks}}
    reason = "" if outcome.holds else recorded().get(id, {}).get("reason", "")
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
    said = "holds" if found["verdict"] == HOLDS else "falls short"
    reason = f": {found['reason']}" if found.get("reason") else "."
    build = f"of build {found['build']}" if found.get("build") else "of a build that was not recorded"
    return (
        f"`--full` took {found['cpu']} s of processor time on two cores, and {said}{reason} Run {build}, "
        f"{found['date']}."
    )


def main(ids: list[str]) -> int:
    """Runs full forms one after the other, and records each as it is done; one that cannot end is named."""
    try:
        wanted = [i.id for name in ids for i in find(name)]
    except InputError as e:
        note(str(e))
        return 2
    failed = False
    for id in wanted:
        try:
            _, entry = measure(id)
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
