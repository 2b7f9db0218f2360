from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, between, item, stated
from ackclock.reproduce.mathis97 import gateways, phase, scatter, steady, stock

CHECKED, MOST = 6, 10
RATE = 2e6
SHORT, LONG, RANDOM = "RED", "long drop-tail", "long RED"
DELAY = {SHORT: 100.0, LONG: 2.0, RANDOM: 2.0}
"""ms of each line: against the queue's much with short queues, little with long ones."""
WARM = 100


def queue(case: str, packets: int = 100) -> Any:
    """Short RED queues, long drop-tail queues, and queues as long whose drops are at random."""
    if case == SHORT:
        return phase.red(100)
    if case == LONG:
        return ac.DropTail(limit=f"{packets}packets")
    return phase.red(2000, min_th="60packets", max_th="180packets")


def readings() -> dict[str, tuple[gateways.Chain, ac.Stack]]:
    """What else long drop-tail queues may mean, with three of them."""
    plain = gateways.tcp()

    def chain(packets: int = 100, datagrams: float = 0.0, overhead: bool = True) -> gateways.Chain:
        return gateways.Chain(3, RATE, DELAY[LONG], queue(LONG, packets), datagrams, overhead)

    return {
        "no overhead of senders": (chain(overhead=False), plain),
        "queue of 50 packets": (chain(50), plain),
        "queue of 200 packets": (chain(200), plain),
        "an ack per packet": (chain(), plain.but(ack="every")),
        "Reno": (chain(), stock.tcp("reno", gateways.PACKET)),
        "5 % of random datagrams": (chain(datagrams=0.05), plain),
        "20 % of random datagrams": (chain(datagrams=0.2), plain),
    }


def seconds(case: str, n: int) -> float:
    """How long the quick form counts: a long path has few losses."""
    return 500 if case != SHORT else 1400 if n <= CHECKED else 700


@item(
    "M-X4",
    kind="CF, SIM",
    title="Share of a connection over n congested gateways",
    choices={
        **stock.CHOICES,
        "topology": "that of M-F12: SACK TCPs with delayed acks, packets of 1000 bytes, congested lines of "
        "2 Mbit/s",
        "short queues": f"{DELAY[SHORT]:g} ms for each line, a local bandwidth-delay product of 50 "
        f"packets; {phase.CHOICES['RED']}",
        "long queues": f"{DELAY[LONG]:g} ms for each line and drop-tail queues of 100 packets, 400 ms of "
        "the line (50 and 200 in the table)",
        "overhead": "with drop-tail each sender delays its packets by a random time of up to a packet "
        "time of "
        "the congested line, as simulations of the time did against phase effects (none beside it)",
        "long RED": "thresholds of 60 and 180 packets: as long queues, but drops at random, which M-E6 "
        "takes for granted; not among the checks",
        "duration": f"1400 s with RED up to n = {CHECKED}, otherwise 700 s, 500 s with long queues "
        f"(--full: 6000 s for all), after {WARM} s that do not count; beginnings at random "
        "within the first second, seed 1",
        "n": "1 to 10 for RED, 1 to 6 and 10 for long queues (--full: 1 to 10)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Simulates the chain with short queues, long queues, and long queues with drops at random."""
    every = list(range(1, MOST + 1))
    some = every if setting.full else [*range(1, CHECKED + 1), MOST]
    jobs: dict[Any, tuple[gateways.Chain, ac.Stack]] = {}
    for case in (SHORT, LONG, RANDOM):
        for n in every if case == SHORT else some:
            jobs[case, n] = (
                gateways.Chain(n, RATE, DELAY[case], queue(case), overhead=case == LONG),
                gateways.tcp(),
            )
    for name, (chain, stack) in readings().items():
        jobs[f"{LONG}, {name}", chain.n] = (chain, stack)
    timed = {
        key: (chain.scenario(stack), WARM, 6000 if setting.full else seconds(*key))
        for key, (chain, stack) in jobs.items()
    }
    spans = steady.each(setting, timed, "M-X4")
    rows = []
    for (case, n), span in spans.items():
        row = {"case": case, **jobs[case, n][0].measured(span)}
        row["short_queue_share"], row["long_queue_share"] = (
            float(m.short_queue_share(n)),
            float(m.long_queue_share(n)),
        )
        rows.append(row)

    def over(case: str, model: str) -> np.ndarray:
        return np.array([r["share"] / r[model] for r in rows if r["case"] == case and r["n"] <= CHECKED])

    n = np.arange(2, MOST + 1)
    above = m.long_queue_share(n) > m.short_queue_share(n)
    checks = [
        between(
            f"RED: share over equation (12), n = 1 to {CHECKED}", over(SHORT, "short_queue_share"), 0.7, 1.3
        ),
        between(
            f"long drop-tail queues: share over equation (13), n = 1 to {CHECKED}",
            over(LONG, "long_queue_share"),
            0.7,
            1.3,
        ),
        stated(
            "(13) above (12) for n = 2 to 10",
            f"at {int(above.sum())} of {n.size}",
            bool(above.all()),
            "at all",
        ),
    ]
    notes = []
    for r in rows:
        model = "short_queue_share" if r["case"] == SHORT else "long_queue_share"
        notes.append(
            f"{r['case']}, n = {r['n']}: share {r['share']:.4f}, {r['share'] / r[model]:.2f} of "
            f"equation ({12 if r['case'] == SHORT else 13}); p_0/p_i = {r['p_0'] / r['p_i']:.1f}, "
            f"RTT_0/RTT_i = {r['rtt_0'] / r['rtt_i']:.2f}, lines {100 * r['utilisation']:.0f} % busy"
        )
    return Outcome(checks, {"shares": pa.Table.from_pylist(rows)}, {"shares": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Shares against n, beside both equations."""
    shown = {r["n"] for r in rows if r["case"] == LONG}
    fig, axes = style.figure(
        "Share of each congested line that a long path gets",
        "One SACK TCP over n lines of 2 Mbit/s, a local one over each; open: runs with timeouts"
        + ("" if len(shown) == MOST else f"; long: n up to {CHECKED} and {MOST}"),
    )
    n = np.arange(1, MOST + 1)
    axes.plot(
        n, m.short_queue_share(n), color=style.COLOURS[0], linewidth=1.3, label="equation (12), short queues"
    )
    axes.plot(
        n,
        m.long_queue_share(n),
        color=style.COLOURS[2],
        linewidth=1.3,
        linestyle=(0, (5, 1.5)),
        label="equation (13), long queues",
    )
    for i, case in enumerate((SHORT, LONG, RANDOM)):
        mine = [r for r in rows if r["case"] == case]
        scatter.points(
            axes, i, case, [r["n"] for r in mine], [r["share"] for r in mine], [r["timeouts_0"] for r in mine]
        )
    axes.set(
        yscale="log",
        xlabel="n: congested gateways on the way",
        ylabel="share of the line's bandwidth",
        xlim=(0.6, MOST + 0.4),
        ylim=(None, 1),
    )
    axes.set_xticks(n)
    scatter.plain(axes.yaxis, [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    axes.grid(True)
    axes.legend(loc="upper right", fontsize=9)
    return fig
