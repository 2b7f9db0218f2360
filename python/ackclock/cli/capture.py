from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError
from ackclock.cli.console import bar, note, print_json, print_table
from ackclock.cli.quantities import count, percent, seconds

if TYPE_CHECKING:
    from ackclock.results import Capture

MOST_ROWS = 40
"""Connections that the terminal shows; those with the longest stalls come first when there are more."""
COLUMNS = ("no", "client", "server", "state", "packets", "bytes", "duration", "RTT", "sent again", "in vain", "timeouts", "rounds", "stalled", "p")


@click.command("capture")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--flow", metavar="SEL", help="Only these connections: a number, a port (:443), an address or both; commas between them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: for one file an object, for several a list.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a line of CSV for each direction of each connection.")
@click.option("--parquet", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as Parquet into DIR.")
def command(files: tuple[Path, ...], flow: str | None, as_json: bool, as_csv: bool, parquet: Path | None) -> None:
    """Take captures apart: connections, and every segment that was sent again with its cause.

    FILE is pcap or pcapng, plain or compressed with gzip or zstd; - is standard input. What is damaged is read up to the damage.
    """
    from ackclock.results import folder, read_capture

    if as_json and as_csv:
        raise InputError("give one of `--json` and `--csv`")
    if parquet:
        folder.check_writable(parquet)
    captures = []
    for file in files:
        size = file.stat().st_size if file.is_file() else 0
        with bar(file.name) as progress:
            # Compressed files hold more than their size: their bar stays near its end.
            told = (lambda n, size=size, show=progress: show(min(n / size, 0.99))) if size else None
            captures.append(read_capture(file, flow, samples=parquet is not None, progress=told))
    if flow and not any(c.connections for c in captures):
        raise InputError(f"`--flow {flow}` chooses none of the connections; `ackclock capture` without it lists them")
    if parquet:
        note(f"Tables: {_write(captures, parquet)}")
    if as_json:
        print_json(captures[0].report if len(captures) == 1 else [c.report for c in captures])
        return
    if as_csv:
        _csv(captures)
        return
    for capture in captures:
        _show(capture, len(captures) > 1)


def _show(capture: Capture, named: bool) -> None:
    report = capture.report
    if named:
        print(f"{report['file']}:")
    if not capture.connections:
        print(f"No TCP connection in {count(report['packets'])} packets.")
    else:
        for sentence in capture.summary():
            print(sentence)
        print()
        shown = capture.connections
        if len(shown) > MOST_ROWS:
            shown = sorted(shown, key=lambda c: (-_stalled(c), -_sum(c, "retransmitted_packets"), c["number"]))[:MOST_ROWS]
        print_table([(c, "left" if c in ("client", "server", "state") else "right") for c in COLUMNS], [_row(c) for c in shown])
        if len(shown) < len(capture.connections):
            print(f"... and {count(len(capture.connections) - len(shown))} more connections that stalled less; --flow, --csv or --json shows them.")
    for sentence in report["notes"]:
        note(f"Note: {sentence}.")
    for c in capture.connections[:MOST_ROWS]:
        for sentence in c["notes"]:
            note(f"Connection {c['number']}: {sentence}.")


def _row(c: dict[str, Any]) -> list[str]:
    directions = c["directions"]
    main = max(directions, key=lambda d: d["bytes"])
    timeouts = [t for d in directions for t in d["timeouts"]]
    return [
        str(c["number"]),
        c["client"],
        c["server"],
        c["state"],
        count(_sum(c, "packets")),
        count(_sum(c, "bytes")),
        seconds(c["duration"]),
        seconds(_round_trip(directions)),
        count(_sum(c, "retransmitted_packets")),
        count(_sum(c, "unneeded_packets")),
        count(len(timeouts)),
        count(max((t["round"] for t in timeouts), default=0)),
        seconds(_stalled(c)),
        percent(main["p"]) + ("?" if main["p_uncertain"] and main["ca_events"] else ""),
    ]


def _round_trip(directions: list[dict[str, Any]]) -> float | None:
    """From end to end: what lies on either side of the capture, at the median."""
    parts = [d["rtt"]["p50"] for d in directions if d["rtt"]["p50"] is not None]
    return sum(parts) if parts else None


def _sum(c: dict[str, Any], key: str) -> int:
    return sum(d[key] for d in c["directions"])


def _stalled(c: dict[str, Any]) -> float:
    return sum(t["rto"] for d in c["directions"] for t in d["timeouts"])


def _csv(captures: list[Capture]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    for i, capture in enumerate(captures):
        if i == 0:
            out.writerow(capture.directions.column_names)
        out.writerows(zip(*(column.to_pylist() for column in capture.directions.columns), strict=True))


def _write(captures: list[Capture], target: Path) -> Path:
    import pyarrow as pa

    from ackclock.results import folder
    from ackclock.results.capture import TABLES

    def fill(directory: Path) -> None:
        for name in TABLES:
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
