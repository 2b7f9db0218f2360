"""The layers of a page's figures: bars, stairs, dots and marks, as arrays that the page's script draws."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from ackclock.plot import kinds
from ackclock.plot.thin import outline, visible
from ackclock.quantities import seconds
from ackclock.results.trace import Trace, Wait

MOST = 250_000
"""Most items of a layer; a larger one keeps those that a full view can show."""
MOST_OF_PAGE = 300_000
"""The same, shared by the directions of a page that shows several."""
DASHES = ([], [7, 3], [2, 2], [8, 3, 2, 3])
"""Dashes of lines, so that they do not differ by colour alone."""
SHAPES = {
    "X": "cross",
    "x": "cross",
    "^": "up",
    "v": "down",
    "s": "square",
    "D": "diamond",
    "d": "diamond",
    "P": "plus",
    "*": "plus",
    "h": "circle",
}
"""The page's shape for a marker of matplotlib."""


def numbers(values: np.ndarray) -> dict[str, str]:
    """An array as the page takes it: its type, and its bytes (little-endian) in base 64."""
    v = np.asarray(values)
    if v.dtype == bool or v.dtype == np.uint8:
        kind = "u1"
    elif v.dtype.kind in "iu" and (not v.size or (v.min() >= 0 and v.max() < 2**32)):
        kind = "u4"
    else:
        kind = "f8"
    return {"type": kind, "data": base64.b64encode(v.astype("<" + kind).tobytes()).decode("ascii")}


def layer(
    shape: str,
    label: str,
    colour: str,
    arrays: Mapping[str, np.ndarray],
    *,
    notes: list[str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A layer: its shape (`bars`, `stairs`, `dots`, `marks`, `waits`), its words, the name of its colour in
    the page's style, its arrays.
    """
    return {
        "shape": shape,
        "label": label,
        "colour": colour,
        "arrays": {k: numbers(v) for k, v in arrays.items()},
        "notes": notes or [],
        **more,
    }


class Thinned:
    """Cuts layers to what a page carries, and remembers what was left out."""

    def __init__(self, directions: int = 1) -> None:
        """Of a page that shows so many directions."""
        self.most = min(MOST, MOST_OF_PAGE // max(directions, 1))
        self.said: list[str] = []

    def points(self, x: np.ndarray, y: np.ndarray, what: str) -> np.ndarray:
        """Which of the points to keep."""
        if x.size <= self.most:
            return np.arange(x.size)
        keep = visible(x, y, (float(x.min()), float(x.max()), float(y.min()), float(y.max())), 3000)
        keep = keep[np.linspace(0, keep.size - 1, self.most).astype(int)] if keep.size > self.most else keep
        self.said.append(f"{keep.size:,} of {x.size:,} {what}: those that a full view can distinguish")
        return keep

    def line(self, x: np.ndarray, y: np.ndarray, what: str) -> np.ndarray:
        """Which points of a line to keep."""
        if x.size <= self.most:
            return np.arange(x.size)
        keep = outline(x, y, self.most // 5)
        self.said.append(
            f"{keep.size:,} of {x.size:,} points of the line of {what}: least, largest, first and last "
            "of each stretch"
        )
        return keep


def sequence(t: Trace, evidence: Mapping[tuple[float, int], str], thinned: Thinned) -> list[dict[str, Any]]:
    """The layers of the time-sequence figure. Heights are bytes of the stream."""
    layers = []
    if t.edge_at.size:
        keep = thinned.line(t.edge_at, t.edge, "the receiver's window")
        layers.append(
            layer(
                "stairs", "receiver's window", "edge", {"x": t.edge_at[keep], "y": t.edge[keep]}, fits=False
            )
        )
    if t.acked_at.size:
        keep = thinned.line(t.acked_at, t.acked, "what is acknowledged")
        layers.append(layer("stairs", "acknowledged", "acked", {"x": t.acked_at[keep], "y": t.acked[keep]}))
    if t.sack_at.size:
        keep = thinned.points(t.sack_at, t.sack_to, "SACK blocks")
        arrays = {"x": t.sack_at[keep], "low": t.sack_from[keep], "high": t.sack_to[keep]}
        layers.append(layer("bars", f"SACK ({t.sack_at.size:,})", "sack", arrays))
    new = np.flatnonzero(~t.marked)
    if new.size:
        new = new[thinned.points(t.time[new], t.offset[new], "segments")]
        arrays = {"x": t.time[new], "low": t.offset[new], "high": t.offset[new] + t.size[new]}
        layers.append(layer("bars", f"data ({int((~t.marked).sum()):,})", "data", arrays, thick=True))
    known = [w for w in t.waits if w.rto == w.rto]
    if known:
        arrays = {
            "x": np.array([w.time for w in known]),
            "from": np.array([w.time - w.rto for w in known]),
            "y": np.array([w.offset for w in known]),
        }
        notes = [waited(w) for w in known]
        layers.append(layer("waits", kinds.waits(known), "timeout", arrays, notes=notes))
    return layers + _marks(t, (t.offset + t.size / 2).astype(np.int64), evidence)


def flight(t: Trace, evidence: Mapping[tuple[float, int], str], thinned: Thinned) -> list[dict[str, Any]]:
    """The layers of the figure of bytes in flight."""
    time, outstanding = t.flight()
    layers = []
    if t.edge_at.size:
        at, room = t.room()
        keep = thinned.line(at, room, "the receiver's window")
        layers.append(
            layer(
                "stairs",
                "receiver's window",
                "edge",
                {"x": at[keep], "y": room[keep]},
                fits=False,
                dash=DASHES[2],
            )
        )
    if t.window_at.size:
        keep = thinned.line(t.window_at, t.window, "the congestion window")
        layers.append(
            layer(
                "stairs",
                "congestion window, inferred",
                "sack",
                {"x": t.window_at[keep], "y": t.window[keep]},
                dash=DASHES[1],
            )
        )
    keep = thinned.line(time, outstanding, "bytes in flight")
    layers.append(layer("stairs", "in flight", "data", {"x": time[keep], "y": outstanding[keep]}))
    if not time.size:
        return layers
    return layers + _marks(
        t, outstanding[np.maximum(np.searchsorted(time, t.time, "right") - 1, 0)], evidence
    )


def round_trips(
    t: Trace, time: np.ndarray, rtt: np.ndarray, rto: Mapping[str, np.ndarray], thinned: Thinned
) -> list[dict[str, Any]]:
    """The layers of the figure of round-trip times and timeouts, in seconds."""
    keep = thinned.points(time, rtt, "round-trip times")
    layers = [layer("dots", f"round-trip times ({time.size:,})", "acked", {"x": time[keep], "y": rtt[keep]})]
    for i, (name, values) in enumerate(rto.items()):
        known = np.flatnonzero(np.isfinite(values))
        known = known[thinned.line(time[known], values[known], f"the timeout of {name}")]
        layers.append(
            layer(
                "stairs",
                f"RTO of {name}",
                f"line{i % 6}",
                {"x": time[known], "y": values[known]},
                dash=DASHES[i % 4],
            )
        )
    known = [w for w in t.waits if w.rto == w.rto]
    if known:
        arrays = {
            "x": np.array([w.time for w in known]),
            "y": np.array([w.rto for w in known]),
            "hollow": np.array([w.spurious is True for w in known]),
        }
        notes = [waited(w) + ("; a longer timer would have avoided it" if w.spurious else "") for w in known]
        layers.append(
            layer(
                "marks",
                f"timeouts of the sender ({len(known):,})",
                "timeout",
                arrays,
                notes=notes,
                mark="cross",
            )
        )
    return layers


def waited(w: Wait) -> str:
    """An expiry in words."""
    return (
        f"timeout after {seconds(w.rto)}"
        + (" of silence" if w.silence else "")
        + (f", round {w.round}" if w.round > 1 else "")
    )


def _marks(t: Trace, height: np.ndarray, evidence: Mapping[tuple[float, int], str]) -> list[dict[str, Any]]:
    made = []
    for kind, places in t.kinds():
        look = kinds.look(kind)
        arrays = {"x": t.time[places], "y": height[places], "hollow": ~t.needed[places]}
        notes = [
            evidence.get((x, o), look.words)
            for x, o in zip(t.time[places].tolist(), t.offset[places].tolist(), strict=True)
        ]
        name = COLOURS.get(kind, "timeout")
        made.append(
            layer(
                "marks",
                f"{look.words} ({places.size:,})",
                name,
                arrays,
                notes=notes,
                mark=SHAPES[look.marker],
            )
        )
    return made


COLOURS = {
    "timeout": "timeout",
    "timeout-retransmit": "timeout",
    "after-timeout": "after",
    "fast-retransmit": "fast",
    "sack-retransmit": "fast",
    "fack-retransmit": "fast",
    "rack-retransmit": "fast",
    "tail-loss-probe": "probe",
    "copy": "sack",
    "syn": "probe",
    "zero-window-probe": "sack",
    "window-probe": "sack",
    "keepalive": "sack",
}
"""The page's colour of a kind of retransmission, which has a shade for light and one for dark pages."""
