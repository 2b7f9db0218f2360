"""A scenario on the testbed, seed by seed: side by side as far as the machine allows, and kept if asked."""

from __future__ import annotations

from os import PathLike

from ackclock.results import Run
from ackclock.results.joined import joined
from ackclock.scenario import Scenario
from ackclock.scenario.scenario import Progress
from ackclock.sweep import work, worlds
from ackclock.sweep.runs import error, make


def run_seeds(
    scenario: Scenario,
    *,
    workers: int | None = None,
    keep: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    capture: str | PathLike[str] | None = None,
) -> Run:
    """Runs a scenario on the testbed, and returns the run that `Scenario.testbed` returns.

    workers: seeds side by side, one for two cores by default. keep: a folder in which finished seeds are kept
    and looked up, so that a run that was interrupted goes on. progress: called with the share of the work
    done, and a label. capture: a file for the packets of the first seed, which is not looked up then.
    """
    whole = scenario.resolve()
    texts = list(scenario.resolve_seeds().values())
    runs = []
    if capture is not None:
        first = Scenario(texts.pop(0), scenario.name)
        share = 1 / (1 + len(texts))

        def of_first(done: float, label: str) -> None:
            if progress:
                progress(share * done, label)

        def of_others(done: float, label: str) -> None:
            if progress:
                progress(share + (1 - share) * done, label)

        runs.append(work.for_real(first, of_first, capture))
        progress = of_others
    jobs = [worlds.job(text, scenario.name, work.KERNEL) for text in texts]
    made = make(jobs, workers=workers, keep=keep, progress=progress)
    if failed := next((made.failures[job.key] for job in jobs if job.key in made.failures), None):
        raise error(failed)
    return joined(whole, runs + [made.run(job.key) for job in jobs])
