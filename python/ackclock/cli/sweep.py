from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.cli.run import override
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.quantities import percent, rate, seconds

if TYPE_CHECKING:
    from ackclock.sweep import Scheduler, SweepResult
    from ackclock.sweep.plan import Plan
    from ackclock.sweep.result import Case
    from ackclock.sweep.work import Failure

SHOWN = ("finished", "mean", "p99", "loss", "goodput", "timeouts")
"""Numbers that the table shows by default."""
MOST_ROWS, MOST_FAILURES = 200, 20
FORMATS = {
    "mean": seconds,
    "median": seconds,
    "p90": seconds,
    "p99": seconds,
    "max": seconds,
    "goodput": rate,
    "loss": percent,
    "utilisation": percent,
}
SCENARIO_FAILED, RUN_FAILED = 2, 1


@click.command("sweep")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the scenario in all runs, by dotted key. May be repeated.",
)
@click.option("--allow-files", is_flag=True, help="Let plan and scenario name files outside their folders.")
@click.option(
    "--workers",
    type=Whole(1, 1024),
    help="Runs side by side, a process each; one per core by default. Results do not depend on it.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler whose workers make the runs, such as tls://host:8786.",
)
@click.option(
    "--tls-ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The CA certificate of that cluster (PEM).",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your certificate for that cluster (PEM).",
)
@click.option(
    "--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="The key of your certificate (PEM)."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the tables; runs/NAME by default.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    default=Path("runs/kept"),
    show_default=True,
    help="Folder in which finished runs are kept, and found again.",
)
@click.option("--show", metavar="NUMBER,...", help=f"Numbers in the table; {','.join(SHOWN)} by default.")
@click.option(
    "--plot",
    "plots",
    multiple=True,
    metavar="X,Y[,BY]",
    help="A figure of the number Y over the axis X, a line for each BY. May be repeated.",
)
@click.option(
    "--count",
    "only_count",
    is_flag=True,
    help="Only print the number of runs, and how many of them are kept already.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    plan: Path,
    overrides: tuple[str, ...],
    allow_files: bool,
    workers: int | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    out: Path | None,
    keep: Path,
    show: str | None,
    plots: tuple[str, ...],
    only_count: bool,
    as_json: bool,
) -> int | None:
    """Run a scenario over many values and seeds, as PLAN (a TOML file) describes: axes, seeds, filters.

    Finished runs are kept: a sweep that was interrupted or extended runs only what is missing. The results
    are one table of all runs, one of all flows and one of all links. The first sentence is the answer: at
    which values the mean time of transfers (or the payload delivered, or the first number of `--show`) was
    best and worst, and by how much. Exit code 1 if a run failed, 2 if some values of the plan make an invalid
    scenario; all other runs are made.

    \b
        ackclock examples delay.toml
        ackclock sweep delay.toml --plot path.rtt,mean
    """
    if workers and scheduler:
        raise click.UsageError(
            "`--workers` is for this machine, and a `--scheduler` has its own workers; give only one"
        )
    from ackclock.results import folder
    from ackclock.sweep import Scheduler
    from ackclock.sweep import plan as plans
    from ackclock.sweep.picture import check

    cluster = (
        Scheduler(scheduler, tls_ca, tls_cert, tls_key, lambda sentence: note(f"Note: {sentence}."))
        if scheduler
        else None
    )
    if cluster:
        cluster.check()
    elif tls_ca or tls_cert or tls_key:
        raise click.UsageError(
            "`--tls-ca`, `--tls-cert` and `--tls-key` are for a cluster; give its `--scheduler` too"
        )
    given = plans.read(plan, dict(map(override, overrides)), allow_files=allow_files)
    shown = _shown(show)
    for text in plots:
        check(text, [a.name for a in given.sweep.axes])
    target = out or Path("runs") / plan.stem
    folder.check_writable(target)
    began = time.monotonic()
    cases = given.cases()
    refused = [(c, c.failure) for c in cases if c.failure]
    if len(refused) == len(cases):
        raise InputError(f"{plan}: {given.sweep.error(refused)}")
    _complain("Invalid", given, refused)
    if only_count:
        return _count(cases, keep, as_json)
    found = _run(given, cases, workers, cluster, keep)
    failed = [(c, f) for c, f in found.failures if not c.failure]
    if not len(found):
        raise given.sweep.error(failed)
    result = _save(given, found, target, plots, time.monotonic() - began, shown[0] if show else None)
    _complain("Failed", given, failed)
    if as_json:
        print_json(result)
    else:
        for sentence in result["answer"]:
            say(sentence)
        if result["answer"]:
            say()
        _show(found, shown)
        note(f"Runs made: {found.fresh}; found in {keep}: {found.found}. Tables in {result['folder']}")
    return _code(found)


def _complain(what: str, given: Plan, failures: list[tuple[Case, Failure]]) -> None:
    """Notes what failed and why, in one sentence each."""
    for case, failure in failures[:MOST_FAILURES]:
        note(f"{what}: {case.named(given.sweep.axes)}: {failure.sentence}")
    if len(failures) > MOST_FAILURES:
        note(f"{what}: {len(failures) - MOST_FAILURES} more.")


def _run(
    given: Plan, cases: list[Case], workers: int | None, scheduler: Scheduler | None, keep: Path
) -> SweepResult:
    done = [0.0]
    with bar(given.title) as progress:

        def report(share: float, label: str) -> None:
            done[0] = share
            progress(share, label)

        try:
            return given.sweep.run(
                workers=workers,
                scheduler=scheduler,
                processes=True,
                keep=keep,
                progress=report,
                strict=False,
                cases=cases,
            )
        except KeyboardInterrupt:
            progress.close()
            note(
                f"Interrupted after {100 * done[0]:.0f} % of what was missing. It is kept in {keep}, "
                "and the same command goes on from there."
            )
            raise


def _shown(show: str | None) -> list[str]:
    from ackclock.sweep.axis import near
    from ackclock.sweep.result import NUMBERS

    names = [name.strip() for name in show.split(",")] if show else list(SHOWN)
    for name in names:
        if name not in NUMBERS:
            raise InputError(f"`--show`: `{name}` is not a number of the runs{near(name, NUMBERS)}")
    return names


def _count(cases: list[Case], keep: Path, as_json: bool) -> int | None:
    from ackclock.sweep.store import Store

    keys = {c.job.key for c in cases if c.job}
    store = Store(keep)
    kept = sum(store.has(key) for key in keys)
    refused = sum(c.failure is not None for c in cases)
    if as_json:
        print_json({"runs": len(keys), "kept": kept, "refused": refused})
    else:
        say(f"{len(keys):,} runs, {kept:,} of them in {keep}.")
    return SCENARIO_FAILED if refused else None


def _save(
    given: Plan, found: SweepResult, target: Path, plots: tuple[str, ...], took: float, asked: str | None
) -> dict[str, Any]:
    """Writes the folder, and returns the summary, which `--json` prints."""
    from ackclock import _core
    from ackclock.results import folder
    from ackclock.sweep.answer import answer
    from ackclock.sweep.picture import picture
    from ackclock.sweep.work import engine

    figures = {
        f"plot-{i}" if len(plots) > 1 else "plot": partial(picture, found, text, given.title)
        for i, text in enumerate(plots, start=1)
    }
    result = {
        "plan": given.name,
        "title": given.title,
        "runs": len(found),
        "made": found.fresh,
        "found": found.found,
        "failures": [
            {"where": c.named(found.axes), "values": c.values, "seed": c.seed, "reason": f.sentence}
            for c, f in found.failures
        ],
        "axes": [
            {"name": a.name, "keys": list(a.keys), "unit": a.unit, "values": [v.shown for v in a.values]}
            for a in found.axes
        ],
        "answer": answer(found, asked),
        "rows": found.over_seeds(),
        "seconds": round(took, 3),
        "version": _core.version,
        "engine": engine(),
        "folder": str(target.absolute()),
    }

    def fill(directory: Path) -> None:
        (directory / "plan.toml").write_text(given.text, encoding="utf-8")
        (directory / "scenario.toml").write_text(given.sweep.scenario.text, encoding="utf-8")
        tables = {"sweep": found.table, "flows": found.flows, "links": found.links}
        for name, table in tables.items():
            folder.write_table(table, directory / f"{name}.parquet")
        for name in found.traces():
            folder.write_table(found.traced(name), directory / f"{name}.parquet")
        folder.write_json(result, directory / folder.SUMMARY)

    folder.write(target, fill, figures)
    return result


def _show(found: SweepResult, numbers: list[str]) -> None:
    """Prints a row for each combination of values and stack: means over the seeds, and their standard
    deviations.
    """
    from ackclock.sweep.axis import shown

    rows = found.over_seeds(numbers)
    # A number that is zero or missing everywhere is not shown.
    numbers = [n for n in numbers if any(row[n]["mean"] for row in rows)]
    axes = found.axes
    stacks = len({row["stack"] for row in rows}) > 1
    columns = [(a.name, "left" if isinstance(a.values[0].shown, str) else "right") for a in axes]
    columns += (
        [("stack", "left")] * stacks + [("runs", "right")] + [(n.replace("_", " "), "right") for n in numbers]
    )
    lines = []
    for row in rows[:MOST_ROWS]:
        line = [shown(row[a.name], a.unit) for a in axes] + [str(row["stack"])] * stacks + [str(row["runs"])]
        lines.append(line + [_with_spread(n, row[n]) for n in numbers])
    names = [name for name, _ in columns[: len(axes) + stacks]]
    # The numbers that were asked for first matter most.
    spare = ["runs", *(n.replace("_", " ") for n in reversed(numbers[1:]))]
    print_table(
        columns,
        lines,
        names=names,
        spare=spare,
        elsewhere="--show chooses others, and sweep.parquet and --json have all",
    )
    if len(rows) > MOST_ROWS:
        note(f"{len(rows) - MOST_ROWS} more rows are in sweep.parquet.")


def _with_spread(name: str, of: dict[str, float | None]) -> str:
    from ackclock.sweep.answer import number

    text = FORMATS.get(name, number)
    if of["mean"] is None:
        return "-"
    return text(of["mean"]) if of["sd"] is None else f"{text(of['mean'])} ± {text(of['sd'])}"


def _code(found: SweepResult) -> int | None:
    if any(f.bad_input for _, f in found.failures):
        return SCENARIO_FAILED
    return RUN_FAILED if found.failures else None
