from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.jacobson88 import testbed
from ackclock.results.confidence import half_width

SHARES = (1, 2, 4)
"""Rate of the misbehaving host in fair shares of the link."""
OLD = "old TCP"
SECONDS, WARM = 300, 30
SEEDS = 10
FAIR = testbed.LINK / 4
"""bit/s, headers included."""
QUEUES = {
    "drop-tail": ac.DropTail(limit="50packets"),
    "RED": ac.Red(limit="50packets", max_p=0.02, gentle=False, mean_packet=f"{testbed.PACKET}B"),
    "longest flow drops": ac.queue.Drr(limit=f"{50 * testbed.PACKET}B", quantum=f"{testbed.PACKET}B"),
}
"""The gateway's algorithm."""


def scenario(queue: Any, offender: int | str, seed: int) -> ac.Scenario:
    """Three TCPs that avoid congestion beside one host that does not."""
    link = ac.Link(f"{testbed.LINK}bit/s", delay="30ms", queue=queue)
    path = ac.Dumbbell(bottleneck=link, access=testbed.ethernet())
    polite = [ac.Bulk(name=f"polite {i}", stack="new", spread="10s") for i in (1, 2, 3)]
    if offender == OLD:
        bad = ac.Bulk(name="offender", stack="old", spread="10s")
    else:
        bad = ac.Udp(name="offender", rate=f"{FAIR * offender:.0f}bit/s", bytes=f"{testbed.PACKET}B")
    return ac.Scenario.of(
        path,
        [*polite, bad],
        {"new": testbed.new_tcp()} | ({"old": testbed.old_tcp()} if offender == OLD else {}),
        seed=seed,
        duration=f"{SECONDS + WARM}s",
        measure_from=f"{WARM}s",
    )


def read(run: Any) -> dict[str, float]:
    """Drop rates, and the least and the mean rate of the polite hosts in fair shares of the link's data."""
    rows = run.flows.to_pylist()
    bad = next(r for r in rows if r["group"] == "offender")
    good = [r for r in rows if r["group"] != "offender"]
    link = next(x for x in run.links.to_pylist() if x["name"] == "bottleneck")
    polite_drops, polite_sent = (
        sum(r["dropped_packets"] for r in good),
        sum(r["data_segments_sent"] for r in good),
    )
    sent = bad["data_segments_sent"] or bad["segments_sent"]
    rates = [8 * r["bytes_delivered"] * testbed.PACKET / testbed.DATA / SECONDS / FAIR for r in good]
    return {
        "offender_dropped": bad["dropped_packets"] / sent,
        "polite_dropped": polite_drops / polite_sent,
        "least_share": min(rates),
        "mean_share": float(np.mean(rates)),
        "utilisation": link["utilisation"],
    }


@item(
    "J-X15",
    kind="SIM",
    title="A misbehaving host gets most of the drops",
    choices={
        **testbed.NEW_CHOICES,
        "gateway": "the paper's algorithm is not given: drop-tail of 50 packets; RED with thresholds of 5 "
        "and "
        "15 packets, max_p 1/50, w_q 0.002; and a queue of its own for each flow, served in turn, where the "
        "flow with the longest one loses a packet when 50 are there",
        "offender": "packets of 552 bytes at a constant rate of 1, 2 and 4 fair shares of the link, or old "
        "TCP (J-A16) beside three new ones",
        "rates": "packets delivered with headers over a quarter of the link's rate",
        "duration": f"{SECONDS} s after {WARM} s; {SEEDS} seeds (30 with --full), which differ in when the "
        "transfers begin",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Three disciplines, three rates and an old TCP."""
    seeds = range(1, (30 if setting.full else SEEDS) + 1)
    cases = [(q, o) for q in QUEUES for o in (*SHARES, OLD)]
    jobs = [(q, o, s) for q, o in cases for s in seeds]
    runs = setting.run_all([scenario(QUEUES[q], o, s) for q, o, s in jobs], "J-X15")
    found: dict[Any, list[dict[str, float]]] = {case: [] for case in cases}
    for (q, o, _), run in zip(jobs, runs, strict=True):
        found[q, o].append(read(run))
    rows = [
        {"queue": q, "offender": str(o)}
        | {k: float(np.mean([r[k] for r in of])) for k in of[0]}
        | {f"{k}_half": half_width([r[k] for r in of]) for k in of[0]}
        for (q, o), of in found.items()
    ]
    four = {r["queue"]: r for r in rows if r["offender"] == "4"}
    doing = [name for name, r in four.items() if protects(r)]
    checks = [
        stated(
            "disciplines under which an offender at 4 fair shares loses more than half of its packets, each "
            "other has 0.8 of its share and a tenth of the offender's drop rate",
            ", ".join(doing) or "none",
            bool(doing),
            "at least one, beyond the intervals over seeds",
        )
    ]
    notes = [
        f"{r['queue']}, offender {r['offender']}{'' if r['offender'] == OLD else ' fair shares'}: "
        f"{100 * r['offender_dropped']:.1f} +/- {100 * r['offender_dropped_half']:.1f} % of its packets "
        f"dropped, {100 * r['polite_dropped']:.2f} +/- {100 * r['polite_dropped_half']:.2f} % of the "
        f"others'; "
        f"the least of these has {r['least_share']:.2f} +/- {r['least_share_half']:.2f} of a fair share, "
        f"their mean {r['mean_share']:.2f}"
        for r in rows
    ]
    fig, axes = style.figure(
        "Who loses packets at a gateway with one host that ignores drops",
        "Offender at four fair shares beside three TCPs with congestion avoidance; means over seeds",
    )
    at = np.arange(len(QUEUES))
    for i, (key, words) in enumerate(
        (
            ("offender_dropped", "offender's packets dropped"),
            ("polite_dropped", "others' packets dropped"),
            ("least_share", "smallest share of another, relative to a fair one"),
        )
    ):
        axes.bar(
            at + 0.27 * (i - 1),
            [four[q][key] for q in QUEUES],
            0.25,
            yerr=[four[q][f"{key}_half"] for q in QUEUES],
            label=words,
            color=style.COLOURS[i],
            capsize=3,
        )
    axes.set_xticks(at, list(QUEUES))
    axes.set(ylabel="share", ylim=(0, 1.3))
    axes.legend(loc="upper left", fontsize=9)
    return Outcome(checks, {"drops": pa.Table.from_pylist(rows)}, {"drops": fig}, notes)


def protects(r: dict[str, float]) -> bool:
    """Whether a discipline protects the others, by the unfavourable ends of the intervals."""
    offender = r["offender_dropped"] - r["offender_dropped_half"]
    return (
        offender > 0.5
        and r["least_share"] - r["least_share_half"] >= 0.8
        and r["polite_dropped"] + r["polite_dropped_half"] <= offender / 10
    )
