from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, exactly, item
from ackclock.reproduce.jacobson88 import senders

RATES, MESSAGES = (1200, 2400, 4800, 9600), (64, 128, 256, 512)
COUNTDOWNS = {"precise": "from sending", "restart-on-ack": "again at each ack"}
SAMPLINGS = ("once-per-rtt", "every-segment")
RATE, MESSAGE, COUNTDOWN, SAMPLING = 2400, 512, "precise", "once-per-rtt"
SLOW = (2400, 4800, 9600)
"""Rates that the paper speaks of, bit/s."""
EXCHANGES, PAUSE, DELAY = 8, 5, 0.05
WITH, WITHOUT = "with idle restart", "without"


def phases(
    setting: Setting, rate: int, message: int, countdown: str, sampling: str
) -> tuple[dict[str, dict[str, int]], dict[str, pa.Table]]:
    """The first burst of the bulk phase and the window before it, in packets, and timeouts before and in it;
    and what was sent.

    Nothing is lost: each timeout is spurious.
    """
    changes: dict[str, Any] = {"timer": countdown, "rtt_sampling": sampling}
    stacks = {
        WITH: senders.new(16, idle_restart=True, **changes),
        WITHOUT: senders.new(16, idle_restart=False, **changes),
    }
    talk = ac.Dialogue(exchanges=EXCHANGES, bytes=f"{message}B", pause=f"{PAUSE}s", size="50000B")
    path = ac.Single(senders.line(rate, DELAY, 50))
    run = ac.simulate(
        path, talk, stacks, duration="900s", trace=["packets", "episodes", "samples"], workers=setting.workers
    )
    found, sent = {}, {}
    for name in stacks:
        rows = run.traces["segments"]
        here = pc.and_(pc.equal(rows["run"], name), pc.equal(rows["connection"], 0))
        sent[name] = rows.filter(pc.and_(here, pc.and_(rows["sent"], pc.greater(rows["len"], 0))))
        new = sent[name].filter(pc.equal(sent[name]["kind"], "new"))["time"].to_numpy()
        begin = new[EXCHANGES]
        seen = run.traces["samples"]
        seen = seen.filter(pc.and_(pc.equal(seen["run"], name), pc.equal(seen["connection"], 0)))
        grown = seen["cwnd"].to_numpy()[seen["time"].to_numpy() < begin][-1]
        late, early = 0, 0
        if "episodes" in run.traces:
            e = run.traces["episodes"]
            e = e.filter(pc.and_(pc.equal(e["run"], name), pc.equal(e["connection"], 0)))
            after = e["begin"].to_numpy() >= begin
            late, early = (int(e["timeouts"].to_numpy()[x].sum()) for x in (after, ~after))
        found[name] = {
            "burst": int((new[EXCHANGES:] == begin).sum()),
            "window": int(grown) // senders.DATA,
            "spurious before": early,
            "spurious": late,
        }
    return found, sent


@item(
    "J-X1",
    kind="SIM",
    title="Restart after an idle time",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "new TCP")},
        "negotiation": f"{EXCHANGES} messages of one packet ({MESSAGE} bytes; smaller ones in the table), "
        f"each after the ack of the one before, then {PAUSE} s without any",
        "line": f"{RATE} bit/s, {1e3 * DELAY:g} ms one way, and nothing is lost; 1200 to 9600 bit/s in the "
        "table",
        "bulk phase": "50 kB; timeouts before it are not its own (the SYN's round trip is too short a "
        "lesson for the first packet)",
        "what decides": "lines of 2400, 4800 and 9600 bit/s with messages of a full packet, both "
        "countdowns and "
        "both samplings, which the paper leaves open; the rest is in the table",
        "countdown": "from when the oldest packet was sent, as in J-X2; one that every ack restarts in the "
        "table",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Mail over a slow line: a negotiation, a pause, and the letter."""
    rows = []
    for rate, message, countdown, sampling in product(RATES, MESSAGES, COUNTDOWNS, SAMPLINGS):
        found, sent = phases(setting, rate, message, countdown, sampling)
        row = {"rate": rate, "message": message, "countdown": countdown, "sampling": sampling}
        rows += [{**row, "stack": name, **numbers} for name, numbers in found.items()]
        if (rate, message, countdown, sampling) == (RATE, MESSAGE, COUNTDOWN, SAMPLING):
            main, figure = found, picture(sent)
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    said = [(on, off) for on, off in pairs if on["rate"] in SLOW and on["message"] == MESSAGE]
    count = len(said)
    checks = [
        exactly(
            "first burst with J-A12 is one packet, combinations",
            sum(on["burst"] == 1 for on, _ in said),
            count,
        ),
        exactly(
            "no spurious timeout of the bulk phase with J-A12",
            sum(on["spurious"] == 0 for on, _ in said),
            count,
        ),
        exactly(
            "first burst without it is the grown window",
            sum(off["burst"] == off["window"] > 1 for _, off in said),
            count,
        ),
        exactly(
            "spurious timeout of the bulk phase without it",
            sum(off["spurious"] > 0 for _, off in said),
            count,
        ),
    ]
    holding = [
        on
        for on, off in pairs
        if (on["burst"], on["spurious"]) == (1, 0)
        and off["burst"] == off["window"] > 1
        and off["spurious"] > 0
    ]
    words = "; ".join(f"{r['rate']} bit/s, {r['message']} bytes, {r['sampling']}" for r in holding)
    notes = [
        (
            f"{name}: {n['burst']} packets at once, {n['spurious before']} spurious timeouts before and "
            f"{n['spurious']} in it"
        )
        for name, n in main.items()
    ]
    notes.append(
        f"Of {len(pairs)} combinations of rate, message, countdown and sampling all checks hold in "
        f"{len(holding)}: {words}"
    )
    restarting = [off for _, off in pairs if off["countdown"] == "restart-on-ack" and off["spurious"] > 0]
    notes.append(
        f"With a countdown that every ack restarts, {len(restarting)} of {len(pairs) // 2} have a "
        "spurious timeout without J-A12: acks come a packet time apart, which is less than the timeout"
    )
    return Outcome(checks, {"combinations": pa.Table.from_pylist(rows)}, {"sent": figure}, notes)


def picture(sent: dict[str, pa.Table]) -> Figure:
    """What is sent around the beginning of the bulk phase."""
    fig, axes = style.figure(
        "Bulk data after short messages and a pause",
        f"{RATE} bit/s, packets of {senders.DATA} bytes; crosses: retransmissions",
    )
    for i, (name, rows) in enumerate(sent.items()):
        t, again = rows["time"].to_numpy(), np.array([k != "new" for k in rows["kind"].to_pylist()])
        number = (rows["seq"].to_numpy().astype(np.int64) - int(rows["seq"][0].as_py())) / senders.DATA + 1
        begin = t[~again][EXCHANGES]
        near = (t > begin - 30) & (t < begin + 30)
        look = {"color": style.COLOURS[i], "linestyle": "none", "markersize": 5}
        axes.plot(
            (t - begin)[near & ~again],
            number[near & ~again],
            "o",
            fillstyle="full" if i else "none",
            label=name if "restart" in name else f"{name} idle restart",
            **look,
        )
        axes.plot((t - begin)[near & again], number[near & again], "x", **{**look, "markersize": 8})
    axes.axvspan(-PAUSE, 0, color="#f0f0f0", zorder=0, label="pause")
    axes.set(xlabel="time since the bulk phase began (s)", ylabel="packet")
    axes.grid(True)
    axes.legend(loc="upper left")
    return fig
