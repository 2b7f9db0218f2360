from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.backoff2008 import syn_rejection
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, between, exactly, item, six_digits
from ackclock.results import Run
from ackclock.scenario.path import Queue

MBIT, DATAGRAM = 100, 1000
SOURCES, PERIOD = 400, "100ms"
"""Sources, on during half of the time: constant ones would let every SYN of a connection meet the same phase
of their common period.
"""
LOSSES = (0.2, 0.47)
SYNS = (3, 5)
QUEUES: dict[str, Queue] = {
    "FIFO, packets": ac.queue.DropTail(limit="100packets"),
    "RED, packets": ac.queue.Red(
        limit="200packets", min_th="20packets", max_th="60packets", mean_packet="1000B"
    ),
    "FIFO, bytes": ac.queue.DropTail(limit="100000B"),
    "RED, bytes": ac.queue.Red(
        limit="200000B", min_th="20000B", max_th="60000B", byte_mode=True, mean_packet="1000B"
    ),
}
CONNECTIONS, SECONDS = 12_000, 40
REST = 15
"""Seconds after the last connection was opened."""
SURE = 100
"""Rejections that a ratio must rest on: it varies by 10 % then."""


CHOICES = {
    "load": f"{SOURCES} sources of datagrams of {DATAGRAM} bytes, on and off for {PERIOD} on average, "
    f"losing about 25 or 50 % at {MBIT} Mbit/s",
    "chosen after first runs": "the set-up (rate, sources that are on and off, queues): constant "
    "sources let the SYNs of a connection meet the same phase of their "
    "common period, so that losses are not independent",
    "connections": f"{CONNECTIONS} within {SECONDS} s, half of each N, of one byte each; SYNs of 40 "
    "bytes, sent 1 s apart",
    "independent losses": "follow from the intervals: the datagrams' sources have changed by the next SYN",
    "queues": "FIFO of 100 packets or 100 kB; RED between 20 and 60 packets or kB, its byte mode "
    "scaling the probability by size over 1000 bytes",
    "p": "the loss ratio of all packets at the bottleneck, as measured",
    "sure": f"a ratio to p^N is checked where more than {SURE} connections were rejected",
}


def scenario(
    queue: Queue | None,
    loss: float,
    tcp: dict[str, ac.Stack],
    *,
    mbit: float = MBIT,
    connections: int = CONNECTIONS,
    seconds: float = SECONDS,
    rest: float = REST,
) -> ac.Scenario:
    """Connections, in equal parts with each stack, whose SYNs share a bottleneck with datagrams that overload
    it; without a queue, a link that loses at random and has no datagrams.
    """
    opened = ac.Fixed(flows=connections, size="1B", start="2s", spread=f"{seconds}s")
    if queue is None:
        link = ac.Link(f"{mbit}Mbit/s", delay="5ms", faults=[ac.fault.Loss(p=loss, of="all")])
        loads = [opened]
    else:
        link = ac.Link(f"{mbit}Mbit/s", delay="5ms", queue=queue)
        loads = [_crowd(mbit / (1 - loss)), opened]
    return ac.Scenario.of(
        ac.Single(link, back=ac.Link(delay="5ms")),
        loads,
        tcp,
        mix=dict.fromkeys(tcp, 1 / len(tcp)),
        duration=f"{seconds + rest:g}s",
        drain="1s",
    )


def attempts(queue: Queue, loss: float, setting: Setting) -> list[dict[str, Any]]:
    """How many connections were rejected, for either N."""
    times = 5 if setting.full else 1
    patient = ac.backoff.None_(r2_retries="inf")
    tcp = {
        f"N = {n}": ac.Stack(
            "sack+per-ack", timer=ac.Rfc6298(initial_rto="1s"), backoff=patient, syn_retries=n - 1
        )
        for n in SYNS
    }
    wanted = scenario(queue, loss, tcp, connections=CONNECTIONS * times, seconds=SECONDS * times)
    return counted(wanted.simulate(workers=setting.workers))


def counted(run: Run) -> list[dict[str, Any]]:
    """What a run gave: the loss of all packets, and the connections that were tried and rejected, a row for
    each N.
    """
    link = next(row for row in run.links.to_pylist() if row["name"] == "link")
    p, rows = (link["dropped_queue"] + link["dropped_wire"]) / link["packets_offered"], []
    for n in SYNS:
        mine = run.flows.filter(
            pc.and_(pc.equal(run.flows["stack"], f"N = {n}"), pc.equal(run.flows["protocol"], "tcp"))
        )
        tried = mine.filter(
            pc.or_kleene(pc.is_valid(mine["established"]), pc.equal(mine["reason"], "syn-timeout"))
        )
        rejected = pc.sum(pc.equal(tried["reason"], "syn-timeout")).as_py() or 0
        rows.append(
            {
                "N": n,
                "loss": p,
                "connections": tried.num_rows,
                "rejected": rejected / tried.num_rows,
                "expected": float(syn_rejection(p, n)),
            }
        )
    return rows


def _crowd(mbit: float) -> Any:
    rate = f"{2 * mbit * 1e6 / SOURCES:.0f}bit/s"
    return ac.UdpOnOff(
        flows=SOURCES, rate=rate, bytes=f"{DATAGRAM}B", on=PERIOD, off=PERIOD, periods="exponential"
    )


@item(
    "B-X7",
    kind="CF, SIM",
    title="SYN drops as admission control: queues that count packets and bytes",
    choices=CHOICES,
)
def reproduce(setting: Setting) -> Outcome:
    """Rejections by four queues at two loss ratios for three and five SYNs."""
    rows = []
    for i, (name, queue) in enumerate(QUEUES.items()):
        for j, loss in enumerate(LOSSES):
            rows += [{"queue": name, "offered_loss": loss, **row} for row in attempts(queue, loss, setting)]
            setting.progress((i + (j + 1) / len(LOSSES)) / len(QUEUES), "B-X7")
    values = six_digits(
        "p^N at p = 0.5, N = 3, 5 (%)", 100 * syn_rejection(0.5, np.array(SYNS)), [12.5, 3.125]
    )
    checks = [values, *judged(rows)]
    notes = [
        (
            f"{row['queue']}, N = {row['N']}: loss {row['loss']:.4f}, {100 * row['rejected']:.3f} % of "
            f"{row['connections']} connections rejected, p^N is {100 * row['expected']:.3f} %"
        )
        for row in rows
    ]
    return Outcome(checks, {"rejections": pa.Table.from_pylist(rows)}, {"rejections": picture(rows)}, notes)


def judged(rows: list[dict[str, Any]]) -> list[Check]:
    """Whether queues that count packets reject p^N of the connections, and those that count bytes few."""
    by_packets = [row for row in rows if row["queue"].endswith("packets")]
    sure = [row for row in by_packets if row["rejected"] * row["connections"] > SURE]
    return [
        exactly("sure ratios, of eight", [len(sure) >= 4], [True]),
        between(
            "packets: rejections over p^N", [row["rejected"] / row["expected"] for row in sure], 0.8, 1.2
        ),
        *(
            small(row, rows)
            for row in rows
            if row["queue"].endswith("bytes") and row["offered_loss"] == max(LOSSES)
        ),
    ]


def small(row: dict[str, Any], rows: list[dict[str, Any]]) -> Check:
    """A queue that counts bytes rejects less than a tenth of what one that counts packets does."""
    kind = row["queue"].split(",")[0]
    other = next(
        r
        for r in rows
        if r["queue"] == f"{kind}, packets" and (r["offered_loss"], r["N"]) == (row["offered_loss"], row["N"])
    )
    limit = 0.1 * other["rejected"]
    return Check(
        f"{row['queue']}: rejections, N = {row['N']}",
        f"below {limit:.3g}",
        f"{row['rejected']:.3g}",
        row["rejected"] < limit,
    )


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Rejections against loss."""
    fig, axes = style.figure(
        "Connections rejected because their SYNs were lost",
        "Lines: p^N. Marks: simulated queues under datagrams of 1000 bytes",
    )
    x, marks = np.linspace(0.1, 0.6, 100), dict(zip(QUEUES, "osDv", strict=True))
    floor = 1e-5
    with mpl.rc_context(style.SETTINGS):
        for i, n in enumerate(SYNS):
            axes.plot(x, syn_rejection(x, n), label=f"p^{n}", **style.line(i))
            for name, mark in marks.items():
                mine = [row for row in rows if row["queue"] == name and row["N"] == n]
                y = [max(row["rejected"], floor) for row in mine]
                axes.plot(
                    [row["loss"] for row in mine],
                    y,
                    linestyle="",
                    marker=mark,
                    markersize=6,
                    fillstyle="none",
                    color=style.COLOURS[i],
                )
        for name, mark in marks.items():
            axes.plot([], [], linestyle="", marker=mark, fillstyle="none", color="#444444", label=name)
        axes.set(
            xlabel="loss ratio p of the bottleneck",
            ylabel="share of connections rejected",
            yscale="log",
            ylim=(floor / 1.5, 1),
        )
        axes.annotate(
            f"none, or below {floor:g}",
            (0.24, floor),
            (22, -3),
            textcoords="offset points",
            fontsize=8,
            color="#444444",
        )
        axes.grid(True)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.1), fontsize=9, ncols=2)
    return fig
