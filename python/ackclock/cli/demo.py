from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from ackclock import _core
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, say
from ackclock.exit_codes import INTERRUPTED
from ackclock.quantities import count, percent, rate, seconds

SIMULATED = "short web flows over a congested link, with and without backoff"
DOWNLOAD = "20 MB, kernel to engine, 20 Mbit/s, 40 ms, 1 % loss each way"


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    help="Folder for the results of both parts.",
)
@click.option(
    "--seconds",
    type=Whole(1, 100_000),
    default=200,
    show_default=True,
    help="Simulated time in which flows arrive.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(out: Path, seconds: int, as_json: bool) -> int | None:
    """Show what ackclock does, in two parts: short web transfers over an overloaded link in the simulator,
    with and without exponential backoff, and a download over real packets. Takes about half a minute.
    """
    from ackclock.cli.run import show
    from ackclock.reproduce.backoff2008 import tails
    from ackclock.results import folder

    target = out / "backoff"
    for part in (target, out / "download"):
        folder.check_writable(part)
    note("Two parts, about half a minute together.")
    note(f"1. Simulated: {SIMULATED}.")
    scenario = tails.demonstration(seconds)
    with bar("simulating") as progress:
        run = scenario.simulate(progress=progress)
    written = run.save(target)
    if not as_json:
        show(run)
        say(_in_words(run.summary["stacks"]))
        say(f"Run folder: {written}")
        say(f"Figure: {written / 'response_time.png'} and .svg")
    sys.stdout.flush()
    note(f"2. Real packets: {DOWNLOAD}.")
    download = _download(out / "download")
    if as_json:
        print_json({"simulated": {**run.summary, "folder": str(written)}, "download": download})
    elif "missing" in download:
        say(f"Skipped: {download['missing']}")
    else:
        _show_download(download)
    return None


def _in_words(stacks: list[dict[str, Any]]) -> str:
    """What the stacks of the table are, and what became of their transfers."""
    by_name = {row["stack"]: row for row in stacks}
    first, last = by_name["TCP"], by_name["TCP*(inf)"]
    what = (
        "TCP doubles its timeout at each expiry in a row, TCP*(3) only after the third, and TCP*(inf) never "
        "(Mondal and Kuzmanovic 2008)."
    )

    def change(name: str) -> str:
        return f"from {seconds(first[name])} to {seconds(last[name])}"

    more = last["loss"] > first["loss"] and last["timeouts"] > first["timeouts"]
    why = (
        f": what is retransmitted sooner meets the same full queue, which drops {percent(last['loss'])} of "
        f"all packets in place of {percent(first['loss'])}. A transfer that loses many packets gains more by "
        "waiting less than it loses by that; a typical one does not"
        if more and last["median"] > first["median"] and last["p99"] < first["p99"]
        else ""
    )
    median, tail = change("median"), change("p99")
    return f"{what} Without backoff the median goes {median}, the 99th percentile {tail}{why}."


def _download(out: Path) -> dict[str, Any]:
    """The results of the download, or under `missing` the permission or system that it lacks. It runs in its
    own
    process: only a single-threaded one may enter a user namespace.
    """
    if not hasattr(_core, "download_demo"):
        return {
            "missing": "real packets need Linux (network namespaces and /dev/net/tun); simulations run "
            "everywhere"
        }
    from ackclock.results import folder

    found: dict[str, Any] = {}

    def fill(directory: Path) -> None:
        command = [sys.executable, "-m", "ackclock.cli.download", str(directory)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == INTERRUPTED:
            raise KeyboardInterrupt
        if done.returncode:
            raise _core.DriveError(f"the download failed with exit code {done.returncode}")
        found.update(json.loads(done.stdout))
        if "missing" in found:
            raise _core.MissingRightError(found["missing"])
        found["captures"] = [str(out.absolute() / Path(c).name) for c in found["captures"]]
        folder.write_json(found, directory / folder.SUMMARY)

    with contextlib.suppress(_core.MissingRightError):
        folder.write(out, fill)
    return found


def _show_download(d: dict[str, Any]) -> None:
    say(
        f"{count(d['bytes'])} bytes in {seconds(d['seconds'])}: goodput {rate(d['goodput'])}; SHA-256 "
        f"{d['sha256'][:16]}... equal at both ends."
    )
    say(
        f"The kernel ({d['congestion_control']}) retransmitted {count(d['retransmissions'])} segments "
        f"and timed out {count(d['timeouts'])} times."
    )
    say(f"Captures: {', '.join(d['captures'])}")
