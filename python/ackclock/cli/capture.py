from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.cli import BAD_INPUT
from ackclock.cli.console import Bar, bar, note, print_json, print_table, say
from ackclock.plain import cell, plain
from ackclock.quantities import count, percent, rate, seconds

if TYPE_CHECKING:
    from ackclock.results import Capture

MOST_ROWS = 40
"""Connections that the terminal shows; those with the longest stalls come first when there are more."""
MOST_DESCRIBED = 5
"""Connections that it describes in sentences."""
COUNTED = ("timeouts", "spurious", "early", "rounds")
WAITED = ("waited", "waited_least", "waited_most")
COLUMNS = (
    "no",
    "client",
    "server",
    "state",
    "packets",
    "bytes",
    "duration",
    "RTT",
    "retransmitted",
    "spurious",
    "timeouts",
    "rounds",
    "stalled",
    "p",
)
SPARE = ("rounds", "spurious", "RTT", "p", "state", "bytes", "duration", "packets")
"""Columns that a narrow terminal leaves out, in this order."""
PLOTS = ("sequence", "rtt", "flight", "what-if")


@click.command("capture")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True)
)
@click.option(
    "--flow",
    metavar="SEL",
    help="Only these connections: a number, a port (:443), an address or both; commas between them.",
)
@click.option(
    "--what-if",
    metavar="NAME,...",
    help="Timers to replay in place of the senders', such as rfc6298+no-backoff,eifel; or all.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: an object for one file, a list for several."
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print a line of CSV for each direction of each connection."
)
@click.option(
    "--parquet", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as Parquet into DIR."
)
@click.option("--packets", is_flag=True, help="With --parquet: also a table of every packet.")
@click.option(
    "--plot",
    "plots",
    type=click.Choice(PLOTS),
    multiple=True,
    help="A figure of each connection, PNG and SVG. May be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the figures; runs/capture-FILE by default.",
)
@click.option(
    "--timer",
    "timers",
    multiple=True,
    metavar="NAME[(KEY=VALUE,...)]",
    help="A timer whose RTO is drawn over the round-trip times. May be repeated.",
)
@click.option(
    "--xpl",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the figures into DIR as files for xplot.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="PAGE",
    help="Write everything as one HTML page that opens offline.",
)
def command(
    files: tuple[Path, ...],
    flow: str | None,
    what_if: str | None,
    as_json: bool,
    as_csv: bool,
    parquet: Path | None,
    packets: bool,
    plots: tuple[str, ...],
    out: Path | None,
    timers: tuple[str, ...],
    xpl: Path | None,
    html: Path | None,
) -> int | None:
    """Analyse captures: list connections, and the cause of every retransmission.

    FILE is pcap or pcapng, plain or compressed with gzip or zstd; - is standard input. A damaged file is read
    up to the damage.
    """
    from ackclock.results import folder, read_capture
    from ackclock.results.capture_plots import TIMERS

    if as_json and as_csv:
        raise InputError("give one of `--json` and `--csv`")
    for given, option, needs, other in (
        (packets, "--packets", parquet, "--parquet DIR"),
        (out, "--out", plots, "--plot FIGURE"),
        (timers, "--timer", plots or xpl or html, "--plot, --xpl or --html"),
        ("what-if" in plots, "--plot what-if", what_if, "--what-if NAME,..."),
    ):
        if given and not needs:
            raise InputError(f"`{option}` needs `{other}`; give that too, or leave it out")
    target = (out or Path("runs") / f"capture-{_stem(files[0])}") if plots else None
    for directory in filter(None, (parquet, target, xpl)):
        folder.check_writable(directory)
    if html:
        from ackclock import report

        report.check(html)
    chosen = tuple(dict.fromkeys(timers)) or TIMERS
    if timers:
        from ackclock.models.timer import Timer

        for name in chosen:
            Timer.parse(name)
    detailed = bool(plots or xpl or html)
    captures = []
    for file in files:
        with bar(file.name) as progress:

            def read(
                only: str | None, label: str, every: bool, file: Path = file, show: Any = progress
            ) -> Capture:
                size = file.stat().st_size if file.is_file() else 0
                # A compressed file holds more bytes than its size: the bar waits near its end.
                report = (lambda n: show(min(n / size, 0.99), label)) if size else None
                first = only == flow
                return read_capture(
                    file,
                    only,
                    samples=first and (detailed or parquet is not None),
                    progress=report,
                    packets=every,
                    what_if=what_if if first else None,
                )

            found = read(flow, file.name, detailed or packets)
            again = _to_reread(found, packets) if detailed and str(file) != "-" else None
            captures.append(
                _with_packets(found, read(again, f"{file.name}, figures", True)) if again else found
            )
    if flow and not any(c.connections for c in captures):
        raise InputError(
            f"`--flow {flow}` chooses none of the connections; `ackclock capture` without it lists them"
        )
    if parquet:
        note(f"Tables: {_write(captures, parquet, packets)}")
    drawn = not (target or xpl) or _draw(captures, plots, target, xpl, chosen)
    if html:
        from ackclock import report

        with bar(html.name) as progress:
            note(f"Page: {report.write(captures, html, chosen, progress).absolute()}")
    if as_json:
        print_json(captures[0].report if len(captures) == 1 else [c.report for c in captures])
    elif as_csv:
        _csv(captures)
    else:
        for capture in captures:
            _show(capture, len(captures) > 1)
    return None if drawn else BAD_INPUT


def _stem(file: Path) -> str:
    return "stdin" if str(file) == "-" else file.name.split(".")[0] or "file"


def _numbers_drawn(capture: Capture) -> list[int]:
    """The numbers of the connections that figures are drawn of."""
    from ackclock.results.capture_plots import MOST_FIGURES
    from ackclock.results.overview import carrying, worst_first

    return [c["number"] for c in carrying(worst_first(capture.connections))[:MOST_FIGURES]]


def _to_reread(capture: Capture, all_wanted: bool) -> str | None:
    """The connections to be drawn, as a `--flow` selection, if the first reading did not have room for all of
    their packets.
    """
    numbers = _numbers_drawn(capture)
    left = {c["number"] for c in capture.connections if c["packets_left_out"]}
    if all_wanted or not left.intersection(numbers) or len(capture.connections) <= len(numbers):
        return None
    return ",".join(map(str, sorted(numbers)))


def _with_packets(capture: Capture, chosen: Capture) -> Capture:
    """A capture with the packets that a second reading found for some connections."""
    from dataclasses import replace

    left = {c["number"]: c["packets_left_out"] for c in chosen.connections}
    for c in capture.connections:
        c["packets_left_out"] = left.get(c["number"], c["packets_left_out"])
    return replace(capture, packets=chosen.packets, traces={})


def _show(capture: Capture, named: bool) -> None:
    from ackclock.results.overview import worst_first

    report = capture.report
    if named:
        say(f"{plain(report['file'])}:")
    if not capture.connections:
        say(f"No TCP connection in {count(report['packets'])} packets.")
    else:
        for sentence in capture.summary():
            say(sentence)
        say()
        shown = capture.connections
        if len(shown) > MOST_ROWS:
            shown = worst_first(shown)[:MOST_ROWS]
        columns = [(c, "left" if c in ("client", "server", "state") else "right") for c in COLUMNS]
        names = ("no", "client", "server")
        print_table(
            columns,
            [_row(c) for c in shown],
            names=names,
            spare=SPARE,
            stack=names[1:],
            elsewhere="--csv has all",
        )
        _describe(shown)
        if len(shown) < len(capture.connections):
            say(
                f"... and {count(len(capture.connections) - len(shown))} more connections that stalled "
                "less; --flow, --csv or --json shows them."
            )
    for sentence in report["notes"]:
        note(f"Note: {sentence}.")
    for c in capture.connections[:MOST_ROWS]:
        for sentence in c["notes"]:
            note(f"Connection {c['number']}: {sentence}.")


def _describe(connections: list[dict[str, Any]]) -> None:
    """Describes the connections that stalled longest, or the only one: what happened, what limited the
    sender, and what other timers would have done.
    """
    from ackclock.results.captured import held_back, totals
    from ackclock.results.overview import stalled, worst_first

    worth = [c for c in worst_first(connections) if stalled(c) > 0 or len(connections) == 1]
    for c in worth[:MOST_DESCRIBED]:
        if len(connections) > 1:
            say(f"\nConnection {c['number']}: {' '.join(c['summary'])}")
        else:
            say()
        for who, d in zip(("client", "server"), c["directions"], strict=True):
            if d["data_packets"]:
                say(f"The {who} was limited by {held_back(d)}.")
            if d["models"]:
                say(_models(who, d["models"]))
        if timers := totals(c["directions"]):
            say()
            rows = [
                [t["timer"], *(count(t[k]) for k in COUNTED), *(seconds(t[k]) for k in WAITED)]
                for t in timers
            ]
            print_table(
                [("timer", "left"), *((h, "right") for h in (*COUNTED, "waited", "at least", "at most"))],
                rows,
                spare=("early", "rounds"),
            )


def _models(who: str, m: dict[str, Any]) -> str:
    said = []
    for name, key in (("Mathis", "mathis"), ("PFTK", "pftk")):
        if m[key]["ratio"] is not None:
            doubt = ", uncertain: fewer than four signals" if m[key]["p_uncertain"] else ""
            said.append(
                f"{m[key]['ratio']:.2f} of {name}'s {rate(m[key]['rate'])} (p {percent(m[key]['p'])}{doubt})"
            )
    had = f"The {who} achieved {rate(m['achieved'])} while it had data to send"
    return f"{had}: {', '.join(said)}; RTT {seconds(m['rtt'])}, MSS {m['mss']} B." if said else f"{had}."


def _row(c: dict[str, Any]) -> list[str]:
    from ackclock.results.overview import overview

    o = overview(c)
    counts = [count(o[key]) for key in ("retransmitted", "spurious", "timeouts", "rounds")]
    return [
        *(str(o[key]) for key in ("number", "client", "server", "state")),
        *(count(o[key]) for key in ("packets", "bytes")),
        *(seconds(o[key]) for key in ("duration", "rtt")),
        *counts,
        seconds(o["stalled"]),
        percent(o["p"]) + ("?" if o["p_uncertain"] else ""),
    ]


def _csv(captures: list[Capture]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    for i, capture in enumerate(captures):
        if i == 0:
            out.writerow(capture.directions.column_names)
        out.writerows(
            map(cell, row)
            for row in zip(*(column.to_pylist() for column in capture.directions.columns), strict=True)
        )


def _draw(
    captures: list[Capture],
    plots: tuple[str, ...],
    target: Path | None,
    xpl: Path | None,
    timers: tuple[str, ...],
) -> bool:
    """Writes figures and files for xplot, a set for each connection. Returns whether there was anything to
    draw.
    """
    from ackclock.plot import xplot
    from ackclock.results import folder

    wanted = [(i, capture, n) for i, capture in enumerate(captures, start=1) for n in _numbers_drawn(capture)]
    several = len(captures) > 1
    left = sum(len(c.connections) for c in captures) - len(wanted)
    if not wanted:
        note("Note: no connection carries payload, so there is nothing to draw.")
        return False

    def named(what: str, i: int, n: int) -> str:
        return f"{what}-{i}-{n}" if several else f"{what}-{n}"

    def summary(directory: Path) -> None:
        folder.write_json(
            {"figures": list(plots), "files": [c.report["file"] for c in captures]},
            directory / folder.SUMMARY,
        )

    def figures(progress: Bar) -> dict[str, Callable[[], Any]]:
        each = [(what, i, capture, n) for i, capture, n in wanted for what in dict.fromkeys(plots)]

        def draw(place: int, what: str, capture: Capture, n: int) -> Any:
            progress(place / len(each), f"{what} of connection {n}")
            return (
                capture.plot.rtt(n, timers)
                if what == "rtt"
                else getattr(capture.plot, what.replace("-", "_"))(n)
            )

        return {
            named(what, i, n): partial(draw, place, what, capture, n)
            for place, (what, i, capture, n) in enumerate(each)
        }

    def files(directory: Path) -> None:
        for i, capture, n in wanted:
            connection = capture.plot.connection(n)
            for side, d in enumerate(connection["directions"]):
                if not d["bytes"]:
                    continue
                t = capture.plot.trace(n, side)
                title = f"connection {n}, from {d['from']} to {d['to']}"
                made = {
                    "sequence": xplot.sequence(t, f"{title}: time sequence"),
                    "rtt": xplot.round_trips(
                        t, *capture.plot.replayed(n, timers, t.origin, side), f"{title}: round-trip times"
                    ),
                    "flight": xplot.flight(t, f"{title}: bytes in flight"),
                }
                for what, lines in made.items():
                    xplot.write(lines, directory / f"{named(what, i, n)}-{('client', 'server')[side]}.xpl")
        folder.write_json(
            {
                "xplot": "time is absolute seconds of the capture's own clock",
                "files": [c.report["file"] for c in captures],
            },
            directory / folder.SUMMARY,
        )

    if target:
        with bar("figures") as progress:
            written = folder.write(target, summary, figures(progress))
        note(f"Figures: {written}")
    if xpl:
        note(f"Files for xplot: {folder.write(xpl, files)}")
    if left:
        note(
            f"Note: the {len(wanted)} connections with payload that stalled longest are drawn, "
            f"{count(left)} others are not; --flow chooses which."
        )
    return True


def _write(captures: list[Capture], target: Path, packets: bool) -> Path:
    import pyarrow as pa

    from ackclock.results import folder
    from ackclock.results.capture import TABLES

    def fill(directory: Path) -> None:
        for name in TABLES:
            if name == "packets" and not packets:
                continue
            tables = []
            for capture in captures:
                table = getattr(capture, name)
                if "file" not in table.column_names:
                    file = pa.array([capture.report["file"]] * table.num_rows, pa.string())
                    table = table.add_column(0, pa.field("file", pa.string(), nullable=False), file)
                tables.append(table)
            folder.write_table(pa.concat_tables(tables), directory / f"{name}.parquet")
        folder.write_json([c.report for c in captures], directory / folder.SUMMARY)

    return folder.write(target, fill)
