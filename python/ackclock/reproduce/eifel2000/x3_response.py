from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.plot.sequence import KIB, dots
from ackclock.plot.timers import frame
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Outcome, Setting, exactly, item, stated
from ackclock.results import Run
from ackclock.results.transfer import Transfer

MSS, WINDOW, THRESHOLD = 1000, 20_000, 16_000
BEGIN, END = 5.0, 5.4
"""The delay spike (s): longer than the timeout of 0.2 s and shorter than two."""
RECOVERIES = ("tahoe", "reno", "newreno", "sack")
UNDOS = {"without": "+timestamps", "Eifel": "+eifel", "F-RTO": "+f-rto"}


def scenario() -> ac.Scenario:
    """A bulk transfer that the receiver's window limits, over a path that holds all data back for a while."""
    spike = ac.fault.Stall(from_=f"{BEGIN:g}s", until=f"{END:g}s", of="data")
    path = ac.Single(ac.Link("10Mbit/s", faults=[spike]), rtt="100ms")
    stacks = {
        f"{recovery}, {label}": ac.Stack(
            recovery + undo,
            estimator=ac.Rfc6298(min_rto="200ms"),
            window=ac.window.Reno(initial_ssthresh=f"{THRESHOLD}B", byte_counting=False),
            ack="every",
            mss=f"{MSS}B",
            rcv_buf=f"{WINDOW}B",
            window_scaling=False,
        )
        for recovery in RECOVERIES
        for label, undo in UNDOS.items()
    }
    return ac.Scenario.of(path, ac.Bulk(), stacks, duration="8s", trace=["all"])


@dataclass(frozen=True)
class Response:
    """What a stack did about the timeout: windows are those just before it, the least after it, and a round
    trip after the spike's end (bytes).
    """

    stack: str
    timeouts: int
    retransmissions: int
    before: tuple[int, int | None]
    least: int
    after: tuple[int, int | None]

    @staticmethod
    def of(run: Run, stack: str) -> Response:
        """Reads it from the run's tables."""
        flow = run.flows.filter(pc.equal(run.flows["stack"], stack)).to_pylist()[0]
        rows = testbed.rows(run, "samples", stack)
        rows = rows.filter(pc.is_valid(rows["cwnd"]))
        time, cwnd = rows["time"].to_numpy(), rows["cwnd"].to_pylist()
        episodes = run.traces["episodes"]
        expired = episodes.filter(
            pc.and_(pc.equal(episodes["run"], stack), pc.equal(episodes["class"], "non-ca"))
        )["begin"][0].as_py()
        windows = list(zip(cwnd, rows["ssthresh"].to_pylist(), strict=True))
        before = windows[int(np.searchsorted(time, expired, "left")) - 1]
        after = windows[int(np.searchsorted(time, END + 0.15, "right")) - 1]
        least = min(c for t, c in zip(time, cwnd, strict=True) if t >= expired)
        return Response(stack, flow["timeouts"], flow["retransmitted_segments"], before, least, after)


@item(
    "E-X3",
    kind="SIM",
    title="A spurious timeout with and without the Eifel response",
    choices={
        "path": "10 Mbit/s, round trip 100 ms",
        "delay spike": f"all data held back from {BEGIN:g} s to {END:g} s and then let go at once; nothing "
        "is lost",
        "timer": "RFC 6298 with a minimum of 200 ms: one expiry in the spike",
        "window": f"the receiver's, {WINDOW // MSS} segments of {MSS} bytes; slow-start threshold "
        f"{THRESHOLD // MSS} segments to begin with",
        "without": "timestamps offered, but not used after a timeout",
        "besides": "F-RTO (RFC 5682), and four ways of recovery",
    },
    tests=[
        "crates/ackclock-engine/tests/it/undo.rs::a_delay_spike_costs_one_retransmission_and_no_window",
        "crates/ackclock-engine/tests/it/undo.rs::without_undo_a_delay_spike_collapses_the_window",
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """The same delay spike for every stack."""
    run = scenario().simulate(workers=setting.workers)
    found = [Response.of(run, label) for label in (row["stack"] for row in run.stacks)]
    checks = [exactly("timeouts of each stack", sorted({r.timeouts for r in found}), [1])]
    for label in UNDOS:
        of = [r for r in found if r.stack.endswith(f", {label}")]
        again = sorted({r.retransmissions for r in of})
        if label == "without":
            checks.append(
                stated("without: retransmissions", ", ".join(map(str, again)), min(again) > 1, "more than 1")
            )
            checks.append(
                exactly("without: least window, segments", sorted({round(r.least / MSS) for r in of}), [1])
            )
        else:
            checks.append(exactly(f"{label}: retransmissions", again, [1]))
            same = sum(r.after == r.before for r in of)
            checks.append(
                exactly(
                    f"{label}: stacks whose cwnd and ssthresh are those from before the timeout",
                    same,
                    len(of),
                )
            )
    rows = [
        {
            **vars(r),
            "before": r.before[0],
            "after": r.after[0],
            "ssthresh_before": r.before[1],
            "ssthresh_after": r.after[1],
        }
        for r in found
    ]
    notes = [
        (
            f"{r.stack}: cwnd {r.before[0]} B before the timeout, {r.least} B after it, {r.after[0]} B "
            f"a round trip after the spike; {r.retransmissions} retransmitted."
        )
        for r in found
        if "newreno" in r.stack
    ]
    return Outcome(checks, {"responses": pa.Table.from_pylist(rows)}, {"sequence": figure(run)}, notes)


def figure(run: Run) -> Figure:
    """What was sent around the spike, without and with the response."""
    shown = {
        "newreno, without": "without: everything outstanding is retransmitted",
        "newreno, Eifel": "Eifel: one segment is retransmitted",
    }
    fig, panels = frame(
        "A spurious timeout",
        "Delay spike of 0.4 s at 5 s; NewReno, window of 20 segments, round trip 100 ms",
        2,
    )
    with mpl.rc_context(style.SETTINGS):
        for axes, (name, says) in zip(panels, shown.items(), strict=True):
            t = Transfer.of(testbed.rows(run, "segments", name))
            near = (t.time > BEGIN - 0.2) & (t.time < END + 0.4)
            base = int(t.offset[near].min())
            section = Transfer(t.time[near], t.offset[near] - base, t.size[near], t.acked_at, t.acked - base)
            dots(axes, section, 0, name, True)
            for line in axes.lines:
                line.set_markersize(4.5 if line.get_marker() == "x" else 3)
            axes.axvspan(BEGIN, END, color="#f0f0f0", zorder=0)
            axes.annotate(says, (0.01, 0.92), xycoords="axes fraction", fontsize=9.5)
            top = float((section.offset + section.size).max()) / KIB
            axes.set(xlim=(BEGIN - 0.2, END + 0.4), ylim=(-2, 1.15 * top), ylabel="sequence number (KiB)")
            axes.grid(True)
        axes = panels[0]
        keys = [
            axes.plot([], [], "o", color=style.COLOURS[0], markersize=4, label="sent")[0],
            axes.plot([], [], "x", color="#D55E00", markersize=5, label="retransmitted")[0],
            axes.plot([], [], color="#888888", label="acknowledged")[0],
        ]
        axes.legend(
            handles=keys, loc="lower left", bbox_to_anchor=(0, 0.99), ncols=3, fontsize=9, borderaxespad=0
        )
        panels[-1].set_xlabel("time (s)")
    return fig
