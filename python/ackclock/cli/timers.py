from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ackclock._core import InputError
from ackclock.cli import completion
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.quantities import count, seconds

STRETCHES = 2000


@click.command("timers")
@click.argument("series", type=click.Path(path_type=Path))
@click.option(
    "--timer",
    "names",
    multiple=True,
    metavar="NAME[(KEY=VALUE,...)]",
    shell_complete=completion.timers,
    help="A timer; may be repeated. By default all timers.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the numbers and the figure; runs/timers-SERIES by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(series: Path, names: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Replay retransmission timers over SERIES, round-trip times as CSV with a header or as Parquet.

    Columns: time (s) when an ack arrived; rtt (s), empty where it brought no valid sample; optionally flight,
    cwnd, ssthresh (segments) and lost (true where the segment was lost; rtt is then the time since it was
    sent).

    The first sentence is the answer. A timeout is spurious if the timer would have expired before the ack. A
    timer without one is safe on this series, with no more than one in 1,000 nearly safe. The cost of a loss
    is the time from sending a segment to retransmitting it, for two ways in which an ack restarts the timer:
    less the age of the oldest segment (precise), and in full (restart).

    \b
        ackclock examples series.csv
        ackclock timers series.csv --timer "rfc6298(min_rto=200ms)"
    """
    from ackclock.models.series import read
    from ackclock.models.timer import Timer, raw
    from ackclock.models.timer import names as every
    from ackclock.results import folder
    from ackclock.results.safety import answer, verdict

    chosen = list(dict.fromkeys(names or every()))
    target = out or Path("runs") / f"timers-{series.stem}"
    folder.check_writable(target)
    replays = {name: Timer.parse(name).replay(1, STRETCHES) for name in chosen}
    rows, losses = 0, 0
    with bar(series.name) as progress:
        for piece in read(series):
            columns = raw(piece)
            for replay in replays.values():
                replay.feed(columns)
            rows += piece["time"].size
            losses += int(piece["lost"].sum()) if "lost" in piece else 0
            # The number of rows is not known before the end of the file.
            progress(1 - 1 / (1 + rows / 1e6), f"{series.name}: {rows:,} rows")
    found: list[dict[str, Any]] = [
        {"timer": name, **json.loads(replay.summary())} for name, replay in replays.items()
    ]
    if found[0]["samples"] < 2:
        raise InputError(
            f"`{series}` has {found[0]['samples']} valid samples; give at least two, with an rtt above zero"
        )
    for t in found:
        t["verdict"] = verdict(t)
    result = {"series": str(series), "rows": rows, "lost": losses, "answer": answer(found), "timers": found}
    result["folder"] = str(_write(target, replays, result, series.name))
    if as_json:
        print_json(result)
        return
    _show(result)
    note(f"Numbers and figure in {result['folder']}")


def _show(result: dict[str, Any]) -> None:
    for sentence in result["answer"]:
        say(sentence)
    say()
    columns = [
        "timer",
        "samples",
        "spurious",
        "RTO/RTT mean",
        "p1",
        "p50",
        "p99",
        "a loss costs (precise)",
        "a loss costs (restart)",
    ]
    marked = result["lost"] > 0
    columns += ["marked losses cost (precise)", "marked losses cost (restart)"] * marked
    table = []
    for t in result["timers"]:
        ratios = [f"{t['ratio'][key]:.3g}" for key in ("mean", "p1", "p50", "p99")]
        costs = [
            seconds(t[key]["mean"])
            for key in (
                "cost_precise",
                "cost_restart",
                *(("marked_precise", "marked_restart") if marked else ()),
            )
        ]
        table.append([t["timer"], count(t["samples"]), count(t["spurious"]), *ratios, *costs])
    spare = ("p1", "samples", "p50", *columns[-1:-3:-1])
    print_table(
        [(c, "left" if c == "timer" else "right") for c in columns],
        table,
        spare=spare,
        elsewhere="summary.json and --json have all",
    )


def _write(target: Path, replays: dict[str, Any], result: dict[str, Any], name: str) -> Path:
    import pyarrow as pa

    from ackclock.plot import outlines
    from ackclock.results import folder

    curves = {timer: pa.table(replay.outline()) for timer, replay in replays.items()}
    arrays = {timer: {c: t[c].to_numpy() for c in t.column_names} for timer, t in curves.items()}
    said = {t["timer"]: f"{count(t['spurious'])} spurious" for t in result["timers"]}

    def draw() -> Any:
        return outlines(
            arrays,
            title="Timeouts over a series of round-trip times",
            subtitle=f"{name}: {result['rows']:,} rows",
            said=said,
        )

    def fill(directory: Path) -> None:
        tables = [t.append_column("timer", pa.array([timer] * t.num_rows)) for timer, t in curves.items()]
        folder.write_table(pa.concat_tables(tables), directory / "outline.parquet")
        folder.write_json({**result, "folder": str(target.absolute())}, directory / folder.SUMMARY)

    return folder.write(target, fill, {"timers": draw})
