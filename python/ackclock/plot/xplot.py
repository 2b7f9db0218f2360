"""Files for xplot (xplot.org), which draws and zooms graphs of tcptrace and similar programs.

A file is text: the types of both axes, `title`, `xlabel` and `ylabel` with their words on the next line, then
one drawing command a line, its colour at the end, and `go`. Times are absolute seconds of the capture's own
clock (type `timeval`, microseconds); those of a simulated run begin with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ackclock.quantities import seconds
from ackclock.results.trace import Trace

AGAIN = {
    "timeout": ("R", "red"),
    "timeout-retransmit": ("R", "red"),
    "after-timeout": ("r", "red"),
    "fast-retransmit": ("F", "magenta"),
    "sack-retransmit": ("S", "magenta"),
    "fack-retransmit": ("A", "magenta"),
    "rack-retransmit": ("K", "magenta"),
    "tail-loss-probe": ("P", "orange"),
    "copy": ("C", "blue"),
    "syn": ("SYN", "orange"),
    "zero-window-probe": ("W", "blue"),
    "window-probe": ("W", "blue"),
    "keepalive": ("L", "blue"),
}
"""Letter and colour of retransmissions by kind; U for any other kind."""
TIMERS = ("green", "blue", "purple", "orange", "yellow", "pink")


def sequence(t: Trace, title: str) -> Iterator[str]:
    """The time-sequence graph: segments between arrows, acknowledgments, the window's edge, SACK blocks,
    letters on retransmissions.
    """
    yield from _head(title, "offset (bytes)")
    yield from _stairs(t, t.acked_at, t.acked, "green")
    yield from _stairs(t, t.edge_at, t.edge, "yellow")
    for at, low, high in zip(_moments(t, t.sack_at), t.sack_from, t.sack_to, strict=True):
        yield f"line {at} {low} {at} {high} purple"
    for at, low, size, again, kind, needed in zip(
        _moments(t, t.time), t.offset, t.size, t.marked, t.kind, t.needed, strict=True
    ):
        letter, colour = AGAIN.get(kind, ("U", "red")) if again else ("", "white")
        yield f"darrow {at} {low} {colour}"
        yield f"uarrow {at} {low + size} {colour}"
        yield f"line {at} {low} {at} {low + size} {colour}"
        if again:
            yield f"atext {at} {low + size} {colour}"
            yield letter if needed else f"{letter} spurious"
    for w in t.waits:
        if w.rto == w.rto:
            began, at = (f"{t.origin + x:.6f}" for x in (w.time - w.rto, w.time))
            yield f"line {began} {w.offset} {at} {w.offset} red"
            yield f"btext {at} {w.offset} red"
            yield seconds(w.rto)
    yield "go"


def round_trips(
    t: Trace, time: np.ndarray, rtt: np.ndarray, rto: Mapping[str, np.ndarray], title: str
) -> Iterator[str]:
    """Samples of the round-trip time (ms), and the timeout that each timer would have set after them."""
    yield from _head(title, "ms")
    for at, x in zip(_moments(t, time), rtt, strict=True):
        yield f"dot {at} {1e3 * x:.6f} white"
    for colour, (name, values) in zip(TIMERS, rto.items(), strict=False):
        known = np.isfinite(values)
        if known.any():
            first = int(known.argmax())
            yield f"rtext {_moments(t, time[first : first + 1])[0]} {1e3 * values[first]:.6f} {colour}"
            yield _words(f"RTO of {name}")
        yield from _stairs(t, time[known], 1e3 * values[known], colour)
    for w in t.waits:
        if w.rto == w.rto:
            yield f"diamond {t.origin + w.time:.6f} {1e3 * w.rto:.6f} red"
    yield "go"


def flight(t: Trace, title: str) -> Iterator[str]:
    """Bytes in flight, below the receiver's window and the congestion window."""
    yield from _head(title, "bytes")
    yield from _stairs(t, *t.flight(), "red")
    yield from _stairs(t, *t.room(), "yellow")
    yield from _stairs(t, t.window_at, t.window, "blue")
    yield "go"


def write(lines: Iterator[str], path: Path) -> None:
    """Writes a file of xplot."""
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as out:
        out.writelines(f"{line}\n" for line in lines)


def _head(title: str, ylabel: str) -> Iterator[str]:
    yield from (
        "timeval double",
        "title",
        _words(title),
        "xlabel",
        "time (s, the capture's clock)",
        "ylabel",
        ylabel,
    )


def _words(text: str) -> str:
    """Text on a single line."""
    return "".join(c if c.isprintable() else " " for c in text) or " "


def _moments(t: Trace, time: np.ndarray) -> list[str]:
    return [f"{t.origin + x:.6f}" for x in time.tolist()]


def _stairs(t: Trace, time: np.ndarray, values: np.ndarray, colour: str) -> Iterator[str]:
    """A line that keeps its height until the next moment."""
    moments, heights = (
        _moments(t, time),
        [f"{x:.6f}" if isinstance(x, float) else str(x) for x in values.tolist()],
    )
    for i in range(1, len(moments)):
        yield f"line {moments[i - 1]} {heights[i - 1]} {moments[i]} {heights[i - 1]} {colour}"
        if heights[i] != heights[i - 1]:
            yield f"line {moments[i]} {heights[i - 1]} {moments[i]} {heights[i]} {colour}"
    if len(moments) == 1:
        yield f"dot {moments[0]} {heights[0]} {colour}"
