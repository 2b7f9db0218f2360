from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.reproduce.backoff2008 import clients_captures
from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.results import gaps

PATHS = {"0.2 %": 0.002, "1 %": 0.01, "5 %": 0.05, "20 %": 0.2}
"""Loss of data packets, each at random."""
TRANSFERS, PAGE = 250, 30_000
LEAST = ("200ms", "1s")
"""Smallest timeouts of the servers."""
BY_CONTENT = (
    ("timeouts", "timeouts", "content_timed_out"),
    ("consecutive timeouts", "consecutive", "content_backed_off"),
)
"""What, what the servers know of it, and what the second rule says."""


def survey(loss: float, min_rto: str, transfers: int) -> list[dict[str, Any]]:
    """Index pages fetched one after the other; what the client infers of each, and what its server knows."""
    link = ac.Link("10Mbit/s", queue="drop-tail", faults=ac.fault.Loss(p=loss, of="data"))
    sizes = ac.sizes.Exponential(mean=f"{PAGE}B")
    # One at a time: a page each minute, and none takes that long.
    web = ac.Web(sizes=sizes, arrival_rate=1 / 60, arrivals="regular")
    server = ac.Stack("sack+per-ack", timer=ac.Rfc6298(min_rto=min_rto, initial_rto="3s"))
    path = ac.Dumbbell(bottleneck=link, rtt=ac.Uniform("10ms", "200ms"))
    run = ac.simulate(
        path,
        web,
        {"server": server},
        duration=f"{60 * transfers}s",
        drain="1000s",
        trace="packets",
        seed=int(1e4 * loss) + 1,
    )
    segments = run.traces["segments"]
    order = pc.sort_indices(segments, [("connection", "ascending"), ("time", "ascending")])
    segments = segments.take(order)
    connection = segments["connection"].to_numpy()
    flows = run.flows.to_pylist()
    by_content = clients_captures.silences(run.traces["segments"], [flow["flow"] for flow in flows])
    rows = []
    for flow, rounds in zip(flows, by_content, strict=True):
        first, last = np.searchsorted(connection, [2 * flow["flow"], 2 * flow["flow"] + 1])
        seen = gaps.handshake(segments.slice(first, last - first))
        if seen is None or not np.isfinite(seen[1]):
            continue
        found = gaps.infer(*seen)
        known = flow["timeouts_by_round"]
        rows.append(
            {
                "loss": loss,
                "min_rto": min_rto,
                "timeouts": flow["timeouts"],
                "consecutive": sum(known[1:]),
                "inferred": found.start.size,
                "timed_out": found.timed_out,
                "backed_off": found.backed_off,
                "content_timed_out": bool(rounds),
                "content_backed_off": max(rounds, default=0) > 1,
            }
        )
    return rows


def precision_and_recall(known: list[bool], said: list[bool]) -> tuple[float, float]:
    """Of what was said, how much is so; of what is so, how much was said."""
    k, s = np.array(known, bool), np.array(said, bool)
    return float((k & s).sum() / max(s.sum(), 1)), float((k & s).sum() / max(k.sum(), 1))


def shown_pair(rows: list[dict[str, Any]], known: str, said: str) -> str:
    """Both, in words."""
    precision, recall = precision_and_recall([row[known] > 0 for row in rows], [row[said] for row in rows])
    return f"precision {precision:.3f} and recall {recall:.3f}"


@item(
    "B-X8",
    kind="CAP",
    title="The survey's detector on simulated captures",
    choices={
        "detector": "a gap above 200 ms and 1.2 round trips is a timeout; the next gap, 1.5 times as long "
        "at least, a consecutive one",
        "gaps": "from the request's last transmission on, between all packets that come from the server",
        "captures": f"{TRANSFERS} pages for each path, seen by the client (2500 with --full), one at a "
        f"time; exponential, mean {PAGE // 1000} kB",
        "paths": f"round trips of 10 to 200 ms; random loss of {', '.join(PATHS)} of data packets; least "
        f"timeouts of {' or '.join(LEAST)}",
        "backoff counter": "Karn's rule (B-A2): the backoff lasts until a segment that was sent once is "
        "acknowledged",
        "a hit": "a transfer whose server timed out and for which a timeout was inferred",
        "second rule": "`gap-and-content` of `ackclock capture`, which looks at what ends the gap as well: "
        "not the paper's, and in the notes for comparison; it reads captures made of what "
        "the clients saw, headers with the servers' identifications, without SACK blocks "
        "and timestamps",
        "real captures": "none here: `ackclock capture` applies both rules to them",
    },
    tests=[
        "tests/test_gaps.py::test_a_gap_must_exceed_200_ms_and_1_2_round_trips",
        "tests/test_gaps.py::test_a_simulated_client_sees_the_servers_timeout_and_its_length",
        "tests/test_reproduce_backoff2008.py::test_a_clients_capture_has_what_it_saw",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Precision and recall over paths of all qualities."""
    rows: list[dict[str, Any]] = []
    cases = [(loss, least) for loss in PATHS.values() for least in LEAST]
    for i, (loss, least) in enumerate(cases):
        rows += survey(loss, least, 2500 if setting.full else TRANSFERS)
        setting.progress((i + 1) / len(cases), "B-X8")
    timed_out = precision_and_recall(
        [row["timeouts"] > 0 for row in rows], [row["timed_out"] for row in rows]
    )
    backed_off = precision_and_recall(
        [row["consecutive"] > 0 for row in rows], [row["backed_off"] for row in rows]
    )
    checks = [
        at_least("timeouts: precision", timed_out[0], 0.95, "at least"),
        at_least("timeouts: recall", timed_out[1], 0.95, "at least"),
        at_least("consecutive timeouts: precision", backed_off[0], 0.95, "at least"),
        at_least("consecutive timeouts: recall", backed_off[1], 0.95, "at least"),
    ]
    notes = [
        f"{what}, `gap-and-content`: {shown_pair(rows, known, said)}" for what, known, said in BY_CONTENT
    ]
    for least in LEAST:
        mine = [row for row in rows if row["min_rto"] == least]
        notes.append(
            f"servers with a least timeout of {least}: timeouts with "
            f"{shown_pair(mine, 'timeouts', 'timed_out')}; `gap-and-content`: "
            f"{shown_pair(mine, 'timeouts', 'content_timed_out')}"
        )
    for loss, least in cases:
        mine = [row for row in rows if (row["loss"], row["min_rto"]) == (loss, least)]
        percent = {
            key: 100 * np.mean([bool(row[key]) for row in mine])
            for key in ("timeouts", "timed_out", "consecutive", "backed_off")
        }
        notes.append(
            f"loss {100 * loss:g} %, least timeout {least}: timeouts in {percent['timeouts']:.1f} % of "
            f"{len(mine)} transfers, inferred in {percent['timed_out']:.1f} %; consecutive ones in "
            f"{percent['consecutive']:.1f} %, inferred in {percent['backed_off']:.1f} %"
        )
    notes.append("The paper's survey found 8 % with a timeout, and 52 % of those with a consecutive one")
    return Outcome(checks, {"transfers": pa.Table.from_pylist(rows)}, notes=notes)
