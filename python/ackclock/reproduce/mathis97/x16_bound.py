from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, item, stated
from ackclock.reproduce.mathis97 import lossy, phase, stock

PACKET = 1000
RTTS = (20, 60, 150, 400)
"""ms, without queue."""
TCPS = ("tahoe", "reno", "newreno", "sack", "fack-rh")
ACKS = {"every": 1.31, "delayed": 0.93}
"""C by ack policy, random loss (table 1)."""
HELD = "receiver's window of 4 packets"
SLOW = "application of 100 kbit/s on average"
RATE = 8e6
LOSS = 0.005
SEEDS = 10
WARM, SECONDS = 50, 300
PATHS = ("random loss", "RED", "two REDs", "drop-tail")


def tcps() -> dict[str, ac.Stack]:
    """Every TCP with both ack policies, and SACK held by its receiver."""
    found = {
        f"{name}, {acks}": stock.tcp(
            name, PACKET, ack=ac.Delayed(ack_delay="100ms") if acks == "delayed" else "every"
        )
        for name in TCPS
        for acks in ACKS
    }
    held = {"rcv_buf": f"{4 * (PACKET - stock.HEADERS)}B", "window_scaling": False}
    return found | {HELD: stock.tcp("sack", PACKET, **held), SLOW: stock.tcp("sack", PACKET)}


def acks(name: str) -> str:
    """The ack policy of a TCP by name."""
    return "every" if name.endswith("every") else "delayed"


def path(kind: str) -> ac.Graph:
    """Two lines between the ends; which of them loses packets, and how."""
    wide = ac.DropTail(limit="10000packets")
    red, full = phase.red(50), ac.DropTail(limit="30packets")
    fault = ac.fault.Loss(p=LOSS, of="data") if kind == "random loss" else None
    queues = {
        "random loss": (wide, wide),
        "RED": (red, wide),
        "two REDs": (red, red),
        "drop-tail": (full, wide),
    }[kind]
    fast = f"{100 * RATE:.0f}bit/s" if kind == "random loss" else f"{RATE:.0f}bit/s"
    back = ac.Link(f"{100 * RATE:.0f}bit/s", "1ms", queue=wide)
    rates = (fast, fast if kind == "two REDs" else f"{100 * RATE:.0f}bit/s")
    edges = [
        ac.Edge(
            f"g{i}",
            f"g{i + 1}",
            ac.Link(rate, "1ms", queue=queue, faults=fault if i == 0 else None),
            name=f"line {i + 1}",
            back=back,
        )
        for i, (rate, queue) in enumerate(zip(rates, queues, strict=True))
    ]
    for rtt in RTTS:
        delay = f"{rtt / 2 - 2:g}ms"
        edges.append(
            ac.Edge(
                f"h{rtt}",
                "g0",
                ac.Link(f"{100 * RATE:.0f}bit/s", delay, queue=wide),
                name=f"access {rtt}",
                back=ac.Link(f"{100 * RATE:.0f}bit/s", delay, queue=wide),
            )
        )
    return ac.Graph(edges)


def scenario(kind: str, seed: int) -> ac.Scenario:
    """A transfer of each TCP, round-trip times in turn; each seed gives every TCP another one."""
    stacks = tcps()
    flows: list[Any] = []
    for i, name in enumerate(stacks):
        ends = {"client": f"h{RTTS[(i + seed) % len(RTTS)]}", "server": "g2", "name": name, "stack": name}
        if name == SLOW:
            flows.append(
                ac.OnOff(**ends, rate="200kbit/s", on="1s", off="1s", periods="exponential", spread="5s")
            )
        else:
            flows.append(ac.Bulk(**ends, spread="5s"))
    return ac.Scenario.of(
        path(kind), flows, stacks, seed=seed, measure_from=f"{WARM}s", duration=f"{WARM + SECONDS}s"
    )


def read(kind: str, seed: int, run: Any) -> list[dict[str, Any]]:
    """Each flow's window over C/sqrt(p), and what chance does to that."""
    rows = []
    for f in run.flows.to_pylist():
        lost, sent = f["dropped_packets"], f["data_segments_sent"]
        if not lost:
            continue
        name, c = f["group"], ACKS[acks(f["group"])]
        bound = c / sqrt(lost / sent)
        window = f["segments_acked"] / SECONDS * f["rtt_mean"]
        rows.append(
            {
                "path": kind,
                "seed": seed,
                "tcp": name,
                "rtt": f["path_rtt"],
                "p": lost / sent,
                "losses": lost,
                "window": window,
                "over": window / bound,
                "allowed": 1 + 1 / sqrt(lost),
                "timeouts": f["timeouts"],
            }
        )
    return rows


@item(
    "M-X16",
    kind="SIM",
    title="C/sqrt(p) bounds every window where losses are randomised",
    choices={
        **stock.CHOICES,
        "flows": f"{', '.join(TCPS)} with an ack for each packet and with delayed acks, SACK held by a "
        f"{HELD}, and SACK whose {SLOW} is slow; round-trip times of {', '.join(map(str, RTTS))} ms in turn, "
        "all together on each path",
        "paths": f"random loss of {LOSS:g} on a line that never queues; RED on a line of {RATE / 1e6:g} "
        "Mbit/s; two such lines in sequence; drop-tail of 30 packets beside it",
        "RED": phase.CHOICES["RED"],
        "p": "packets of the flow that the whole path dropped over packets that it sent, every loss counted",
        "bound": "C of table 1 for random loss by ack policy; the flow's mean window may exceed it by "
        "1/sqrt(losses), two standard errors",
        "duration": f"{SECONDS} s after {WARM} s, {SEEDS} seeds (30 with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Twelve flows over four paths."""
    seeds = range(1, (30 if setting.full else SEEDS) + 1)
    jobs = [(kind, seed) for kind in PATHS for seed in seeds]
    runs = setting.run_all([scenario(*job) for job in jobs], "M-X16")
    rows = [r for job, run in zip(jobs, runs, strict=True) for r in read(*job, run)]
    checks, notes = [], []
    for kind in PATHS:
        mine = [r for r in rows if r["path"] == kind]
        above = [r for r in mine if r["over"] > r["allowed"]]
        free = [r["over"] for r in mine if r["tcp"] not in (HELD, SLOW)]
        near = sum(0.75 <= x <= 1 for x in free)
        worst = max(mine, key=lambda r: r["over"] / r["allowed"])
        if kind != "drop-tail":
            checks += [
                stated(
                    f"{kind}: flows whose window exceeds the bound by more than two standard errors",
                    f"{len(above)} of {len(mine)}; the most {worst['over']:.3f} of it ({worst['tcp']})",
                    not above,
                    "none",
                ),
                stated(
                    f"{kind}: unconstrained flows within 25 % below the bound",
                    f"{near} of {len(free)}",
                    near > 0,
                    "at least one",
                ),
            ]
        by_tcp = {
            name: float(np.mean([r["over"] for r in mine if r["tcp"] == name]))
            for name in tcps()
            if any(r["tcp"] == name for r in mine)
        }
        notes.append(
            f"{kind}: {len(above)} of {len(mine)} above the bound; window over it, mean over seeds: "
            + ", ".join(f"{name} {x:.2f}" for name, x in by_tcp.items())
        )
    fig, axes = style.figure(
        "Windows relative to the bound C/sqrt(p)",
        "Twelve kinds of flow on each path, ten seeds; a mark for each flow",
    )
    for i, kind in enumerate(PATHS):
        mine = [r for r in rows if r["path"] == kind]
        axes.plot(
            [r["p"] for r in mine],
            [r["over"] for r in mine],
            "osD^"[i],
            markersize=4,
            alpha=0.6,
            color=style.COLOURS[i],
            label=kind,
        )
    axes.axhline(1, color="#555555", linewidth=1)
    axes.set(
        xscale="log",
        xlabel="p: packets lost over packets sent",
        ylabel="window x sqrt(p) / C",
        ylim=(0, None),
    )
    axes.grid(True)
    axes.legend(loc="best", fontsize=9)
    return Outcome(checks, {"flows": lossy.table(rows)}, {"bound": fig}, notes)
