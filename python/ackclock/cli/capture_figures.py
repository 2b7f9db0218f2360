"""The figures of `ackclock capture`: which connections are drawn, and the files with their figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.console import Bar, bar, note
from ackclock.quantities import count

if TYPE_CHECKING:
    from ackclock.results import Capture


def numbers_drawn(capture: Capture) -> list[int]:
    """The numbers of the connections that figures are drawn of."""
    from ackclock.results.capture_plots import MOST_FIGURES
    from ackclock.results.overview import carrying, worst_first

    return [c["number"] for c in carrying(worst_first(capture.connections))[:MOST_FIGURES]]


def to_reread(capture: Capture, all_wanted: bool) -> str | None:
    """The connections to be drawn, as a `--flow` selection, if the first reading did not have room for all of
    their packets.
    """
    numbers = numbers_drawn(capture)
    left = {c["number"] for c in capture.connections if c["packets_left_out"]}
    if all_wanted or not left.intersection(numbers) or len(capture.connections) <= len(numbers):
        return None
    return ",".join(map(str, sorted(numbers)))


def with_packets(capture: Capture, chosen: Capture) -> Capture:
    """A capture with the packets that a second reading found for some connections."""
    from dataclasses import replace

    left = {c["number"]: c["packets_left_out"] for c in chosen.connections}
    for c in capture.connections:
        c["packets_left_out"] = left.get(c["number"], c["packets_left_out"])
    return replace(capture, packets=chosen.packets, traces={})


def draw(
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

    wanted = [(i, capture, n) for i, capture in enumerate(captures, start=1) for n in numbers_drawn(capture)]
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
