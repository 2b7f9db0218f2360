from __future__ import annotations

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.plot import style
from ackclock.plot.sequence import KIB, dots
from ackclock.plot.timers import frame, legend
from ackclock.reproduce.eifel2000 import f8_precise_restart as f8
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.eifel2000.model import WORDS
from ackclock.reproduce.item import Outcome, Setting, at_most, item, stated, within
from ackclock.results.timing import Timing
from ackclock.results.transfer import Transfer

SERVICE = testbed.MTU * 10 / f8.BITS
SETTLED = 60.0
"""From then on (s) the timers no longer remember the start."""


@dataclass(frozen=True)
class Expiry:
    """A timeout: the last ack of new data before it, what followed, and the retransmission (s)."""

    acked: float
    age: float
    """Age of the lost segment at that ack."""
    duplicates: np.ndarray
    at: float

    @property
    def third(self) -> float:
        """When a third duplicate ack would come: a service time after the second."""
        return float(self.duplicates[1]) + SERVICE if self.duplicates.size > 1 else self.acked + 3 * SERVICE


def expiries(packets: pa.Table) -> list[Expiry]:
    """The first retransmission of each segment that timed out."""
    timing = Timing.of(packets)
    time, kind, seq, sent = (
        packets[name].to_numpy(zero_copy_only=False) for name in ("time", "kind", "seq", "sent")
    )
    resent = np.flatnonzero(kind == "timeout-retransmit")
    first = resent[np.sort(np.unique(seq[resent], return_index=True)[1])]
    found = []
    for i in first[time[first] > SETTLED]:
        k = int(np.searchsorted(timing.time, time[i], "left")) - 1
        acked = float(timing.time[k])
        duplicates = time[~sent & (time > acked) & (time < time[i])]
        found.append(Expiry(acked, acked - float(timing.oldest[k]), duplicates, float(time[i])))
    return found


@item(
    "E-F9",
    kind="SIM",
    title="A precise countdown expires before a third duplicate ack would come",
    choices={
        **f8.CHOICES,
        "line": "9.6 kbit/s with 10 bits for each byte",
        "window": "congestion avoidance where it equals the threshold",
        "third duplicate ack": "a service time after the second, as if one segment more had followed",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The timeouts of E-F8's two hosts, packet by packet."""
    run = f8.Reading().scenario(["packets", "samples"]).simulate()
    packets = {name: testbed.rows(run, "segments", name) for name in f8.COUNTDOWNS}
    found = {name: expiries(p) for name, p in packets.items()}
    delay = {name: float(np.mean([e.at - e.acked for e in of])) for name, of in found.items()}
    age = float(np.mean([e.age for e in found["REXMT_L"]]))
    rtt = float(np.nanmean(Timing.of(packets["REXMT_L"]).rtt))
    before = [e.at < e.third for e in found["REXMT_E"]]
    late = [e.at > e.third for e in found["REXMT_L"]]
    checks = [
        within(
            "retransmission after the last new ack (s): REXMT_L less REXMT_E, against the age",
            delay["REXMT_L"] - delay["REXMT_E"],
            age,
            testbed.TICK,
        ),
        at_most(
            "most duplicate acks before an expiry",
            float(max(e.duplicates.size for of in found.values() for e in of)),
            2,
            "fewer than 3, at most",
        ),
        stated(
            "REXMT_E expires before the third duplicate ack would come",
            f"{sum(before)} of {len(before)}",
            all(before),
            "always",
        ),
        stated("REXMT_L expires after it", f"{sum(late)} of {len(late)}", all(late), "always"),
    ]
    rows = [
        {
            "host": name,
            "acked": e.acked,
            "age": e.age,
            "duplicates": int(e.duplicates.size),
            "third": e.third,
            "expired": e.at,
        }
        for name, of in found.items()
        for e in of
    ]
    notes = [
        f"Mean time from the last new ack to the retransmission: {delay['REXMT_L']:.4g} s with "
        f"REXMT_L, {delay['REXMT_E']:.4g} s with REXMT_E; the age is {age / rtt:.3g} RTTs."
    ]
    return Outcome(checks, {"expiries": pa.Table.from_pylist(rows)}, {"zoom": figure(packets, found)}, notes)


def figure(packets: dict[str, pa.Table], found: dict[str, list[Expiry]]) -> Figure:
    """A section of both transfers from the last ack before a timeout on, as time-sequence plots."""
    fig, panels = frame(
        "Two countdowns after the same loss",
        "Simulated line of 9.6 kbit/s, buffer of 1 packet, tick 500 ms; sections from shortly before a loss",
        2,
    )
    with mpl.rc_context(style.SETTINGS):
        for axes, (name, table) in zip(panels, packets.items(), strict=True):
            t, e = Transfer.of(table), found[name][0]
            low, high = e.acked - 5.5, e.acked + 13
            near = (t.time > low) & (t.time < high)
            base = int(t.offset[near].min())
            section = Transfer(
                t.time[near] - low, t.offset[near] - base, t.size[near], t.acked_at - low, t.acked - base
            )
            dots(axes, section, 0, name, True)
            for line in axes.lines:
                line.set_markersize(6 if line.get_marker() == "x" else 5)
            acked = float(t.acked[np.searchsorted(t.acked_at, e.acked)] - base) / KIB
            axes.plot(
                e.duplicates - low,
                np.full(e.duplicates.size, acked),
                "d",
                color="#555555",
                markersize=5,
                label="duplicate acks",
            )
            axes.plot([], [], "o", color=style.COLOURS[0], markersize=5, label="sent")
            axes.plot([], [], "x", color="#D55E00", markersize=6, label="retransmitted")
            axes.axvline(
                e.third - low,
                color="#009E73",
                linewidth=1.2,
                linestyle=(0, (4, 2)),
                label="third duplicate ack due",
            )
            top = float((section.offset + section.size).max()) / KIB
            axes.annotate(
                "",
                (e.at - low, acked),
                (e.acked - low, acked),
                arrowprops={"arrowstyle": "->", "color": "#888888"},
            )
            axes.annotate(
                f"{WORDS[name]}: {e.at - e.acked:.3g} s",
                (e.acked - low, acked),
                (4, -14),
                textcoords="offset points",
                fontsize=9,
            )
            axes.set(
                xlim=(0, high - low), ylim=(min(acked - 2, -1), top + 1.5), ylabel="sequence number (KiB)"
            )
            axes.grid(True)
        panels[-1].set_xlabel("time (s)")
        legend(panels[0], 4)
    return fig
