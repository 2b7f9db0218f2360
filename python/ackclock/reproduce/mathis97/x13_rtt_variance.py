from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.reproduce.mathis97 import lossy, scatter
from ackclock.sweep import run_all

LOSSES = (0.05, 0.07, 0.1, 0.14, 0.2)
BOTTLENECK = 1_000_000
"""bit/s: a window of 3 packets in 100 ms takes a third of it."""
CROSS = ac.UdpOnOff(rate="3Mbit/s", bytes="1500B", on="500ms", off="2500ms", periods="exponential")
"""Half of the bottleneck on average, in bursts behind which a packet waits for a second."""
ROW = "FACK-RH DA"


def scenario(p: float, cross: bool, seed: int) -> tuple[lossy.Case, ac.Scenario]:
    """The lossy path with a queue, and with cross traffic through it if wanted."""
    case = lossy.Case(ROW, p, seed=seed, cycles=600)
    workload = [ac.Bulk(stack="tcp"), CROSS] if cross else [ac.Bulk(stack="tcp")]
    base = lossy.scenario(case, workload)
    return case, base.but({"path.link.rate": f"{BOTTLENECK}bit/s"})


def measured(case: lossy.Case, run: Any) -> dict[str, Any]:
    """The transfer's bandwidth over the model's, with the round-trip time that it measured."""
    flow = next(f for f in run.flows.to_pylist() if f["protocol"] == "tcp")
    time = run.links.to_pylist()[0]["observed"]
    bandwidth = flow["segments_acked"] * case.mss * 8 / time
    p = flow["dropped_packets"] / flow["data_segments_sent"]
    return {
        "p": p,
        "bandwidth": bandwidth,
        "rtt": flow["rtt_mean"],
        "rtt_max": flow["rtt_max"],
        "timeouts": flow["timeouts"],
        "spurious": flow["spurious_timeouts"],
        "window": bandwidth * flow["rtt_mean"] / case.mss / 8,
        "ratio": bandwidth / float(m.bandwidth(p, flow["rtt_mean"], case.mss, lossy.CONSTANT["delayed"])),
    }


@item(
    "M-X13",
    kind="SIM",
    title="Timeouts need a varying round-trip time to hurt",
    choices={
        **lossy.CHOICES,
        "queue": f"the link has {BOTTLENECK // 10**6} Mbit/s, of which the transfer takes a third; its "
        "queue is never full",
        "cross traffic": "bursts of datagrams of 3 Mbit/s for half a second, every 3 s on average, both "
        "exponential",
        "model": "C = 0.93 with the round-trip time that the connection measured and p_loss",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """FACK with rate-halving and delayed acks at five losses, with cross traffic and without."""
    keys = [
        (p, cross, seed)
        for cross in (False, True)
        for p in LOSSES
        for seed in range(1, (10 if setting.full else 2) + 1)
    ]
    pairs = [scenario(*key) for key in keys]
    runs = run_all(
        [s for _, s in pairs],
        workers=setting.workers,
        progress=lambda share, _: setting.progress(share, "cross traffic"),
    )
    rows = [
        {"loss": p, "cross_traffic": cross, "seed": seed, **measured(case, run)}
        for (p, cross, seed), (case, _), run in zip(keys, pairs, runs, strict=True)
    ]
    checks, notes = [], []
    for p in LOSSES:
        without, busy = (
            mean([r["ratio"] for r in rows if r["loss"] == p and r["cross_traffic"] == cross])
            for cross in (False, True)
        )
        checks.append(
            at_least(
                f"fall of bandwidth over the model's at a loss of {p:g} (%)",
                100 * (1 - busy / without),
                15,
                "at least",
            )
        )
        notes.append(f"loss {p:g}: {without:.3f} of the model without cross traffic, {busy:.3f} with it")
    fig, axes = scatter.figure(
        "Timeouts and a varying round-trip time",
        "FACK-RH, delayed acks, random loss",
        "p: packets lost over packets sent",
        "BW RTT/MSS (packets)",
    )
    for i, (cross, name) in enumerate(((False, "steady round trip"), (True, "cross traffic"))):
        mine = [r for r in rows if r["cross_traffic"] == cross]
        scatter.points(
            axes, i, name, [r["p"] for r in mine], [r["window"] for r in mine], [r["timeouts"] for r in mine]
        )
    scatter.power_law(axes, [r["p"] for r in rows], lossy.CONSTANT["delayed"], -0.5, "C = 0.93")
    scatter.plain(axes.xaxis, (0.03, 0.05, 0.1, 0.2))
    scatter.plain(axes.yaxis, (0.5, 1, 2, 5))
    axes.legend(loc="best", fontsize=9)
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"windows": fig}, notes)


def mean(values: list[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)
