from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, between, item, six_digits
from ackclock.reproduce.mathis97 import lossy
from ackclock.results import Run
from ackclock.sweep import run_all

P, RTT, SIZE = 1 / 256, 0.1, 1500
STEADY = 16
"""Packets: C = 1 over the root of p."""
NEAR = 1.2
"""The window has come down when it is no more than this times the steady one."""


def scenario(periodic: bool, seed: int) -> ac.Scenario:
    """A transfer that begins with slow-start without bound."""
    loss: Any = {"kind": "periodic-loss", "every": 256} if periodic else {"kind": "loss", "p": P}
    stack = ac.Stack("fack-rh+per-ack", ack="every", mss=f"{SIZE}B", rcv_buf="16MiB", snd_buf="16MiB")
    link = ac.Link(lossy.RATE, f"{RTT / 2 * 1e3:g}ms", "drop-tail", [{**loss, "of": "data"}])
    base = ac.Scenario.of(ac.Single(link, rtt="links"), ac.Bulk(), {"tcp": stack}, seed=seed, duration="30s")
    return base.but(
        {"trace": '["samples", "packets", "episodes"]', "path.link.queue.limit": "1000000packets"}
    )


def overshoot(run: Run) -> dict[str, Any]:
    """Windows about the first loss, and how much is sent until the window has come down."""
    (flow,) = run.flows.to_pylist()
    sender = 2 * flow["flow"] + (flow["sender"] == "server")
    samples = run.traces["samples"].filter((pc.field("connection") == sender) & pc.field("cwnd").is_valid())
    data = run.traces["segments"].filter(
        (pc.field("connection") == sender) & pc.field("sent") & (pc.field("len") > 0)
    )
    time, cwnd = samples["time"].to_numpy(), samples["cwnd"].to_numpy() / SIZE
    sent, seq = data["time"].to_numpy(), data["seq"].to_numpy()
    # The first segment that is sent twice was the first that was lost.
    again = pc.ends_with(data["kind"], "-retransmit").to_numpy()
    lost = float(sent[seq == seq[np.argmax(again)]][0])
    begin = min(e["begin"] for e in run.traces["episodes"].to_pylist() if e["connection"] == sender)
    low = time[(time > begin) & (cwnd <= NEAR * STEADY)]
    down = float(low[0]) if low.size else float("nan")
    return {
        "at_loss": float(cwnd[time <= lost][-1]),
        "at_detection": float(cwnd[time < begin].max()),
        "after": float(cwnd[(time > begin) & (time <= begin + 2 * RTT)].min()),
        "packets": int((sent <= down).sum()) if low.size else None,
        "seconds": down,
        "time": time,
        "cwnd": cwnd,
    }


def closed_form() -> list[Check]:
    """The register's arithmetic."""
    return [
        six_digits("signals until the window has come down", m.overshoot_signals(P), 4),
        six_digits("packets until then", m.overshoot_packets(P), 1024),
        six_digits("megabytes of 1500-byte packets", m.overshoot_packets(P) * SIZE / 1e6, 1.536),
        six_digits("steady window, packets", m.average_window(P, 1.0), 16),
        six_digits("steady rate, Mbit/s", m.bandwidth(P, RTT, SIZE, 1.0) / 1e6, 1.92),
        six_digits("rate of 256 packets a round trip, Mbit/s", 256 * SIZE * 8 / RTT / 1e6, 30.72),
        six_digits("peak over the steady window (a ratio)", m.overshoot_factor(P), 16),
    ]


@item(
    "M-X6",
    kind="CF, SIM",
    title="The overshoot of slow-start",
    choices={
        "TCP": "FACK with rate-halving, an ack for each packet, slow-start without bound",
        "loss": "every 256th packet, as the appendix counts; and at random, of which medians are shown",
        "window at the first loss": "when the first packet is sent that will be lost",
        "come down": "the first time that the window after a reduction is within 20 % of C/sqrt(p) = 16, C "
        "= 1",
        "rate": f"the link has {lossy.RATE}: no bottleneck",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """One transfer with loss by count, and several with random loss."""
    seeds = range(1, (400 if setting.full else 40) + 1)
    scenarios = [scenario(True, 1), *(scenario(False, seed) for seed in seeds)]
    runs = run_all(
        scenarios, workers=setting.workers, progress=lambda share, _: setting.progress(share, "slow-start")
    )
    count, *random = [overshoot(run) for run in runs]
    reached = [r for r in random if r["packets"] is not None]
    medians = {
        name: float(np.median([r[name] for r in reached])) for name in ("at_loss", "at_detection", "packets")
    }
    checks = [
        *closed_form(),
        between("window at the first loss, by count", count["at_loss"], 128, 512),
        between("packets until within 20 % of the steady window, by count", count["packets"], 500, 2000),
        between("the same with random loss, median", medians["packets"], 500, 2000),
    ]
    notes = [
        f"loss by count: window {count['at_loss']:.0f} at the first loss, {count['at_detection']:.0f} "
        f"when it is detected, {count['after']:.0f} after the recovery; down after {count['packets']} "
        f"packets ({count['packets'] * SIZE / 1e6:.2f} MB) and {count['seconds']:.1f} s",
        f"random loss, medians of {len(reached)} transfers: window {medians['at_loss']:.0f} at the "
        f"first loss, {medians['at_detection']:.0f} when it is detected; down after "
        f"{medians['packets']:.0f} packets",
        "The appendix prints 6 Mbytes for a window of 256 packets; of 1500 bytes each that is 384 kB.",
    ]
    fig, axes = style.figure(
        "Slow-start overshoots far beyond the mean window",
        "Every 256th packet lost, 1500 bytes, 100 ms; no bottleneck, an ack for each packet",
    )
    with mpl.rc_context(style.SETTINGS):
        seen = count["time"] <= 12
        axes.plot(count["time"][seen], count["cwnd"][seen], **style.line(0), drawstyle="steps-post")
        for level, name in ((256, "1/p"), (512, "2/p"), (STEADY, "1/sqrt(p)")):
            axes.axhline(level, color="#555555", linewidth=1, linestyle=(0, (4, 2)))
            axes.annotate(
                name,
                (1, level),
                (4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        axes.set(yscale="log", xlabel="time (s)", ylabel="congestion window (packets)")
        axes.set_xlim(0, 12)
        axes.grid(True, which="major")
    table = [
        {
            "loss": "by count" if i == 0 else "random",
            **{k: v for k, v in r.items() if k not in ("time", "cwnd")},
        }
        for i, r in enumerate([count, *random])
    ]
    return Outcome(checks, {"transfers": pa.Table.from_pylist(table)}, {"window": fig}, notes)
