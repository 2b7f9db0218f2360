from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.plain import listed
from ackclock.quantities import count, percent, rate, seconds
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.results import Run

TRACED_EVENTS = 2e6
"""Traced events that are kept in memory."""
EVENT = 55
"""Bytes of an event on disk, about."""
TRACED = ("sequence", "rates")
"""The figures that need a trace of segments."""
OVER_TIME = ("throughput", "shares", "queue", "cwnd", "fairness")
"""The figures that need tables over time."""
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
SPARE = ("median", "goodput", "mean", "spurious retransmissions", "timeouts")
"""Columns that a narrow terminal leaves out, in this order."""
ENDLESS = (
    "stack",
    "flows",
    "goodput",
    "share",
    "fairness",
    "rtt",
    "queue",
    "queue p99",
    "queue max",
    "loss",
    "retransmitted",
    "timeouts",
)
"""Columns where all flows are endless."""
ENDLESS_SPARE = ("timeouts", "retransmitted", "queue p99", "queue max", "flows")
"""Those of them that a narrow terminal leaves out, in this order."""
ELSEWHERE = "summary.json and --json have all"
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
    type=Whole(1, 1024),
    help="Runs side by side; one per core by default. Results do not depend on it.",
)
@click.option(
    "--plot",
    "plots",
    type=click.Choice((*OVER_TIME, *TRACED)),
    multiple=True,
    help="A figure, for which the run records what it needs. May be repeated.",
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
    """Simulate SCENARIO, a TOML file that describes a network, its traffic and the TCPs to compare.

    The first sentence is the answer: which TCP was fastest or delivered most, and by how much. Then come a
    row for each TCP and a run folder: the scenario with all its defaults, tables (Parquet), a summary (JSON)
    and figures.

    \b
        ackclock examples short-lossy.toml
        ackclock run short-lossy.toml
        ackclock run short-lossy.toml --set path.rtt=50ms
        ackclock run short-lossy.toml --plot throughput --plot queue
    """
    from ackclock.results import folder

    given = Scenario.read(scenario, allow_files=allow_files).but(dict(map(override, overrides)))
    target = out or Path("runs") / scenario.stem
    folder.check_writable(target)
    given, recorded = recording(given, plots)
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
    if recorded:
        note(recorded)
    drawn = sorted(path.name for path in written.glob("*.png"))
    note(f"Run folder: {written}{f', with {listed(drawn)}' if drawn else ''}")


def recording(given: Scenario, plots: tuple[str, ...]) -> tuple[Scenario, str]:
    """The scenario with what its figures need: a trace of packets for `TRACED`, tables over time for
    `OVER_TIME` and for a run of endless flows, whose usual figure is their throughput. With a sentence that
    says so, empty where nothing was added.
    """
    from ackclock.results import endless

    tree = given.resolve_tree()
    changed: dict[str, Any] = {}
    if any(name in TRACED for name in plots) and "packets" not in tree["trace"]:
        changed["trace"] = [*tree["trace"], "packets"]
    wanted = any(name in OVER_TIME for name in plots)
    if tree["series"] == "0s" and (wanted or endless.is_endless(tree)):
        interval = endless.interval(tree, wanted=wanted)
        changed |= {"series": interval} if interval else {}
    if not changed:
        return given, ""
    added = [
        f'{key} = "{value}"' if key == "series" else f"{key} = {value}" for key, value in changed.items()
    ]
    return given.but(changed), f"Recorded for the figures: {', '.join(added).replace(chr(39), chr(34))}."


def round_number(x: float) -> str:
    """A large number to two digits."""
    scale, unit = next((s for s in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if x >= s[0]), (1.0, ""))
    return f"{x / scale:.2g}{unit}" if x / scale < 100 else f"{x / scale:.0f}{unit}"


def size(x: float) -> str:
    """Bytes to two digits."""
    return f"{round_number(x)}B" if x >= 1000 else f"{x:.0f} B"


def figures(run: Run, plots: tuple[str, ...]) -> dict[str, Any]:
    """Returns the functions that draw the figures asked for, by the name of their file: a sequence plot for
    each run, one figure for all runs of every other kind.
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
        **{name: getattr(run.plot, name) for name in (*OVER_TIME, "rates") if name in plots},
    }


def show(run: Run) -> None:
    """Prints a run: the answer, a sentence for each class of workload that makes many requests, and a row for
    each stack, under the window of time that they cover.
    """
    from ackclock.results import endless, workloads

    classes = workloads.sentences(workloads.numbers(run.traces), run.flows)
    for sentence in dict.fromkeys((*run.answer, *classes)):
        say(sentence)
    say()
    say(run.window)
    without = endless.rows(run)
    if run.stacks and all((r["run"], r["stack"]) in without and r["mean"] is None for r in run.stacks):
        show_endless(run)
    else:
        columns = [(name, "left" if name == "stack" else "right") for name in COLUMNS]
        rows = [row(r, (r["run"], r["stack"]) in without) for r in run.stacks]
        print_table(columns, rows, spare=SPARE, short=SHORT, elsewhere=ELSEWHERE)
    loads = [f"{r['stack']} {r['load']:.3g}" for r in run.stacks if r["load"]]
    if loads:
        size = next(r["mean_size"] for r in run.stacks if r["load"])
        say(
            f"Realised load (payload over the bottleneck's rate): {', '.join(loads)}; mean size {size:.0f} B."
        )


def show_endless(run: Run) -> None:
    """Prints the numbers of a run all of whose flows are endless: nothing finishes, so that rates, shares and
    delays tell what happened.
    """
    from ackclock.results import endless

    # A stack that has its run to itself delivers everything in it.
    shared = len({r["run"] for r in run.stacks}) < len(run.stacks)
    # In a shared run the percentile is that of all stacks together.
    without = ("queue p99",) if shared else ("share", "queue max")
    columns = [(name, "left" if name == "stack" else "right") for name in ENDLESS if name not in without]
    rows = []
    for r in run.stacks:
        n = endless.numbers(run, r)
        cells = {
            "stack": named(r),
            "flows": count(r["flows"]),
            "goodput": rate(n["goodput"]),
            "share": percent(n["share"]),
            "fairness": "-" if n["fairness"] is None else f"{n['fairness']:.3f}",
            "rtt": seconds(n["rtt"]),
            "queue": seconds(n["queue_delay"]),
            "queue p99": seconds(n["queue_delay_p99"]),
            "queue max": seconds(n["queue_delay_max"]),
            "loss": percent(n["loss"]),
            "retransmitted": percent(n["retransmitted"]),
            "timeouts": count(r["timeouts"]),
        }
        rows.append([cells[name] for name, _ in columns])
    print_table(columns, rows, spare=ENDLESS_SPARE, short={"retransmitted": "rtx"}, elsewhere=ELSEWHERE)


def row(r: dict[str, Any], without_end: bool = False) -> list[str]:
    """The numbers of one stack as text. without_end: none of its flows can finish."""
    finished = (
        f"{count(r['flows'])} endless"
        if without_end and not r["finished"]
        else f"{count(r['finished'])} of {count(r['flows'])}"
    )
    times = [seconds(r[key]) for key in ("mean", "median", "p99")]
    return [
        named(r),
        finished,
        *times,
        percent(r["loss"]),
        rate(r["goodput"]),
        count(r["timeouts"]),
        count(r["spurious_retransmissions"]),
    ]


def named(r: dict[str, Any]) -> str:
    """The stack of a row, with its run where that has another name."""
    return str(r["stack"]) if r["run"] == r["stack"] else f"{r['run']}: {r['stack']}"


def override(text: str) -> tuple[str, str]:
    """Parses the value of `--set`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"`--set {text}` is not a key and a value such as `--set path.rtt=50ms`")
    return key.strip(), value.strip()
