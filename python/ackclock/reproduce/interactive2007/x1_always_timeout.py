from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import testbed
from ackclock.reproduce.item import Outcome, Setting, at_least, exactly, item, within
from ackclock.results import Run

GAPS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 0.9, 1.5)
"""Seconds between packets; above a third of the RTO three duplicate acks do not come in time."""
LOSS = 0.02
FLOWS, SECONDS = 40, 200
EXPONENTIAL = "exponential, mean 1 s"


def scenario(setting: Setting, gap: float | None) -> ac.Scenario:
    """Packets at equal intervals (s); without one, telnet's."""
    seconds = testbed.FULL if setting.full else SECONDS
    if gap is None:
        workload = testbed.telnet(FLOWS, name="typed")
    else:
        # A source that is always on writes a packet at equal intervals.
        rate = f"{8 * testbed.PAYLOAD / gap:.0f}bit/s"
        workload = ac.OnOff(
            name="typed",
            flows=FLOWS,
            rate=rate,
            bytes=f"{testbed.PAYLOAD}B",
            on="24h",
            off="1us",
            **testbed.measured(),
        )
    return testbed.scenario(
        testbed.dumbbell(loss=LOSS), workload, {"TCP": testbed.tcp()}, seconds, trace=["packets", "episodes"]
    )


def close_together(run: Run) -> int:
    """Fast retransmits of packets that were sent with others close behind: of a packet and the three after it
    not all left more than a third of the RTO apart. Packets that waited for a timeout leave together.
    """
    table = run.traces["segments"]
    table = table.filter(pc.and_(table["sent"], pc.greater(table["len"], 0)))
    again = table.filter(pc.equal(table["kind"], "fast-retransmit")).to_pylist()
    found = 0
    for e in again:
        mine = table.filter(pc.equal(table["connection"], e["connection"]))
        times: dict[int, float] = {}
        for seq, time in zip(mine["seq"].to_pylist(), mine["time"].to_pylist(), strict=True):
            times.setdefault(seq, time)
        first = times[e["seq"]]
        after = sorted(t for t in times.values() if t >= first)[:4]
        found += len(after) == 4 and bool((np.diff(after) <= testbed.RTO / 3).any())
    return found


def row(name: str, gap: float, run: Run) -> dict[str, object]:
    """How the losses of a run were found."""
    flows, episodes = run.flows, run.traces["episodes"]
    kinds = run.traces["segments"]
    kinds = kinds.filter(pc.and_(kinds["sent"], pc.greater(kinds["len"], 0)))["kind"]
    timeouts, recoveries = (int(pc.sum(flows[c]).as_py()) for c in ("timeouts", "fast_recoveries"))
    # Expiries for what the timer itself resent are those of lost retransmissions.
    first = int(pc.sum(pc.min_element_wise(episodes["timeouts"], 1)).as_py() or 0)
    return {
        **{
            "packets": name,
            "gap": gap,
            "episodes": episodes.num_rows,
            "timeouts": timeouts,
            "first_timeouts": first,
            "recoveries": recoveries,
        },
        "fast_retransmits": int(pc.sum(pc.equal(kinds, "fast-retransmit")).as_py() or 0),
        "close": close_together(run),
        "lost": int(pc.sum(run.links["dropped_wire"]).as_py() + pc.sum(run.links["dropped_queue"]).as_py()),
    }


@item(
    "I-X1",
    kind="SIM",
    title="The loss of an interactive packet is always a timeout",
    choices={
        **{key: testbed.CHOICES[key] for key in ("path", "RED", "packets", "TCP", "window", "acks", "timer")},
        "gaps": f"equal intervals of {', '.join(f'{g:g}' for g in GAPS)} s; those above a third of the RTO "
        f"of {testbed.RTO:g} s are checked, the others are the control",
        "close together": "packets that are written while the window waits for a timeout leave together "
        "after "
        "it, whatever the intervals of writing: what is lost of such a burst is not counted, since its "
        "packets "
        "are not more than a third of the RTO apart",
        "telnet": "with exponential intervals some packets follow within a third of the RTO: shown, not "
        "checked",
        "loss": f"{100 * LOSS:g} % of data packets by the artificial module",
        "per loss": "episodes of loss, each from the first sign to the repair: an expiry for a "
        "retransmission that was lost again is one of its own loss, and is not counted",
        "flows": f"{FLOWS} at a time for {SECONDS} s ({testbed.FULL:g} s with --full), seed 1",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Fast retransmits and timeouts per loss, by the gap between packets."""
    names = [f"every {g:g} s" for g in GAPS] + [EXPONENTIAL]
    runs = setting.run_all([scenario(setting, g) for g in (*GAPS, None)], "I-X1")
    rows = [row(name, gap, run) for name, gap, run in zip(names, (*GAPS, np.nan), runs, strict=True)]
    sparse = [r for r in rows if r["gap"] > testbed.RTO / 3]
    dense = [r for r in rows if r["gap"] <= testbed.RTO / 3]
    per_loss = [r["first_timeouts"] / r["episodes"] for r in rows]
    checks = [
        exactly(
            "fast retransmits, gaps above RTO/3",
            [r["fast_retransmits"] - r["close"] for r in sparse],
            [0] * len(sparse),
        ),
        *(
            within(
                f"timeouts per loss, a packet {r['packets']}",
                r["first_timeouts"] / (r["episodes"] - r["close"]),
                1.0,
                0.0,
            )
            for r in sparse
        ),
        at_least(
            "fast retransmits, gaps below RTO/3 (control)",
            min(r["fast_retransmits"] for r in dense),
            1,
            "some",
        ),
    ]
    telnet = rows[-1]
    notes = [
        (
            f"{r['packets']}: {r['episodes']} losses, {r['timeouts']} timeouts "
            f"({r['timeouts'] - r['first_timeouts']} for lost retransmissions), {r['fast_retransmits']} fast "
            f"retransmits ({r['close']} of packets sent with others close behind)"
        )
        for r in rows
    ] + [
        f"telnet: {100 * telnet['recoveries'] / telnet['episodes']:.2g} % of the losses are found by "
        "duplicate acks, of packets typed close together"
    ]
    figure = measured(
        [Measured("equal intervals", np.array(GAPS), np.array(per_loss[: len(GAPS)]))],
        [("a third of the RTO", np.array([testbed.RTO / 3] * 2), np.array([0.0, 1.0]))],
        title="How the loss of an interactive packet is found",
        subtitle=f"{100 * LOSS:g} % artificial loss, RTO {testbed.RTO:g} s, 12 ms",
        xlabel="time between packets (s)",
        ylabel="timeouts per loss",
    )
    return Outcome(checks, {"losses": pa.Table.from_pylist(rows)}, {"timeouts": figure}, notes)
