from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.cli import BAD_INPUT, capture_live, completion
from ackclock.cli.capture_figures import draw, to_reread, with_packets
from ackclock.cli.capture_summary import show
from ackclock.console import bar, note, print_json
from ackclock.plain import cell

if TYPE_CHECKING:
    from ackclock.results import Capture

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
    shell_complete=completion.timers,
    help="Timers to replay in place of the senders', such as rfc6298+no-backoff,eifel; or all.",
)
@click.option(
    "--by-stack",
    is_flag=True,
    help="Ask the stacks of ackclock: the one that fits a sender names the causes of its retransmissions.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="Compare two captures: the two ends of the same connections, or before and after.",
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
    shell_complete=completion.timers,
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
    by_stack: bool,
    compare: bool,
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
    up to the damage. `ackclock examples slow.pcap.gz` writes one to begin with.

    \b
        ackclock capture slow.pcap.gz
        ackclock capture slow.pcap.gz --what-if eifel --html slow.html
        tcpdump -i eth0 -s 100 -U -w - tcp | ackclock capture -
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
    if compare:
        others = (what_if, by_stack, as_csv, parquet, packets, plots, out, timers, xpl, html)
        if len(files) != 2:
            raise InputError(f"`--compare` takes two captures, not {len(files)}")
        if any(others):
            raise InputError("`--compare` prints text or `--json`, and takes `--flow` alone of the others")
        from ackclock.cli import capture_compare

        return capture_compare.show(files, flow, as_json)
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
    followed = not detailed and not what_if and not by_stack and not parquet and len(files) == 1
    if followed and capture_live.comes_in_a_pipe(files[0]):
        captures.append(capture_live.follow(files[0], flow))
    for file in files if not captures else ():
        with bar(file.name) as progress:

            def read(
                only: str | None, label: str, every: bool, file: Path = file, progress: Any = progress
            ) -> Capture:
                size = file.stat().st_size if file.is_file() else 0
                # A compressed file holds more bytes than its size: the bar waits near its end.
                report = (lambda n: progress(min(n / size, 0.99), label)) if size else None
                first = only == flow
                return read_capture(
                    file,
                    only,
                    samples=first and (detailed or parquet is not None),
                    progress=report,
                    packets=every,
                    what_if=what_if if first else None,
                    by_stack=by_stack,
                )

            found = read(flow, file.name, detailed or packets)
            again = to_reread(found, packets) if detailed and str(file) != "-" else None
            captures.append(
                with_packets(found, read(again, f"{file.name}, figures", True)) if again else found
            )
    if flow and not any(c.connections for c in captures):
        raise InputError(
            f"`--flow {flow}` chooses none of the connections; `ackclock capture` without it lists them"
        )
    if parquet:
        note(f"Tables: {_write(captures, parquet, packets)}")
    drawn = not (target or xpl) or draw(captures, plots, target, xpl, chosen)
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
            show(capture, len(captures) > 1)
    return None if drawn else BAD_INPUT


def _stem(file: Path) -> str:
    return "stdin" if str(file) == "-" else file.name.split(".")[0] or "file"


def _csv(captures: list[Capture]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    for i, capture in enumerate(captures):
        if i == 0:
            out.writerow(capture.directions.column_names)
        out.writerows(
            map(cell, row)
            for row in zip(*(column.to_pylist() for column in capture.directions.columns), strict=True)
        )


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
