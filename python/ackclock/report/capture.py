"""The HTML page of analysed captures: `ackclock capture --html`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
import pyarrow.compute as pc
from markupsafe import Markup

from ackclock import _core
from ackclock.plot.round_trips import is_wide
from ackclock.quantities import count, percent, seconds
from ackclock.report import layers
from ackclock.report.sums import limits, models, servers
from ackclock.results import owned
from ackclock.results.capture_plots import MOST_FIGURES, TIMERS, moment, seen_from
from ackclock.results.captured import sends_little
from ackclock.results.overview import carrying, expiries, overview, worst_first
from ackclock.results.what_if_words import HEADINGS, meanings

if TYPE_CHECKING:
    from ackclock.results.capture import Capture

HERE = Path(__file__).parent
OURS = re.compile(rb'<!doctype html>.{1,1500}<meta name="generator" content="ackclock ', re.DOTALL)
"""The beginning of pages that ackclock writes."""
HEAD = 2048
MOST_CONNECTIONS = 500
"""Rows of the table of connections."""
MOST_ROWS = 300
"""Rows of the table of retransmissions of a direction."""


WHAT_IF = (
    "timer",
    "timeouts",
    "spurious",
    "early",
    "rounds",
    "waited",
    "waited_least",
    "waited_most",
    "rerun_least",
    "rerun_most",
)
"""Columns of a what-if that come first, in this order."""


def check(path: Path) -> None:
    """Refuses, before any work is done, what a page would overwrite: everything but an earlier page of
    ackclock.
    """
    if path.is_symlink():
        raise _core.InputError(f"`{path}` is a symbolic link; give the name of the page itself")
    if path.is_dir():
        raise _core.InputError(
            f"`{path}` is a folder; give the name of a page, such as `{path / 'capture.html'}`"
        )
    if path.exists() and not _ours(path):
        raise _core.InputError(f"`{path}` exists and is no page that ackclock wrote; give another name")
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise _core.InputError(f"`{parent}` is no folder that can be written to; give another one")


def _ours(path: Path) -> bool:
    """Whether a file begins like a page of ackclock."""
    try:
        with open(path, "rb", opener=owned.regular) as f:
            return OURS.match(f.read(HEAD)) is not None
    except OSError:
        return False


def write(
    captures: Sequence[Capture],
    path: Path,
    timers: Sequence[str] = TIMERS,
    progress: Callable[[float], object] | None = None,
) -> Path:
    """Writes the page of some captures, which were read with samples and packets, to `path`; it is there
    whole or not at all.

    An earlier page there is replaced, nothing else is, and half-written pages of killed commands are removed.
    """
    check(path)
    text = page(captures, timers, progress)
    try:
        handle, partial = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".partial", dir=path.absolute().parent
        )
    except OSError as e:
        raise _core.InputError(
            f"{path}: {e.strerror}; expected a page in a folder that can be written to"
        ) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as out:
            owned.lock(out)
            out.write(text)
        umask = os.umask(0)
        os.umask(umask)
        Path(partial).chmod(0o666 & ~umask)
        check(path)
        Path(partial).replace(path)
    finally:
        Path(partial).unlink(missing_ok=True)
    _tidy(path)
    return path


def _tidy(path: Path) -> None:
    """Removes pages that were left half-written beside `path`."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.partial")
    for left in [p for p in path.absolute().parent.iterdir() if name.fullmatch(p.name)]:
        with contextlib.suppress(OSError):
            if owned.mine(left.lstat()) and _ours(left) and owned.free(left):
                left.unlink()


def page(
    captures: Sequence[Capture],
    timers: Sequence[str] = TIMERS,
    progress: Callable[[float], object] | None = None,
) -> str:
    """The page as text. `timers` are drawn over the round-trip times; `progress` gets the share that is
    done.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": count, "seconds": seconds, "percent": percent, "begun": begun}
    vendor = HERE / "vendor" / "uplot"
    scripts = [
        Markup((place).read_text(encoding="utf-8"))
        for place in (vendor / "uPlot.iife.min.js", HERE / "page.js")
    ]
    style = Markup(
        (vendor / "uPlot.min.css").read_text(encoding="utf-8")
        + (HERE / "page.css").read_text(encoding="utf-8")
    )
    shares = sum(len(drawn(c)) for c in captures)
    done = iter(range(1, shares + 1))

    def step() -> None:
        if progress:
            progress(next(done) / shares)

    names = [Path(c.report["file"]).name for c in captures]
    return environment.get_template("capture.html.j2").render(
        title=f"Capture {names[0]}" if len(names) == 1 else f"{len(names)} captures",
        version=_core.version,
        style=style,
        scripts=scripts,
        # The page runs its own scripts only, and loads nothing.
        policy=f"default-src 'none'; style-src {digest(style)}; script-src {' '.join(map(digest, scripts))}; "
        "base-uri 'none'; form-action 'none'",
        licence=(vendor / "LICENSE").read_text(encoding="utf-8"),
        captures=[described(c, timers, f"c{i}", shares, step) for i, c in enumerate(captures)],
    )


def digest(text: str) -> str:
    """The hash by which a content security policy allows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def drawn(capture: Capture) -> list[dict[str, Any]]:
    """The connections that have figures, in their order."""
    listed = {n // 2 for n in pc.unique(capture.packets["connection"]).to_pylist()}
    chosen = [c for c in carrying(worst_first(capture.connections)) if c["number"] in listed][:MOST_FIGURES]
    return sorted(chosen, key=lambda c: c["number"])


def described(
    capture: Capture, timers: Sequence[str], prefix: str, shares: int, step: Callable[[], object]
) -> dict[str, Any]:
    """What the template shows of one capture. `shares`: connections with figures on the page; `step` is
    called after each of them.
    """
    ordered = worst_first(capture.connections)
    shown = drawn(capture)
    numbers = {c["number"] for c in shown}
    table = [
        overview(c) | {"link": f"{prefix}-{c['number']}" if c["number"] in numbers else None}
        for c in ordered[:MOST_CONNECTIONS]
    ]
    sections = []
    for c in shown:
        sections.append(section(capture, c, timers, f"{prefix}-{c['number']}", shares))
        step()
    report = capture.report
    return {
        "file": Path(report["file"]).name,
        "packets": report["packets"],
        "segments": report["segments"],
        "start": moment(report["start"]) if report["start"] is not None else None,
        "lasted": report["end"] - report["start"] if report["start"] is not None else None,
        "summary": [*_first(report), *capture.summary()] if capture.connections else [],
        "servers": servers(report["answer"]["servers"]) if capture.connections else [],
        "notes": report["notes"],
        "connections": len(capture.connections),
        "rows": sorted(table, key=lambda r: r["number"])
        if len(capture.connections) <= MOST_CONNECTIONS
        else table,
        "left_out": max(len(capture.connections) - MOST_CONNECTIONS, 0),
        "undrawn": len(capture.connections) - len(shown),
        "sections": sections,
    }


def section(
    capture: Capture, c: dict[str, Any], timers: Sequence[str], link: str, shares: int
) -> dict[str, Any]:
    """One connection: its directions that carry data, with figures and lists."""
    sides = [
        side for side in (0, 1) if c["directions"][side]["bytes"] or c["directions"][side]["retransmissions"]
    ]
    sides.sort(key=lambda side: -c["directions"][side]["bytes"])
    return {
        "link": link,
        "number": c["number"],
        "client": c["client"],
        "server": c["server"],
        "state": c["state"],
        "handshake": c["handshake"],
        "notes": c["notes"],
        "summary": [
            *((*_first(c), *c["summary"]) if len(capture.connections) > 1 else ()),
            *c["answer"]["more"],
        ],
        "packets_left_out": c["packets_left_out"],
        "directions": [direction(capture, c, side, timers, f"{link}-{side}", shares) for side in sides],
    }


def _first(of: dict[str, Any]) -> list[str]:
    """The first answer about a capture or a connection."""
    return [of["answer"]["sentence"], *of["answer"]["others"]]


def direction(
    capture: Capture, c: dict[str, Any], side: int, timers: Sequence[str], link: str, shares: int
) -> dict[str, Any]:
    """One direction: its figures with their data, its lists."""
    d = c["directions"][side]
    if not d["bytes"]:
        # Only a SYN or a FIN was retransmitted: nothing to draw.
        return listed(d, c, c["start"], link, side) | {"figures": [], "data": None, "thinned": []}
    t = capture.plot.trace(c["number"], side)
    evidence = {
        (r["t"] - t.origin, r["offset"]): f"{r['kind']}: {r['evidence']}" for r in d["retransmissions"]
    }
    thinned = layers.Thinned(shares)
    time, rtt, rto = capture.plot.replayed(c["number"], timers, t.origin, side)
    known = [w.rto for w in t.waits if w.rto == w.rto and w.rto > 0]
    longest = max([*known, *(float(np.nanmax(v)) for v in rto.values() if v.size), float(rtt.max(initial=0))])
    last = max([t.end, *(w.time for w in t.waits)])
    sent, kinds = int((~t.marked).sum()), ", ".join(f"{places.size:,} {kind}" for kind, places in t.kinds())
    made = [
        {
            "id": f"{link}-sequence",
            "title": "Segments over time",
            "y": "sequence number (B)",
            "unit": "B",
            "log": False,
            "words": f"{sent:,} new segments"
            + (f"; retransmitted: {kinds}" if kinds else "; none retransmitted")
            + f"; {len(known):,} timeouts.",
            "layers": layers.sequence(t, evidence, thinned),
        },
        {
            "id": f"{link}-rtt",
            "title": "Round-trip times and timeouts",
            "y": "time (s)",
            "unit": "s",
            "log": is_wide(rtt, longest),
            "words": (
                (
                    f"{time.size:,} samples, median {seconds(d['rtt']['p50'])}, 95th percentile "
                    f"{seconds(d['rtt']['p95'])}."
                )
                if time.size
                else "No sample."
            )
            + ("" if rto else " The capture shows too little of the round trip for timers.")
            + (f" Timeouts waited {seconds(min(known))} to {seconds(max(known))}." if known else ""),
            "layers": layers.round_trips(t, time, rtt, rto, thinned),
        },
        {
            "id": f"{link}-flight",
            "title": "Bytes in flight",
            "y": "bytes in flight",
            "unit": "B",
            "log": False,
            "words": f"At most {count(d['max_flight'])} B were outstanding.",
            "layers": layers.flight(t, evidence, thinned),
        },
    ]
    figures = {
        "figures": made,
        "data": {
            "last": last,
            "origin": moment(t.origin),
            "figures": [{k: f[k] for k in ("id", "y", "unit", "log", "layers")} for f in made],
        },
        "thinned": thinned.said,
    }
    return listed(d, c, t.origin, link, side) | figures


def listed(d: dict[str, Any], c: dict[str, Any], origin: float, link: str, side: int) -> dict[str, Any]:
    """The words and tables of a direction. `origin`: when time begins (s)."""
    return {
        "link": link,
        "from": d["from"],
        "to": d["to"],
        "who": "client" if side == 0 else "server",
        "seen": seen_from(d),
        # Requests are small compared with the responses: their figures start closed.
        "open": bool(d["retransmissions"]) or 10 * d["bytes"] >= max(e["bytes"] for e in c["directions"]),
        "numbers": facts(d),
        "retransmissions": [{**r, "t": r["t"] - origin} for r in d["retransmissions"][:MOST_ROWS]],
        "more_retransmissions": max(len(d["retransmissions"]) - MOST_ROWS, 0) + d["unlisted"],
        "timeouts": [{**w, "t": w["t"] - origin} for w in expiries(d)[:MOST_ROWS]],
        "more_timeouts": max(len(expiries(d)) - MOST_ROWS, 0),
        # Nothing limits an end that sends no data.
        "limits": limits(d["limits"] if d["data_packets"] and not sends_little(d, c) else {}),
        "models": models(d.get("models") or {}),
        "what_if": what_if(d.get("what_if") or []),
    }


def facts(d: dict[str, Any]) -> list[tuple[str, str]]:
    """The numbers of a direction, as words and values."""
    p = percent(d["p"]) + (" (few events)" if d["p_uncertain"] and d["ca_events"] else "")
    return [
        ("packets", count(d["packets"])),
        ("payload", f"{count(d['unique_bytes'])} B"),
        ("retransmitted", count(d["retransmitted_packets"])),
        ("spurious", count(d["unneeded_packets"])),
        ("timeouts", count(len(expiries(d)))),
        ("round-trip time, median", seconds(d["rtt"]["p50"])),
        ("95th percentile", seconds(d["rtt"]["p95"])),
        ("CA and non-CA events", f"{d['ca_events']} and {d['non_ca_events']}"),
        ("p, loss episodes (CA events) per packet", p),
    ]


def what_if(rows: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Rows of what another timer would have done as a table, each column once, and the longest wait (s) for
    the bars beside it.
    """
    rows = list(rows)[:MOST_ROWS]
    if not rows:
        return None
    found = dict.fromkeys(k for r in rows for k, v in r.items() if not isinstance(v, (dict, list)))
    columns = [*(k for k in WHAT_IF if k in found), *(k for k in found if k not in WHAT_IF)]
    waits = [r.get("waited") if isinstance(r.get("waited"), (int, float)) else None for r in rows]
    headings = [HEADINGS.get(k, k.replace("_", " ")) for k in columns]
    return {
        "columns": headings,
        "meanings": meanings(headings),
        "rows": [
            {"cells": [cell(k, r.get(k)) for k in columns], "waited": w}
            for r, w in zip(rows, waits, strict=True)
        ],
        "longest": max((w for w in waits if w is not None), default=0),
    }


def cell(name: str, value: Any) -> str:
    """A value of the column `name` of a what-if, as text; waits are in seconds."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.startswith(("waited", "response", "rerun")) and isinstance(value, (int, float)):
        return seconds(float(value))
    return (
        count(value) if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )


def begun(text: str) -> str:
    """The text with its first letter capitalised."""
    return text[:1].upper() + text[1:]
