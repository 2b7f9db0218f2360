from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot.sweeps import sweeps
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, item, stated
from ackclock.results import Run
from ackclock.results.confidence import half_width

SIZES = (128, 256, 512, 1024)
"""Segments of the telnet flows, payload bytes."""
QUEUES = {"bytes": "40000B", "packets": "69packets"}
"""What the drop-tail queue counts; 69 packets of the mean size fill 40 kB."""
MEAN = 576
"""Bytes of a packet of the cross traffic, headers included."""
LEAST = 1.5
"""Times that the largest segments are lost more often than the smallest (I-F10)."""
HTTP, PARETO = 0.45, ("500kbit/s", 8)
SECONDS, FULL, SEEDS, FULL_SEEDS = 200, 1000, 6, 20
FLOWS, FULL_FLOWS = 5, 1


TCP = ac.Stack("newreno+per-ack", timer=ac.Rfc6298(min_rto="1s", initial_rto="3s"), ack="every", nagle=False)


def scenario(
    limit: str, seed: int, full: bool, stacks: dict[str, ac.Stack] | None = None, seconds: float | None = None
) -> ac.Scenario:
    """Telnet flows of all sizes, web transfers and Pareto sources over one drop-tail queue. stacks: in the
    place of the item's, by the size of the flow's segments, and `http`.
    """
    path = ac.Dumbbell(bottleneck=ac.Link("5Mbit/s", queue=ac.queue.DropTail(limit=limit)), rtt="12ms")
    stacks = stacks or {
        **{f"{s}": TCP.but(mss=f"{s}B") for s in SIZES},
        "http": TCP.but(mss=f"{MEAN - 40}B"),
    }
    flows = FULL_FLOWS if full else FLOWS
    telnet: list[Any] = [
        ac.Telnet(name=f"{s}", bytes=f"{s}B", flows=flows, spread="1s", stack=f"{s}") for s in SIZES
    ]
    rate, sources = PARETO
    cross = [
        ac.Web(name="http", trace="II", load=HTTP, stack="http"),
        ac.UdpOnOff(name="pareto", flows=sources, rate=rate, bytes=f"{MEAN}B", on="500ms", off="500ms"),
    ]
    seconds = seconds or (FULL if full else SECONDS)
    return ac.Scenario.of(path, telnet + cross, stacks, seed=seed, duration=f"{seconds:g}s")


def losses(run: Run) -> dict[int, tuple[int, int]]:
    """By size, the packets of the telnet flows that were sent and those that were lost: a
    retransmission counts as a loss unless it is spurious.
    """
    found = {}
    for size in SIZES:
        flows = run.flows.filter(pc.equal(run.flows["group"], f"{size}"))
        sent, resent, spurious = (
            pc.sum(flows[c]).as_py()
            for c in ("data_segments_sent", "retransmitted_segments", "unneeded_retransmissions")
        )
        found[size] = (sent, resent - spurious)
    return found


def ordered(by_size: dict[int, np.ndarray]) -> Check:
    """That loss does not fall with size; one inversion is allowed where the intervals of the two overlap."""
    fallen = [(a, b) for a, b in itertools.pairwise(SIZES) if by_size[b].mean() < by_size[a].mean()]
    excused = all(
        by_size[a].mean() - by_size[b].mean() <= half_width(by_size[a]) + half_width(by_size[b])
        for a, b in fallen
    )
    shown = ", ".join(f"{100 * by_size[s].mean():.3g} +/- {100 * half_width(by_size[s]):.2g}" for s in SIZES)
    return stated(
        "byte mode: loss (%) of segments of 128, 256, 512, 1024 bytes",
        shown,
        len(fallen) <= 1 and excused,
        "not falling; one inversion within error",
    )


def judged(by_size: dict[int, np.ndarray]) -> list[Check]:
    """The register's statements about a queue that counts bytes."""
    smallest = by_size[SIZES[0]].mean()
    ratio = by_size[SIZES[-1]].mean() / smallest if smallest else float("inf")
    return [
        ordered(by_size),
        at_least("byte mode: loss of 1024 bytes over that of 128", ratio, LEAST, "at least"),
    ]


@item(
    "I-F10",
    kind="SIM",
    title="Loss against packet size, byte-mode drop-tail",
    choices={
        "path": "the default: 5 Mbit/s, 12 ms, drop-tail of 40 kB; in packets, for comparison, 69 packets "
        "of 576 bytes",
        "telnet": f"one flow of each size with --full, {FLOWS} in the quick form, so that as many losses "
        "are counted in less time; segments of 128, 256, 512 and 1024 bytes are payload; a "
        "packet a second each on average, no coalescing (Nagle off)",
        "cross traffic": f"web transfers of Trace-II (bounded Pareto sizes, mean 7 kB; load {HTTP:g}) in "
        f"segments of {MEAN - 40} bytes, and {PARETO[1]} sources of UDP with Pareto ON "
        f"and OFF periods of 0.5 s on average (shape 1.5), {PARETO[0]} while ON; every "
        f"packet of both has {MEAN} bytes, the paper's mean",
        "TCP": "NewReno, an ack for every segment, minimum RTO 1 s, initial RTO 3 s",
        "lost": "retransmissions that were not spurious, over data segments sent",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full); intervals are 95 % "
        "confidence from the spread between them",
        "duration": f"{SECONDS} s ({FULL} s with --full)",
    },
    points_at=["queue drop-tail(limit=40000B)", "application telnet"],
    tests=[
        "tests/test_reproduce_interactive2007_sizes.py::test_a_queue_in_bytes_loses_large_packets_and_one_in_packets_any"
    ],
)
def reproduce(setting: Setting) -> Outcome:
    """Loss ratio of each size, with a queue in bytes and one in packets."""
    seeds = range(1, (FULL_SEEDS if setting.full else SEEDS) + 1)
    cases = [(mode, seed) for mode in QUEUES for seed in seeds]
    runs = setting.run_all([scenario(QUEUES[mode], seed, setting.full) for mode, seed in cases], "I-F10")
    rows = [
        {"queue": mode, "seed": seed, "size": size, "sent": sent, "lost": lost, "loss": lost / sent}
        for (mode, seed), run in zip(cases, runs, strict=True)
        for size, (sent, lost) in losses(run).items()
    ]
    by = {
        mode: {s: np.array([r["loss"] for r in rows if (r["queue"], r["size"]) == (mode, s)]) for s in SIZES}
        for mode in QUEUES
    }
    links = [run.links.to_pylist()[0] for run in runs[: len(seeds)]]
    checks = judged(by["bytes"])
    notes = [
        "byte mode: "
        f"{100 * np.mean([link['dropped_queue'] / link['packets_offered'] for link in links]):.3g} % "
        "of all packets lost, "
        f"{np.mean([link['bytes_offered'] / link['packets_offered'] for link in links]):.4g} bytes "
        "each on average (handshakes included)",
        "packet mode: loss (%) "
        + ", ".join(
            f"{100 * by['packets'][s].mean():.3g} +/- {100 * half_width(by['packets'][s]):.2g}" for s in SIZES
        ),
    ]
    figure = sweeps(
        [
            (
                f"queue of {limit.replace('packets', ' packets').replace('000B', ' kB')}",
                list(SIZES),
                means(by[mode]),
                widths(by[mode]),
            )
            for mode, limit in QUEUES.items()
        ],
        title="Small packets find room in a queue that counts bytes",
        subtitle="Drop-tail, 5 Mbit/s, 12 ms; cross traffic in packets of 576 bytes; 95 % confidence "
        "intervals",
        xlabel="segment size (bytes)",
        ylabel="loss (%)",
    )
    return Outcome(checks, {"loss": pa.Table.from_pylist(rows)}, {"loss": figure}, notes)


def means(by_size: dict[int, np.ndarray]) -> list[float]:
    """Mean loss of each size, %."""
    return [100 * float(by_size[s].mean()) for s in SIZES]


def widths(by_size: dict[int, np.ndarray]) -> list[float]:
    """Half widths of the intervals, %."""
    return [100 * half_width(by_size[s]) for s in SIZES]
