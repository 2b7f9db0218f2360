from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ackclock import _core
from ackclock._core import InputError
from ackclock.cli.whole import Whole
from ackclock.console import note, print_json, print_table, say
from ackclock.quantities import number

COLUMNS = {
    "timer": "timer",
    "rto_max": "largest RTO",
    "rto_max_row": "largest RTO at row",
    "rto_end": "RTO at the end",
    "least_margin": "least margin",
    "least_margin_row": "least margin at row",
    "rows_without_margin": "rows without margin",
    "ratio_min": "least RTO/RTT",
    "ratio_mean": "mean RTO/RTT",
    "ratio_max": "largest RTO/RTT",
    "spurious": "spurious in all cycles",
}


@click.command("eifel")
@click.option("--load", type=Whole(2, 3000), default=40, show_default=True, help="Largest load, segments.")
@click.option(
    "--cycles",
    type=Whole(2, 100_000),
    default=30,
    show_default=True,
    help="Cycles of the load; the numbers printed are those of the last one.",
)
@click.option(
    "--service-time", default="1s", show_default=True, help="Time that the bottleneck takes for a segment."
)
@click.option(
    "--tick",
    default="0s",
    show_default=True,
    help="Tick of the clock that the timers measure with; 0s for none.",
)
@click.option(
    "--sampling",
    type=click.Choice(["every", "delayed", "once"]),
    default="every",
    show_default=True,
    help="Which acks give a round-trip sample: every one, every second, or one per round trip.",
)
@click.option(
    "--from-half",
    is_flag=True,
    help="Start cycles at half of the largest load, instead of one segment above.",
)
@click.option(
    "--series",
    type=click.Path(path_type=Path),
    help="Take the rows from a series of round-trip times instead: CSV with a header, or Parquet.",
)
@click.option(
    "--timer",
    "names",
    multiple=True,
    metavar="NAME[(KEY=VALUE,...)]",
    help="A timer; may be repeated. By default lite and eifel.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for every column of every row, and a figure."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    load: int,
    cycles: int,
    service_time: str,
    tick: str,
    sampling: str,
    from_half: bool,
    series: Path | None,
    names: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the step-by-step model of the Eifel paper: timers side by side over a bulk transfer.

    There is a row for each acknowledgment, as in the paper's spreadsheet. The load climbs from half of the
    largest to the largest, then starts again. Margins are RTO(i-1) - RTT(i), ratios RTO(i-1)/RTT(i), both
    over the rows of the last cycle that have a sample. A series has the columns time and rtt (s) and, where
    known, flight, cwnd and ssthresh (segments); the numbers then cover all of its rows after the first
    sample.
    """
    from ackclock.models.eifel2000 import RowModel, SeriesModel
    from ackclock.results import folder

    chosen = [f"--{name.replace('_', '-')}" for name in OF_THE_MODEL if not _is_default(name)]
    if series and chosen:
        raise InputError(f"`--series` gives the rows; leave `{chosen[0]}` out")
    model = (
        SeriesModel.read(series)
        if series
        else RowModel(load, cycles, _time("--service-time", service_time), sampling, from_half)
    )
    clock = {"tick": tick, "rounded": "true"} if _time("--tick", tick) > 0 else {"tick": "0s"}
    if clock["tick"] != "0s" and _time("--tick", tick) > 10:
        raise InputError(f"`--tick` is `{tick}`; give at most 10s")
    timers = [
        _timer(name).but(**clock, min_rto="0s", max_rto="1h")
        for name in dict.fromkeys(names or ("lite", "eifel"))
    ]
    if out:
        folder.check_writable(out)
    rows = [
        summary(model.run(timer), name)
        for timer, name in zip(timers, dict.fromkeys(names or ("lite", "eifel")), strict=True)
    ]
    result: dict[str, Any]
    if isinstance(model, SeriesModel):
        result = {"series": str(series), "rows": len(model.given["time"]), "timers": rows}
    else:
        result = {
            "load": load,
            "cycles": cycles,
            "service_time": model.service_time,
            "sampling": sampling,
            "rows": model.cycle_rows,
            "timers": rows,
        }
    if out:
        result["folder"] = str(_write(out, model, timers, result))
    if as_json:
        print_json(result)
        return
    say(
        f"{result['rows']} rows; times in seconds."
        if series
        else f"{cycles} cycles of {result['rows']} rows; times in seconds, the last cycle."
    )
    print_table(
        [(heading, "left" if key == "timer" else "right") for key, heading in COLUMNS.items()],
        [
            [number(row[key]) if isinstance(row[key], float) else str(row[key]) for key in COLUMNS]
            for row in rows
        ],
    )
    if out:
        note(f"Rows and figure in {result['folder']}")


OF_THE_MODEL = ("load", "cycles", "service_time", "sampling", "from_half")
"""The options of the step-by-step model, which a series replaces."""


def _is_default(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is None or source == click.core.ParameterSource.DEFAULT


def summary(rows: Any, name: str) -> dict[str, Any]:
    """A timer's numbers of the last cycle, rows counted from 1 within it."""
    last = rows.cycle()
    places = np.flatnonzero(last.series["sampled"])
    margin, ratio, rto = (last.sampled(v) for v in (last.margin, last.ratio, last.rto))
    if not places.size or not np.isfinite(margin).all():
        raise InputError("the last cycle has too few samples; give a larger load or more cycles")
    return {
        "timer": name,
        "rto_max": float(rto.max()),
        "rto_max_row": int(places[rto.argmax()]) + 1,
        "rto_end": float(last.rto[-1]),
        "least_margin": float(margin.min()),
        "least_margin_row": int(places[margin.argmin()]) + 1,
        "rows_without_margin": int((margin <= 0).sum()),
        "ratio_min": float(ratio.min()),
        "ratio_mean": float(ratio.mean()),
        "ratio_max": float(ratio.max()),
        "spurious": int(rows.made["spurious"].sum()),
    }


def _write(out: Path, model: Any, timers: list[Any], result: dict[str, Any]) -> Path:
    from ackclock.plot import timers as drawn
    from ackclock.results import folder

    table = model.table(timers)
    shown = slice(-3 * getattr(model, "cycle_rows", table.num_rows), None)
    column = {name: table[name].to_numpy()[shown] for name in ("time", "rtt", *(f"{t}.rto" for t in timers))}
    rto = {t["timer"]: column[f"{timer}.rto"] for t, timer in zip(result["timers"], timers, strict=True)}
    what = (
        f"Largest load {model.load}, service time {model.service_time:g} s, samples: {model.sampling}"
        if "load" in result
        else model.name
    )

    def draw() -> Any:
        return drawn(
            column["time"], column["rtt"], rto, title="Timeouts over the model's steps", subtitle=what
        )

    def fill(directory: Path) -> None:
        folder.write_table(table, directory / "rows.parquet")
        folder.write_json({**result, "folder": str(out.absolute())}, directory / folder.SUMMARY)

    return folder.write(out, fill, {"rto": draw})


def _timer(text: str) -> Any:
    from ackclock.models.timer import Timer

    return Timer.parse(text)


def _time(option: str, text: str) -> float:
    try:
        return _core.quantity("time", text)
    except InputError as e:
        raise InputError(f"`{option}`: {e}") from None
