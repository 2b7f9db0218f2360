from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.eifel2000 import RowModel
from ackclock.plot import style
from ackclock.plot.timers import frame, legend
from ackclock.reproduce.eifel2000 import model, testbed
from ackclock.reproduce.eifel2000.model import WORDS
from ackclock.reproduce.item import Outcome, Setting, between, item, stated
from ackclock.results.timing import Timing

WINDOWS, SHOWN, CUT = (2, 5, 10, 20, 40), 10, 4000.0
MSS = 1460
HOSTS = {"RTO_L, REXMT_L": testbed.lite(), "RTO_E, REXMT_E": testbed.eifel()}
MIXED = testbed.sender(ac.estimator.Lite(max_rto="1h"), ac.timer.Precise(heartbeat="500ms"))


@dataclass(frozen=True)
class Cut:
    """What a host did after the line went dead: times in seconds, from when the lost segment was sent."""

    host: str
    window: int
    rto: float
    age: float
    """That of the lost segment at the last ack."""
    effective: float
    """Until the segment was retransmitted."""
    timing: Timing

    @property
    def predicted(self) -> float:
        """What the countdown is to make of timeout and age."""
        return self.rto + self.age if self.host.endswith("REXMT_L") else self.rto


def cut(host: str, window: int) -> Cut:
    """A transfer whose receiver allows so many segments: the round-trip time, and with it the timeout, stays
    the same until every segment is lost.
    """
    stack = HOSTS[host].but(rcv_buf=f"{window * MSS}B", window_scaling=False)
    path = testbed.line(faults=[ac.fault.Outage(from_=f"{CUT:g}s", until="100000000s", of="data")])
    run = testbed.transfer(path, {host: stack}, CUT + 2000)
    packets, log = testbed.rows(run, "segments", host), testbed.Log.of(run, host)
    timing = Timing.of(packets)
    kind, time = (packets[name].to_numpy(zero_copy_only=False) for name in ("kind", "time"))
    expired = float(time[(kind == "timeout-retransmit") & (time > CUT)][0])
    last = int(np.searchsorted(timing.time, expired, "left")) - 1
    sent = float(timing.oldest[last])
    return Cut(host, window, float(log.rto[-1]), float(timing.time[last]) - sent, expired - sent, timing)


@item(
    "E-F5",
    kind="MODEL, SIM",
    title="A countdown that restarts at each ack adds the age of the oldest segment",
    choices={
        "line": testbed.CHOICES["line"],
        "constant timeout": f"the receiver's window holds {', '.join(map(str, WINDOWS))} segments, so that "
        "the round-trip time does not change",
        "losses": f"every data packet that leaves the line from {CUT:g} s on",
        "tick": "500 ms, of samples and countdown",
        "step-by-step model": f"load {testbed.PACKETS}, in which the timeout is not constant",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """From the sending of the lost segment to its retransmission: RTO_L and its age with the old countdown,
    RTO with the new one.
    """
    found = [cut(host, window) for host in HOSTS for window in WINDOWS]
    checks = []
    for host in HOSTS:
        off = [c.effective - c.predicted for c in found if c.host == host]
        what = "RTO_L + age" if host.endswith("REXMT_L") else host[:5]
        checks.append(
            between(
                f"{host}: time until the retransmission less {what} (s)", off, -testbed.TICK, testbed.TICK
            )
        )
    rows = RowModel(testbed.PACKETS, model.CYCLES).run(model.exact("lite")).cycle()
    offset = (rows.columns()["restart"] - rows.rto) / rows.rtt
    checks.append(
        stated(
            "step-by-step model: offset of the effective timer from RTO_L, in RTTs",
            f"{offset.mean():.4g}",
            0.5 < offset.mean() < 1.5,
            "about 1",
        )
    )
    table = pa.table(
        {name: [getattr(c, name) for c in found] for name in ("host", "window", "rto", "age", "effective")}
    )
    shown = [c for c in found if c.window == SHOWN]
    notes = [
        (
            f"{c.host}, window {c.window}: RTO {c.rto:.4g} s, age {c.age:.4g} s, retransmitted after "
            f"{c.effective:.4g} s."
        )
        for c in shown
    ]
    mixed = testbed.transfer(
        testbed.line(), {"mixed": MIXED.but(rcv_buf=f"{SHOWN * MSS}B", window_scaling=False)}, CUT
    ).flows.to_pylist()[0]
    notes.append(
        "RTO_L with REXMT_E is not among them: at a constant round-trip time RTO_L sinks to it, and "
        f"with a window of {SHOWN} segments {mixed['timeouts']} timeouts come in {CUT:g} s although "
        "nothing is lost. The restart hides the collapse (E-A4)."
    )
    return Outcome(checks, {"cuts": table}, {"countdown": figure(shown)}, notes)


def figure(shown: list[Cut]) -> Figure:
    """The countdown and the age of the oldest segment: before the line goes dead, and until it expires."""
    fig, panels = frame(
        "What a restarted countdown adds",
        f"Simulated line of 2.4 kbit/s, {SHOWN} segments outstanding; all are lost in the end",
        2,
    )
    with mpl.rc_context(style.SETTINGS):
        for axes, c in zip(panels, shown, strict=True):
            t = c.timing
            before = np.flatnonzero(t.time < CUT + 1000)[-9:]
            oldest = t.oldest[before]
            last = float(oldest[-1] + c.effective)
            began = float(t.time[before[0]])
            ends = np.append(t.time[before[1:]], last)
            left = (
                np.full(before.size, c.rto)
                if c.host.endswith("REXMT_L")
                else c.rto - (t.time[before] - oldest)
            )
            for curve, label, at, slope in (
                (left, "time left", 0, -1.0),
                (t.time[before] - oldest, "age of the oldest segment", 1, 1.0),
            ):
                x = np.column_stack([t.time[before], ends]).ravel() - began
                y = np.column_stack([curve, curve + slope * (ends - t.time[before])]).ravel()
                axes.plot(x, y, label=label, **{**style.line(at), "linewidth": 1.4})
            axes.axhline(c.rto, color="#555555", linewidth=1.0, linestyle=(0, (4, 3)), label="RTO")
            axes.plot([last - began], [c.effective], "o", color=style.COLOURS[1], markersize=5)
            axes.annotate(
                f"retransmitted after {c.effective:.4g} s",
                (last - began, c.effective),
                (8, 4),
                textcoords="offset points",
                fontsize=9,
            )
            axes.set(ylabel="time (s)", xlim=(0, 150), ylim=(0, 1.15 * max(x.effective for x in shown)))
            says = (
                "starts again in full at each ack"
                if c.host.endswith("REXMT_L")
                else "less the age of the oldest segment"
            )
            axes.annotate(
                f"{WORDS[c.host[-7:]]}: {says}", (0.01, 0.93), xycoords="axes fraction", fontsize=9.5
            )
            axes.grid(True)
        panels[-1].set_xlabel("time (s)")
        legend(panels[0], 3)
    return fig
