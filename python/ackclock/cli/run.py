from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.quantities import count, percent, rate, seconds
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.results import Run

TRACED_EVENTS = 2e6
"""Traced events that are kept in memory."""
EVENT = 55
"""Bytes of an event on disk, about."""
PLOTS = ("sequence", "rates")
"""The figures that need a trace of segments."""
COLUMNS = (
    "stack",
    "flows finished",
    "mean",
    "median",
    "p99",
    "loss",
    "goodput",
    "timeouts",
    "spurious retransmissions",
)
SPARE = ("median", "spurious retransmissions", "mean", "timeouts", "goodput")
"""Columns that a narrow terminal leaves out, in this order."""
SHORT = {"flows finished": "finished", "spurious retransmissions": "spurious rtx"}
"""Shorter headings for a narrow terminal."""


@click.command("run")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value, by dotted key: --set path.rtt=50ms. May be repeated.",
)
@click.option("--allow-files", is_flag=True, help="Let the scenario name files outside its folder.")
@click.option("--out", type=click.Path(path_type=Path), help="The run folder; runs/NAME by default.")
@click.option(
    "--memory", metavar="SIZE", help="The memory that a run may use, such as 8GiB; 4GiB by default."
)
@click.option("--trace-limit", metavar="SIZE", help="The disk space that a trace may use; 16GiB by default.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    help="Runs side by side; one per core by default. Results do not depend on it.",
)
@click.option(
    "--plot",
    "plots",
    type=click.Choice(PLOTS),
    multiple=True,
    help="A figure of the segments sent; traces them. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    scenario: Path,
    overrides: tuple[str, ...],
    allow_files: bool,
    out: Path | None,
    memory: str | None,
    trace_limit: str | None,
    workers: int | None,
    plots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Simulate SCENARIO (a TOML file), print a table and write a run folder."""
    from ackclock.results import folder

    given = Scenario.read(scenario, allow_files=allow_files).but(dict(map(override, overrides)))
    resolved = given.resolve_tree()
    if plots:
        given = given.but({"trace": [*dict.fromkeys([*resolved["trace"], "packets"])]})
    target = out or Path("runs") / scenario.stem
    folder.check_writable(target)
    if (events := given.expected_events()) > TRACED_EVENTS:
        note(
            f"The trace may have about {round_number(events)} events ({size(events * EVENT)}); what "
            "does not fit in memory is written to disk during the run."
        )
    scratch = next(folder for folder in target.absolute().parents if folder.is_dir())
    with bar(scenario.stem) as progress:
        run = given.simulate(
            workers=workers, progress=progress, memory=memory, trace_limit=trace_limit, scratch=scratch
        )
    written = run.save(target, figures(run, plots))
    if as_json:
        print_json({**run.summary, "folder": str(written)})
        return
    show(run)
    note(f"Run folder: {written}")


def round_number(x: float) -> str:
    """A large number to two digits."""
    scale, unit = next((s for s in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if x >= s[0]), (1.0, ""))
    return f"{x / scale:.2g}{unit}" if x / scale < 100 else f"{x / scale:.0f}{unit}"


def size(x: float) -> str:
    """Bytes to two digits."""
    return f"{round_number(x)}B" if x >= 1000 else f"{x:.0f} B"


def figures(run: Run, plots: tuple[str, ...]) -> dict[str, Any]:
    """Returns the functions that draw the figures asked for, by the name of their file: a sequence plot for
    each run, one figure with the rates of all runs.
    """
    if not plots:
        return {}
    labels = run.traces["segments"]["run"].unique().to_pylist() if "segments" in run.traces else []
    made = {
        f"sequence-{place}" if len(labels) > 1 else "sequence": partial(run.plot.sequence, label)
        for place, label in enumerate(labels, start=1)
    }
    return {
        **(made if "sequence" in plots else {}),
        **({"rates": run.plot.rates} if "rates" in plots else {}),
    }


def show(run: Run) -> None:
    """Prints the numbers of a run: a sentence for each class of workload that makes many requests, and a row
    for each stack.
    """
    from ackclock.results import workloads

    for sentence in workloads.sentences(workloads.numbers(run.traces), run.flows):
        say(sentence)
    columns = [(name, "left" if name == "stack" else "right") for name in COLUMNS]
    without = endless(run)
    rows = [row(r, (r["run"], r["stack"]) in without) for r in run.stacks]
    print_table(columns, rows, spare=SPARE, short=SHORT, elsewhere="summary.json and --json have all")
    loads = [f"{r['stack']} {r['load']:.3g}" for r in run.stacks if r["load"]]
    if window := run.window:
        say(window)
    if loads:
        size = next(r["mean_size"] for r in run.stacks if r["load"])
        say(
            f"Realised load (payload over the bottleneck's rate): {', '.join(loads)}; mean size {size:.0f} B."
        )


def endless(run: Run) -> set[tuple[str, str]]:
    """The runs and stacks all of whose flows are unlimited in size."""
    sizes = run.flows.group_by(["run", "stack"]).aggregate([("size", "count")]).to_pylist()
    return {(found["run"], found["stack"]) for found in sizes if not found["size_count"]}


def row(r: dict[str, Any], without_end: bool = False) -> list[str]:
    """The numbers of one stack as text. without_end: none of its flows can finish."""
    finished = (
        f"{count(r['flows'])} endless"
        if without_end and not r["finished"]
        else f"{count(r['finished'])} of {count(r['flows'])}"
    )
    times = [seconds(r[key]) for key in ("mean", "median", "p99")]
    stack = r["stack"] if r["run"] == r["stack"] else f"{r['run']}: {r['stack']}"
    return [
        stack,
        finished,
        *times,
        percent(r["loss"]),
        rate(r["goodput"]),
        count(r["timeouts"]),
        count(r["spurious_retransmissions"]),
    ]


def override(text: str) -> tuple[str, str]:
    """Parses the value of `--set`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"`--set {text}` is not a key and a value such as `--set path.rtt=50ms`")
    return key.strip(), value.strip()
